import { createOrderBook, type OrderBook } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { fetchHandler } from 'intentbook/fetch';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';

const ORDERS = '/api/v1/orders';
const NOTIFICATIONS = '/accounts/0x0000000000000000000000000000000000000001/notifications';
const NOT_STARTED = { errorType: 'InternalServerError', description: 'the book is not started; call start() first' };
const CLOSED = { errorType: 'InternalServerError', description: 'the book is closed' };

function createBook() {
  const failures: unknown[] = [];
  const book = createOrderBook({ chainId: 1, store: memoryStore() });
  book.on('failure', (failure) => failures.push(failure));
  return { book, failures };
}

const uid = `0x${'00'.repeat(56)}`;
const REQUESTS = [
  ['GET', `${ORDERS}/${uid}`],
  ['GET', `${ORDERS}?limit=5`],
  ['GET', `${ORDERS}/${uid}/status`],
  ['GET', '/api/v1/orders/stream'],
  ['GET', `/api/v1/trades?orderUid=${uid}`],
  ['GET', `/api/v1/app_data/0x${'12'.repeat(32)}`],
  ['GET', '/api/v1/users/0x0000000000000000000000000000000000000001/total_surplus'],
  ['GET', `/api/v1/transactions/0x${'12'.repeat(32)}/orders`],
  ['GET', '/api/v1/solver_competition/latest'],
  ['POST', ORDERS],
  ['POST', '/api/v1/quote'],
  ['GET', '/api/v1/auction'],
] as const;

function send(book: OrderBook, method: string, path: string): Promise<Response> {
  const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
  return fetchHandler(book)(new Request(`http://book${path}`, { method, ...body }));
}

describe('book that is not started', () => {
  test.each(REQUESTS)('is named in the response to %s %s', async (method, path) => {
    const { book, failures } = createBook();
    const response = await send(book, method, path);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual(NOT_STARTED);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(failures).toMatchObject([{ code: 'NotStarted', message: 'the book is not started; call start() first' }]);
  });

  test.each(REQUESTS)('is named after it was closed, which is no failure: %s %s', async (method, path) => {
    const { book, failures } = createBook();
    await book.start();
    await book.close();
    const response = await send(book, method, path);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual(CLOSED);
    expect(failures).toEqual([]);
  });
});

test.each([
  ['NotStarted', 'the book is not started; call start() first', false],
  ['Closed', 'the book is closed', true],
])('each read of a book rejects with %s', async (code, message, isClosed) => {
  const { book } = createBook();
  if (isClosed) await book.start();
  await book.close();
  const hash = `0x${'12'.repeat(32)}`;
  const account = '0x0000000000000000000000000000000000000001';
  const reads = {
    get: () => book.orders.get(uid),
    getMany: () => book.orders.getMany([uid]),
    getManyBytes: () => book.orders.rendered.getManyBytes([uid]),
    list: () => book.orders.list(),
    listBytes: () => book.orders.rendered.listBytes(),
    listByTransaction: () => book.orders.listByTransaction(hash),
    competitionStatus: () => book.orders.competitionStatus(uid),
    stream: () => book.orders.stream({}),
    document: () => book.appData.get(hash),
    trades: () => book.trades.list({ orderUid: uid }),
    tradePage: () => book.trades.page({ owner: account }),
    tradePages: () => book.trades.pages({ owner: account })[Symbol.asyncIterator]().next(),
    history: () => book.trades.history({ owner: account })[Symbol.asyncIterator]().next(),
    surplus: () => book.trades.totalSurplus(account),
    firstTradeBlock: () => book.trades.firstTradeBlock(account),
    competition: () => book.auctions.latestCompetition(),
    progress: () => book.chain.progress(),
  };
  const failures = await Promise.all(
    Object.entries(reads).map(async ([name, read]) => [name, await read().catch((error: unknown) => error)]),
  );
  const wanted = Object.keys(reads).map((name) => [name, { name: 'StoreError', code, message }]);
  expect(failures).toMatchObject(wanted);
});

test('the response of accounts that are not started shows it', async () => {
  const { book } = createBook();
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  const response = await fetchHandler(createAccountApi(accounts))(new Request(`http://accounts${NOTIFICATIONS}`));
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ message: 'the account interface is not started; call start() first' });
});

test.each([
  ['NotStarted', 'the book of chain 1 is not started; start it before the account interface'],
  ['Closed', 'the book of chain 1 is closed; start it before the account interface'],
])('the account interface does not start while its book is %s', async (code, message) => {
  const { book } = createBook();
  if (code === 'Closed') await book.start();
  await book.close();
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  await expect(accounts.start()).rejects.toMatchObject({ code, message });
  await book.start();
  await accounts.start();
  await accounts.close();
  await book.close();
});

test('the response of accounts whose book is closed names the book', async () => {
  const { book } = createBook();
  await book.start();
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  await accounts.start();
  await book.close();
  const owner = '0x0000000000000000000000000000000000000001';
  const request = new Request(`http://accounts/accounts/${owner}/orders`);
  const response = await fetchHandler(createAccountApi(accounts))(request);
  expect([response.status, await response.json()]).toEqual([503, { message: 'the book is closed' }]);
  await accounts.close();
});
