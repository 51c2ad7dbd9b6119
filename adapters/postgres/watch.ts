import type { Cancel, Clock } from 'intentbook';
import type { PgPool, PgPoolClient } from './database-driver.ts';

export interface WatchSettings {
  /** Channel name, without quotes. */
  readonly channel: string;
  /** Signature of this store's own notifications, which it ignores. */
  readonly signature: string;
  /** Whether to hold a connection that listens. Without it, the log is only polled. */
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

/** Delay before reconnecting, in milliseconds. */
const RECONNECT_DELAY = 500;

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
      if (listen) stopListening ??= startListening(pool, clock, { channel, signature, notify, onConnect: notifyAll });
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

interface Listening {
  readonly channel: string;
  readonly signature: string;
  readonly notify: () => void;
  /** Called when the connection listens. Events may have been written before. */
  readonly onConnect: () => void;
}

/** Holds a listening connection, and opens another one when it breaks. */
function startListening(pool: PgPool, clock: Clock, { channel, signature, notify, onConnect }: Listening): () => void {
  let stopped = false;
  let held: PgPoolClient | undefined;
  let cancel: Cancel = () => {};

  const onNotification = (message: unknown) => {
    const { payload } = message as { readonly payload?: string }; // as the driver documents it
    if (payload !== signature) notify();
  };

  function releaseClient(): void {
    const client = held;
    held = undefined;
    if (client === undefined) return;
    client.removeListener?.('notification', onNotification);
    // Closed instead of returned to the pool, because it still listens.
    client.release(true);
  }

  function reconnect(): void {
    releaseClient();
    // A connection that breaks during the statement ends and fails, but only one must replace it.
    cancel();
    if (!stopped) cancel = clock.after(RECONNECT_DELAY, () => void connect());
  }

  async function connect(): Promise<void> {
    try {
      const client = await pool.connect();
      held = client;
      client.on?.('error', () => {});
      if (stopped) return releaseClient();
      client.on?.('end', () => held === client && reconnect());
      client.on?.('notification', onNotification);
      await client.query({ text: `LISTEN "${channel}"` });
      client.unref?.();
      if (held === client) onConnect();
    } catch {
      reconnect(); // not reported: polling continues, and other calls of the store report the failure
    }
  }

  void connect();
  return () => {
    stopped = true;
    cancel();
    releaseClient();
  };
}
