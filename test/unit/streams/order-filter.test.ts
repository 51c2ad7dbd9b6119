import type { Order, OrderStreamFilter } from 'intentbook';
import { OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { parseStreamLimits } from '../../../src/limits/stream-limits.ts';
import { createOrderMatcher, filterItems } from '../../../src/streams/order-filter.ts';
import { ALL_ORDERS, toOwnerKey, toUidKey } from '../../../src/streams/order-log.ts';
import { getOrderStreamKey, toOrderStreamEvent } from '../../../src/streams/order-stream-event.ts';
import type { StreamEvent, StreamItem } from '../../../src/streams/stream.ts';

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

const item = (id: number, changes: Partial<Order> = {}): StreamItem => ({
  type: 'item',
  id,
  event: 'order',
  data: JSON.stringify(order(changes)),
});
const GAP: StreamEvent = { type: 'gap', from: 1, to: 2 };
const WITHDRAWN: StreamItem = { type: 'item', id: 5, event: 'withdrawn', data: '{"id":"0x01"}' };

describe('filter of the items of a stream', () => {
  test('keeps orders that match, and withdrawn orders', () => {
    const keeps = filterItems(({ kind }) => kind === 'sell');
    expect([item(3), item(4, { kind: 'buy' }), WITHDRAWN].map(keeps)).toEqual([true, false, true]);
  });

  test('parses an item once for several subscribers', () => {
    const event = item(1);
    const seen: Order[] = [];
    for (const _ of [1, 2]) filterItems((parsed) => seen.push(parsed) > 0)(event);
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
