import { createApi, createOrderBook } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { fetchHandler } from 'intentbook/fetch';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';

const ORDERS = '/api/v1/orders';
const NOTIFICATIONS = '/accounts/0x0000000000000000000000000000000000000001/notifications';
const CLOSED = { errorType: 'InternalServerError', description: 'the book is not started' };

function createBook() {
  const failures: unknown[] = [];
  const book = createOrderBook({ chainId: 1, store: memoryStore() });
  book.on('failure', (failure) => failures.push(failure));
  return { book, failures };
}

describe('book that is not started', () => {
  const uid = `0x${'00'.repeat(56)}`;

  test.each([
    ['GET', `${ORDERS}/${uid}`, 'Closed'], // of the store
    ['POST', ORDERS, 'NotStarted'],
    ['POST', '/api/v1/quote', 'NotStarted'],
    ['GET', '/api/v1/auction', 'NotStarted'],
  ])('is named in the response to %s %s', async (method, path, code) => {
    const { book, failures } = createBook();
    const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
    const response = await fetchHandler(book)(new Request(`http://book${path}`, { method, ...body }));
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual(CLOSED);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(failures).toMatchObject([{ code }]);
  });

  test('is named after it was closed, too', async () => {
    const { book } = createBook();
    await book.start();
    const handle = fetchHandler(createApi(book));
    expect((await handle(new Request(`http://book${ORDERS}/${uid}`))).status).toBe(404);
    await book.close();
    expect(await (await handle(new Request(`http://book${ORDERS}/${uid}`))).json()).toEqual(CLOSED);
  });
});

test('the response of accounts that are not started shows it', async () => {
  const { book } = createBook();
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  const response = await fetchHandler(createAccountApi(accounts))(new Request(`http://accounts${NOTIFICATIONS}`));
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ message: 'Accounts are not started' });
});
