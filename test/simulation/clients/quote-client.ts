import type { QuoteCheck } from '../checks/quote-check.ts';
import type { Interval, ReadCheck } from '../checks/read-check.ts';
import type { Report } from '../checks/store-observer.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { BUY_TOKEN, MIN_VALIDITY, SELL_TOKEN } from '../orders/pool-order.ts';

/** A client that requests quotes, and names them in orders. */
export interface QuoteClient {
  /** Requests a quote with the terms of an order. */
  run(order: number, at: BookProcess): Promise<string>;
  /** Returns the id that an order names: of the last quote for this order, or for any. */
  find(order: number, choice: 'own' | 'any' | undefined): number | undefined;
  /** Returns whether a book quotes. */
  isQuoting(at: BookProcess): boolean;
}

export interface QuoteClientContext {
  readonly pool: Pool;
  readonly reads: ReadCheck;
  readonly quotes: QuoteCheck;
  readonly scheduler: Pick<Scheduler, 'time'>;
  readonly report: Report;
}

/** Milliseconds for which a fault can have an effect on a later request. */
const FAULT_TIME = 15_000;

/** Maximum milliseconds of a request without a fault. */
const USUAL_TIME = 1_000;

export function createQuoteClient({ pool, reads, quotes, scheduler, report }: QuoteClientContext): QuoteClient {
  const ids = new Map<number, number>();
  let last: number | undefined;

  function checkRejection(n: number, code: string, { latest }: Interval, hasFaults: boolean): void {
    const { validTo } = pool.orders[n] as PoolOrder; // indexes are those of the pool
    const isShort =
      (code === 'InsufficientValidTo' && validTo < latest + MIN_VALIDITY) ||
      (code === 'OrderExpired' && validTo < latest);
    if (!hasFaults && !isShort) report('quotes', `order ${n}: the quote is rejected with ${code}`);
  }

  return {
    isQuoting: ({ market }) => market !== undefined,
    find: (order, choice) => (choice === 'own' ? ids.get(order) : choice === 'any' ? last : undefined),
    async run(n, at) {
      const { book, process, market } = at;
      const { kind, sellAmount, buyAmount, owner, scheme, validTo } = pool.orders[n] as PoolOrder; // as above
      const end = reads.mark(process);
      const start = scheduler.time;
      const size =
        kind === 'sell' ? { sellAmountBeforeFee: String(sellAmount) } : { buyAmountAfterFee: String(buyAmount) };
      const tokens = { sellToken: SELL_TOKEN, buyToken: BUY_TOKEN };
      const result = await book.quotes.request({
        ...tokens,
        from: owner,
        kind,
        validTo,
        signingScheme: scheme,
        ...size,
      });
      const interval = end();
      const isDisturbed = Math.max(market?.lastFault ?? 0, process.lastStep) >= start - FAULT_TIME;
      // A book that closes ends its requests.
      const hasFaults = isDisturbed || !at.isStarted || scheduler.time - start > USUAL_TIME;
      if (result.status === 'rejected') {
        checkRejection(n, result.error.code, interval, hasFaults);
        return result.error.code;
      }
      const isAgeKnown = at.hasMonotonicTime || process.lastStep < start - FAULT_TIME;
      quotes.onResponse(n, result.quote, { ...interval, start, end: scheduler.time, hasFaults, isAgeKnown });
      if (result.quote.id !== null) {
        ids.set(n, result.quote.id);
        last = result.quote.id;
      }
      return `${result.quote.id}`;
    },
  };
}
