import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';

/** How many orders are swept up in one step, which bounds how long a synchronous store holds up the process. */
const BATCH = 128;

const LEASE = 'expiry';

/** Milliseconds between two looks for what has been over for long enough to be removed. */
const PRUNING = 3_600_000;

export interface ExpirySweepContext {
  readonly store: Pick<Store, 'orders' | 'leases' | 'traits'>;
  readonly clock: Clock;
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** Tells this process from others on the store. */
  readonly holder: string;
  /** Whether what the chain says is being read up: what looks expired may have been filled long ago. */
  readonly isCatchingUp: () => boolean;
  /** Seconds that orders are kept for after they are over; `undefined`: for ever. */
  readonly retention: number | undefined;
  /** Orders were removed. */
  readonly onPruned: () => void;
  /** There are new entries in the log. */
  readonly wake: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Announces orders whose time has passed, and removes those that are over for long, for as long as the book runs. */
export interface ExpirySweep {
  start(): void;
  /** Waits for a step that is running. */
  stop(): Promise<void>;
}

/**
 * Makes a sweep. What it finds was over when it looked, however long nobody did, so that nothing is missed across
 * restarts. Of several processes on one store one sweeps; that two should is harmless.
 */
export function createExpirySweep(context: ExpirySweepContext): ExpirySweep {
  const { store, clock, interval, holder, retention, wake, onFailure } = context;
  let cancel: Cancel = () => {};
  let running: Promise<void> | undefined;
  let stopped = true;
  let prunedAt: number | undefined;

  async function sweep(): Promise<void> {
    try {
      if (!context.isCatchingUp() && (await isOurs())) {
        let swept = BATCH;
        while (!stopped && swept === BATCH) {
          swept = await store.orders.expire(seconds(clock), BATCH);
          if (swept > 0) wake();
          await yieldToEventLoop(); // a synchronous store would sweep up all of them before anybody else has a turn
        }
        await prune();
      }
    } catch (failure) {
      onFailure(failure);
    }
    running = undefined;
    if (!stopped) schedule();
  }

  /** Now and then; a clock that was set back must not keep it waiting. */
  async function prune(): Promise<void> {
    const age = prunedAt === undefined ? PRUNING : Math.abs(clock.now() - prunedAt);
    if (retention === undefined || age < PRUNING) return;
    let removed = BATCH;
    while (!stopped && removed === BATCH) {
      removed = await store.orders.prune(seconds(clock) - retention, BATCH);
      if (removed > 0) context.onPruned();
      await yieldToEventLoop();
    }
    prunedAt = clock.now();
  }

  async function isOurs(): Promise<boolean> {
    if (store.traits.writers === 'single') return true;
    // Whoever holds it may die; then another looks before the announcement is late.
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
