import { mapAsync } from '../concurrency/map-async.ts';
import type { Clock } from '../ports/clock.ts';
import { assertKnownOptions, assertOptionsObject } from '../validation/options.ts';
import {
  type AuctionChange,
  type AuctionDelta,
  type AuctionStreamOptions,
  createAuctionDelta,
  renderAuctionDelta,
} from './auction-delta.ts';
import type { Auction } from './auction-order.ts';
import { forgetRendered, renderOnce } from './render-auction.ts';

/** The stream of one subscriber as JSON text. */
export interface RenderedAuctionStream extends AsyncIterable<RenderedAuctionChange> {
  /** Ends the stream, also for a pending read. */
  leave(): void;
}

/** An event of a stream of auctions, as the HTTP interface sends it. */
export interface RenderedAuctionChange {
  readonly id: number;
  readonly type: 'auction' | 'delta';
  /** Parts of the JSON text, without line breaks. */
  readonly json: readonly string[];
  /** Number of orders in the event. */
  readonly rows: number;
}

/** Milliseconds between two auctions while there are subscribers. */
const INTERVAL = 1000;

/** Number of past auctions that a delta can start from. */
const KEPT = 64;

/** A subscriber receives a complete auction after this number of deltas, so that an error in its copy does not last. */
const DELTAS_PER_AUCTION = 64;

/** A pending read of a subscriber. */
interface Subscriber {
  /** Number of times that the feed had been closed when the stream was created. */
  readonly closes: number;
  wake: () => void;
  ended: boolean;
}

/** Creates the streams. Auctions are built in an interval while there are subscribers. */
export function createAuctionFeed(clock: Clock, build: () => Promise<Auction>, onFailure: (failure: unknown) => void) {
  const past = createPastAuctions();
  const subscribers = new Set<Subscriber>();
  let closes = 0;
  let isPolling = false;
  /** Whether an auction was built since the first subscriber joined. An earlier one may have orders that have ended. */
  let isCurrent = false;
  let cancel: (() => void) | undefined;

  /** Receives an auction. One that is not newer than the last has no effect. */
  function add(auction: Auction): void {
    if (past.add(auction)) wakeAll();
  }

  function wakeAll(): void {
    for (const { wake } of subscribers) wake();
  }

  function update(auction: Auction): void {
    isCurrent = true;
    add(auction);
    wakeAll();
  }

  async function poll(): Promise<void> {
    isPolling = true;
    await build().then(update, onFailure);
    isPolling = false;
    if (subscribers.size > 0) cancel = clock.after(INTERVAL, () => void poll());
  }

  const createSubscriber = (): Subscriber => ({ closes, wake: () => {}, ended: false });

  function join(subscriber: Subscriber): void {
    subscribers.add(subscriber);
    if (subscribers.size > 1) return;
    isCurrent = false;
    // A poll that a former subscriber has started continues with this one.
    if (!isPolling) void poll();
  }

  function leave(subscriber: Subscriber): void {
    subscriber.ended = true;
    subscriber.wake();
    subscribers.delete(subscriber);
    if (subscribers.size === 0) cancel?.();
  }

  /** Waits for the events of one subscriber. */
  async function* read(subscriber: Subscriber, { after, signal }: AuctionStreamOptions) {
    // The feed was closed before the first read.
    if (subscriber.closes !== closes) return;
    let position = after;
    let sent = 0;
    const end = () => leave(subscriber);
    signal?.addEventListener('abort', end);
    join(subscriber);
    try {
      while (!subscriber.ended && signal?.aborted !== true) {
        const newest = past.newest();
        if (!isCurrent || newest === undefined || newest.id === position) {
          await new Promise<void>((resolve) => {
            subscriber.wake = resolve;
          });
          continue;
        }
        const isDue = position === undefined || sent >= DELTAS_PER_AUCTION;
        const delta = isDue || position === undefined ? undefined : past.findDelta(position, newest);
        const isSmaller = delta !== undefined && delta.added.length + delta.removed.length <= newest.orders.length;
        position = newest.id;
        sent = isSmaller ? sent + 1 : 0;
        yield isSmaller ? { newest, delta } : { newest };
      }
    } finally {
      signal?.removeEventListener('abort', end);
      leave(subscriber);
    }
  }

  return {
    add,
    /** Streams auctions. The first event is a complete auction, or the difference to the auction `after`. */
    stream(options: AuctionStreamOptions = {}): AsyncIterable<AuctionChange> {
      assertKnownOptions('auctions.stream', options, ['after', 'signal']);
      const subscriber = createSubscriber();
      return toChanges(read(subscriber, options), () => leave(subscriber));
    },
    renderedStream(options: AuctionStreamOptions = {}): RenderedAuctionStream {
      assertOptionsObject('auctions.rendered.stream', options, 'after');
      const subscriber = createSubscriber();
      const render = () => renderChanges(read(subscriber, options), past.renderDelta);
      return { [Symbol.asyncIterator]: render, leave: () => leave(subscriber) };
    },
    /** Ends all streams. */
    close(): void {
      closes++;
      for (const subscriber of subscribers) leave(subscriber);
    },
  };
}

/** Creates the list of the last auctions, with the differences to the newest. */
function createPastAuctions() {
  const past: Auction[] = [];
  /** Deltas to the newest auction, by their base. */
  const deltas = new Map<number, AuctionDelta>();
  const texts = new WeakMap<AuctionDelta, string>();

  return {
    newest: () => past.at(-1),
    /** Adds an auction. @returns false if it is not newer than the last. */
    add(auction: Auction): boolean {
      const previous = past.at(-1);
      if (auction.id <= (previous?.id ?? 0)) return false;
      if (previous !== undefined) forgetRendered(previous);
      past.push(auction);
      if (past.length > KEPT) past.shift();
      deltas.clear();
      return true;
    },
    /** Returns the delta from a past auction to the newest. `undefined` if that is not kept. */
    findDelta(base: number, newest: Auction): AuctionDelta | undefined {
      const known = deltas.get(base);
      if (known !== undefined) return known;
      const from = past.find(({ id }) => id === base);
      if (from === undefined) return undefined;
      const delta = createAuctionDelta(from, newest);
      deltas.set(base, delta);
      return delta;
    },
    renderDelta(delta: AuctionDelta): string {
      const text = texts.get(delta) ?? renderAuctionDelta(delta);
      texts.set(delta, text);
      return text;
    },
  };
}

/** The newest auction, and the difference to it from the one that was sent before. */
interface FeedEvent {
  readonly newest: Auction;
  readonly delta?: AuctionDelta;
}

function toChanges(events: AsyncGenerator<FeedEvent>, leave: () => void): AsyncIterable<AuctionChange> {
  const changes = mapAsync(
    events,
    ({ newest, delta }): AuctionChange =>
      delta === undefined ? { type: 'auction', auction: newest } : { type: 'delta', delta },
  )[Symbol.asyncIterator]();
  const iterator: AsyncIterator<AuctionChange> = {
    next: changes.next,
    async return() {
      leave(); // ends a pending read, so that the generator receives its `return`
      await changes.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* renderChanges(
  events: AsyncGenerator<FeedEvent>,
  renderDelta: (delta: AuctionDelta) => string,
): AsyncGenerator<RenderedAuctionChange> {
  for await (const { newest, delta } of events) {
    const { id } = newest;
    if (delta !== undefined) {
      yield { id, type: 'delta', json: [renderDelta(delta)], rows: delta.added.length };
      continue;
    }
    const { chunks, size } = await renderOnce(newest);
    const decoder = new TextDecoder();
    yield { id, type: 'auction', json: chunks.map((chunk) => decoder.decode(chunk)), rows: size };
  }
}
