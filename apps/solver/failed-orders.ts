import type { AuctionOrder, Hex } from 'intentbook';
import type { Settler } from './settler.ts';
import type { Solution, SolvableAuction, SolverEngine } from './types.ts';

/** An order whose settlement fails in a simulation. */
export interface FailedOrder {
  readonly order: Hex;
  readonly reason: string;
}

/** Delay before a failed order is tried again, in milliseconds; doubled with each failure. */
const RETRY_DELAY = 1_000;

/** Maximum of this delay, and the delay after a settlement whose result is unknown. */
export const MAX_RETRY_DELAY = 60_000;

/** Time after which a failure is forgotten if the order has not failed again, in milliseconds. */
const FORGET_AFTER = 10 * MAX_RETRY_DELAY;

/** Maximum number of orders that are simulated alone. Larger solutions are halved, which takes fewer simulations. */
const MAX_ALONE = 16;

/** Creates the record of the orders of a solver that have failed recently. */
export function createFailedOrders(engine: SolverEngine, settler: Pick<Settler, 'simulate'>) {
  const failures = new Map<Hex, { readonly until: number; readonly delay: number }>();

  /** @param least - Minimum delay, in milliseconds. */
  function note(order: Hex, least = RETRY_DELAY): void {
    const delay = Math.min(Math.max(2 * (failures.get(order)?.delay ?? 0), least), MAX_RETRY_DELAY);
    failures.set(order, { until: performance.now() + delay, delay });
  }

  return {
    note,
    clear: () => failures.clear(),

    /** Leaves out orders that have failed recently. */
    leaveOut(orders: readonly AuctionOrder[]): readonly AuctionOrder[] {
      const now = performance.now();
      for (const [uid, { until }] of failures) if (until < now - FORGET_AFTER) failures.delete(uid);
      return orders.filter(({ uid }) => (failures.get(uid)?.until ?? 0) <= now);
    },

    /**
     * Finds the orders of a failed solution that cannot be settled alone either, and notes their failures. The solution
     * is halved if each order can be settled alone, such as orders of one owner with a balance for one of them.
     *
     * @param reason - Reason for which the solution fails.
     * @returns The failures, and the lists of orders to solve again, each alone and after the one before. They are
     * never all orders of the solution.
     */
    async divide(auction: SolvableAuction, { fills }: Solution, reason: string, signal: AbortSignal) {
      const filled = new Set(fills.map(({ order }) => order.uid));
      const orders = auction.orders.filter(({ uid }) => filled.has(uid));
      const failed: FailedOrder[] = [];
      for (const order of orders.length > MAX_ALONE ? [] : orders) {
        const found = orders.length === 1 ? reason : await simulateAlone(order);
        if (found === undefined) continue;
        note(order.uid);
        failed.push({ order: order.uid, reason: found });
      }
      const others = orders.filter(({ uid }) => !failed.some(({ order }) => order === uid));
      const parts: readonly (readonly AuctionOrder[])[] = failed.length > 0 ? [others] : halve(others);
      return { failed, parts: parts.filter((part) => part.length > 0) };

      async function simulateAlone(order: AuctionOrder): Promise<string | undefined> {
        const [alone] = await engine.solve({ ...auction, orders: [order] }, signal);
        return alone && (await settler.simulate(alone, signal));
      }
    },
  };
}

/** Halves a list at random. Orders that match each other are in the same half in some auction. */
function halve<T>(list: readonly T[]): readonly (readonly T[])[] {
  const shuffled = list.map((each) => ({ each, key: Math.random() })).sort((a, b) => a.key - b.key);
  const middle = Math.ceil(list.length / 2);
  return [shuffled.slice(0, middle), shuffled.slice(middle)].map((half) => half.map(({ each }) => each));
}
