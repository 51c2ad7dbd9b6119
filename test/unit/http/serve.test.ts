import { expect, test } from 'vitest';
import { AbortedError } from '../../../src/concurrency/abort.ts';
import { READ } from '../../../src/http/cost.ts';
import type { ApiRequest } from '../../../src/http/message.ts';
import { serveRoutes } from '../../../src/http/route.ts';

/** Reads a streamed body that ends with an error. */
async function readBroken(failure: Error, aborted = false) {
  const reported: unknown[] = [];
  async function* body() {
    yield 'a';
    throw failure;
  }
  const api = serveRoutes({
    routes: [{ method: 'GET', path: '/x', cost: READ }],
    call: async () => ({ status: 200, headers: {}, body: body() }),
    reject: () => undefined,
    fail: () => ({ status: 500, headers: {} }),
    report: (each) => void reported.push(each),
    rateLimit: {},
  });
  const request: ApiRequest = {
    method: 'GET',
    path: '/x',
    query: '',
    header: () => undefined,
    body: { type: 'none' },
    aborted,
  };
  const { body: stream } = await api.handle(request);
  const chunks: unknown[] = [];
  const read = async () => {
    for await (const chunk of stream as AsyncIterable<string>) chunks.push(chunk);
  };
  await expect(read()).rejects.toBe(failure);
  expect(chunks).toEqual(['a']);
  return reported;
}

test('a streamed body that breaks off is reported', async () => {
  const failure = new Error('the database has failed');
  expect(await readBroken(failure)).toEqual([failure]);
});

test('a streamed body of a client that has disconnected is not reported', async () => {
  expect(await readBroken(new AbortedError(), true)).toEqual([]);
});

test('an interface has the paths below a chain that has a name', () => {
  const api = serveRoutes({
    routes: [{ method: 'GET', path: '/:chainId/tokens/:token/usdPrice', cost: READ }],
    call: async () => ({ status: 200, headers: {} }),
    reject: () => undefined,
    fail: () => ({ status: 500, headers: {} }),
    report: () => {},
    rateLimit: {},
  });
  const paths = ['/1/tokens/-/usdPrice', '/mainnet/tokens/-/usdPrice/', '/1/other', '/mainnet/tokens', '/mainnet'];
  expect(paths.map((path) => api.handlesPath?.(path))).toEqual([true, true, true, false, false]);
});
