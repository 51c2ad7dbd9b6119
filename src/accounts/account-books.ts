import type { OrderBook } from '../order-book.ts';
import { chainById, deployment, ENVIRONMENTS } from '../protocol/chains.ts';

/** A book with the name of its environment. */
export interface AccountBook {
  readonly book: OrderBook;
  /** The value of `metadata.env`. Default: `production` or `staging` by the settlement contract, otherwise `local`. */
  readonly env?: string;
}

/** A book of the account interface. */
export interface KnownBook {
  readonly book: OrderBook;
  readonly env: string;
  /** Name of its log as a feed: the same for every process and after a restart. */
  readonly feed: string;
}

/** Parses the list of books. @throws TypeError if an element is not a book, or if two books have the same domain. */
export function parseBooks(books: readonly (OrderBook | AccountBook)[]): KnownBook[] {
  if (!Array.isArray(books)) throw new TypeError('createAccounts: books must be a list of books');
  const known = books.map((each: OrderBook | AccountBook): KnownBook => {
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
export function getProductionBook(books: readonly KnownBook[], chainId: number): OrderBook | undefined {
  const candidates = books.filter(({ book }) => book.chainId === chainId);
  return (candidates.find(({ env }) => env === 'production') ?? candidates[0])?.book;
}

function getEnvironment({ chainId, settlementContract }: OrderBook): string {
  const chain = chainById(chainId);
  return ENVIRONMENTS.find((each) => deployment(each, chain).settlement === settlementContract) ?? 'local';
}
