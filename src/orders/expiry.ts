import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';

/** Maximum number of orders per step. It bounds how long a synchronous store blocks the event loop. */
const BATCH = 128;

const LEASE = 'expiry';

/** Interval between two runs that delete old orders, in milliseconds. */
const PRUNE_INTERVAL = 3_600_000;

export interface ExpirySweepContext {
  readonly store: Pick<Store, 'orders' | 'leases' | 'traits'>;
  readonly clock: Clock;
  /** Interval between two sweeps, in milliseconds. */
  readonly interval: number;
  /** Identifies this process among those on the store. */
  readonly holder: string;
  /** Whether the indexer is catching up: an order that looks expired may have been filled before. */
  readonly isCatchingUp: () => boolean;
  /** Seconds for which completed orders are kept; `undefined`: forever. */
  readonly retention: number | undefined;
  /** Called after orders were deleted. */
  readonly onPruned: () => void;
  /** Called after log entries were written. */
  readonly wake: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** The worker that records expired orders and deletes old ones while the book runs. */
export interface ExpirySweep {
  start(): void;
  /** Waits for a running step. */
  stop(): Promise<void>;
}

/**
 * Creates an expiry sweep. It also finds orders that expired while no process was running. On a store with several
 * processes, one of them sweeps; concurrent sweeps are harmless.
 */
export function createExpirySweep(context: ExpirySweepContext): ExpirySweep {
  const { store, clock, interval, holder, retention, wake, onFailure } = context;
  let cancel: Cancel = () => {};
  let running: Promise<void> | undefined;
  let stopped = true;
  let prunedAt: number | undefined;

  async function sweep(): Promise<void> {
    try {
      if (!context.isCatchingUp() && (await acquireLease())) {
        let count = BATCH;
        while (!stopped && count === BATCH) {
          count = await store.orders.expire(seconds(clock), BATCH);
          if (count > 0) wake();
          await yieldToEventLoop(); // a synchronous store would otherwise block the process until all are done
        }
        await prune();
      }
    } catch (failure) {
      onFailure(failure);
    }
    running = undefined;
    if (!stopped) schedule();
  }

  /** Runs at most once per interval. `Math.abs`: a clock that was set back must not delay it. */
  async function prune(): Promise<void> {
    const age = prunedAt === undefined ? PRUNE_INTERVAL : Math.abs(clock.now() - prunedAt);
    if (retention === undefined || age < PRUNE_INTERVAL) return;
    let removed = BATCH;
    while (!stopped && removed === BATCH) {
      removed = await store.orders.prune(seconds(clock) - retention, BATCH);
      if (removed > 0) context.onPruned();
      await yieldToEventLoop();
    }
    prunedAt = clock.now();
  }

  async function acquireLease(): Promise<boolean> {
    if (store.traits.writers === 'single') return true;
    // If the holder dies, the lease expires before the next sweep but one.
    const lease = await store.leases.acquire({ name: LEASE, holder, ttl: 2 * interval });
    return lease.status === 'held';
  }

  function schedule(): void {
    cancel = clock.after(interval, () => {
      running = sweep();
    });
  }

  return {
    start() {
      stopped = false;
      running = sweep();
    },
    async stop() {
      stopped = true;
      cancel();
      await running;
      if (store.traits.writers === 'many') await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}
