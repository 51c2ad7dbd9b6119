import type { OrderBook } from '../order-book.ts';
import { chainById, deployment, ENVIRONMENTS } from '../protocol/chains.ts';

/** A book with the name of its environment. */
export interface AccountBook {
  readonly book: OrderBook;
  /** What `metadata.env` says. Default: `production` or `staging` by the settlement contract, else `local`. */
  readonly env?: string;
}

/** A book as the account interface knows it. */
export interface KnownBook {
  readonly book: OrderBook;
  readonly env: string;
  /** Names its log among the feeds: the same for every process, and after a restart. */
  readonly feed: string;
}

/** @throws TypeError when something is no book, or two are of one domain. */
export function readBooks(books: readonly (OrderBook | AccountBook)[]): KnownBook[] {
  if (!Array.isArray(books)) throw new TypeError('createAccounts: books must be a list of books');
  const known = books.map((each: OrderBook | AccountBook): KnownBook => {
    const { book, env } = 'book' in each ? each : { book: each };
    if (typeof book?.start !== 'function') throw new TypeError('createAccounts: books must be a list of books');
    const feed = `log ${book.chainId} ${book.settlementContract}`;
    return { book, env: env ?? environmentOf(book), feed };
  });
  const twice = known.find(({ feed }, i) => known.findIndex((other) => other.feed === feed) !== i);
  if (twice === undefined) return known;
  const { chainId, settlementContract } = twice.book;
  throw new TypeError(`createAccounts: two books are of chain ${chainId}, settlement contract ${settlementContract}`);
}

/** The book that speaks for its chain where several do (decision 5.9): the production one, else the first. */
export function productionBook(books: readonly KnownBook[], chainId: number): OrderBook | undefined {
  const candidates = books.filter(({ book }) => book.chainId === chainId);
  return (candidates.find(({ env }) => env === 'production') ?? candidates[0])?.book;
}

function environmentOf({ chainId, settlementContract }: OrderBook): string {
  const chain = chainById(chainId);
  return ENVIRONMENTS.find((each) => deployment(each, chain).settlement === settlementContract) ?? 'local';
}
