import type { ApiRequest, ApiResponse, ChainClient, Limiter, Store } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROWS_PER_TOKEN } from '../../../src/http/cost.ts';
import { apply, at, trade } from '../../conformance/chain.ts';
import { ALICE, BOB, DAI, NOW, PLACED_AT, place, range, USDC, WETH, word } from '../../conformance/orders.ts';
import { listCosts } from '../../package/cost-table.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

/** What one request takes from store, node and rate limit. */
interface Usage {
  rows: number;
  upstream: number;
  /** Tokens in total, and those that were taken before the work. */
  tokens: number;
  before: number;
}

const METHODS = ['get', 'list', 'scan', 'after', 'trades', 'settlements', 'settlementsOfAuction', 'competitions'];

/** Methods of the notifications of an account store that return rows. */
const ACCOUNT_METHODS = ['list', 'after'];

/** Wraps the parts of a store and counts the rows that they return. */
function countRows<S extends object>(store: S, usage: Usage, counted: readonly string[]): S {
  const parts = Object.entries(store).map(([name, part]) => {
    if (typeof part !== 'object' || name === 'traits') return [name, part];
    const methods = Object.entries(part).map(([method, run]) => {
      if (!counted.includes(method)) return [method, run];
      const count = async (...args: unknown[]) => {
        const result = await (run as (...each: unknown[]) => Promise<unknown>)(...args);
        const found = method === 'scan' ? (result as { orders: unknown[] }).orders : result;
        usage.rows += Array.isArray(found) ? found.length : 1;
        return result;
      };
      return [method, count];
    });
    return [name, Object.fromEntries(methods)];
  });
  return Object.fromEntries(parts) as S; // the same members
}

/** Serves a book with `size` open orders of Alice, of which the first `size / 2` were traded once. */
async function served(size: number) {
  const usage: Usage = { rows: 0, upstream: 0, tokens: 0, before: 0 };
  const count = <T>(result: T): T => {
    usage.upstream++;
    return result;
  };
  const chain: ChainClient = {
    balanceAndAllowance: async () => count({ balance: 10n ** 30n, allowance: 10n ** 30n }),
    balancesAndAllowances: async (pairs) => count(pairs.map(() => ({ balance: 10n ** 30n, allowance: 10n ** 30n }))),
    tokensInfo: async (tokens) => count(tokens.map(() => ({ decimals: 18 }))),
    tokenInfo: async () => count({ decimals: 18 }),
  };
  const limiter: Limiter = {
    take(_client, _kind, tokens = 1) {
      usage.tokens += tokens;
      usage.before += tokens;
      return { status: 'admitted' };
    },
    charge(_client, _kind, tokens) {
      usage.tokens += tokens;
    },
    open: () => ({ status: 'admitted', release() {} }),
  };
  const clock = manualClock(NOW * 1000);
  const memory = memoryAccountStore();
  const store = countRows<Store>(memoryStore(), usage, METHODS);
  const options = { chainId: SEPOLIA, clock, chain, cacheBytes: 0, expiryInterval: 'off' } as const;
  const book = createOrderBook({ ...options, store });
  await book.start();
  const orders = range(size).map((n) => completeOrder(n, { creationDate: PLACED_AT + n }));
  for (let i = 0; i < size; i += 100) await place(store, ...orders.slice(i, i + 100));
  const sold = orders.slice(0, size / 2);
  const events = sold.map((order, i) => trade(order, 10 + i, { ...at(10 + i), sellAmount: '1', buyAmount: '1' }));
  await apply(store, 10 + sold.length, ...events);
  const { notifications } = memory;
  const accountStore = { ...memory, ...countRows({ notifications }, usage, ACCOUNT_METHODS) };
  const accounts = createAccounts({ books: [book], store: accountStore, clock });
  await accounts.start();
  // Background work, such as the notification indexer, has read the log before anything is counted.
  for (let quiet = 0; quiet < 50; ) {
    const before = usage.rows;
    await new Promise((resolve) => setImmediate(resolve));
    quiet = usage.rows === before ? quiet + 1 : 0;
  }
  const bookApi = createApi(book, { limiter, probes: true, operatorToken: 'secret' });
  const accountApi = createAccountApi(accounts, { limiter, operatorToken: 'secret' });

  async function send(
    path: string,
    { method = 'GET', headers = {}, body, text, leaves = false }: Sent = {},
  ): Promise<Usage & { status: number }> {
    Object.assign(usage, { rows: 0, upstream: 0, tokens: 0, before: 0 });
    const [pathname = '', query = ''] = path.split('?');
    const all: Record<string, string> = { 'content-type': 'application/json', ...headers };
    const request: ApiRequest = {
      method,
      path: pathname,
      query,
      header: (name) => all[name],
      body: text !== undefined ? { type: 'bytes', bytes: text } : toBody(body),
      get aborted() {
        return leaves && usage.rows > 0;
      },
    };
    const api = accountApi.handlesPath?.(pathname) ? accountApi : bookApi;
    const response = await api.handle(request);
    await readSome(response);
    return { ...usage, status: response.status };
  }

  // The first request reads the trades of the last day, once for all requests.
  await accounts.slippage.get(SEPOLIA, WETH, USDC);
  Object.assign(usage, { rows: 0, upstream: 0, tokens: 0, before: 0 });

  const close = async () => {
    await accounts.close();
    await book.close();
  };
  return { send, close, sold: sold.at(-1)?.uid ?? '', open: orders.at(-1)?.uid ?? '' };
}

const toBody = (body: unknown): ApiRequest['body'] =>
  body === undefined ? { type: 'none' } : { type: 'parsed', value: body };

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body that the host has parsed. */
  readonly body?: unknown;
  /** A body that is not parsed. */
  readonly text?: string;
  /** Whether the client disconnects after the first row. */
  readonly leaves?: boolean;
}

/** Reads a response. A stream is read as far as it is available at once. */
async function readSome({ body, headers }: ApiResponse): Promise<void> {
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) return;
  const iterator = body[Symbol.asyncIterator]();
  const isEndless = headers['content-type'] === 'text/event-stream';
  for (let i = 0; i < (isEndless ? 20 : 1000); i++) {
    const settled = new Promise<'later'>((resolve) => setImmediate(() => setImmediate(() => resolve('later'))));
    const next = await (isEndless ? Promise.race([iterator.next(), settled]) : iterator.next());
    if (next === 'later' || next.done) break;
  }
  await iterator.return?.();
}

type Served = Awaited<ReturnType<typeof served>>;
type Example = readonly [endpoint: string, path: (book: Served) => string, sent?: Sent];

const balances = range(40).map((n) => `0x${(n + 1).toString(16).padStart(40, '0')}`);
const TX = at(10).transactionHash;

/** Reads whose rows and upstream calls must not depend on the size of the book. */
const BOUNDED: readonly Example[] = [
  ['GET /api/v1/orders', () => '/api/v1/orders?limit=100'],
  ['GET /api/v1/orders', () => `/api/v1/orders?status=fulfilled&limit=100`],
  ['GET /api/v1/orders', () => `/api/v1/orders?sellToken=${WETH}&buyToken=${DAI}`],
  ['GET /api/v1/orders', () => `/api/v1/orders?sellToken=${WETH}&buyToken=${USDC}&owner=${ALICE}`],
  ['POST /api/v1/orders/by_uids', () => '/api/v1/orders/by_uids', { method: 'POST', body: [] }],
  ['GET /api/v1/orders/{uid}', ({ open }) => `/api/v1/orders/${open}`],
  ['GET /api/v1/orders/{uid}/status', ({ sold }) => `/api/v1/orders/${sold}/status`],
  ['GET /api/v1/account/{owner}/orders', () => `/api/v1/account/${ALICE}/orders?limit=50&offset=100`],
  ['GET /api/v1/account/{owner}/orders', () => `/api/v1/account/${BOB}/orders`],
  ['GET /api/v1/transactions/{hash}/orders', () => `/api/v1/transactions/${TX}/orders`],
  ['GET /api/v2/trades', () => `/api/v2/trades?owner=${ALICE}&limit=50`],
  ['GET /api/v2/trades', ({ sold }) => `/api/v2/trades?orderUid=${sold}`],
  ['GET /api/v1/trades', ({ sold }) => `/api/v1/trades?orderUid=${sold}`],
  ['GET /api/v1/solver_competition/latest', () => '/api/v1/solver_competition/latest'],
  ['GET /api/v1/solver_competition/by_tx_hash/{hash}', () => `/api/v1/solver_competition/by_tx_hash/${TX}`],
  ['GET /api/v1/solver_competition/{auction_id}', () => '/api/v1/solver_competition/1'],
  ['GET /api/v2/solver_competition/latest', () => '/api/v2/solver_competition/latest'],
  ['GET /api/v2/solver_competition/by_tx_hash/{hash}', () => `/api/v2/solver_competition/by_tx_hash/${TX}`],
  ['GET /api/v2/solver_competition/{auction_id}', () => '/api/v2/solver_competition/1'],
  [
    'GET /restricted/api/v2/solver_competition/{auction_id}',
    () => '/restricted/api/v2/solver_competition/1',
    { headers: { authorization: 'Bearer secret' } },
  ],
  [
    'GET /restricted/api/v1/debug/simulation/{uid}',
    ({ open }) => `/restricted/api/v1/debug/simulation/${open}`,
    { headers: { authorization: 'Bearer secret' } },
  ],
  [
    'POST /restricted/api/v1/debug/simulation',
    () => '/restricted/api/v1/debug/simulation',
    { method: 'POST', body: '{}', headers: { authorization: 'Bearer secret', 'content-type': 'application/json' } },
  ],
  ['GET /api/v1/token/{token}/native_price', () => `/api/v1/token/${WETH}/native_price`],
  ['GET /api/v1/token/{token}/metadata', () => `/api/v1/token/${WETH}/metadata`],
  ['GET /api/v1/app_data/{hash}', () => `/api/v1/app_data/${word(1)}`],
  ['GET /api/v1/version', () => '/api/v1/version'],
  ['GET /api/v1/ready', () => '/api/v1/ready'],
  ['GET /', () => '/'],
  ['GET /ready', () => '/ready'],
  ['GET /live', () => '/live'],
  ['GET /accounts/{account}/orders', () => `/accounts/${ALICE}/orders?limit=50`],
  ['GET /accounts/{account}/trades', () => `/accounts/${ALICE}/trades?limit=50`],
  ['GET /accounts/{account}/notifications', () => `/accounts/${BOB}/notifications`],
  ['GET /notification-list/{account}', () => `/notification-list/${ALICE}`],
  ['GET /accounts/{account}/notifications/stream', () => `/accounts/${BOB}/notifications/stream`],
  ['GET /accounts/{account}/subscriptions', () => `/accounts/${BOB}/subscriptions`],
  ['GET /restricted/deliveries', () => '/restricted/deliveries', { headers: { authorization: 'Bearer secret' } }],
  ['GET /affiliate/{address}', () => `/affiliate/${BOB}`],
  ['GET /ref-codes/{code}', () => '/ref-codes/ABCDEF'],
  ['GET /affiliate/affiliate-stats/{address}', () => `/affiliate/affiliate-stats/${BOB}`],
  ['GET /affiliate/trader-stats/{address}', () => `/affiliate/trader-stats/${BOB}`],
  ['GET /affiliate/trader-activity/{address}', () => `/affiliate/trader-activity/${BOB}`],
  ['GET /{chainId}/yield/pools-average-apr', () => `/${SEPOLIA}/yield/pools-average-apr`],
  ['GET /{chainId}/tokens/{token}/details', () => `/${SEPOLIA}/tokens/${WETH}/details`],
  ['GET /{chainId}/tokens/{token}/topHolders', () => `/${SEPOLIA}/tokens/${WETH}/topHolders`],
  [
    'GET /{chainId}/markets/{base}-{quote}/slippageTolerance',
    () => `/${SEPOLIA}/markets/${WETH}-${USDC}/slippageTolerance`,
  ],
  [
    'GET /{chainId}/markets/{base}-{quote}/volatilityDetails',
    () => `/${SEPOLIA}/markets/${WETH}-${USDC}/volatilityDetails`,
  ],
  ['GET /{chainId}/address/{address}/balances', () => `/${SEPOLIA}/address/${ALICE}/balances`],
  ['GET /about', () => '/about'],
  ['GET /{chainId}/tokens/{token}/usdPrice', () => `/${SEPOLIA}/tokens/${WETH}/usdPrice`],
  [
    'GET /{chainId}/accounts/{account}/balances',
    () => `/${SEPOLIA}/accounts/${ALICE}/balances?tokens=${balances.join(',')}`,
  ],
  [
    'GET /{chainId}/accounts/{account}/balances/sse',
    () => `/${SEPOLIA}/accounts/${ALICE}/balances/sse?tokens=${balances.join(',')}`,
  ],
];

/** Reads that grow with the book. Their rows are charged. */
const GROWING: readonly Example[] = [
  ['GET /api/v1/trades', () => `/api/v1/trades?owner=${ALICE}`],
  ['GET /api/v1/users/{user}/total_surplus', () => `/api/v1/users/${ALICE}/total_surplus`],
  ['GET /api/v1/auction', () => '/api/v1/auction'],
  ['GET /accounts/{account}/orders', () => `/accounts/${ALICE}/orders?format=csv`],
  ['GET /accounts/{account}/trades', () => `/accounts/${ALICE}/trades?format=csv`],
  ['GET /api/v1/orders/stream', () => '/api/v1/orders/stream', { headers: { 'last-event-id': '0' } }],
  ['GET /accounts/{account}/notifications', () => `/accounts/${ALICE}/notifications`],
  ['GET /api/v1/orders/stream', () => '/api/v1/orders/stream?lastEventId=0'],
  [
    'GET /accounts/{account}/notifications/stream',
    () => `/accounts/${ALICE}/notifications/stream`,
    { headers: { 'last-event-id': '0' } },
  ],
  [
    'GET /restricted/api/v1/debug/order/{uid}',
    ({ open }) => `/restricted/api/v1/debug/order/${open}`,
    { headers: { authorization: 'Bearer secret' } },
  ],
];

/** A read that shares the rows of the auction. */
const SHARED = 'GET /api/v1/auction/stream';

/** Log entries, trades and rows of orders that are read for one charged row, at most. */
const READS_PER_ROW = 3;

/** Trades that are read in one step. */
const PAGE = 100;

const SMALL = 300;
const LARGE = 1500;
let small: Served;
let large: Served;

beforeAll(async () => {
  [small, large] = [await served(SMALL), await served(LARGE)];
});
afterAll(async () => {
  await small.close();
  await large.close();
});

test('every read has an example', () => {
  const covered = new Set(BOUNDED.concat(GROWING).map(([endpoint]) => endpoint));
  covered.add(SHARED);
  const reads = listCosts().filter(({ endpoint }) => endpoint.startsWith('GET ') || endpoint.endsWith('by_uids'));
  const missing = reads.filter(({ endpoint }) => !covered.has(endpoint)).map(({ endpoint }) => endpoint);
  // Pages with constant content.
  const pages = ['confirm', 'unsubscribe'].map((page) => `GET /accounts/{account}/subscriptions/${page}`);
  // Three reads by key. The book has no upstream.
  const others = [...pages, 'GET /api/v1/orders/{uid}/upstream'];
  expect(missing.filter((endpoint) => !others.includes(endpoint))).toEqual([]);
});

/**
 * Requests whose work has a bound that is part of their price, although it is not charged by rows: what they grow with
 * is configured by the operator, or limited by the body, which is charged by bytes.
 */
const FIXED_PRICE = [
  'number of estimators',
  'number of price sources',
  'number of sources',
  'number of sources of holders',
  'number of sources of balances',
  'number of UIDs, at most 128',
  'gas of the hooks',
  'number of dead deliveries',
];

test.each(listCosts())('$endpoint is charged for what its work grows with', ({ growth, cost }) => {
  const isCharged = cost.kind === 'free' || cost.rowsPerToken !== undefined || cost.before !== undefined;
  const isFixed = growth === 'constant' || FIXED_PRICE.includes(growth);
  expect(isCharged || isFixed, growth).toBe(true);
});

test.each(listCosts().filter(({ isStream }) => isStream))('$endpoint has a price that is not fixed', ({ cost }) => {
  // Streams of quotes end with the race of their estimators, and resume nothing.
  expect(cost.growth === 'number of estimators' || cost.before !== undefined).toBe(true);
});

describe('rows and upstream calls of a read', () => {
  test.each(BOUNDED.map(([endpoint, path, sent]) => ({ endpoint, path, sent })))(
    '$endpoint does not grow with the book ($path)',
    async ({ path, sent }) => {
      const [few, many] = [await small.send(path(small), sent), await large.send(path(large), sent)];
      expect(many.status).toBe(few.status);
      expect(many.rows).toBeLessThanOrEqual(few.rows + 1); // one row more shows that there is a next page
      expect(many.upstream).toBe(few.upstream);
      expect(many.upstream).toBeLessThanOrEqual(2);
    },
  );

  test.each(GROWING.map(([endpoint, path, sent]) => ({ endpoint, path, sent })))(
    '$endpoint grows and is charged by rows',
    async ({ endpoint, path, sent }) => {
      const few = await small.send(path(small), sent);
      const many = await large.send(path(large), sent);
      expect([few.status, many.status]).toEqual([200, 200]);
      expect(many.rows).toBeGreaterThan(few.rows);
      // Rows of the auction are shared by all requests until the next change.
      const perToken = endpoint.endsWith('/auction') ? 3000 : READS_PER_ROW * ROWS_PER_TOKEN;
      expect(many.tokens).toBeGreaterThanOrEqual(Math.floor(many.rows / perToken));
      expect(many.tokens).toBeGreaterThan(endpoint.endsWith('/auction') ? 0 : few.tokens);
    },
  );

  test('repeated total surplus and auction read no rows again', async () => {
    for (const path of [`/api/v1/users/${ALICE}/total_surplus`, '/api/v1/auction', '/api/v1/auction/stream']) {
      await large.send(path);
      expect((await large.send(path)).rows).toBe(0);
    }
  });

  test.each(GROWING.slice(0, 2).map(([endpoint, path]) => ({ endpoint, path })))(
    '$endpoint reads no further page for a client that has left',
    async ({ path }) => {
      const fresh = await served(LARGE);
      const left = await fresh.send(path(fresh), { leaves: true });
      expect(left.rows).toBeGreaterThan(0);
      expect(left.rows).toBeLessThanOrEqual(2 * PAGE);
      const stayed = await fresh.send(path(fresh));
      expect(stayed.rows).toBeGreaterThan(4 * PAGE);
      await fresh.close();
    },
  );

  test('balances are charged by token addresses', async () => {
    const path = (count: number) => `/${SEPOLIA}/accounts/${BOB}/balances?tokens=${balances.slice(0, count).join(',')}`;
    const tokens = [];
    for (const count of [1, 10, 11, 40]) tokens.push((await small.send(path(count))).tokens);
    expect(tokens).toEqual([1, 1, 2, 4]);
  });
});

describe('price of a request', () => {
  const UIDS = '/api/v1/orders/by_uids';
  const ORDERS = '/api/v1/orders';
  const many = (element: string) => `[${`${element},`.repeat((1024 * 1024) / (element.length + 1) - 1)}${element}]`;

  test.each([
    ['POST', UIDS, many('{}'), 400],
    ['POST', UIDS, many('[[[[]]]]'), 400],
    ['DELETE', ORDERS, `{"orderUids":${many('{}').slice(40)}}`, 400],
    ['DELETE', ORDERS, `{${Array.from({ length: 60_000 }, (_, n) => `"k${n}":0`).join()}}`, 400],
    ['POST', UIDS, JSON.stringify(['x'.repeat(100_000)]), 413],
    ['POST', UIDS, '[]', 200],
    ['POST', ORDERS, JSON.stringify({ padding: 'x'.repeat(40_000) }), 422],
    ['POST', `/${SEPOLIA}/simulation/simulateBundle`, `[${'{},'.repeat(80_000)}{}]`, 400],
    ['POST', `/${SEPOLIA}/tokens/details`, `[${'"",'.repeat(10_000)}""]`, 400],
  ])(
    '%s %s grows with the bytes of the body, which is not parsed if it is too long',
    async (method, path, body, status) => {
      const parse = vi.spyOn(JSON, 'parse');
      const sent = await small.send(path, { method, text: body });
      const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
      parse.mockRestore();
      expect([sent.status, sent.tokens]).toEqual([status, 1 + Math.floor(body.length / (16 * 1024))]);
      expect(longest).toBeLessThanOrEqual(64 * 1024);
    },
  );

  test.each([
    ['POST', ORDERS, {}, 1],
    ['POST', ORDERS, { from: BOB }, 3],
    ['DELETE', `${ORDERS}/${word(1)}${BOB.slice(2)}ffffffff`, {}, 3],
    ['DELETE', ORDERS, { orderUids: [`${word(1)}${BOB.slice(2)}ffffffff`] }, 3],
  ])(
    '%s %s with %j pays for the search of the domain of a wrong signature: %i',
    async (method, path, change, tokens) => {
      const order = await signOrder(account(1), { validTo: NOW + 600 });
      const sent = await small.send(path, { method, body: { ...order, ...change } });
      expect(sent).toMatchObject({ before: 1, tokens });
    },
  );

  test.each([
    ['/api/v1/orders?limit=1000', 8],
    ['/api/v1/orders?limit=100', 1],
    ['/api/v1/orders?limit=0000001000', 8],
    [`/api/v1/orders?sellToken=${WETH}`, 4],
    [`/api/v1/account/${ALICE}/orders?limit=10&offset=2000`, 3],
    [`/api/v1/account/${ALICE}/orders?limit=1e9`, 1],
    [`/api/v2/trades?owner=${ALICE}&limit=1000&offset=2560`, 18],
    [`/api/v1/trades?owner=${ALICE}`, 4],
    [`/accounts/${ALICE}/orders?format=csv`, 4],
    [`/accounts/${ALICE}/notifications`, 4],
    ['/api/v1/orders/stream?lastEventId=1', 4],
    ['/api/v1/orders/stream', 1],
  ])('%s takes %i tokens before its work', async (path, tokens) => {
    expect((await small.send(path)).before).toBe(tokens);
  });

  test.each([
    [`/api/v2/trades?owner=${ALICE}`, 2],
    [`/api/v1/account/${ALICE}/orders?`, 8],
  ])('%s pays for skipped rows if the offset is after the last one', async (path, perRow) => {
    const { status, tokens } = await large.send(`${path}&offset=1000000`);
    expect(status).toBe(200);
    expect(tokens).toBeGreaterThanOrEqual(Math.floor(LARGE / 2 / perRow / 128));
  });

  test('probes are free', async () => {
    expect((await small.send('/ready')).tokens).toBe(0);
    expect((await small.send('/api/v1/ready')).tokens).toBe(1);
  });
});
