import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Auction, AuctionChange, NativePriceResult } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAuctionFeed } from '../../../src/auctions/auction-feed.ts';
import { createAuctionPricing } from '../../../src/auctions/auction-prices.ts';
import { renderOnce } from '../../../src/auctions/render-auction.ts';
import { address, NOW, place, range } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder as order } from '../../support/complete-orders.ts';
import { SEPOLIA } from '../../support/orders.ts';

async function createFixture() {
  const store = memoryStore();
  const clock = manualClock(NOW * 1000);
  const book = createOrderBook({ chainId: SEPOLIA, store, clock, expiryInterval: 'off', auctions: { minValidity: 0 } });
  await book.start();
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  return { store, clock, book, failures };
}

let fixture: Awaited<ReturnType<typeof createFixture>>;
beforeEach(async () => {
  fixture = await createFixture();
  await place(fixture.store, ...range(3).map((n) => order(n)));
});
afterEach(async () => {
  await fixture.book.close();
  expect(fixture.failures).toEqual([]);
});

async function open(after?: number): Promise<AsyncIterator<AuctionChange>> {
  return (await fixture.book.auctions.stream(after === undefined ? {} : { after }))[Symbol.asyncIterator]();
}

const read = async (changes: AsyncIterator<AuctionChange>): Promise<AuctionChange> => (await changes.next()).value;

/** Waits until the builds in progress have ended. */
async function settle(): Promise<void> {
  for (const _ of range(50)) await new Promise(setImmediate);
}

describe('auction stream', () => {
  test('starts with the current auction, and continues with the changes', async () => {
    const { book, store } = fixture;
    const changes = await open();
    const first = await read(changes);
    expect(first).toEqual({ type: 'auction', auction: await book.auctions.current() });
    await place(store, order(7));
    const { id } = await book.auctions.current();
    const { type, ...rest } = await read(changes);
    expect(type).toBe('delta');
    const [base] = first.type === 'auction' ? [first.auction.id] : [];
    expect(rest).toEqual({
      delta: {
        id,
        base,
        block: 0,
        size: 4,
        prices: {},
        removed: [],
        added: [expect.objectContaining({ uid: order(7).uid })],
      },
    });
  });

  test('builds an auction each second while it is read', async () => {
    const { clock, store } = fixture;
    const changes = await open();
    await read(changes);
    await place(store, order(7));
    const next = read(changes);
    await new Promise(setImmediate); // the first poll ends
    clock.advance(1000);
    expect((await next).type).toBe('delta');
  });

  test('resumes after a known id with the difference only, and after another one with an auction', async () => {
    const { book, store } = fixture;
    const changes = await open();
    await read(changes);
    const { id } = await book.auctions.current();
    await store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: NOW * 1000 });
    await book.auctions.current();
    expect(await read(await open(id))).toMatchObject({ type: 'delta', delta: { base: id, removed: [order(1).uid] } });
    expect(await read(await open(id + 1000))).toMatchObject({ type: 'auction' });
  });

  test('sends one delta for several auctions to a slow subscriber', async () => {
    const { book, store } = fixture;
    const changes = await open();
    await read(changes);
    for (const n of [10, 11, 12]) {
      await place(store, order(n));
      await book.auctions.current();
    }
    const change = await read(changes);
    expect(change.type === 'delta' && change.delta.added.map(({ uid }) => uid)).toEqual(
      [10, 11, 12].map((n) => order(n).uid),
    );
  });

  test('repeats the complete auction after 64 deltas', async () => {
    const { book, store } = fixture;
    const changes = await open();
    const types: string[] = [(await read(changes)).type];
    for (const n of range(130)) {
      await place(store, order(100 + n));
      await book.auctions.current();
      types.push((await read(changes)).type);
    }
    expect(types.flatMap((type, i) => (type === 'auction' ? [i] : []))).toEqual([0, 65, 130]);
  });

  test('ends at its first read if the book was closed before, and a new one begins after a restart', async () => {
    const { book, clock } = fixture;
    const changes = await open();
    const rendered = (await book.auctions.rendered.stream())[Symbol.asyncIterator]();
    await book.close();
    const reads = Promise.all([changes.next(), rendered.next()]);
    await settle();
    clock.advance(1000);
    expect(await Promise.race([reads, settle()])).toMatchObject([{ done: true }, { done: true }]);
    await book.start();
    expect(await read(await open())).toMatchObject({ type: 'auction' });
  });

  test('ends when the signal is aborted, and when the book is closed', async () => {
    const { book } = fixture;
    const stopped = new AbortController();
    const aborted = (await book.auctions.stream({ signal: stopped.signal }))[Symbol.asyncIterator]();
    const closed = await open();
    await Promise.all([read(aborted), read(closed)]);
    const ends = [aborted.next(), closed.next()];
    stopped.abort();
    expect(await ends[0]).toEqual({ done: true, value: undefined });
    await book.close();
    expect(await ends[1]).toEqual({ done: true, value: undefined });
  });

  test('is rejected if the book closes while it is opened', async () => {
    const { book } = fixture;
    const opening = book.auctions.stream();
    const closing = book.close();
    await expect(opening).rejects.toMatchObject({ code: 'Closed' });
    await closing;
  });

  test('ends a pending read when the reader stops', async () => {
    const changes = await open();
    await read(changes);
    const pending = changes.next();
    expect(await changes.return?.()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  test('builds one auction each second, also after subscribers that left during a build', async () => {
    const { clock, store } = fixture;
    const waiting = clock.pending;
    for (const _ of range(5)) {
      const stream = await fixture.book.auctions.rendered.stream();
      void stream[Symbol.asyncIterator]().next(); // starts a build
      stream.leave();
    }
    const changes = await open();
    await read(changes);
    await settle();
    const builds = vi.spyOn(store.events, 'last');
    for (const _ of range(3)) {
      clock.advance(1000);
      await settle();
    }
    expect(builds.mock.calls).toHaveLength(3);
    expect(clock.pending).toBe(waiting + 1);
    await changes.return?.();
  });

  test('starts with the current auction, also if the last one was built long ago', async () => {
    const { book, clock, store } = fixture;
    const changes = await open();
    await read(changes);
    await changes.return?.();
    clock.advance(3_600_000);
    await place(store, order(7));
    const later = await open();
    const first = await read(later);
    expect(first).toEqual({ type: 'auction', auction: await book.auctions.current() });
    await later.return?.();
  });

  test('is not polled without subscribers', async () => {
    const { clock } = fixture;
    const waiting = clock.pending;
    const changes = await open();
    await read(changes);
    await new Promise(setImmediate);
    expect(clock.pending).toBe(waiting + 1);
    await changes.return?.();
    expect(clock.pending).toBe(waiting);
  });
});

describe('GET /api/v1/auction/stream', () => {
  async function serve() {
    const server = createServer(nodeHandler(createApi(fixture.book)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/auction/stream`; // of a TCP server
    const close = () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    };
    return { url, close };
  }

  /** Reads events until there are `count`. */
  async function readEvents(response: Response, count: number): Promise<string[]> {
    let text = '';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (text.split('\n\n').length <= count) text += (await reader?.read())?.value ?? '';
    await reader?.cancel();
    return text.split('\n\n').slice(0, count);
  }

  test('sends the bytes of the auction with its id, and resumes after Last-Event-ID', async () => {
    const { book, store } = fixture;
    const { url, close } = await serve();
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const { id, chunks } = await book.auctions.rendered.current();
    expect(await readEvents(response, 1)).toEqual([
      `id: ${id}\nevent: auction\ndata: ${new TextDecoder().decode(Buffer.concat(chunks))}`,
    ]);
    await place(store, order(7));
    const later = await book.auctions.current();
    const [event = ''] = await readEvents(await fetch(url, { headers: { 'last-event-id': String(id) } }), 1);
    expect(event).toMatch(new RegExp(`^id: ${later.id}\nevent: delta\ndata: `));
    expect(JSON.parse(event.split('data: ')[1] ?? '')).toMatchObject({ id: later.id, base: id, size: 4 });
    const malformed = await fetch(url, { headers: { 'last-event-id': 'x' } });
    expect(malformed.status).toBe(400);
    await close();
  });
});

describe('auction id', () => {
  test('does not change with an order that is not in the auction', async () => {
    const { book, store } = fixture;
    const { id } = await book.auctions.current();
    await place(store, order(20, { signingScheme: 'presign', state: 'presignaturePending', quotaClass: 'pending' }));
    expect((await book.auctions.current()).id).toBe(id);
    await place(store, order(21));
    expect((await book.auctions.current()).id).toBeGreaterThan(id);
  });

  test('does not depend on the order in which prices arrive', async () => {
    const waiting: (() => void)[] = [];
    const clock = manualClock(NOW * 1000);
    const pricing = createAuctionPricing(
      { clock, onFailure: () => {} },
      undefined,
      () =>
        new Promise((resolve) => waiting.push(() => resolve({ status: 'priced', price: '1' } as NativePriceResult))),
    );
    const tokens = range(5).map(address);
    const texts = new Set<string>();
    for (const reversed of [false, true]) {
      const found = pricing.find(tokens);
      await new Promise(setImmediate);
      const responses = waiting.splice(0);
      for (const respond of reversed ? responses.reverse() : responses) respond();
      texts.add(JSON.stringify(await found));
    }
    expect([...texts].map((text) => Object.keys(JSON.parse(text)).length)).toEqual([5]);
  });
});

test('auction feed keeps the bytes of the newest auction only', async () => {
  const feed = createAuctionFeed(
    manualClock(),
    () => Promise.reject(),
    () => {},
  );
  const create = (id: number): Auction => ({
    id,
    block: id,
    prices: {},
    surplusCapturingJitOrderOwners: [],
    orders: [],
  });
  const [first, second] = [create(1), create(2)];
  feed.add(first);
  const before = renderOnce(first);
  expect(renderOnce(first)).toBe(before);
  feed.add(second);
  expect(renderOnce(first)).not.toBe(before);
  const newest = renderOnce(second);
  expect(new TextDecoder().decode(Buffer.concat((await newest).chunks))).toBe(JSON.stringify(second));
  feed.add(second);
  expect(renderOnce(second)).toBe(newest);
  feed.close();
});
