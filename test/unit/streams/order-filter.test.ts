import type { Order, OrderStreamFilter } from 'intentbook';
import { OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { parseStreamLimits } from '../../../src/limits/stream-limits.ts';
import { createOrderMatcher, filterStream } from '../../../src/streams/order-filter.ts';
import { ALL_ORDERS, toOwnerKey, toUidKey } from '../../../src/streams/order-log.ts';
import { getOrderStreamKey, toOrderStreamEvent } from '../../../src/streams/order-stream-event.ts';
import type { Stream, StreamEvent } from '../../../src/streams/stream.ts';

const address = (digit: string) => `0x${digit.repeat(40)}` as const;
const [A, B, C] = [address('a'), address('b'), address('c')];

const order = (changes: Partial<Order> = {}) =>
  ({ sellToken: A, buyToken: B, kind: 'sell', status: 'open', ...changes }) as Order;

describe('matcher of a filter', () => {
  test('is absent without a filter that the log has no keys for', () => {
    expect(createOrderMatcher({})).toBeUndefined();
    expect(createOrderMatcher({ owner: A, uid: '0x' })).toBeUndefined();
  });

  const cases: readonly [OrderStreamFilter, Partial<Order>, boolean][] = [
    [{ sellToken: A.toUpperCase().replace('X', 'x') }, {}, true],
    [{ sellToken: B }, {}, false],
    [{ buyToken: B }, {}, true],
    [{ buyToken: A }, {}, false],
    [{ token: A }, {}, true],
    [{ token: B }, {}, true],
    [{ token: C }, {}, false],
    [{ pair: [A, B] }, {}, true],
    [{ pair: [B, A] }, {}, true],
    [{ pair: [A, C] }, {}, false],
    [{ pair: [C, B] }, {}, false],
    [{ pair: [A, B] }, { buyToken: A }, false],
    [{ pair: [A, B] }, { sellToken: B, buyToken: C }, false],
    [{ pair: [A, A] }, { buyToken: A }, true],
    [{ kind: 'sell' }, {}, true],
    [{ kind: 'buy' }, {}, false],
    [{ status: 'open' }, {}, true],
    [{ status: 'cancelled' }, {}, false],
    [{ kind: 'sell', status: 'open', token: A }, {}, true],
    [{ kind: 'sell', status: 'open', token: C }, {}, false],
  ];
  test.each(cases)('%j applied to an order with %j: %s', (filter, changes, expected) => {
    expect(createOrderMatcher(filter)?.(order(changes))).toBe(expected);
  });

  test.each([
    [{ sellToken: 'A' }, 'sellToken: must be 0x and 40 hex digits, got "A"', 'sellToken'],
    [{ buyToken: '0x' }, 'buyToken: must be 0x and 40 hex digits, got "0x"', 'buyToken'],
    [{ token: '' }, 'token: must be 0x and 40 hex digits, got ""', 'token'],
    [{ pair: A }, 'pair: must be two addresses', 'pair'],
    [{ pair: [A] }, 'pair: must be two addresses', 'pair'],
    [{ pair: [A, 'B'] }, 'pair: must be 0x and 40 hex digits, got "B"', 'pair'],
    [{ kind: 'swap' }, 'kind: must be "sell" or "buy"', 'kind'],
    [{ status: 'done' }, 'status: must be one of presignaturePending, open, fulfilled, cancelled, expired', 'status'],
  ])('%j is rejected and named', (filter, message, parameter) => {
    expect(() => createOrderMatcher(filter as unknown as OrderStreamFilter)).toThrow(
      new OrderBookError('InvalidParameter', message, { parameter }),
    );
  });
});

/** A stream that returns the given batches, then ends. */
function streamOf(...batches: readonly (readonly StreamEvent[])[]) {
  const left = [...batches];
  const calls = { taken: 0, left: 0 };
  const stream: Stream = {
    start: 7,
    backlog: 3,
    position: 9,
    async take() {
      calls.taken++;
      return left.shift() ?? [];
    },
    leave: () => void calls.left++,
    async *[Symbol.asyncIterator]() {},
  };
  return { stream, calls };
}

const item = (id: number, changes: Partial<Order> = {}): StreamEvent => ({
  type: 'item',
  id,
  event: 'order',
  data: JSON.stringify(order(changes)),
});
const GAP: StreamEvent = { type: 'gap', from: 1, to: 2 };
const WITHDRAWN: StreamEvent = { type: 'item', id: 5, event: 'withdrawn', data: '{"id":"0x01"}' };

describe('filtered stream', () => {
  const isSale = ({ kind }: Order) => kind === 'sell';

  test('omits other orders, and keeps gaps and withdrawn orders', async () => {
    const sale = item(3);
    const { stream, calls } = streamOf([GAP, item(4, { kind: 'buy' }), sale, WITHDRAWN]);
    const filtered = filterStream(stream, isSale);
    expect([filtered.start, filtered.backlog]).toEqual([7, 3]);
    expect(await filtered.take()).toEqual([GAP, sale, WITHDRAWN]);
    filtered.leave();
    expect(calls.left).toBe(1);
  });

  test('keeps gaps and withdrawn orders even if no order matches', async () => {
    const { stream } = streamOf([GAP], [WITHDRAWN]);
    const filtered = filterStream(stream, () => false);
    expect([await filtered.take(), await filtered.take(), await filtered.take()]).toEqual([[GAP], [WITHDRAWN], []]);
  });

  test('waits for the next batch if no event of a batch is left', async () => {
    const sale = item(9);
    const { stream, calls } = streamOf([item(8, { kind: 'buy' })], [sale]);
    expect(await filterStream(stream, isSale).take()).toEqual([sale]);
    expect(calls.taken).toBe(2);
  });

  test('returns its position after many orders that do not match', async () => {
    const buys = Array.from({ length: 64 }, (_, i) => item(i + 1, { kind: 'buy' }));
    const filtered = filterStream(streamOf(buys, buys, buys, [item(9)]).stream, isSale);
    expect(await filtered.take()).toEqual([{ type: 'position', id: 64 }]);
    expect(await filtered.take()).toEqual([item(9)]);
    expect(filtered.position).toBe(9);
  });

  test('ends with its source, and leaves it when the reader stops', async () => {
    const sales = [item(1), item(2)];
    const whole = streamOf(sales, [item(3, { kind: 'buy' })], [item(4)]);
    const read: StreamEvent[] = [];
    for await (const event of filterStream(whole.stream, isSale)) read.push(event);
    expect(read).toEqual([...sales, item(4)]);
    expect(whole.calls.left).toBe(1);

    const stopped = streamOf(sales);
    for await (const _ of filterStream(stopped.stream, isSale)) break;
    expect(stopped.calls.left).toBe(1);
  });

  test('ends a pending read when the reader stops', async () => {
    let end: (events: readonly StreamEvent[]) => void = () => {};
    const waiting: Stream = {
      ...streamOf().stream,
      take: () =>
        new Promise((resolve) => {
          end = resolve;
        }),
      leave: () => end([]),
    };
    const events = filterStream(waiting, isSale)[Symbol.asyncIterator]();
    const pending = events.next();
    expect(await events.return?.()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  test('parses an event once for several subscribers', async () => {
    const event = item(1);
    const seen: Order[] = [];
    const keep = (parsed: Order) => seen.push(parsed) > 0;
    for (const _ of [1, 2]) await filterStream(streamOf([event]).stream, keep).take();
    expect(seen[0]).toBe(seen[1]);
  });
});

describe('subscription of a stream', () => {
  const uid = `0x${'12'.repeat(56)}` as const;

  test('has the key of its owner, its order, or all orders', () => {
    expect(getOrderStreamKey({})).toBe(ALL_ORDERS);
    expect(getOrderStreamKey({ kind: 'sell' })).toBe(ALL_ORDERS);
    expect(getOrderStreamKey({ owner: A.replace('a', 'A') })).toBe(toOwnerKey(A));
    expect(getOrderStreamKey({ uid })).toBe(toUidKey(uid));
    expect(new Set([ALL_ORDERS, toOwnerKey(A), toUidKey(A)]).size).toBe(3);
  });

  test.each([
    [{ owner: A, uid }, 'owner: give either an owner or a uid', 'owner'],
    [{ owner: 'me' }, 'owner: must be 0x and 40 hex digits, got "me"', 'owner'],
  ])('%j is rejected', (filter, message, parameter) => {
    expect(() => getOrderStreamKey(filter)).toThrow(new OrderBookError('InvalidParameter', message, { parameter }));
  });

  test('rejects an unknown filter and names a similar one', () => {
    expect(() => getOrderStreamKey({ sellTokens: A } as OrderStreamFilter)).toThrow('sellToken');
  });

  test('converts its events to objects', () => {
    expect(toOrderStreamEvent(GAP)).toEqual(GAP);
    expect(toOrderStreamEvent(WITHDRAWN)).toEqual({ type: 'withdrawn', id: 5, uid: '0x01' });
    expect(toOrderStreamEvent(item(3))).toEqual({ type: 'order', id: 3, order: order() });
  });
});

describe('limits of streams', () => {
  test('have defaults', () => {
    expect(parseStreamLimits('createOrderBook', {})).toEqual({ queueSize: 256, resumeLimit: 10_000 });
    expect(parseStreamLimits('createAccounts', { queueSize: 1 }, 5)).toEqual({ queueSize: 1, resumeLimit: 5 });
    const absent = { queueSize: undefined, resumeLimit: undefined } as never; // as from JavaScript
    expect(parseStreamLimits('createOrderBook', absent)).toEqual({ queueSize: 256, resumeLimit: 10_000 });
  });

  test.each([
    [{ queueSize: 0 }, 'createOrderBook: streams.queueSize must be an integer from 1 up, got 0'],
    [{ resumeLimit: 1.5 }, 'createOrderBook: streams.resumeLimit must be an integer from 1 up, got 1.5'],
    [{ resumeLimit: '9' }, 'createOrderBook: streams.resumeLimit must be an integer from 1 up, got "9"'],
    [{ queue: 9 }, 'createOrderBook, streams: unknown option "queue", use queueSize, resumeLimit'],
  ])('%j are rejected', (limits, message) => {
    expect(() => parseStreamLimits('createOrderBook', limits as never)).toThrow(new TypeError(message));
  });
});
