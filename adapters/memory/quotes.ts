import type { NewQuote, OrderQuote, QuoteQuery, QuoteTerms } from 'intentbook';
import { getOrCreate } from './get-or-create.ts';
import { SortedList } from './sorted-list.ts';

interface Row extends NewQuote {
  readonly id: number;
}

/** Creates quotes without entries. All methods are synchronous, so each is one atomic step. */
export function createMemoryQuotes() {
  const rows = new Map<number, Row>();
  const byTerms = new Map<string, SortedList<Row>>();
  const byExpiry = new SortedList<Row>((a, b) => a.expiresAt - b.expiresAt || a.id - b.id);
  let last = 0;

  return {
    insert(quote: NewQuote): number {
      const row = { ...quote, id: ++last };
      rows.set(row.id, row);
      byExpiry.add(row);
      getOrCreate(byTerms, toKey(row), () => new SortedList<Row>(bestFirst)).add(row);
      return row.id;
    },
    match(query: QuoteQuery): OrderQuote | undefined {
      const byId = query.id === undefined ? undefined : rows.get(query.id);
      if (byId !== undefined && toKey(byId) === toKey(query) && byId.expiresAt >= query.now) return byId.quote;
      for (const row of byTerms.get(toKey(query))?.from(0) ?? []) {
        if (row.quoteKind === query.quoteKind && row.expiresAt >= query.now) return row.quote;
      }
      return undefined;
    },
    prune(now: number, limit: number): number {
      const expired: Row[] = [];
      for (const row of byExpiry.from(0)) {
        if (row.expiresAt >= now || expired.length === limit) break;
        expired.push(row);
      }
      for (const row of expired) {
        rows.delete(row.id);
        byExpiry.remove(row);
        const list = byTerms.get(toKey(row));
        list?.remove(row);
        if (list?.length === 0) byTerms.delete(toKey(row));
      }
      return expired.length;
    },
  };
}

function toKey({ sellToken, buyToken, kind, amount }: QuoteTerms): string {
  return `${sellToken} ${buyToken} ${kind} ${amount}`;
}

function bestFirst(a: Row, b: Row): number {
  return a.rank < b.rank ? 1 : a.rank > b.rank ? -1 : b.id - a.id;
}
