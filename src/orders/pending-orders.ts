import type { Limits } from '../admission/limits.ts';
import { OrderBookError } from '../errors.ts';
import { type Clock, seconds } from '../ports/clock.ts';
import type { InsertOutcome, OrderInsert } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';

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

/** Inserts orders, with one outcome for each. */
type InsertOrders = (entries: readonly OrderInsert[]) => Promise<readonly InsertOutcome[]>;

type PendingOutcome = InsertOutcome | { readonly status: 'rejected'; readonly error: OrderBookError };

/** Maximum number of orders that are remembered. The oldest are forgotten first. */
const MAX_SENT = 10_000;

/** Creates the record of a book. It is kept in memory: after a restart, older orders count for their owner only. */
export function createPendingOrders({ clock, limits }: { readonly clock: Clock; readonly limits: Limits }) {
  /** By UID, in the order of arrival. Those whose insert is in progress count as well. */
  const sent = new Map<Hex, Sent>();

  function forgetEnded(): void {
    const now = seconds(clock);
    for (const [uid, { validTo }] of sent) if (validTo < now || sent.size > MAX_SENT) sent.delete(uid);
  }

  /** Rejects an unsigned order of a client that has sent `maxPendingOrders`, for any owners. */
  function check(owner: Address, client: string): OrderBookError | undefined {
    forgetEnded();
    const limit = limits.maxPendingOrders;
    if (limit === undefined) return undefined;
    let count = 0;
    for (const each of sent.values()) if (each.client === client) count++;
    if (count < limit) return undefined;
    const description = `the client has ${count} orders without a signature on chain, the quota is ${limit}`;
    return new OrderBookError('TooManyLimitOrders', description, { limit, count, quotaClass: 'pending', owner });
  }

  /** Returns whether another client has sent more orders of an owner than this one. */
  function isOutnumbered(owner: Address, client: string): boolean {
    const counts = new Map<string, number>();
    for (const each of sent.values()) {
      if (each.owner === owner) counts.set(each.client, (counts.get(each.client) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values()) > (counts.get(client) ?? 0);
  }

  /** Inserts orders, and counts the unsigned ones for as long as they may be stored. */
  async function insertCounted(
    entries: readonly OrderInsert[],
    client: string,
    insert: InsertOrders,
  ): Promise<readonly PendingOutcome[]> {
    const counted = new Set<Hex>();
    const errors = entries.map(({ order: { uid, owner, state, validTo } }) => {
      // An order that is being stored already is a duplicate.
      if (state !== 'presignaturePending' || sent.has(uid)) return undefined;
      const error = check(owner, client);
      if (error !== undefined) return error;
      sent.set(uid, { owner, client, validTo });
      counted.add(uid);
      return undefined;
    });
    const admitted = entries.filter((_, i) => errors[i] === undefined);
    let outcomes: readonly InsertOutcome[] = [];
    try {
      outcomes = await insert(admitted);
    } finally {
      admitted.forEach(({ order: { uid } }, i) => {
        const status = outcomes[i]?.status;
        if (counted.has(uid) && status !== 'inserted' && status !== 'unknown') sent.delete(uid);
      });
    }
    const rest = outcomes.values();
    return errors.map((error) =>
      error === undefined ? (rest.next().value ?? { status: 'unknown' }) : { status: 'rejected', error },
    );
  }

  return {
    check,
    /**
     * Inserts orders of a client. It is checked again, since orders may have arrived after its check. An unsigned order
     * over the quota of its owner is inserted nevertheless if another client has sent more orders of this owner than
     * `client`. So an owner has at most one quota for each client.
     */
    async insert(entries: readonly OrderInsert[], client: string, insert: InsertOrders): Promise<PendingOutcome[]> {
      const outcomes = [...(await insertCounted(entries, client, insert))];
      for (const [i, entry] of entries.entries()) {
        const outcome = outcomes[i];
        if (entry.order.state !== 'presignaturePending' || outcome?.status !== 'quotaExceeded') continue;
        if (!isOutnumbered(entry.order.owner, client)) continue;
        const [again] = await insertCounted([{ ...entry, quota: outcome.count + 1 }], client, insert);
        outcomes[i] = again ?? outcome;
      }
      return outcomes;
    },
  };
}
