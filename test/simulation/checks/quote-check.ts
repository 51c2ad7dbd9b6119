import type { NewQuote, Order, OrderQuote, QuoteQuery, QuoteResponse } from 'intentbook';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import type { MarketEstimate } from '../ports/market.ts';
import { listEstimates } from '../ports/market.ts';
import type { Interval } from './read-check.ts';
import type { Report } from './store-observer.ts';

/** Checks that quotes follow the market, and that orders are linked with valid quotes of equal terms. */
export interface QuoteCheck {
  /** Follows the atomic steps of the store. */
  onStored(quote: NewQuote, id: number): void;
  onMatch(query: QuoteQuery, found: OrderQuote | undefined): void;
  onPruned(now: number, limit: number, removed: number): void;
  /** Begins an interval. The returned value identifies the quotes that are stored now. */
  mark(): number;
  /** Checks the response to a request for the terms of an order. */
  onResponse(n: number, response: QuoteResponse, call: QuoteCall): void;
  /** Checks the quote of an order that was accepted. @param named - The id that the client has sent. */
  onAccepted(n: number, quote: OrderQuote | undefined, named: number | undefined, stored: number, call: Interval): void;
  /** Checks the quote of an order that was read. */
  onRead(n: number, order: Order): void;
  /** Remembers the quote with which an order was inserted. */
  onInserted(n: number, quote: OrderQuote | undefined): void;
}

/** A call, with its virtual times. */
export interface QuoteCall extends Interval {
  readonly start: number;
  readonly end: number;
  /** Whether an estimate can have been missing or late. */
  readonly hasFaults: boolean;
  /** Whether the book knows the age of its estimates. */
  readonly isAgeKnown: boolean;
}

interface Row {
  readonly id: number;
  readonly terms: string;
  readonly kind: string;
  readonly expiresAt: number;
  readonly rank: string;
  readonly body: string;
  isPruned: boolean;
}

/** The members of a stored quote that are checked. */
interface QuoteBody {
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly feeAmount: string;
}

/** Milliseconds for which an estimate is used: the time limit of a request, and that of the cache. */
const ESTIMATE_AGE = 11_000;

/** Milliseconds for which a quote is valid. */
const LIFETIME = 60_000;

/** Gas of a check of a contract signature. */
const SIGNATURE_GAS = 27_000;

export function createQuoteCheck({ pool, report }: { readonly pool: Pool; readonly report: Report }): QuoteCheck {
  const rows: Row[] = [];
  const inserted = new Map<number, string | undefined>();
  const order = (n: number) => pool.orders[n] as PoolOrder; // indexes are those of the pool
  const find = (id: number) => rows.find((row) => row.id === id);
  const isLive = (row: Row, now: number) => !row.isPruned && row.expiresAt >= now;

  /** Returns the quote that a store must find. */
  function predict(query: QuoteQuery): Row | undefined {
    const terms = toTerms(query.kind, query.amount);
    const named = query.id === undefined ? undefined : find(query.id);
    if (named !== undefined && named.terms === terms && isLive(named, query.now)) return named;
    const matching = rows.filter(
      (row) => row.terms === terms && row.kind === query.quoteKind && isLive(row, query.now),
    );
    return matching.reduce<Row | undefined>(
      (best, row) => (best === undefined || row.rank >= best.rank ? row : best),
      undefined,
    );
  }

  function checkAmounts(n: number, { quote }: QuoteResponse, call: QuoteCall): void {
    const { kind, sellAmount, buyAmount, scheme } = order(n);
    const extra = scheme === 'eip1271' ? SIGNATURE_GAS : 0;
    const whole = kind === 'sell' ? sellAmount : buyAmount;
    const toAmounts = ({ amount, gas }: MarketEstimate) => {
      const fee = toFee(gas + extra);
      const [sold, bought] = kind === 'sell' ? [whole - fee, (amount * (whole - fee)) / whole] : [amount, whole];
      return { text: `${sold} ${bought} ${fee}`, cost: kind === 'sell' ? -bought : sold + fee };
    };
    const actual = `${quote.sellAmount} ${quote.buyAmount} ${quote.feeAmount}`;
    const possible = listEstimates({ amount: whole }, call.isAgeKnown ? call.start - ESTIMATE_AGE : 0, call.end).map(
      toAmounts,
    );
    if (!possible.some(({ text }) => text === actual)) {
      report('quotes', `order ${n}: got ${actual}, expected one of ${possible.map(({ text }) => text)}`);
    }
    const current = listEstimates({ amount: whole }, call.start - 1_000, call.end).map(toAmounts);
    const hasChanged = current.length > 2;
    const [best] = current.sort((a, b) => (a.cost < b.cost ? -1 : 1));
    const chosen = current.find(({ text }) => text === actual);
    if (!hasChanged && !call.hasFaults && best !== undefined && chosen !== undefined && chosen.cost > best.cost)
      report('quotes', `order ${n}: got ${actual}, the best estimate is ${best.text}`);
  }

  /** Returns the rate of a quote as a fraction. */
  function getRate(body: string): readonly [bought: bigint, sold: bigint] {
    const { sellAmount, buyAmount, feeAmount } = JSON.parse(body) as QuoteBody; // rendered by the book
    return [BigInt(buyAmount), BigInt(sellAmount) + BigInt(feeAmount)];
  }

  function isBetter(a: Row, b: string): boolean {
    const [bought, sold] = getRate(a.body);
    const [otherBought, otherSold] = getRate(b);
    return bought * otherSold > otherBought * sold;
  }

  return {
    onStored(quote, id) {
      if (find(id) !== undefined) report('quotes', `the id ${id} of a quote is not new`);
      const { kind, amount, quoteKind, expiresAt, rank } = quote;
      const row = { id, terms: toTerms(kind, amount), kind: quoteKind, expiresAt, rank, body: quote.quote.body };
      rows.push({ ...row, isPruned: false });
    },
    onMatch(query, found) {
      const expected = predict(query);
      if (found?.body !== expected?.body) {
        report('quotes', `the store found ${found?.body} for ${query.amount}, expected ${expected?.body}`);
      }
    },
    onPruned(now, limit, removed) {
      const expired = rows.filter((row) => !row.isPruned && row.expiresAt < now);
      const count = Math.min(limit, expired.length);
      if (removed !== count) report('quotes', `${removed} quotes were deleted at ${now}, expected ${count}`);
      expired.sort((a, b) => a.expiresAt - b.expiresAt || a.id - b.id);
      for (const row of expired.slice(0, removed)) row.isPruned = true;
    },
    mark: () => rows.length,
    onResponse(n, response, call) {
      checkAmounts(n, response, call);
      const expiresAt = Date.parse(response.expiration);
      const row = response.id === null ? undefined : find(response.id);
      if (row === undefined) return report('quotes', `order ${n}: the quote ${response.id} is not stored`);
      if (row.expiresAt !== expiresAt || row.terms !== getTerms(order(n)))
        report('quotes', `order ${n}: the quote ${response.id} has other terms`);
      const created = (expiresAt - LIFETIME) / 1000;
      // Requests that share an estimate share the stored quote.
      const isRecent = created >= call.earliest - ESTIMATE_AGE / 1000 && created <= call.latest + 1;
      if (!isRecent && !call.hasFaults)
        report('quotes', `order ${n}: the quote ${response.id} expires at ${expiresAt}`);
    },
    onInserted: (n, quote) => void inserted.set(n, quote?.body),
    onAccepted(n, quote, named, stored, { earliest, latest }) {
      const terms = getTerms(order(n));
      const isPossible = (row: Row) => row.terms === terms && row.expiresAt >= earliest * 1000;
      const isCertain = (row: Row | undefined): row is Row =>
        row?.terms === terms && row.kind === 'standard' && isLive(row, (latest + 1) * 1000);
      if (quote !== undefined && !rows.some((row) => row.body === quote.body && isPossible(row)))
        report('quotes', `order ${n}: its quote ${quote.body} has expired, or has other terms`);
      const wanted = named === undefined ? undefined : find(named);
      if (isCertain(wanted)) {
        if (quote?.body !== wanted.body) report('quotes', `order ${n}: it has ${quote?.body}, not its quote ${named}`);
        return;
      }
      // A quote that is named may have been valid at the time of the link.
      if (wanted !== undefined && isPossible(wanted)) return;
      const better = rows
        .slice(0, stored)
        .find((row) => isCertain(row) && (quote === undefined || isBetter(row, quote.body)));
      if (better !== undefined) report('quotes', `order ${n}: it has ${quote?.body}, better is ${better.body}`);
    },
    onRead(n, { quote, status }) {
      if (quote === undefined) {
        if (inserted.get(n) !== undefined) report('quotes', `order ${n} is read without its quote`);
        return;
      }
      const { metadata, ...rest } = quote;
      if (JSON.stringify(rest) !== inserted.get(n)) report('quotes', `order ${n} is read with another quote`);
      const hasEnded = status !== 'open' && status !== 'presignaturePending';
      if (hasEnded !== (metadata !== undefined))
        report('quotes', `order ${n} is ${status}, its quote has the metadata ${JSON.stringify(metadata)}`);
    },
  };
}

/** The cost of gas in atoms, rounded up: 5 atoms for 100,000 units. */
function toFee(gas: number): bigint {
  return (BigInt(gas) * 5n + 99_999n) / 100_000n;
}

const toTerms = (kind: string, amount: string) => `${kind} ${amount}`;

function getTerms({ kind, sellAmount, buyAmount }: PoolOrder): string {
  return toTerms(kind, String(kind === 'sell' ? sellAmount : buyAmount));
}
