import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { ClaimedDelivery } from '../ports/delivery-store.ts';

/** Maximum number of deliveries that wait for one host or address, and for all. */
const MAX_PER_KEY = 16;
const MAX_WAITING = 64;

interface Waiting {
  readonly delivery: ClaimedDelivery;
  readonly cancel: () => void;
}

/**
 * Creates the queues of claimed deliveries that wait for a slot of their host or address. A fast target with many
 * deliveries then receives them one after the other, without a further claim.
 *
 * @param onEnd - Called with a delivery whose wait is over.
 */
export function createWaitingDeliveries(clock: Clock, onEnd: (delivery: ClaimedDelivery, key: string) => void) {
  const queues = new Map<string, Waiting[]>();
  const limits = new WeakMap<ClaimedDelivery, number>();
  const all = new Set<ClaimedDelivery>();

  function remove(key: string, index: number): ClaimedDelivery | undefined {
    const queue = queues.get(key) ?? [];
    const [waiting] = queue.splice(index, 1);
    if (queue.length === 0) queues.delete(key);
    if (waiting === undefined) return undefined;
    waiting.cancel();
    all.delete(waiting.delivery);
    return waiting.delivery;
  }

  return {
    /** The deliveries that wait. */
    all: all as ReadonlySet<ClaimedDelivery>,
    /** The time until which each delivery may wait, in milliseconds of `readMonotonic`. */
    limits,
    /** Adds a delivery. @returns false if too many wait, or if it must not wait any more. */
    add(key: string, delivery: ClaimedDelivery): boolean {
      const now = readMonotonic(clock);
      const limit = limits.get(delivery) ?? now;
      const queue = queues.get(key) ?? [];
      if (limit <= now || queue.length >= MAX_PER_KEY || all.size >= MAX_WAITING) return false;
      const cancel = clock.after(limit - now, () => {
        remove(
          key,
          queue.findIndex((each) => each.delivery === delivery),
        );
        onEnd(delivery, key);
      });
      queue.push({ delivery, cancel });
      queues.set(key, queue);
      all.add(delivery);
      return true;
    },
    /** Removes the delivery that has waited for the longest time. */
    take: (key: string) => remove(key, 0),
    /** Removes all deliveries. */
    takeAll(): readonly ClaimedDelivery[] {
      const taken = [...all];
      for (const [key, queue] of queues) while (queue.length > 0) remove(key, 0);
      return taken;
    },
  };
}
