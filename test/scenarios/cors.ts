import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

const ORIGIN = 'https://swap.example';

/**
 * Assertions of the original:
 * - a preflight request is 200: not held, it is 204, the status without a body. Browsers accept each status from 200
 *   to 299, see decision 1.16
 * - it allows the methods and headers of clients: held
 * - a 404 has the header of the origin: held
 */
export const scenario: Scenario = {
  shows: 'browsers of any origin may use every route, with the headers that clients send',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const preflight = await book.send('OPTIONS', '/api/v1/orders', undefined, {
      origin: ORIGIN,
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'x-appid, content-type',
    });
    assert.ok([200, 204].includes(preflight.status), String(preflight.status));
    const listOf = (name: string) => (preflight.headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/);
    assert.ok(['*', ORIGIN].includes(preflight.headers.get('access-control-allow-origin') ?? ''));
    for (const method of ['get', 'post', 'delete', 'options', 'put', 'patch', 'head'])
      assert.ok(listOf('access-control-allow-methods').includes(method), method);
    for (const header of ['origin', 'content-type', 'x-auth-token', 'x-appid'])
      assert.ok(listOf('access-control-allow-headers').includes(header), header);
    for (const path of ['/api/v1/version', '/api/v1/no-such-route']) {
      const { headers } = await book.send('GET', path, undefined, { origin: ORIGIN });
      assert.ok(['*', ORIGIN].includes(headers.get('access-control-allow-origin') ?? ''), path);
    }
  },
};
