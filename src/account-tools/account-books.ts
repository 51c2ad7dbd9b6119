import type { ReadOptions } from '../concurrency/abort.ts';
import type { Readiness } from '../concurrency/lifecycle.ts';
import { chainById, deployment, ENVIRONMENTS } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import type { BalanceApi } from '../records/balance-api.ts';
import type { EventLog } from '../records/event-log.ts';
import type {
  ListQuery,
  OrderPage,
  OrderResult,
  RenderedPage,
  TimedTrade,
  TradeHistoryQuery,
} from '../records/results.ts';

/** The parts of a book that the account interface reads. An `OrderBook` has them. */
export interface SourceBook {
  readonly chainId: number;
  readonly settlementContract: Address;
  readonly log: EventLog;
  readonly orders: {
    getMany(uids: readonly string[]): Promise<OrderResult[]>;
    list(query?: ListQuery): Promise<OrderPage>;
    readonly rendered: { list(query?: ListQuery, options?: ReadOptions): Promise<RenderedPage> };
  };
  readonly trades: {
    history(query: TradeHistoryQuery, options?: ReadOptions): AsyncIterable<readonly TimedTrade[]>;
  };
  readonly balances: BalanceApi;
  start(): Promise<void>;
  ready(): Promise<Readiness>;
}

/** A book with the name of its environment. */
export interface AccountBook {
  readonly book: SourceBook;
  /** The value of `metadata.env`. Default: `production` or `staging` by the settlement contract, otherwise `local`. */
  readonly env?: string;
}

/** A book of the account interface. */
export interface KnownBook {
  readonly book: SourceBook;
  readonly env: string;
  /** Name of its log as a feed: the same for every process and after a restart. */
  readonly feed: string;
}

/** Parses the list of books. @throws TypeError if an element is not a book, or if two books have the same domain. */
export function parseBooks(books: readonly (SourceBook | AccountBook)[]): KnownBook[] {
  if (!Array.isArray(books)) throw new TypeError('createAccounts: books must be a list of books');
  const known = books.map((each: SourceBook | AccountBook): KnownBook => {
    const { book, env } = typeof each === 'object' && each !== null && 'book' in each ? each : { book: each };
    if (typeof book?.start !== 'function') throw new TypeError('createAccounts: books must be a list of books');
    const feed = `log ${book.chainId} ${book.settlementContract}`;
    return { book, env: env ?? getEnvironment(book), feed };
  });
  const duplicate = known.find(({ feed }, i) => known.findIndex((other) => other.feed === feed) !== i);
  if (duplicate === undefined) return known;
  const { chainId, settlementContract } = duplicate.book;
  throw new TypeError(
    `createAccounts: books must have different domains, got two of chain ${chainId}, ` +
      `settlement contract ${settlementContract}`,
  );
}

/** Returns the book of a chain: the production one, otherwise the first. See docs/internals/decisions.md#d5-9. */
export function getProductionBook(books: readonly KnownBook[], chainId: number): SourceBook | undefined {
  const candidates = books.filter(({ book }) => book.chainId === chainId);
  return (candidates.find(({ env }) => env === 'production') ?? candidates[0])?.book;
}

function getEnvironment({ chainId, settlementContract }: SourceBook): string {
  const chain = chainById(chainId);
  return ENVIRONMENTS.find((each) => deployment(each, chain).settlement === settlementContract) ?? 'local';
}
