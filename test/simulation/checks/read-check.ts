import type { Order } from 'intentbook';
import type { VirtualProcess } from '../machine/process.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import type { Model, ShownOrder } from './model.ts';
import type { Report } from './store-observer.ts';

/** The commits and the wall times during an operation. */
export interface Interval {
  readonly from: number;
  readonly to: number;
  /** Seconds since 1970. */
  readonly earliest: number;
  readonly latest: number;
}

/** Checks that a read returns a state that its order had during the read. */
export interface ReadCheck {
  /** Begins an interval. The returned function ends it. */
  mark(process: VirtualProcess): () => Interval;
  /** Returns the states that an order had in an interval. `undefined`: it was not stored. */
  versions(n: number, interval: Interval): (ShownOrder | undefined)[];
  /** Returns whether an order can have been expired, or not expired, in an interval. */
  mayBeExpired(n: number, interval: Interval): boolean;
  mayBeValid(n: number, interval: Interval): boolean;
  checkRead(n: number, actual: Order | undefined, interval: Interval): void;
}

export function createReadCheck({
  pool,
  model,
  report,
}: {
  readonly pool: Pool;
  readonly model: Model;
  readonly report: Report;
}): ReadCheck {
  const order = (n: number) => pool.orders[n] as PoolOrder; // indexes are those of the pool
  const versions = (n: number, { from, to }: Interval) => model.between(n, from, to).map(({ shown }) => shown);
  const mayBeExpired = (n: number, { latest }: Interval) => order(n).validTo < latest;
  const mayBeValid = (n: number, { earliest }: Interval) => order(n).validTo >= earliest;

  function matches(n: number, shown: ShownOrder | undefined, actual: Order | undefined, interval: Interval): boolean {
    if (shown === undefined || actual === undefined) return shown === undefined && actual === undefined;
    const { status, executedSellAmount, executedBuyAmount, creationDate } = actual;
    const hasEnded = shown.state === 'fulfilled' || shown.state === 'cancelled';
    const isStatus =
      (status === shown.state && (hasEnded || mayBeValid(n, interval))) ||
      (status === 'expired' && !hasEnded && mayBeExpired(n, interval));
    return (
      isStatus &&
      executedSellAmount === shown.sold &&
      executedBuyAmount === shown.bought &&
      Date.parse(creationDate) === shown.creationDate
    );
  }

  return {
    versions,
    mayBeExpired,
    mayBeValid,
    mark(process) {
      const from = model.commit;
      const endClock = process.mark();
      return () => {
        const [earliest, latest] = endClock();
        return { from, to: model.commit, earliest, latest };
      };
    },
    checkRead(n, actual, interval) {
      const states = versions(n, interval);
      if (states.some((shown) => matches(n, shown, actual, interval))) return;
      const known = states.map((shown) =>
        shown === undefined ? 'absent' : `${shown.state} ${shown.sold}/${shown.bought}`,
      );
      const got =
        actual === undefined ? 'absent' : `${actual.status} ${actual.executedSellAmount}/${actual.executedBuyAmount}`;
      report('reads', `order ${n}: got ${got}, which it was at no time of the read (${known.join(', ')})`);
    },
  };
}
