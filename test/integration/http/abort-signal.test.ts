import type { ApiRequest } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';

/** A request of a mount that creates the signal when it is read, such as that of `node:http`. */
function createRequest(method: string, path: string, body?: string) {
  const reads = { signal: 0 };
  const request: ApiRequest = {
    method,
    path,
    query: '',
    header: (name) => (name === 'content-type' ? 'application/json' : undefined),
    body: body === undefined ? { type: 'none' } : { type: 'bytes', bytes: body },
    aborted: false,
    get signal() {
      reads.signal++;
      return new AbortController().signal;
    },
  };
  return { request, reads };
}

test.each<[string, string, string?]>([
  ['GET', `/api/v1/orders/0x${'00'.repeat(56)}`],
  ['GET', '/api/v1/orders'],
  ['POST', '/api/v1/orders/by_uids', '[]'],
  ['POST', '/api/v1/orders', '{}'],
  ['GET', '/api/v1/unknown'],
])('%s %s creates no abort signal, which costs more than the routing', async (method, path, body) => {
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
  const { request, reads } = createRequest(method, path, body);
  await createApi(book).handle(request);
  expect(reads.signal).toBe(0);
  await book.close();
});
