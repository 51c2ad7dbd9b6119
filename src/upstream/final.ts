import type { StoredOrder } from '../ports/store.ts';
import type { UpstreamOrder } from '../ports/upstream.ts';
import { hasEnded } from './wire.ts';

/** Milliseconds from the end of an order to the reads that confirm it: a reorganisation can revert its end. */
export const CONFIRMATIONS = [60_000, 300_000, 1_200_000] as const;

/** Milliseconds after the end of an order in which a reorganisation can change it. */
export const WINDOW = CONFIRMATIONS[2];

/** Returns whether the validity of an order is over, and with it the time in which a reorganisation can change it. */
export const isOver = ({ validTo }: Pick<StoredOrder, 'validTo'>, now: number) => validTo * 1000 + WINDOW < now;

/** Describes how an order has ended. Another fill is another end, which can be reverted for itself. */
export const describeEnd = ({ state, executedSellAmount }: StoredOrder) => `${state} ${executedSellAmount}`;

/** Returns whether an order has ended so long ago that nothing reverts it. */
export function isFinalOrder(order: UpstreamOrder, now: number): boolean {
  const { creationDate, validTo, userValidTo = validTo } = order;
  return hasEnded(order) && creationDate + WINDOW < now && userValidTo * 1000 + WINDOW < now;
}
