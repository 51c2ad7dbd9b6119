import { createWorker } from '../concurrency/worker.ts';
import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';

/** Orders that are processed in one step. It bounds the time that a synchronous store blocks the event loop. */
const BATCH_SIZE = 128;

const LEASE = 'expiry';

/** Milliseconds between two rounds that delete old orders. */
const PRUNE_INTERVAL = 3_600_000;

export interface ExpirySweepContext {
  readonly store: Pick<Store, 'orders' | 'leases' | 'traits'>;
  readonly clock: Clock;
  /** Milliseconds between two sweeps. `undefined`: this process does not sweep. */
  readonly interval: number | undefined;
  /** Identifies this process among those on the store. */
  readonly holder: string;
  /** Whether the chain indexer is behind: an order that looks expired may have been filled in a block not yet read. */
  readonly isCatchingUp: () => boolean;
  /** Seconds that orders are kept after they are over. `undefined`: without limit. */
  readonly retention: number | undefined;
  /** Called after orders were deleted. */
  readonly onPruned: () => void;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Records the expiry of orders and deletes old orders in the background. */
export interface ExpirySweep {
  start(): void;
  /** Waits for the step in progress. */
  stop(): Promise<void>;
}

/**
 * Creates the sweep of a book.
 *
 * A sweep records every order that is expired when it runs, so a restart misses none. With several processes on one
 * store, the holder of a lease sweeps. Two concurrent sweeps do no harm.
 */
export function createExpirySweep(context: ExpirySweepContext): ExpirySweep {
  const { interval } = context;
  return interval === undefined ? { start() {}, async stop() {} } : createSweep({ ...context, interval });
}

function createSweep(context: ExpirySweepContext & { readonly interval: number }): ExpirySweep {
  const { store, clock, interval, holder, retention, wake, onFailure } = context;
  let prunedAt: number | undefined;

  async function recordExpiries(isStopping: () => boolean): Promise<void> {
    let expired = BATCH_SIZE;
    while (!isStopping() && expired === BATCH_SIZE) {
      expired = await store.orders.expire(seconds(clock), BATCH_SIZE);
      if (expired > 0) wake();
      await yieldToEventLoop();
    }
  }

  async function prune(isStopping: () => boolean): Promise<void> {
    // The absolute difference: a clock that was set back must not postpone the round.
    const age = prunedAt === undefined ? PRUNE_INTERVAL : Math.abs(clock.now() - prunedAt);
    if (retention === undefined || age < PRUNE_INTERVAL) return;
    let removed = BATCH_SIZE;
    while (!isStopping() && removed === BATCH_SIZE) {
      removed = await store.orders.prune(seconds(clock) - retention, BATCH_SIZE);
      if (removed > 0) context.onPruned();
      await yieldToEventLoop();
    }
    prunedAt = clock.now();
  }

  async function acquireLease(): Promise<boolean> {
    if (store.traits.writers === 'single') return true;
    // If the holder dies, another process takes over after two intervals.
    const lease = await store.leases.acquire({ name: LEASE, holder, ttl: 2 * interval });
    return lease.status === 'held';
  }

  const worker = createWorker({
    clock,
    interval,
    onFailure,
    async run(isStopping) {
      if (context.isCatchingUp() || !(await acquireLease())) return undefined;
      await recordExpiries(isStopping);
      await prune(isStopping);
      return undefined;
    },
  });

  return {
    start: worker.start,
    async stop() {
      await worker.stop();
      if (store.traits.writers === 'many') await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}
