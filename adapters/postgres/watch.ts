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

/** Hints that other processes may have written events. */
export interface Watch {
  add(hint: () => void): () => void;
  close(): void;
}

/**
 * Minimum time between two hints of other processes, in milliseconds. Each hint makes this process read the log, so
 * that without it the reads grow with the number of processes times the number of commits.
 */
const HINT_INTERVAL = 20;

/**
 * Creates hints from a listening connection and from polling. Polling finds events that were missed while the
 * connection was down, and events that a terminated process left in the queue.
 */
export function createWatch(
  pool: PgPool,
  clock: Clock,
  { channel, signature, listen, pollInterval }: WatchSettings,
): Watch {
  const hints = new Set<() => void>();
  let stopPolling: Cancel | undefined;
  let stopListening: (() => void) | undefined;
  let stopWaiting: Cancel | undefined;
  let requested = false;

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
    stopPolling?.();
    poll();
    stopWaiting = clock.after(HINT_INTERVAL, () => {
      stopWaiting = undefined;
      if (requested) notify();
    });
  }

  const onNotification = (payload: string | undefined) => {
    if (payload !== signature) notify();
  };

  function poll(): void {
    stopPolling = clock.after(pollInterval, () => {
      poll();
      notifyAll();
    });
  }

  function stop(): void {
    stopPolling?.();
    stopListening?.();
    stopWaiting?.();
    stopPolling = stopListening = stopWaiting = undefined;
  }

  return {
    add(hint) {
      const own = () => hint(); // a listener that is added twice is called twice
      hints.add(own);
      if (stopPolling === undefined) poll();
      if (listen) stopListening ??= listenTo(pool, clock, { channel, onNotification, onConnect: notifyAll });
      return () => {
        hints.delete(own);
        if (hints.size === 0) stop();
      };
    },
    close() {
      hints.clear();
      stop();
    },
  };
}
