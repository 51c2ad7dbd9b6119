import type { Limits } from '../admission/limits.ts';
import { OrderBookError } from '../errors.ts';
import { type Clock, seconds } from '../ports/clock.ts';
import type { NewOrder } from '../ports/order-record.ts';
import type { InsertOutcome, OrderInsert } from '../ports/store.ts';
import type { Address } from '../protocol/hex.ts';

/**
 * The unsigned presign orders that clients have sent to this process. Anyone can send one in the name of any contract.
 * So each counts for its client too, and those of a client with more of them do not stop those of the others.
 */
export type PendingOrders = ReturnType<typeof createPendingOrders>;

interface Sent {
  readonly owner: Address;
  readonly client: string;
  /** Effective validity, in seconds since 1970. */
  readonly validTo: number;
}

/** Maximum number of orders that are remembered. The oldest are forgotten first. */
const MAX_SENT = 10_000;

/** Creates the record of a book. It is kept in memory: after a restart, older orders count for their owner only. */
export function createPendingOrders({ clock, limits }: { readonly clock: Clock; readonly limits: Limits }) {
  /** In the order of arrival. */
  let sent: Sent[] = [];

  function forgetEnded(): void {
    const now = seconds(clock);
    sent = sent.filter(({ validTo }) => validTo >= now).slice(-MAX_SENT);
  }

  /** Returns whether another client has sent more orders of an owner than this one. */
  function isOutnumbered(owner: Address, client: string): boolean {
    const counts = new Map<string, number>();
    for (const each of sent) {
      if (each.owner === owner) counts.set(each.client, (counts.get(each.client) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values()) > (counts.get(client) ?? 0);
  }

  return {
    /** Rejects an unsigned order of a client that has sent `maxPendingOrders`, for any owners. */
    check(owner: Address, client: string): OrderBookError | undefined {
      const limit = limits.maxPendingOrders;
      if (limit === undefined) return undefined;
      forgetEnded();
      const count = sent.filter((each) => each.client === client).length;
      if (count < limit) return undefined;
      const description = `the client has ${count} orders without a signature on chain, the quota is ${limit}`;
      return new OrderBookError('TooManyLimitOrders', description, { limit, count, quotaClass: 'pending', owner });
    },
    /**
     * Records the unsigned orders that were inserted. One over the quota of its owner is inserted nevertheless if
     * another client has sent more orders of this owner than `client`. So an owner has at most one quota for each
     * client.
     *
     * @param insert - Inserts one order.
     */
    async settle(
      inserts: readonly OrderInsert[],
      outcomes: readonly InsertOutcome[],
      client: string,
      insert: (order: OrderInsert) => Promise<InsertOutcome>,
    ): Promise<InsertOutcome[]> {
      const settled = [...outcomes];
      for (const [i, entry] of inserts.entries()) {
        const { owner, state, validTo }: NewOrder = entry.order;
        if (state !== 'presignaturePending') continue;
        const outcome = outcomes[i];
        if (outcome?.status === 'quotaExceeded' && isOutnumbered(owner, client)) {
          settled[i] = await insert({ ...entry, quota: outcome.count + 1 });
        }
        if (settled[i]?.status === 'inserted') sent.push({ owner, client, validTo });
      }
      return settled;
    },
  };
}
