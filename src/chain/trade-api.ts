import { assertNotAborted, countRows, type ReadOptions } from '../concurrency/abort.ts';
import type { Lazy } from '../concurrency/lifecycle.ts';
import { nextStep } from '../concurrency/steps.ts';
import type { TradeChainEvent, TradeCursor, TradeQuery } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { OrderTrade, TimedTrade, TradeHistoryQuery, TradeListQuery, TradePage } from '../records/results.ts';
import { assertOptionsObject } from '../validation/options.ts';
import { requireAccount, requireToken } from '../validation/parameters.ts';
import type { SurplusReader } from './surplus.ts';
import {
  formatTradeCursor,
  parseTradeHistoryQuery,
  parseTradePagesQuery,
  parseTradeQuery,
  toOrderTrade,
} from './trades.ts';

/** Trades that are read in one step. */
const PAGE = 100;

/** Trades that are skipped in one step. */
const SKIPPED_PAGE = 400;

/** Skipped trades that cost as much as one that is read. */
const SKIPPED_PER_ROW = 2;

export function createTradeApi({ chain }: Pick<Store, 'chain'>, surplus: Lazy<SurplusReader>): TradeApi {
  /** Reads trades page by page, newest first, with a tick of the event loop after each page. */
  async function* readPages(
    { filter, limit, after: start, offset = 0 }: TradeQuery,
    options: ReadOptions,
  ): AsyncGenerator<readonly TradeChainEvent[]> {
    let after: TradeCursor | undefined = start;
    const read = (query: Pick<TradeQuery, 'offset' | 'limit'>) =>
      chain.trades(after === undefined ? { filter, ...query } : { filter, after, ...query });
    // The first step waits too, so that many reads that arrive at once are spread over ticks.
    await nextStep(options);
    let skip = offset;
    for (; skip > SKIPPED_PAGE; skip -= SKIPPED_PAGE) {
      [after] = await read({ offset: SKIPPED_PAGE - 1, limit: 1 });
      countRows(options, SKIPPED_PAGE / SKIPPED_PER_ROW);
      if (after === undefined) return;
      await nextStep(options);
      assertNotAborted(options.signal);
    }
    countRows(options, Math.ceil(skip / SKIPPED_PER_ROW));
    for (let left = limit; left > 0; skip = 0) {
      const wanted = Math.min(PAGE, left);
      const page = await read({ offset: skip, limit: wanted });
      countRows(options, page.length);
      if (page.length > 0) yield page;
      left -= page.length;
      after = page.at(-1);
      if (page.length < wanted || left === 0) return;
      await nextStep(options);
      assertNotAborted(options.signal);
    }
  }

  async function readAll(query: TradeQuery, options: ReadOptions): Promise<TradeChainEvent[]> {
    const trades: TradeChainEvent[] = [];
    for await (const page of readPages(query, options)) trades.push(...page);
    return trades;
  }

  return {
    async list(query = {}, options = {}) {
      return (await readAll(parseTradeQuery(query), options)).map(toOrderTrade);
    },
    async page(query = {}, options = {}) {
      const parsed = parseTradeQuery(query);
      // One extra trade shows whether there is another page.
      const found = await readAll({ ...parsed, limit: parsed.limit + 1 }, options);
      const trades = found.slice(0, parsed.limit);
      const last = found.length > trades.length ? trades.at(-1) : undefined;
      const page = { trades: trades.map(toOrderTrade) };
      return last === undefined ? page : { ...page, next: formatTradeCursor(last) };
    },
    pages(query = {}, options = {}) {
      return renderPages(readPages(parseTradePagesQuery(query), options));
    },
    async *history(query, options = {}) {
      for await (const page of readPages(parseTradeHistoryQuery(query), options)) {
        yield page.map((trade) => ({ trade: toOrderTrade(trade), timestamp: trade.timestamp }));
      }
    },
    async totalSurplus(account, options = {}) {
      assertOptionsObject('trades.totalSurplus', options);
      const owner = requireAccount(account, 'user');
      return surplus.use((reader) => reader.total(owner, options));
    },
    async firstTradeBlock(token) {
      return chain.firstTrade(requireToken(token));
    },
  };
}

async function* renderPages(pages: AsyncIterable<readonly TradeChainEvent[]>) {
  for await (const page of pages) yield page.map(toOrderTrade);
}

/** Trade methods. Trades are fills on chain, also of orders that this book does not have. */
export interface TradeApi {
  /**
   * Lists the trades of an order or an account, newest first.
   *
   * @throws OrderBookError `InvalidTradeFilter` unless exactly one of `owner` and `orderUid` is given, `InvalidLimit`
   * for an invalid limit, `InvalidParameter` for another malformed member.
   */
  list(query: TradeListQuery, options?: ReadOptions): Promise<OrderTrade[]>;
  /**
   * Lists trades like `list`, with the `cursor` of the next page. The duration of a page by cursor does not depend on
   * its depth.
   */
  page(query: TradeListQuery, options?: ReadOptions): Promise<TradePage>;
  /**
   * Iterates over the trades of an order or an account in pages of at most 100, newest first, up to `limit` trades in
   * total. Default: all. Throws like `list`.
   */
  pages(query: Omit<TradeListQuery, 'offset' | 'cursor'>, options?: ReadOptions): AsyncIterable<readonly OrderTrade[]>;
  /**
   * Iterates over the trades of an account or an order with their times, newest first, in pages of at most 100 from a
   * position on.
   * Throws like `list`.
   */
  history(query: TradeHistoryQuery, options?: ReadOptions): AsyncIterable<readonly TimedTrade[]>;
  /**
   * Returns the total surplus of an account's trades, in wei. The sum is cached until the account's trades change.
   * Throws `InvalidParameter` if `account` is not an address.
   */
  totalSurplus(account: string, options?: ReadOptions): Promise<bigint>;
  /**
   * Returns the block of a token's first trade; `undefined` if there is none. Throws `InvalidParameter` for a bad
   * address.
   */
  firstTradeBlock(token: string): Promise<number | undefined>;
}
