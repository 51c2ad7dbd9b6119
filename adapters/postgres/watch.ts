import type { Cancel, Clock } from 'intentbook';
import type { PgPool, PgPoolClient } from './driver.ts';

export interface WatchSettings {
  /** The channel's name, without quotes. */
  readonly channel: string;
  /** What this store signs its own hints with, so that it does not take them for somebody else's. */
  readonly signature: string;
  /** Whether a connection is held to listen on. Without, the log is looked at from time to time only. */
  readonly listen: boolean;
  /** How often the log is looked at although nobody has said anything, in milliseconds. */
  readonly every: number;
}

/** Who wants to know of events that other processes write. */
export interface Watch {
  add(hint: () => void): () => void;
  close(): void;
}

/** How long to wait before a connection is tried again, in milliseconds. */
const RECONNECT = 500;

/**
 * Hints, from a connection that listens and from the passing of time. What is missed while the connection is down, and
 * what a process that has died left in the queue, is found by looking.
 */
export function createWatch(pool: PgPool, clock: Clock, { channel, signature, listen, every }: WatchSettings): Watch {
  const hints = new Set<() => void>();
  let stopPolling: Cancel | undefined;
  let stopListening: (() => void) | undefined;

  const tell = () => {
    for (const hint of hints) hint();
  };

  function poll(): void {
    stopPolling = clock.after(every, () => {
      poll();
      tell();
    });
  }

  function stop(): void {
    stopPolling?.();
    stopListening?.();
    stopPolling = stopListening = undefined;
  }

  return {
    add(hint) {
      const own = () => hint(); // one that is added twice is told twice
      hints.add(own);
      if (stopPolling === undefined) poll();
      if (listen) stopListening ??= listenOn(pool, clock, { channel, signature, notify: tell });
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
}

/** Holds a connection that listens, and another when that one breaks. */
function listenOn(pool: PgPool, clock: Clock, { channel, signature, notify: tell }: Listening): () => void {
  let stopped = false;
  let held: PgPoolClient | undefined;
  let cancel: Cancel = () => {};

  const onNotification = (message: unknown) => {
    const { payload } = message as { readonly payload?: string }; // as the driver describes it
    if (payload !== signature) tell();
  };

  function letGo(): void {
    const client = held;
    held = undefined;
    if (client === undefined) return;
    client.removeListener?.('notification', onNotification);
    // Not given back: it still listens. What it says while it is closed concerns nobody.
    client.release(true);
  }

  function again(): void {
    letGo();
    if (!stopped) cancel = clock.after(RECONNECT, () => void connect());
  }

  async function connect(): Promise<void> {
    try {
      const client = await pool.connect();
      held = client;
      client.on?.('error', () => {});
      if (stopped) return letGo();
      client.on?.('end', () => held === client && again());
      client.on?.('notification', onNotification);
      await client.query({ text: `LISTEN "${channel}"` });
      client.unref?.();
      // Something may have been said before anybody listened.
      if (held === client) tell();
    } catch {
      again(); // whoever asks the store for something is told what is wrong; hints are only hints
    }
  }

  void connect();
  return () => {
    stopped = true;
    cancel();
    letGo();
  };
}
