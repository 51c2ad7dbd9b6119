import type { Order, OrderStatus } from 'intentbook';
import { getDelay, isFinal, pause, readEvents } from './event-stream.ts';
import { assertKnown, type ClientOptions, type QueryParameters, type Sender, toQuery } from './http.ts';

/** The orders of a mirror, combined by "and". Addresses in any case. */
export interface MirrorFilter {
  readonly owner?: string;
  readonly sellToken?: string;
  readonly buyToken?: string;
  /** A token that the orders sell or buy. */
  readonly token?: string;
  /** Two tokens that the orders exchange, in either direction. */
  readonly pair?: readonly [string, string];
  readonly kind?: 'sell' | 'buy';
  /** Orders that leave this status are removed. Default: `open`; `null`: any. */
  readonly status?: OrderStatus | null;
}

/** Options of a mirror. */
export interface MirrorOptions {
  /** Ends the mirror when it is aborted, also before all orders are read. Default: none. */
  readonly signal?: AbortSignal;
}

/** A local copy of the orders of a book, which follows its event log. */
export interface Mirror {
  /** The orders by UID. */
  readonly orders: ReadonlyMap<string, Order>;
  /** Position in the event log of the book: all changes up to it are applied. */
  readonly cursor: number;
  /** Whether the connection is established. */
  readonly connected: boolean;
  /**
   * Calls `listener` after each change, with the UID, or without one after all orders were read again. What a listener
   * throws is reported as an uncaught error, and the mirror continues.
   */
  onChange(listener: (uid: string | undefined) => void): () => void;
  /** Waits until the copy has applied a position. Rejects when the mirror ends. */
  reached(cursor: number): Promise<void>;
  /** Ends the mirror. */
  close(): void;
}

const PAGE = 500;

const FILTERS: readonly (keyof MirrorFilter)[] = ['owner', 'sellToken', 'buyToken', 'token', 'pair', 'kind', 'status'];

/** Reads orders page by page. */
export type ListPages = (query: QueryParameters, signal: AbortSignal) => AsyncIterable<readonly Order[]>;

/**
 * Creates a mirror. The stream is opened before the orders are read, so that no change is lost: changes that arrive in
 * the meantime are applied afterwards. After a gap, all orders are read again.
 */
export async function createMirror(
  sender: Sender,
  listPages: ListPages,
  filter: MirrorFilter,
  options: ClientOptions,
  mirrorOptions: MirrorOptions = {},
): Promise<Mirror> {
  assertKnown('mirror: unknown filter', filter, FILTERS);
  assertKnown('mirror: unknown option', mirrorOptions, ['signal']);
  const { signal } = mirrorOptions;
  signal?.throwIfAborted();
  const wanted = normalize(filter);
  const control = new AbortController();
  const listeners = new Set<(uid: string | undefined) => void>();
  const waiting = new Set<() => void>();
  let orders = new Map<string, Order>();
  let cursor = 0;
  let connected = false;
  let failure: unknown;

  async function readAll(): Promise<void> {
    const found = new Map<string, Order>();
    for (const query of toQueries(wanted)) {
      for await (const page of listPages({ ...query, limit: PAGE }, control.signal)) {
        for (const order of page) if (matches(order, wanted)) found.set(order.uid, order);
      }
    }
    orders = found;
  }

  /** Repeats a read that fails, as the stream does. */
  async function readAllWithRetry(): Promise<void> {
    const { maxDelay = 15_000 } = options;
    for (let delay = 250; !control.signal.aborted; delay *= 2) {
      try {
        return await readAll();
      } catch (error) {
        if (isFinal(error)) throw error;
        await pause(getDelay(error, Math.min(delay, maxDelay)), control.signal);
      }
    }
  }

  function changed(uid: string | undefined): void {
    for (const listener of listeners) {
      try {
        listener(uid);
      } catch (error) {
        // Reported as uncaught, as for an `EventTarget`. The mirror must not miss the changes that follow.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    for (const check of waiting) check();
  }

  function apply(order: Order): void {
    if (matches(order, wanted)) orders.set(order.uid, order);
    else orders.delete(order.uid);
    changed(order.uid);
  }

  async function follow(onReady: () => void): Promise<void> {
    const { status: _, pair, ...streamed } = wanted;
    const path = `orders/stream?${toQuery({ ...streamed, pair: pair?.join(',') })}`;
    const onState = (state: boolean) => {
      connected = state;
    };
    const events = readEvents(sender, path, options, control.signal, { onState });
    let ready = false;
    for await (const { type, id, data } of events) {
      // A connection may repeat events that were applied before.
      if (ready && id !== undefined && id <= cursor) continue;
      if (type === 'gap' || !ready) {
        await readAllWithRetry();
        if (control.signal.aborted) return;
      }
      // The end of a gap may be below the cursor, if the log was reset.
      if (type === 'gap')
        cursor = (JSON.parse(data) as { readonly to: number }).to; // the format of the event
      else if (id !== undefined) cursor = id;
      if (type === 'order')
        apply(JSON.parse(data) as Order); // the format of the event
      else if (type === 'withdrawn') {
        const { id: uid } = JSON.parse(data) as { readonly id: string }; // the format of the event
        orders.delete(uid);
        changed(uid);
      } else if (type === 'gap' || !ready) changed(undefined);
      // An event without a type is the opening, or a position without changes.
      else for (const check of waiting) check();
      if (!ready) onReady();
      ready = true;
    }
  }

  function close(): void {
    signal?.removeEventListener('abort', close);
    control.abort();
    for (const check of waiting) check();
  }
  signal?.addEventListener('abort', close);

  await new Promise<void>((resolve, reject) => {
    follow(resolve).then(
      () => reject(signal?.reason),
      (error: unknown) => {
        failure = error;
        close();
        reject(error);
      },
    );
  });

  return {
    get orders() {
      return orders;
    },
    get cursor() {
      return cursor;
    },
    get connected() {
      return connected && !control.signal.aborted;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reached: (position) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (cursor < position && failure === undefined && !control.signal.aborted) return;
          waiting.delete(check);
          if (cursor >= position) resolve();
          else reject(failure ?? new Error('the mirror was closed'));
        };
        waiting.add(check);
        check();
      }),
    close,
  };
}

type Wanted = Omit<MirrorFilter, 'status'> & { readonly status: OrderStatus | undefined };

function normalize({ status = 'open', pair, kind, ...addresses }: MirrorFilter): Wanted {
  const lower = Object.entries(addresses).filter(([, value]) => value !== undefined);
  return {
    // The server rejects a value that is not an address.
    ...Object.fromEntries(lower.map(([name, value]) => [name, String(value).toLowerCase()])),
    ...(pair === undefined ? {} : { pair: String(pair).toLowerCase().split(',') as [string, string] }),
    ...(kind === undefined ? {} : { kind }),
    status: status ?? undefined,
  };
}

/** Returns the listings whose results contain all wanted orders. */
function toQueries({ owner, sellToken, buyToken, token, pair, status }: Wanted): QueryParameters[] {
  const common = { owner, status, sellToken, buyToken };
  if (sellToken !== undefined || buyToken !== undefined) return [common];
  if (pair !== undefined) {
    return [
      { ...common, sellToken: pair[0], buyToken: pair[1] },
      { ...common, sellToken: pair[1], buyToken: pair[0] },
    ];
  }
  if (token !== undefined) {
    return [
      { ...common, sellToken: token },
      { ...common, buyToken: token },
    ];
  }
  return [common];
}

function matches(order: Order, { owner, sellToken, buyToken, token, pair, kind, status }: Wanted): boolean {
  const tokens = [order.sellToken, order.buyToken] as readonly string[]; // compared with texts
  return (
    (owner === undefined || order.owner === owner || order.onchainUser === owner) &&
    (sellToken === undefined || order.sellToken === sellToken) &&
    (buyToken === undefined || order.buyToken === buyToken) &&
    (token === undefined || tokens.includes(token)) &&
    (pair === undefined || (tokens.includes(pair[0]) && tokens.includes(pair[1]))) &&
    (kind === undefined || order.kind === kind) &&
    (status === undefined || order.status === status)
  );
}
