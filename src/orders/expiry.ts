import { createClockWatch } from '../concurrency/clock-watch.ts';
import { createWorker, lazy } from '../concurrency/lifecycle.ts';
import { seconds, yieldToEventLoop } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { PruningContext } from './retention.ts';
import type { RetentionOptions } from './retention-options.ts';

/** Orders that are processed in one step. It bounds the time that a synchronous store blocks the event loop. */
const BATCH_SIZE = 128;

const LEASE = 'expiry';

/** Intervals after which another process takes over if the holder of the lease dies. */
const LEASE_INTERVALS = 10;

/** Sweeps, of which the first one reverts early expiries. Only a clock that was far ahead causes them. */
const REINSTATE_EVERY = 10;

/** Milliseconds after a jump of the clock in which no expiry is recorded. A recorded expiry can be reverted. */
const JUMP_PAUSE = 60_000;

/** Milliseconds without a jump of the clock before old data is deleted. A deletion cannot be reverted. */
const STEADY_TIME = 600_000;

/** Seconds by which the clocks of two processes may differ without reverting each other's work. */
const CLOCK_SKEW = 60;

export interface ExpirySweepContext extends Omit<PruningContext, 'batch' | 'repeat'> {
  readonly store: Pick<Store, 'orders' | 'leases' | 'traits' | 'events' | 'retention'>;
  /** Milliseconds between two sweeps. `undefined`: this process does not sweep. */
  readonly interval: number | undefined;
  /** Identifies this process among those on the store. */
  readonly holder: string;
  /** Whether the chain indexer is behind: an order that looks expired may have been filled in a block not yet read. */
  readonly isCatchingUp: () => boolean;
  /**
   * Seconds after `validTo` before an expiry is recorded: with an upstream, a block that is indexed late may still fill
   * the order. Default: 0.
   */
  readonly expiryGrace?: number;
  /** Seconds that old data is kept. `undefined`: without limit. */
  readonly retention: RetentionOptions | undefined;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Records the expiry of orders and deletes old data in the background. */
export type ExpirySweep = ReturnType<typeof createSweep>;

/**
 * Creates the sweep of a book.
 *
 * A sweep records every order that is expired when it runs, so a restart misses none. It reverts the expiries that a
 * clock that was ahead has recorded. With several processes on one store, the holder of a lease sweeps. Two concurrent
 * sweeps do no harm.
 *
 * After a jump of the clock, nothing is recorded until the clock is steady again. Old data is deleted only by a clock
 * that has been steady for long, and never ahead of the chain.
 */
export function createExpirySweep(context: ExpirySweepContext): ExpirySweep {
  const { interval } = context;
  return interval === undefined ? { start() {}, async stop() {} } : createSweep({ ...context, interval });
}

function createSweep(context: ExpirySweepContext & { readonly interval: number }) {
  const { store, clock, interval, holder, retention, wake, onFailure, expiryGrace = 0 } = context;
  const watch = createClockWatch(clock);
  let sweeps = 0;
  const pruning = lazy(async () =>
    (await import('./retention.ts')).createPruning({ ...context, repeat, batch: BATCH_SIZE }),
  );

  /** Repeats a step until it changes less than a full batch, or the sweep must not continue. */
  async function repeat(isStopping: () => boolean, step: () => Promise<number>): Promise<void> {
    let changed = BATCH_SIZE;
    while (!isStopping() && changed === BATCH_SIZE && !watch.hasJumped(JUMP_PAUSE)) {
      changed = await step();
      if (changed === BATCH_SIZE) await yieldToEventLoop();
    }
  }

  /** Executes a step that writes, and wakes the readers of the log. A step that fails may be stored. */
  async function write(step: () => Promise<number>): Promise<number> {
    let changed = 1;
    try {
      changed = await step();
    } finally {
      if (changed > 0) wake();
    }
    return changed;
  }

  async function recordExpiries(now: number, isStopping: () => boolean): Promise<void> {
    const limit = BATCH_SIZE;
    const validFrom = now + CLOCK_SKEW;
    if (sweeps++ % REINSTATE_EVERY === 0) {
      await repeat(isStopping, () => write(() => store.orders.reinstate({ validFrom, at: clock.now(), limit })));
    }
    await repeat(isStopping, () => write(() => store.orders.expire(now, limit)));
  }

  async function acquireLease(): Promise<boolean> {
    if (store.traits.writers === 'single') return true;
    const lease = await store.leases.acquire({ name: LEASE, holder, ttl: LEASE_INTERVALS * interval });
    return lease.status === 'held';
  }

  const worker = createWorker({
    clock,
    interval,
    onFailure,
    async run(isStopping) {
      if (context.isCatchingUp() || !(await acquireLease())) return undefined;
      const now = seconds(clock) - expiryGrace;
      await recordExpiries(now, isStopping);
      if (retention !== undefined && watch.isSteady(STEADY_TIME)) {
        await pruning.use((loaded) => loaded.run(retention, now, isStopping));
      }
      return undefined;
    },
  });

  return {
    start: worker.start,
    /** Waits for the step in progress. */
    async stop(): Promise<void> {
      await worker.stop();
      if (store.traits.writers === 'many') await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}
