import { createOrderBook } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { fetchHandler } from 'intentbook/fetch';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';

const book = createOrderBook({ chainId: 1, store: memoryStore() });
const bookHandler = fetchHandler(book);
const accountHandler = fetchHandler(createAccountApi(createAccounts({ books: [book], store: memoryAccountStore() })));

async function request(handler: typeof bookHandler, path: string): Promise<unknown> {
  const response = await handler(new Request(`http://book${path}`));
  return { status: response.status, ...((await response.json()) as object) };
}

const uid = `0x${'12'.repeat(56)}`;
const account = `0x${'ab'.repeat(20)}`;

test.each([
  ['/api/v1/order', '/api/v1/orders'],
  ['/v1/orders', '/api/v1/orders'],
  ['/orders', '/api/v1/orders'],
  ['/api/v2/orders', '/api/v1/orders'],
  ['/mainnet/api/v1/orders', '/api/v1/orders'],
  ['/11155111/api/v1/quote', '/api/v1/quote'],
  [`/api/v1/order/${uid}/`, '/api/v1/orders/{uid}'],
  [`/orders/${uid}/status`, '/api/v1/orders/{uid}/status'],
  [`/api/v1/accounts/${account}/orders`, '/api/v1/account/{owner}/orders'],
  ['/api/v1/Version', '/api/v1/version'],
])('404 of %s names the similar route %s', async (path, similar) => {
  const description = `there is no such route, did you mean ${similar}?`;
  expect(await request(bookHandler, path)).toEqual({ status: 404, errorType: 'NotFound', description, data: { path } });
});

test.each(['/favicon.ico', `/${uid}`, `/${'x'.repeat(2000)}`, '/11155111', '/.env', '/api/v1/%F0%9F%98%80'])(
  '404 of %s names no route',
  async (path) => {
    const expected = { status: 404, errorType: 'NotFound', description: 'there is no such route', data: { path } };
    expect(await request(bookHandler, path)).toEqual(expected);
  },
);

test('404 of the account interface names the similar route', async () => {
  expect(await request(accountHandler, `/accounts/${account}/notification`)).toEqual({
    status: 404,
    message: 'there is no such route, did you mean /accounts/{account}/notifications?',
  });
});
