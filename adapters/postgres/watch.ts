import type { Cancel, Clock } from 'intentbook';
import type { PgPool } from './database-driver.ts';
import { listenTo } from './listener.ts';

export interface WatchSettings {
  /** Channel name, without quotes. */
  readonly channel: string;
  /** Signature of this store's own notifications, which it ignores. */
  readonly signature: string;
  /** Whether to listen. Without it, the log is only polled. */
  readonly listen: boolean;
  /** Interval of polling the log, in milliseconds. */
  readonly pollInterval: number;
}

/**
 * Limits of the hints of other processes: a number in a row, and the time in milliseconds after which each one is
 * allowed again. Each hint makes this process read the log, so that without a limit the reads of all processes grow
 * with their number times the number of commits.
 */
const HINTS = { burst: 10, interval: 200 };

/** Minimum time between two hints, in milliseconds. */
const HINT_INTERVAL = 20;

/**
 * Number of hints after an insert in a transaction of the application, at intervals that double up to `pollInterval`:
 * for about a minute by default.
 */
const COMMIT_HINTS = 64;

/** Factor of the interval of polling while a connection listens. */
const LISTENING_FACTOR = 5;

/**
 * Creates hints that other processes may have written events, from a listening connection and from polling. Polling
 * finds events that were missed while the connection was down, and events that a terminated process left in the queue.
 */
export function createWatch(pool: PgPool, clock: Clock, { channel, signature, listen, pollInterval }: WatchSettings) {
  const hints = new Set<() => void>();
  let stopPolling: Cancel | undefined;
  let stopListening: (() => void) | undefined;
  let stopWaiting: Cancel | undefined;
  let stopExpecting: Cancel | undefined;
  let requested = false;
  let isListening = false;
  const takeAllowance = createAllowance(clock);

  const notifyAll = () => {
    for (const hint of hints) hint();
  };

  /** Hints at once, and for notifications in the following interval once at its end. */
  function notify(): void {
    requested = true;
    if (stopWaiting !== undefined) return;
    requested = false;
    notifyAll();
    // A notification has just made this process read the log.
    poll();
    stopWaiting = clock.after(takeAllowance(), () => {
      stopWaiting = undefined;
      if (requested) notify();
    });
  }

  function expectCommit(delay: number, left: number): void {
    stopExpecting?.();
    if (hints.size === 0 || left === 0) return;
    stopExpecting = clock.after(delay, () => {
      notifyAll();
      expectCommit(Math.min(2 * delay, pollInterval), left - 1);
    });
  }

  const onNotification = (payload: string | undefined) => {
    if (payload !== signature) notify();
  };

  /** Polls after the interval, from now on. */
  function poll(): void {
    stopPolling?.();
    stopPolling = clock.after(isListening ? LISTENING_FACTOR * pollInterval : pollInterval, () => {
      poll();
      notifyAll();
    });
  }

  function setListening(value: boolean): void {
    isListening = value;
    if (stopPolling !== undefined) poll();
  }

  const subscription = {
    channel,
    onNotification,
    onConnect() {
      setListening(true);
      notifyAll(); // events can have been written before
    },
    onDisconnect: () => setListening(false),
  };

  function stop(): void {
    stopPolling?.();
    stopListening?.();
    stopWaiting?.();
    stopExpecting?.();
    stopPolling = stopListening = stopWaiting = undefined;
    isListening = false;
  }

  return {
    add(hint: () => void): () => void {
      const own = () => hint(); // a listener that is added twice is called twice
      hints.add(own);
      if (stopPolling === undefined) poll();
      if (listen) stopListening ??= listenTo(pool, clock, subscription);
      return () => {
        hints.delete(own);
        if (hints.size === 0) stop();
      };
    },
    /** Hints after an insert in a transaction of the application, because the driver does not report its commit. */
    onJoined: () => expectCommit(HINT_INTERVAL, COMMIT_HINTS),
    close(): void {
      hints.clear();
      stop();
    },
  };
}

/** Returns a function that returns the milliseconds until the next hint, and uses the allowance of that hint. */
function createAllowance(clock: Clock): () => number {
  let allowance = HINTS.burst;
  let replenishedAt = clock.now();
  return () => {
    const passed = Math.max(clock.now() - replenishedAt, 0);
    allowance = Math.min(allowance + passed / HINTS.interval, HINTS.burst) - 1;
    replenishedAt = clock.now();
    return Math.max(HINT_INTERVAL, (1 - allowance) * HINTS.interval);
  };
}
