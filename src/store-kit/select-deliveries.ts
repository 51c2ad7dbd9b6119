import type { DeliveryLane, DeliveryStore } from '../ports/delivery-store.ts';

/**
 * Age of a notification at the creation of a subscription up to which it is delivered, in milliseconds. An account
 * store may read the log of an old book for the first time, and nothing of that past is sent.
 */
export const DELIVERY_WINDOW = 3_600_000;

/** The first pending delivery of a subscription, which is due. */
export interface DueDelivery extends DeliveryLane {
  readonly seq: number;
  /** In milliseconds since 1970. */
  readonly due: number;
  readonly account: string;
}

/** Maximum number of due deliveries of a lane that a claim compares, longest due first. */
export const CLAIM_WINDOW = 256;

/** Returns the maximum number of deliveries of a lane that a claim returns. */
export function getLaneLimit(
  { limit, lanes = [] }: Pick<Parameters<DeliveryStore['claim']>[0], 'limit' | 'lanes'>,
  { channel, isReliable }: DeliveryLane,
): number {
  const lane = lanes.find((each) => each.channel === channel && each.isReliable === isReliable);
  return Math.min(limit, lane?.limit ?? limit);
}

/**
 * Selects the deliveries that a claim returns, in their order: the first of each account, longest due first, then the
 * second of each account.
 *
 * @param due - The due deliveries of accounts that are not busy, at most {@link CLAIM_WINDOW} of each lane.
 */
export function selectDeliveries<Due extends DueDelivery>(
  due: readonly Due[],
  request: Pick<Parameters<DeliveryStore['claim']>[0], 'limit' | 'lanes' | 'perAccount'>,
): Due[] {
  const { limit, perAccount = limit } = request;
  const ofAccount = new Map<string, number>();
  const ofLane = new Map<string, number>();
  const count = (counts: Map<string, number>, key: string) => {
    const next = (counts.get(key) ?? 0) + 1;
    counts.set(key, next);
    return next;
  };
  return [...due]
    .sort((a, b) => a.due - b.due || a.seq - b.seq)
    .filter((each) => getLaneLimit(request, each) > 0)
    .map((each) => ({ each, ordinal: count(ofAccount, each.account) }))
    .sort((a, b) => a.ordinal - b.ordinal) // stable: the longest due stays first
    .filter(({ each, ordinal }) => {
      if (ordinal > perAccount) return false;
      return count(ofLane, `${each.channel} ${each.isReliable}`) <= getLaneLimit(request, each);
    })
    .slice(0, limit)
    .map(({ each }) => each);
}
