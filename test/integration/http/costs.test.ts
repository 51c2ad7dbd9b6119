import type { ApiRequest, ApiResponse, ChainClient, Limiter, Store } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROWS_PER_TOKEN } from '../../../src/http/cost.ts';
import { apply, at, trade } from '../../conformance/chain.ts';
import { ALICE, BOB, DAI, NOW, PLACED_AT, place, range, USDC, WETH, word } from '../../conformance/orders.ts';
import { listCosts } from '../../package/cost-table.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { SEPOLIA } from '../../support/orders.ts';

/** What one request takes from store, node and rate limit. */
interface Usage {
  rows: number;
  upstream: number;
  tokens: number;
}

const METHODS = ['get', 'list', 'scan', 'after', 'trades', 'settlements', 'settlementsOfAuction', 'competitions'];

/** Wraps the parts of a store and counts the rows that they return. */
function countRows(store: Store, usage: Usage): Store {
  const parts = Object.entries(store).map(([name, part]) => {
    if (typeof part !== 'object' || name === 'traits') return [name, part];
    const methods = Object.entries(part).map(([method, run]) => {
      if (!METHODS.includes(method)) return [method, run];
      const counted = async (...args: unknown[]) => {
        const result = await (run as (...each: unknown[]) => Promise<unknown>)(...args);
        const found = method === 'scan' ? (result as { orders: unknown[] }).orders : result;
        usage.rows += Array.isArray(found) ? found.length : 1;
        return result;
      };
      return [method, counted];
    });
    return [name, Object.fromEntries(methods)];
  });
  return Object.fromEntries(parts);
}

/** Serves a book with `size` open orders of Alice, of which the first `size / 2` were traded once. */
async function served(size: number) {
  const usage: Usage = { rows: 0, upstream: 0, tokens: 0 };
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
      return { status: 'admitted' };
    },
    charge(_client, _kind, tokens) {
      usage.tokens += tokens;
    },
    open: () => ({ status: 'admitted', release() {} }),
  };
  const clock = manualClock(NOW * 1000);
  const store = countRows(memoryStore(), usage);
  const options = { chainId: SEPOLIA, clock, chain, cacheBytes: 0, expiryInterval: 'off' } as const;
  const book = createOrderBook({ ...options, store });
  await book.start();
  const orders = range(size).map((n) => completeOrder(n, { creationDate: PLACED_AT + n }));
  for (let i = 0; i < size; i += 100) await place(store, ...orders.slice(i, i + 100));
  const sold = orders.slice(0, size / 2);
  const events = sold.map((order, i) => trade(order, 10 + i, { ...at(10 + i), sellAmount: '1', buyAmount: '1' }));
  await apply(store, 10 + sold.length, ...events);
  const accounts = createAccounts({ books: [book], store: memoryAccountStore(), clock });
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
    { method = 'GET', headers = {}, body, leaves = false }: Sent = {},
  ): Promise<Usage & { status: number }> {
    Object.assign(usage, { rows: 0, upstream: 0, tokens: 0 });
    const [pathname = '', query = ''] = path.split('?');
    const all: Record<string, string> = { 'content-type': 'application/json', ...headers };
    const request: ApiRequest = {
      method,
      path: pathname,
      query,
      header: (name) => all[name],
      body: body === undefined ? { type: 'none' } : { type: 'parsed', value: body },
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
  Object.assign(usage, { rows: 0, upstream: 0, tokens: 0 });

  const close = async () => {
    await accounts.close();
    await book.close();
  };
  return { send, close, sold: sold.at(-1)?.uid ?? '', open: orders.at(-1)?.uid ?? '' };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
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
  expect(missing.filter((endpoint) => !pages.includes(endpoint))).toEqual([]);
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
