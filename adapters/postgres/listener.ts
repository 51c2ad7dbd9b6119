import type { Cancel, Clock } from 'intentbook';
import type { PgPool, PgPoolClient } from './database-driver.ts';
import { connect } from './query.ts';

/** Delay before reconnecting, in milliseconds. */
const RECONNECT_DELAY = 500;

/** What a store receives of a channel. */
export interface ChannelListener {
  /** Channel name, without quotes. */
  readonly channel: string;
  readonly onNotification: (payload: string | undefined) => void;
  /** Called when the connection listens. Events may have been written before. */
  readonly onConnect: () => void;
  /** Called when the connection breaks. */
  readonly onDisconnect: () => void;
}

/** Listeners by pool. The stores of a pool share one connection, so that many books do not use up the pool. */
const listeners = new WeakMap<PgPool, Listener>();

/**
 * Listens to a channel with a connection that all stores of the pool share. A pool of one connection has none for this.
 *
 * @returns A function that ends the subscription.
 */
export function listenTo(pool: PgPool, clock: Clock, subscription: ChannelListener): () => void {
  // As text, when the host reads it from its environment.
  if (Number(pool.options?.max) === 1) return () => {};
  const listener = listeners.get(pool) ?? createListener(pool, clock);
  listeners.set(pool, listener);
  return listener.add(subscription);
}

type Listener = ReturnType<typeof createListener>;

/** Holds a listening connection while there are subscriptions, and opens another one when it breaks. */
function createListener(pool: PgPool, clock: Clock) {
  const subscriptions = new Set<ChannelListener>();
  let held: PgPoolClient | undefined;
  let connecting = false;
  let cancel: Cancel = () => {};
  /** The last statement of the connection. The driver warns of a statement that is sent while another one runs. */
  let last: Promise<unknown> = Promise.resolve();

  function listen(client: PgPoolClient, channel: string): Promise<unknown> {
    const listening = last.then(() => client.query({ text: `LISTEN "${channel}"` }));
    last = listening.catch(() => {});
    return listening;
  }

  const onNotification = (message: unknown) => {
    const { channel, payload } = message as { readonly channel?: string; readonly payload?: string }; // of the driver
    for (const each of [...subscriptions]) if (each.channel === channel) each.onNotification(payload);
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
    if (held !== undefined) for (const { onDisconnect } of [...subscriptions]) onDisconnect();
    releaseClient();
    // A connection that breaks during the statement ends and fails, but only one must replace it.
    cancel();
    if (subscriptions.size > 0) cancel = clock.after(RECONNECT_DELAY, () => void open());
  }

  async function open(): Promise<void> {
    if (connecting) return;
    connecting = true;
    try {
      const client = await connect(pool);
      [held, last] = [client, Promise.resolve()];
      client.on?.('error', () => {});
      if (subscriptions.size === 0) return releaseClient();
      client.on?.('end', () => held === client && reconnect());
      client.on?.('notification', onNotification);
      const channels = new Set<string>();
      for (const { channel } of subscriptions) channels.add(channel);
      for (const channel of channels) await listen(client, channel);
      client.unref?.();
      if (held === client) for (const { onConnect } of [...subscriptions]) onConnect();
    } catch {
      reconnect(); // not reported: polling continues, and other calls of the store report the failure
    } finally {
      connecting = false;
    }
  }

  async function addChannel(client: PgPoolClient, { channel, onConnect }: ChannelListener): Promise<void> {
    try {
      await listen(client, channel);
      if (held === client) onConnect();
    } catch {
      if (held === client) reconnect();
    }
  }

  return {
    add(subscription: ChannelListener): () => void {
      subscriptions.add(subscription);
      if (held === undefined) void open();
      else void addChannel(held, subscription);
      return () => {
        subscriptions.delete(subscription);
        if (subscriptions.size > 0) return;
        cancel();
        releaseClient();
      };
    },
  };
}
