import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

export const scenario: Scenario = {
  shows: 'the version is served as text',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const { status, headers, body } = await book.get('/version');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(body, /\S/);
  },
};
