import type { KnownBook } from '../../account-tools/account-books.ts';
import type { AccountTools } from '../../account-tools/account-tools.ts';
import { assertNotAborted, type ReadOptions } from '../../concurrency/abort.ts';
import { nextStep } from '../../concurrency/steps.ts';
import { OrderBookError } from '../../errors.ts';
import type { TradeCursor } from '../../ports/chain-store.ts';
import type { Address } from '../../protocol/hex.ts';
import { formatIsoDate, type RenderedOrder } from '../../records/order-json.ts';
import { formatCursor, type TimedTrade } from '../../records/results.ts';
import type { Order } from '../../records/wire-order.ts';
import { assertKnownFilters, assertOptionsObject, getFilterNames } from '../../validation/options.ts';
import { requireAccount } from '../../validation/parameters.ts';
import {
  type AccountOrder,
  type AccountTrade,
  HISTORY_FILTERS,
  type HistoryApi,
  type HistoryQuery,
} from './history-api.ts';
import { createMerge, type Merge, type MergeSource } from './merge.ts';

/** Rows that are read in one step. */
const STEP = 100;

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

interface OrderRow {
  readonly book: KnownBook;
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  readonly order: Order;
}

interface TradeRow extends TimedTrade {
  readonly book: KnownBook;
  /** The time by which trades of several books are merged: that of the trade, or of the newer one in its book. */
  readonly sortedBy: number;
}

export function createHistory({ books, assertStarted }: Pick<AccountTools, 'books' | 'assertStarted'>): HistoryApi {
  function mergeOrders(account: Address, cursor: string | undefined, step: number, work: ReadOptions) {
    const toSource = (book: KnownBook): MergeSource<OrderRow> => {
      return { key: getKey(book), pages: readOrders(book, account, cursor, step, work) };
    };
    return createMerge(books.map(toSource), isNewerOrder);
  }

  function mergeTrades(account: Address, cursor: string | undefined, step: number, work: ReadOptions) {
    const positions = cursor === undefined ? undefined : parseHistoryCursor(cursor);
    const sources = books.flatMap((book): MergeSource<TradeRow>[] => {
      const key = getKey(book);
      const after = positions?.get(key);
      // A book without a position had no more trades when the first page was read.
      if (positions !== undefined && after === undefined) return [];
      return [{ key, pages: readTrades(book, account, after, step, work) }];
    });
    return createMerge(sources, ({ sortedBy: a }, { sortedBy: b }) => a > b);
  }

  return {
    async orders(account, query = {}, work = {}) {
      assertOptionsObject('history.orders', work);
      const [owner, limit] = [requireAccount(account), requireLimit(query)];
      assertStarted();
      const merge = mergeOrders(owner, query.cursor, Math.min(STEP, limit), work);
      try {
        const rows = await merge.take(limit);
        const last = rows.at(-1);
        const hasMore = last !== undefined && (await merge.positions()).length > 0;
        const orders = rows.map(toAccountOrder);
        return hasMore ? { orders, next: formatOrderCursor(last) } : { orders };
      } finally {
        await merge.close();
      }
    },
    async trades(account, query = {}, work = {}) {
      assertOptionsObject('history.trades', work);
      const [owner, limit] = [requireAccount(account), requireLimit(query)];
      assertStarted();
      const merge = mergeTrades(owner, query.cursor, Math.min(STEP, limit), work);
      try {
        const trades = (await merge.take(limit)).map(toAccountTrade);
        const next = formatHistoryCursor(await readTradePositions(merge));
        return next === '' ? { trades } : { trades, next };
      } finally {
        await merge.close();
      }
    },
    async *allOrders(account, work = {}) {
      assertOptionsObject('history.allOrders', work);
      const owner = requireAccount(account);
      assertStarted();
      yield* takeAll(mergeOrders(owner, undefined, STEP, work), toAccountOrder);
    },
    async *allTrades(account, work = {}) {
      assertOptionsObject('history.allTrades', work);
      const owner = requireAccount(account);
      assertStarted();
      yield* takeAll(mergeTrades(owner, undefined, STEP, work), toAccountTrade);
    },
  };
}

/** Identifies a book in a cursor. */
const getKey = ({ book: { chainId, settlementContract } }: KnownBook) => `${chainId}-${settlementContract}`;

/** Two books cannot have the same UID, because it contains the hash of the domain. */
const isNewerOrder = (a: OrderRow, b: OrderRow) =>
  a.creationDate > b.creationDate || (a.creationDate === b.creationDate && a.uid > b.uid);

async function* readOrders(
  book: KnownBook,
  owner: Address,
  start: string | undefined,
  limit: number,
  work: ReadOptions,
): AsyncGenerator<readonly OrderRow[]> {
  for (let cursor = start; ; ) {
    assertNotAborted(work.signal);
    const query = cursor === undefined ? { owner, limit } : { owner, limit, cursor };
    const { orders, next } = await book.book.orders.rendered.list(query, work);
    await nextStep(work);
    yield orders.map((order) => toOrderRow(book, order));
    if (next === undefined) return;
    cursor = formatCursor(next);
  }
}

function toOrderRow(book: KnownBook, { uid, json }: RenderedOrder): OrderRow {
  const order = JSON.parse(json) as Order; // JSON of an order
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, does not read the clock
  return { book, uid, creationDate: Date.parse(order.creationDate), order };
}

async function* readTrades(
  book: KnownBook,
  owner: Address,
  start: TradeCursor | undefined,
  step: number,
  work: ReadOptions,
): AsyncGenerator<readonly TradeRow[]> {
  let sortedBy = Number.POSITIVE_INFINITY;
  for (let after = start; ; ) {
    assertNotAborted(work.signal);
    let read = 0;
    const query = after === undefined ? { owner, limit: step } : { owner, limit: step, after };
    for await (const page of book.book.trades.history(query, work)) {
      yield page.map(({ trade, timestamp }) => {
        sortedBy = timestamp ?? sortedBy;
        return { book, trade, timestamp, sortedBy };
      });
      read += page.length;
      after = page.at(-1)?.trade ?? after;
    }
    if (read < step) return;
  }
}

/** Returns the position of each book that has more trades. Trades that are newer than the first page are not listed. */
async function readTradePositions(merge: Merge<TradeRow>): Promise<Map<string, TradeCursor>> {
  const positions = await merge.positions();
  return new Map(
    positions.map(({ key, last, next: { trade } }) => {
      return [key, last?.trade ?? { blockNumber: trade.blockNumber, logIndex: trade.logIndex + 1 }];
    }),
  );
}

async function* takeAll<T, R>(merge: Merge<T>, convert: (row: T) => R): AsyncGenerator<readonly R[]> {
  try {
    for (;;) {
      const rows = await merge.take(STEP);
      if (rows.length === 0) return;
      yield rows.map(convert);
    }
  } finally {
    await merge.close();
  }
}

const formatOrderCursor = ({ creationDate, order: { uid } }: OrderRow) => formatCursor({ creationDate, uid });

const toAccountOrder = ({ book, order }: OrderRow): AccountOrder => ({
  chainId: book.book.chainId,
  env: book.env,
  order,
});

const toAccountTrade = ({ book, trade, timestamp }: TradeRow): AccountTrade => ({
  chainId: book.book.chainId,
  env: book.env,
  timestamp: timestamp === null ? null : formatIsoDate(timestamp * 1000),
  trade,
});

function requireLimit(query: HistoryQuery): number {
  assertKnownFilters(getFilterNames(query), HISTORY_FILTERS);
  const { limit = DEFAULT_LIMIT } = query;
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new OrderBookError('InvalidParameter', `limit: must be an integer from 1 to ${MAX_LIMIT}`, {
    parameter: 'limit',
  });
}

/** Maximum length of a cursor: positions in more than a hundred books. */
const MAX_LENGTH = 10_000;

/**
 * Formats the position in the trades of each book, for clients opaque: `<feed>~<block>-<log index>`, joined by `.`. A
 * book without a position has no more trades.
 */
export function formatHistoryCursor(positions: ReadonlyMap<string, TradeCursor>): string {
  return [...positions].map(([key, { blockNumber, logIndex }]) => `${key}~${blockNumber}-${logIndex}`).join('.');
}

/** Parses a cursor. @throws OrderBookError `InvalidParameter`. */
export function parseHistoryCursor(text: string): Map<string, TradeCursor> {
  if (text.length > MAX_LENGTH) throw createCursorError();
  return new Map(text.split('.').map(parsePosition));
}

function parsePosition(text: string): [string, TradeCursor] {
  const [, key, block, log] = /^(\d{1,15}-0x[0-9a-f]{40})~(\d{1,15})-(\d{1,9})$/.exec(text) ?? [];
  if (key === undefined) throw createCursorError();
  return [key, { blockNumber: Number(block), logIndex: Number(log) }];
}

function createCursorError(): OrderBookError {
  const parameter = 'cursor';
  return new OrderBookError('InvalidParameter', 'cursor: must be the `next` value of a page', { parameter });
}
