import { parseHex } from '#internal';
import type { ShownBook } from './data.ts';

export interface SearchResult {
  readonly type: 'order' | 'settlement' | 'account' | 'token' | 'auction';
  /** Path of the book; empty at the root. */
  readonly path: string;
  /** UID, hash, address or auction id. */
  readonly id: string;
  /** Symbol of a token. */
  readonly label?: string;
}

/**
 * Searches all books for a UID, a transaction, an address, an auction id or the symbol of a token. An address that no
 * book knows is a result too: an account without orders.
 */
export async function search(books: readonly ShownBook[], text: string): Promise<SearchResult[]> {
  const term = text.trim();
  const find = chooseFinder(term);
  const results = await Promise.all(books.map(find));
  return results.flat();
}

function chooseFinder(term: string): (book: ShownBook) => Promise<SearchResult[]> {
  const uid = parseHex(term, 56);
  if (uid !== undefined) {
    return async ({ book, path }) =>
      (await book.orders.get(uid)) === undefined ? [] : [{ type: 'order', path, id: uid }];
  }
  const hash = parseHex(term, 32);
  if (hash !== undefined) {
    return async ({ book, path, reads }) => {
      const isSettlement =
        (await book.orders.listByTransaction(hash)).length > 0 ||
        (await book.auctions.competitionOfTransaction(hash, reads)) !== undefined;
      return isSettlement ? [{ type: 'settlement', path, id: hash }] : [];
    };
  }
  const address = parseHex(term, 20);
  if (address !== undefined) return (book) => findAddress(book, address);
  if (/^#?\d{1,15}$/.test(term)) {
    return async ({ book, path, reads }) => {
      const id = Number(term.replace('#', ''));
      return (await book.auctions.competition(id, reads)) === undefined
        ? []
        : [{ type: 'auction', path, id: String(id) }];
    };
  }
  if (/^0x[0-9a-f]{4,}$/i.test(term)) return (book) => findPrefix(book, term.toLowerCase());
  return async ({ tokens, path }) =>
    (await tokens.find(term)).map((id): SearchResult => ({ type: 'token', path, id, label: term.toUpperCase() }));
}

/** Orders that are searched for the beginning of an address. */
const PREFIX_ORDERS = 1000;

/** Maximum number of results of a book for the beginning of an address. */
const MAX_MATCHES = 20;

/** Finds the accounts, tokens and orders of the newest orders whose address or UID begins with a text. */
async function findPrefix({ book, path, tokens }: ShownBook, prefix: string): Promise<SearchResult[]> {
  const { orders } = await book.orders.list({ limit: PREFIX_ORDERS });
  const found = new Map<string, SearchResult['type']>();
  for (const { uid, owner, receiver, sellToken, buyToken } of orders) {
    for (const token of [sellToken, buyToken]) found.set(token, 'token');
    for (const account of [owner, receiver]) if (account !== null) found.set(account, 'account');
    found.set(uid, 'order');
  }
  const matches = [...found].filter(([id]) => id.startsWith(prefix)).slice(0, MAX_MATCHES);
  const shown = await tokens.read(matches.filter(([, type]) => type === 'token').map(([id]) => id));
  return matches.map(([id, type]) => {
    const { symbol: label } = shown[id] ?? {};
    return { type, path, id, ...(label === undefined ? {} : { label }) };
  });
}

async function findAddress({ book, path, tokens }: ShownBook, address: string): Promise<SearchResult[]> {
  const token = (await tokens.read([address]))[address];
  if (token !== undefined) {
    return [{ type: 'token', path, id: address, ...(token.symbol === undefined ? {} : { label: token.symbol }) }];
  }
  for (const side of ['sellToken', 'buyToken'] as const) {
    const { orders } = await book.orders.list({ [side]: address, limit: 1 });
    if (orders.length > 0) return [{ type: 'token', path, id: address }];
  }
  return [{ type: 'account', path, id: address }];
}
