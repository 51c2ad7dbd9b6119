import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the version is the text of the build: held, with the version of this package
 */
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
