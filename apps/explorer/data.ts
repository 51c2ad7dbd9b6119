import { type Api, type ApiResponse, type Order, type OrderBook, OrderBookError, type OrderTrade } from 'intentbook';
import type { Endpoint, Environment, Match } from '#internal';
import {
  allowHeader,
  chainById,
  decodeParam,
  deployment,
  failureResponse,
  jsonResponse,
  parseHex,
  rejectionResponse,
  serveRoutes,
  VERSION,
} from '#internal';
import { collectAffiliate } from './affiliate.ts';
import type { ExplorerBook, ExplorerOptions } from './index.ts';
import { BLOCK_EXPLORERS } from './known-tokens.ts';
import { readBalances, readHolders, readPools } from './market.ts';
import { type CompetitionReads, createOverview, recentCompetitions } from './overview.ts';
import { search } from './search.ts';
import { createTokenReader, type TokenReader } from './tokens.ts';

/** Maximum number of addresses in a request. */
const MAX_ADDRESSES = 100;

/** Fills of an order whose solver is shown. */
const MAX_SOLVERS = 20;

/** Trades of an order and orders of a settlement that are shown. */
const MAX_TRADES = 100;

/** Newest trades of an order among which those of a transaction are searched. */
const MAX_SEARCHED_TRADES = 10_000;
const MAX_ORDERS = 100;

/** Filled orders of a pair, in each direction, whose prices are shown. */
const MAX_FILLED_ORDERS = 10;

const MAX_COMPETITIONS = 50;

/** Dollar prices that are read concurrently. */
const PRICES_AT_ONCE = 10;

/** A book with its readers. */
export interface ShownBook {
  readonly book: OrderBook;
  /** Path without a trailing slash; empty at the root. */
  readonly path: string;
  readonly tokens: TokenReader;
  /** How competitions are read. */
  readonly reads: CompetitionReads;
}

interface DataCall {
  readonly shown: ShownBook;
  readonly query: URLSearchParams;
  param(name: string): string;
}

interface DataRoute extends Endpoint {
  /** Returns the JSON of the response. */
  read(call: DataCall): Promise<unknown>;
}

/**
 * Creates the data interface of the page, below `/explorer/data`. Unlike the interface of a book, it responds with
 * `null` to a missing entry, since browsers report each 404 as an error.
 */
export function createDataApi(options: ExplorerOptions): Api {
  const { books, accounts } = options;
  const shown = books.map((entry): ShownBook => {
    const { book, tokens, logos, hideCompetitions: published = false } = entry;
    return {
      book,
      path: getBookPath(entry),
      tokens: createTokenReader(book, tokens, toLowerCaseKeys(logos)),
      reads: { published },
    };
  });
  const overviews = shown.map(({ book, reads }) => createOverview(book, reads));

  const routes: readonly DataRoute[] = [
    route('/site', async () => describeSite(options)),
    route('/search', ({ query }) => search(shown, query.get('q') ?? '')),
    route('/affiliates/:address', ({ param }) => collectAffiliate(accounts, param('address'))),
    route('/:book/overview', async ({ shown: book }) => overviews[shown.indexOf(book)]?.()),
    route('/:book/tokens', ({ shown: { tokens }, query }) => tokens.read(addressesIn(query))),
    route('/:book/prices', ({ shown: { book }, query }) => readPrices(accounts, book.chainId, addressesIn(query))),
    route('/:book/orders/:uid', ({ shown: each, param }) => readOrder(each, param('uid'))),
    route('/:book/settlements/:hash', ({ shown: each, param }) => readSettlement(each, param('hash'))),
    route(
      '/:book/fills/:base/:quote',
      ({ shown: { book }, param }) => readFills(book, param('base'), param('quote')),
      2 * MAX_FILLED_ORDERS,
    ),
    route('/:book/slippage/:base/:quote', async ({ shown: { book }, param }) =>
      accounts?.slippage.get(book.chainId, param('base'), param('quote')),
    ),
    route('/:book/holders/:token', ({ shown: { book }, param }) => readHolders(accounts, book.chainId, param('token'))),
    route('/:book/balances/:account', ({ shown: { book }, param }) => readBalances(accounts, book, param('account'))),
    route('/:book/pools', ({ shown: { book } }) => readPools(accounts, book.chainId)),
    route('/:book/competitions', ({ shown: each }) => listCompetitions(each)),
    route('/:book/competitions/:id', ({ shown: each, param }) => readCompetition(each, param('id'))),
  ];

  return serveRoutes<DataRoute>({
    routes,
    rateLimit: options,
    async call({ route: { read }, param }: Match<DataRoute>, request): Promise<ApiResponse> {
      const decoded = (name: string) => decodeParam(name, param(name));
      const index = hasParam(request.path) ? decoded('book') : '0';
      const book = /^\d{1,9}$/.test(index) ? shown[Number(index)] : undefined;
      if (book === undefined) throw new OrderBookError('NotFound', 'the explorer has no such book');
      const query = new URLSearchParams(request.query);
      return jsonResponse(200, (await read({ shown: book, query, param: decoded })) ?? null);
    },
    reject: (error) => (error instanceof OrderBookError ? rejectionResponse(error, allowHeader(error)) : undefined),
    fail: failureResponse,
    report: (failure) => shown[0]?.book.reportError(failure),
  });
}

/** Tokens of the rate limit for a request that reads many rows. */
const COST = 5;

function route(path: string, read: DataRoute['read'], cost = COST): DataRoute {
  return { method: 'GET', path: `/explorer/data${path}`, cost: { kind: 'read', before: () => cost }, read };
}

const hasParam = (path: string) => !/^\/explorer\/data\/(?:site|search|affiliates\/[^/]*)\/?$/.test(path);

export const getBookPath = ({ path = '/' }: ExplorerBook) => path.replace(/\/+$/, '');

/** Describes the books, with paths relative to the mount. */
function describeSite({ books, accounts, docs = false, webPush }: ExplorerOptions) {
  return {
    version: VERSION,
    docs,
    accounts: accounts !== undefined,
    ...(webPush === undefined ? {} : { webPush }),
    books: books.map((entry) => {
      const { book, chain, environment = 'production', blockExplorer: explorer } = entry;
      const { chainId, settlementContract } = book;
      const link = explorer === false ? undefined : (explorer ?? BLOCK_EXPLORERS[chainId]);
      return {
        path: getBookPath(entry),
        chain: chain ?? chainById(chainId)?.segment ?? String(chainId),
        environment,
        chainId,
        settlementContract,
        names: { ...nameContracts(book, environment), ...toLowerCaseKeys(entry.names) },
        ...(link === undefined ? {} : { blockExplorer: link.replace(/\/+$/, '') }),
      };
    }),
  };
}

/** Names the contracts of a book that are known. */
function nameContracts({ chainId, settlementContract }: OrderBook, environment: Environment): Record<string, string> {
  const { settlement, vaultRelayer, ethFlow } = deployment(environment, chainById(chainId));
  const own = { [settlementContract]: 'Settlement contract' };
  if (settlement !== settlementContract) return own;
  return { ...own, [vaultRelayer]: 'Vault relayer', [ethFlow]: 'Native currency orders' };
}

function toLowerCaseKeys(names: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([address, name]) => [address.toLowerCase(), name]));
}

function addressesIn(query: URLSearchParams): string[] {
  const addresses = (query.get('addresses') ?? '').split(',').map((text) => parseHex(text, 20));
  const valid = addresses.filter((address) => address !== undefined);
  if (valid.length === addresses.length && valid.length <= MAX_ADDRESSES) return valid;
  const reason = `must be 1 to ${MAX_ADDRESSES} addresses separated by commas`;
  throw new OrderBookError('InvalidParameter', `addresses: ${reason}`, { parameter: 'addresses' });
}

/** Returns US dollars for one whole token, by address. Tokens without a price are left out. */
async function readPrices(accounts: ExplorerOptions['accounts'], chainId: number, addresses: readonly string[]) {
  const found: Record<string, number> = {};
  if (accounts === undefined) return found;
  for (let i = 0; i < addresses.length; i += PRICES_AT_ONCE) {
    const batch = addresses.slice(i, i + PRICES_AT_ONCE);
    const prices = await Promise.all(batch.map((token) => accounts.usdPrices.get(chainId, token)));
    for (const [n, price] of prices.entries()) if (price !== undefined) found[batch[n] ?? ''] = price.price;
  }
  return found;
}

async function readOrder({ book, reads }: ShownBook, uid: string) {
  const order = await book.orders.get(uid);
  if (order === undefined) return null;
  const [trades, competition, selection] = await Promise.all([
    readTrades(book, uid),
    book.orders.competitionStatus(uid),
    order.status === 'open' ? book.auctions.selection() : undefined,
  ]);
  const solvers: Record<string, string> = {};
  for (const hash of new Set(trades.slice(0, MAX_SOLVERS).map(({ txHash }) => txHash))) {
    const found = await book.auctions.competitionOfTransaction(hash, reads);
    const solver = found?.solutions.find(({ isWinner, orders }) => isWinner && orders.some(({ id }) => id === uid));
    if (solver !== undefined) solvers[hash] = solver.solverAddress;
  }
  const filtered = selection?.filtered.get(order.uid);
  // A list of denied tokens or accounts is not public.
  const reason = filtered === 'deniedToken' || filtered === 'deniedAddress' ? 'excluded' : filtered;
  const auction = selection && { id: selection.id, listed: selection.listed.has(order.uid), reason };
  return { order, trades, competition, solvers, auction };
}

/** Returns the trades of an order, newest first, with their times in seconds since 1970. */
async function readTrades(book: OrderBook, uid: string) {
  const trades: (OrderTrade & { readonly timestamp: number | null })[] = [];
  for await (const page of book.trades.history({ orderUid: uid, limit: MAX_TRADES })) {
    trades.push(...page.map(({ trade, timestamp }) => ({ ...trade, timestamp })));
  }
  return trades;
}

/** Returns the fills of the newest orders of a pair in both directions, oldest first, in seconds since 1970. */
async function readFills(book: OrderBook, base: string, quote: string) {
  const directions = [
    { sellToken: base, buyToken: quote },
    { sellToken: quote, buyToken: base },
  ];
  const pages = await Promise.all(
    directions.map((pair) => book.orders.list({ ...pair, status: 'fulfilled', limit: MAX_FILLED_ORDERS })),
  );
  const fills: (Pick<OrderTrade, 'sellToken' | 'sellAmount' | 'buyAmount'> & { readonly timestamp: number })[] = [];
  for (const { uid } of pages.flatMap(({ orders }) => orders)) {
    for (const { sellToken, sellAmount, buyAmount, timestamp } of await readTrades(book, uid)) {
      if (timestamp !== null) fills.push({ sellToken, sellAmount, buyAmount, timestamp });
    }
  }
  return fills.sort((a, b) => a.timestamp - b.timestamp);
}

async function readSettlement({ book, reads }: ShownBook, hash: string) {
  const orders: readonly Order[] = (await book.orders.listByTransaction(hash)).slice(0, MAX_ORDERS);
  const competition = await book.auctions.competitionOfTransaction(hash, reads);
  if (orders.length === 0 && competition === undefined) return null;
  const trades: OrderTrade[] = [];
  for (const { uid } of orders) trades.push(...(await findTrades(book, uid, hash.toLowerCase())));
  trades.sort((a, b) => a.logIndex - b.logIndex);
  return { orders, trades, competition: competition ?? null };
}

/** Finds the trades of an order in a transaction, among its newest ones. */
async function findTrades(book: OrderBook, orderUid: Order['uid'], hash: string): Promise<readonly OrderTrade[]> {
  for (let offset = 0; offset < MAX_SEARCHED_TRADES; offset += MAX_TRADES) {
    const page = await book.trades.list({ orderUid, offset, limit: MAX_TRADES });
    const found = page.filter(({ txHash }) => txHash === hash);
    if (found.length > 0 || page.length < MAX_TRADES) return found;
  }
  return [];
}

async function listCompetitions({ book, reads }: ShownBook) {
  const { id, block, orders } = await book.auctions.current();
  const competitions = await recentCompetitions(book, MAX_COMPETITIONS, reads);
  return {
    current: { id, block, orders: orders.length },
    competitions: competitions.map(({ auctionId, auctionStartBlock, auction, solutions, transactionHashes }) => ({
      auctionId,
      auctionStartBlock,
      orders: auction.orders.length,
      solutions: solutions.length,
      winners: [...new Set(solutions.filter(({ isWinner }) => isWinner).map(({ solverAddress }) => solverAddress))],
      transactionHashes,
    })),
  };
}

async function readCompetition({ book, reads }: ShownBook, id: string) {
  if (id !== 'latest' && !/^\d{1,15}$/.test(id)) return null;
  const found =
    id === 'latest' ? await book.auctions.latestCompetition(reads) : await book.auctions.competition(Number(id), reads);
  if (found === undefined) return null;
  const [previous, next] = await Promise.all(
    [-1, 1].map((step) => findCompetition(book, reads, found.auctionId, step)),
  );
  return { ...found, previous, next };
}

/** Auctions without a competition between two that have one, at most. */
const MAX_GAP = 8;

/** Returns the id of the next auction, or of the one before with the step -1, that has a competition. */
async function findCompetition(book: OrderBook, reads: CompetitionReads, auctionId: number, step: number) {
  for (let id = auctionId + step; id > 0 && Math.abs(id - auctionId) <= MAX_GAP; id += step) {
    if ((await book.auctions.competition(id, reads)) !== undefined) return id;
  }
  return undefined;
}
