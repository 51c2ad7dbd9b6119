import type { AccountStore, Channel, ClaimedDelivery, DeliveryResult, Subscription } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDeliveryDispatcher, createSlowHosts } from '../../../src/notifications/delivery-dispatcher.ts';
import { manualClock } from '../../support/clock.ts';

const NOW = 1_700_000_000_000;
const account = (n: number) => `0x${String(n).padStart(40, '0')}` as const;

interface Choice {
  /** Result of each attempt, in order. Default: delivered. */
  readonly results?: (() => Promise<DeliveryResult>)[];
  readonly channel?: Partial<Channel>;
  /** Time of the next delivery that the store reports. */
  readonly next?: number | null;
  readonly jitter?: number;
  readonly settle?: () => Promise<never>;
  /** Milliseconds. Default: 15,000. */
  readonly timeout?: number;
}

/** A dispatcher over scripted claims, which are returned once. */
function fixture({ results = [], channel = {}, next = null, jitter = 0, settle, timeout = 15_000 }: Choice = {}) {
  const clock = manualClock(NOW);
  const claims: ClaimedDelivery[][] = [];
  const requests: unknown[] = [];
  const settled: unknown[] = [];
  const removed: unknown[] = [];
  const failures: unknown[] = [];
  const delivered: string[] = [];
  const store = memoryAccountStore();
  const deliveries = {
    ...store.deliveries,
    async claim(request) {
      requests.push(request);
      return { claimed: claims.shift() ?? [], next };
    },
    async recordResult(request) {
      settled.push(request);
      return settle?.() ?? 'recorded';
    },
  } satisfies AccountStore['deliveries'];
  const subscriptions = {
    ...store.subscriptions,
    async remove(request) {
      removed.push(request);
      return 'removed';
    },
  } as AccountStore['subscriptions']; // the methods that are used
  const scripted: Channel = {
    name: 'test',
    signs: false,
    confirmation: 'none',
    parseTarget: (target) => target,
    async deliver({ id }) {
      delivered.push(id);
      return results.shift()?.() ?? { status: 'delivered' };
    },
    ...channel,
  };
  const dispatcher = createDeliveryDispatcher({
    store: { ...store, deliveries, subscriptions },
    channels: new Map([['test', scripted]]),
    clock,
    jitter: () => jitter,
    onFailure: (failure) => void failures.push(failure),
    attempts: 5,
    retryDelay: 1000,
    maxRetryDelay: 6000,
    timeout,
  });
  onTestFinished(async () => {
    const stopped = dispatcher.stop();
    clock.advance(60_000); // ends attempts that hang
    await stopped;
  });
  return { clock, claims, requests, settled, removed, failures, delivered, dispatcher };
}

function claimed(seq: number, changes: Partial<Subscription> = {}, attempt = 1): ClaimedDelivery {
  const subscription: Subscription = {
    id: 'one',
    account: account(seq),
    channel: 'test',
    target: 'host/path',
    secret: null,
    types: ['order_filled'],
    state: 'active',
    createdAt: 0,
    ...changes,
  };
  return { seq, subscription, notification: `n${seq}`, body: '{}', attempt, claim: 7, isReliable: true };
}

async function settleAll(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

const failing = (error: string, retryAfter?: number) => async (): Promise<DeliveryResult> =>
  retryAfter === undefined ? { status: 'failed', error } : { status: 'failed', error, retryAfter };

describe('delivery attempt', () => {
  test('is claimed for twice the timeout, within the limits', async () => {
    const { dispatcher, requests } = fixture();
    dispatcher.start();
    await settleAll();
    const lanes = [true, false].map((isReliable) => ({ channel: 'test', isReliable, limit: 16 }));
    // The clocks of two processes can differ by a minute.
    const limits = { limit: 48, maxDelay: 90_000, perAccount: 2, busyAccounts: [], lanes };
    expect(requests).toEqual([{ now: NOW, until: NOW + 30_000, ...limits }]);
  });

  test.each([
    [null, 5000],
    [NOW + 9000, 5000],
    [NOW + 3000, 3000],
    [NOW, 1],
    [NOW - 50, 1],
  ])('is looked for again when the next delivery is due at %s', async (next, wait) => {
    const { dispatcher, requests, clock } = fixture({ next });
    dispatcher.start();
    await settleAll();
    clock.advance(wait - 1);
    await settleAll();
    expect(requests).toHaveLength(1);
    clock.advance(1);
    await settleAll();
    expect(requests).toHaveLength(2);
  });

  test('has an id that depends on the subscription and the notification, not on the attempt', async () => {
    const { dispatcher, claims, delivered, settled } = fixture();
    claims.push([claimed(1)], [claimed(1, {}, 2)], [claimed(2)], [claimed(1, { id: 'two' })]);
    dispatcher.start();
    await settleAll();
    const [first, again, other, another] = delivered;
    expect(first).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(again).toBe(first);
    expect(new Set([first, other, another]).size).toBe(3);
    expect(settled[0]).toEqual({ seq: 1, claim: 7, outcome: { status: 'delivered' } });
  });

  test.each<[number, number, number | undefined, number]>([
    [1, 0, undefined, 500],
    [1, 1, undefined, 1000],
    [2, 1, undefined, 2000],
    [3, 0.5, undefined, 3000],
    [4, 1, undefined, 6000],
    [1, 0.0011, undefined, 501],
    [1, 1, 3, 3000],
    [1, 1, 0.5, 1000],
    [1, 1, 3600, 6000],
  ])('number %d is repeated with jitter %d and Retry-After %s after %d ms', async (attempt, jitter, after, delay) => {
    const { dispatcher, claims, settled } = fixture({ jitter, results: [failing('busy', after)] });
    claims.push([claimed(1, {}, attempt)]);
    dispatcher.start();
    await settleAll();
    expect(settled).toEqual([{ seq: 1, claim: 7, outcome: { status: 'retry', at: NOW + delay, error: 'busy' } }]);
  });

  test.each([4, 5, 6])('number %d of five', async (attempt) => {
    const { dispatcher, claims, settled } = fixture({ results: [failing('x'.repeat(501))] });
    claims.push([claimed(1, {}, attempt)]);
    dispatcher.start();
    await settleAll();
    const error = 'x'.repeat(500);
    expect(settled).toMatchObject([{ outcome: { status: attempt < 5 ? 'retry' : 'dead', error } }]);
  });

  test.each<[string, () => Promise<DeliveryResult>, string]>([
    ['an error', () => Promise.reject(new Error('refused')), 'refused'],
    ['another value', () => Promise.reject('refused'), 'refused'],
    ['an error with a NUL character', () => Promise.reject(new Error('bad\0byte')), 'bad byte'],
  ])('that throws %s is repeated', async (_, result, error) => {
    const { dispatcher, claims, settled, failures } = fixture({ results: [result] });
    claims.push([claimed(1)]);
    dispatcher.start();
    await settleAll();
    expect(settled).toMatchObject([{ outcome: { status: 'retry', error } }]);
    expect(failures).toEqual([]);
  });

  test('to a target whose host the channel cannot read fails, and the next is made', async () => {
    const getHost = (target: string) => new URL(target).host;
    const { dispatcher, claims, settled, failures } = fixture({ channel: { getHost } });
    const next = claimed(2, { target: 'https://a.example' });
    claims.push([claimed(1, { target: '?' }), next], [claimed(1, { target: '?' }, 5)]);
    dispatcher.start();
    await settleAll();
    const error = 'Invalid URL';
    expect(settled).toHaveLength(3);
    expect(settled).toEqual(
      expect.arrayContaining([
        { seq: 1, claim: 7, outcome: { status: 'retry', at: NOW + 500, error } },
        { seq: 2, claim: 7, outcome: { status: 'delivered' } },
        { seq: 1, claim: 7, outcome: { status: 'dead', error } },
      ]),
    );
    expect(failures).toEqual([]);
  });

  test.each<[unknown]>([
    [undefined],
    [null],
    ['delivered'],
    [{ status: 'ok' }],
    [{ status: 'failed' }],
    [{ status: 'failed', error: new Error('busy') }],
  ])('with the result %j is repeated until the limit', async (result) => {
    const results = [1, 5].map(() => async () => result as DeliveryResult); // as from JavaScript
    const { dispatcher, claims, settled, failures } = fixture({ results });
    claims.push([claimed(1)], [claimed(1, {}, 5)]);
    dispatcher.start();
    await settleAll();
    const error = 'the channel has returned an invalid result';
    expect(settled).toMatchObject([{ outcome: { status: 'retry', error } }, { outcome: { status: 'dead', error } }]);
    expect(failures).toEqual([]);
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])('with a Retry-After of %d has a valid time', async (after) => {
    const { dispatcher, claims, settled } = fixture({ jitter: 1, results: [failing('busy', after)] });
    claims.push([claimed(1)]);
    dispatcher.start();
    await settleAll();
    const delay = after === Number.POSITIVE_INFINITY ? 6000 : 1000;
    expect(settled).toMatchObject([{ outcome: { status: 'retry', at: NOW + delay } }]);
  });

  test('of a channel that is not configured fails', async () => {
    const { dispatcher, claims, settled } = fixture();
    claims.push([claimed(1, { channel: 'pigeon' })]);
    dispatcher.start();
    await settleAll();
    expect(settled).toMatchObject([{ outcome: { status: 'retry', error: 'the channel pigeon is not configured' } }]);
  });

  test('to a target that is gone removes the subscription', async () => {
    const { dispatcher, claims, settled, removed } = fixture({
      results: [async () => ({ status: 'gone', error: 'responded with 410' })],
    });
    claims.push([claimed(1)]);
    dispatcher.start();
    await settleAll();
    expect([settled, removed]).toEqual([[], [{ id: 'one', account: account(1) }]]);
  });

  test('whose outcome cannot be stored is reported, and the next is made', async () => {
    const broken = new Error('store');
    const { dispatcher, claims, failures, delivered } = fixture({ settle: () => Promise.reject(broken) });
    claims.push([claimed(1)], [claimed(2)]);
    dispatcher.start();
    await settleAll();
    expect([failures, delivered.length]).toEqual([[broken, broken], 2]);
  });

  test('is awaited by stop', async () => {
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { dispatcher, claims, settled } = fixture({
      results: [() => slow.then(() => ({ status: 'delivered' as const }))],
    });
    claims.push([claimed(1)]);
    dispatcher.start();
    await settleAll();
    const stopped = dispatcher.stop();
    await settleAll();
    expect(settled).toEqual([]);
    finish();
    await stopped;
    expect(settled).toHaveLength(1);
  });
});

describe('limits of delivery attempts', () => {
  const never = () => new Promise<DeliveryResult>(() => {});
  const hanging = (channel: Partial<Channel> = {}) => fixture({ channel: { deliver: never, ...channel } });

  test('release deliveries beyond two per account', async () => {
    const { dispatcher, claims, settled, requests } = hanging();
    claims.push([1, 2, 3].map((seq) => claimed(seq, { account: account(9), target: `h${seq}/` })));
    dispatcher.start();
    await settleAll();
    expect(settled).toEqual([{ seq: 3, claim: 7, outcome: { status: 'released', at: NOW + 1000 } }]);
    dispatcher.wake();
    await settleAll();
    expect(requests.at(-1)).toMatchObject({ busyAccounts: [account(9)] });
  });

  test('release attempts that do not end soon after the dispatcher stops', async () => {
    const { dispatcher, claims, clock, settled } = hanging();
    claims.push([claimed(1)]);
    dispatcher.start();
    await settleAll();
    const stopped = dispatcher.stop();
    clock.advance(1999);
    await settleAll();
    expect(settled).toEqual([]);
    clock.advance(1);
    await stopped;
    expect(settled).toEqual([{ seq: 1, claim: 7, outcome: { status: 'released', at: NOW + 3000 } }]);
  });

  test('wait beyond four per host, of channels with hosts only, and are released after a second', async () => {
    const getHost = (target: string) => target.split('/')[0];
    const withHosts = hanging({ getHost });
    withHosts.claims.push([1, 2, 3, 4, 5].map((seq) => claimed(seq)).concat(claimed(6, { target: 'other/' })));
    withHosts.dispatcher.start();
    await settleAll();
    withHosts.clock.advance(999);
    await settleAll();
    expect(withHosts.settled).toEqual([]);
    withHosts.clock.advance(1);
    await settleAll();
    expect(withHosts.settled).toEqual([{ seq: 5, claim: 7, outcome: { status: 'released', at: NOW + 2000 } }]);
    const without = hanging();
    without.claims.push([1, 2, 3, 4, 5].map((seq) => claimed(seq)));
    without.dispatcher.start();
    await settleAll();
    expect(without.settled).toEqual([]);
  });

  test('release deliveries to a busy host for longer, the more of them wait for the end of an attempt', async () => {
    const ends: (() => void)[] = [];
    const deliver = () => new Promise<DeliveryResult>((resolve) => ends.push(() => resolve({ status: 'delivered' })));
    const { dispatcher, claims, clock, settled } = fixture({ channel: { getHost: () => 'host', deliver } });
    const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => claimed(from + i));
    const getDelays = () =>
      (settled.splice(0) as { outcome: { at?: number } }[]).map(
        ({ outcome: { at = clock.now() } }) => at - clock.now(),
      );
    claims.push(range(1, 16), range(17, 7));
    dispatcher.start();
    await settleAll();
    expect(getDelays()).toEqual([1000, 1000, 1000]); // 4 attempts, 16 wait
    clock.advance(1000);
    await settleAll();
    expect(getDelays()).toEqual([...Array.from({ length: 13 }, () => 1000), 2000, 2000, 2000]);
    claims.push(range(30, 2));
    ends[0]?.();
    await settleAll();
    clock.advance(1000);
    await settleAll();
    expect(getDelays()).toEqual([0, 1000]);
  });

  test('are sent one after the other to a host with many, in the order of their claims', async () => {
    const ends: (() => void)[] = [];
    const sent: string[] = [];
    const deliver: Channel['deliver'] = ({ body }) =>
      new Promise((resolve) => {
        sent.push(body);
        ends.push(() => resolve({ status: 'delivered' }));
      });
    const { dispatcher, claims, settled } = fixture({ channel: { getHost: () => 'host', deliver } });
    claims.push(Array.from({ length: 12 }, (_, i) => ({ ...claimed(i), body: String(i) })));
    dispatcher.start();
    await settleAll();
    expect(sent).toEqual(['0', '1', '2', '3']);
    for (let i = 0; i < 12; i++) {
      ends[i]?.();
      await settleAll();
    }
    expect(sent).toEqual(Array.from({ length: 12 }, (_, i) => String(i)));
    expect(settled).toHaveLength(12);
  });

  test('wait for half of a short timeout, so that their claim lasts until the end of the attempt', async () => {
    const channel = { getHost: () => 'host', deliver: never };
    const { dispatcher, claims, clock, settled } = fixture({ channel, timeout: 400 });
    claims.push([1, 2, 3, 4, 5].map((seq) => claimed(seq)));
    dispatcher.start();
    await settleAll();
    clock.advance(199);
    await settleAll();
    expect(settled).toEqual([]);
    clock.advance(1);
    await settleAll();
    expect(settled).toMatchObject([{ seq: 5, outcome: { status: 'released' } }]);
  });

  test('that are deferred late do not wait, so that their claim lasts until the end of the attempt', async () => {
    const attempts: string[] = [];
    const deliver: Channel['deliver'] = async ({ body }, { enter }) => {
      attempts.push(body);
      if (body === '5') await new Promise<void>((resolve) => clock.after(1000, resolve)); // a slow name server
      return enter?.('192.0.2.1') ? never() : { status: 'deferred' };
    };
    const { dispatcher, claims, clock, settled } = fixture({ channel: { deliver } });
    claims.push([1, 2, 3, 4, 5].map((seq) => ({ ...claimed(seq), body: String(seq) })));
    dispatcher.start();
    await settleAll();
    clock.advance(1000);
    await settleAll();
    expect(attempts).toEqual(['1', '2', '3', '4', '5']);
    expect(settled).toMatchObject([{ seq: 5, outcome: { status: 'released' } }]);
  });

  test('that wait are released when the dispatcher stops, and count for their account', async () => {
    const { dispatcher, claims, clock, requests, settled } = hanging({ getHost: () => 'host' });
    claims.push(
      [1, 2, 3, 4].map((seq) => claimed(seq)),
      [claimed(5), claimed(6, { account: account(5) })],
    );
    dispatcher.start();
    await settleAll();
    dispatcher.wake();
    await settleAll();
    dispatcher.wake();
    await settleAll();
    expect((requests as { busyAccounts: string[] }[]).at(-1)?.busyAccounts).toEqual([account(5)]);
    const stopped = dispatcher.stop();
    await settleAll();
    expect((settled as { seq: number }[]).map(({ seq }) => seq)).toEqual([5, 6]);
    clock.advance(2000);
    await stopped;
  });

  test('exclude a lane with 16 attempts', async () => {
    const { dispatcher, claims, requests } = fixture({ results: Array.from({ length: 17 }, () => never) });
    const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => claimed(from + i));
    claims.push(range(1, 15), range(40, 1), [{ ...claimed(50), isReliable: false }]);
    dispatcher.start();
    await settleAll();
    for (let i = 0; i < 3; i++) {
      dispatcher.wake();
      await settleAll();
    }
    const limits = (requests as { lanes: { limit: number }[] }[]).map(({ lanes }) => lanes.map(({ limit }) => limit));
    expect(limits).toEqual([
      [16, 16],
      [1, 16],
      [0, 16],
      [0, 15],
    ]);
  });

  test('wait for an address with four attempts, until one has ended', async () => {
    const ends: (() => void)[] = [];
    const { dispatcher, claims, settled } = fixture({
      channel: {
        async deliver(_, { enter }) {
          if (enter?.('192.0.2.1') === false) return { status: 'deferred' };
          await new Promise<void>((resolve) => ends.push(resolve));
          return { status: 'delivered' };
        },
      },
    });
    claims.push([1, 2, 3, 4, 5].map((seq) => claimed(seq, { target: `h${seq}/` })));
    dispatcher.start();
    await settleAll();
    expect([ends.length, settled]).toEqual([4, []]);
    ends[0]?.();
    await settleAll();
    expect([ends.length, settled]).toEqual([5, [{ seq: 1, claim: 7, outcome: { status: 'delivered' } }]]);
  });

  test('that are deferred leave their host slow', async () => {
    const signals: AbortSignal[] = [];
    const deliver: Channel['deliver'] = (_, { signal }) => {
      signals.push(signal);
      return signals.length === 2 ? Promise.resolve({ status: 'deferred' }) : never();
    };
    const { dispatcher, claims, clock } = fixture({ channel: { deliver, getHost: () => 'host' } });
    dispatcher.start();
    for (const seq of [1, 2, 3]) {
      claims.push([claimed(seq)]);
      dispatcher.wake();
      await settleAll();
      if (seq === 1) clock.advance(15_000);
      await settleAll();
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false]);
    clock.advance(5_000);
    await settleAll();
    expect(signals[2]?.aborted).toBe(true);
  });

  test('suspend a subscription that has failed for a day, if the channel works for others', async () => {
    const failingSince = NOW - 86_400_000;
    const results = [failing('a'), async () => ({ status: 'delivered' as const }), failing('b'), failing('c')];
    const { dispatcher, claims, settled } = fixture({ results, jitter: 1 });
    const changes = [{ failingSince }, {}, { failingSince: failingSince + 1 }, { failingSince }];
    claims.push(...changes.map((each, i) => [claimed(i + 1, each)]));
    dispatcher.start();
    await settleAll();
    expect(settled).toMatchObject([
      { outcome: { status: 'retry', error: 'a' } },
      { outcome: { status: 'delivered' } },
      { outcome: { status: 'retry', error: 'b' } },
      { outcome: { status: 'suspended', error: 'c' } },
    ]);
  });
});

describe('slow hosts', () => {
  test('have a timeout of five seconds from five seconds on, until they are fast again', () => {
    const hosts = createSlowHosts(15_000);
    hosts.record('a', 4999);
    expect(hosts.getTimeout('a', false)).toBe(15_000);
    hosts.record('a', 5000);
    expect([hosts.getTimeout('a', false), hosts.getTimeout('b', false), hosts.getTimeout(undefined, false)]).toEqual([
      5000, 15_000, 15_000,
    ]);
    hosts.record('a', 10);
    expect(hosts.getTimeout('a', false)).toBe(15_000);
    expect([hosts.getTimeout('a', true), hosts.getTimeout(undefined, true)]).toEqual([5000, 15_000]);
    hosts.record(undefined, 9000);
    expect(hosts.getTimeout(undefined, false)).toBe(15_000);
  });

  test('have the timeout of the dispatcher if that is shorter', () => {
    const hosts = createSlowHosts(600);
    hosts.record('a', 600);
    expect(hosts.getTimeout('a', false)).toBe(600);
  });

  test('are forgotten beyond 1000, the oldest first', () => {
    const hosts = createSlowHosts(15_000);
    for (let i = 0; i < 1000; i++) hosts.record(`h${i}`, 9000);
    hosts.record('h0', 9000);
    expect(hosts.getTimeout('h1', false)).toBe(5000);
    hosts.record('more', 9000);
    expect([hosts.getTimeout('h0', false), hosts.getTimeout('h1', false), hosts.getTimeout('h2', false)]).toEqual([
      5000, 15_000, 5000,
    ]);
  });
});
