import type { OrderCreation } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { AbortedError } from '../../../src/concurrency/abort.ts';
import { createOrderApi, type OrderApiContext } from '../../../src/orders/orders.ts';
import type { SubmissionObservation } from '../../../src/orders/submit.ts';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';
import type { CancelOutcome } from '../../../src/ports/store.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { createVerifier } from '../../../src/verification/verifier.ts';
import { NOW, range, USDC, WETH } from '../../conformance/orders.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { account, SEPOLIA_DOMAIN, signCancellation } from '../../support/orders.ts';
import type { RecordingStoreOptions } from './recording-store.ts';
import { createGate, recordingStore, toRow, uidOf } from './recording-store.ts';

const ALICE = account(1);
/** The expiry of an order that is stored, and of one that is not. */
const [STORED, NEW] = [NOW + 600, NOW + 601];

const verifier = await createVerifier(SEPOLIA_DOMAIN);

interface Options extends Partial<RecordingStoreOptions> {
  readonly writers?: 'single' | 'many';
  readonly hasListeners?: boolean;
  readonly cancelOutcome?: CancelOutcome;
}

function fixture({ writers = 'single', hasListeners = true, cancelOutcome, ...options }: Options = {}) {
  const recording = recordingStore({ entries: 9, ...options, traits: { writers } });
  const { store } = recording;
  if (cancelOutcome !== undefined) store.orders.cancel = async () => cancelOutcome;
  const lookups: string[] = [];
  const cache = {
    current: () => undefined,
    refresh: async () => 1,
    get(uid: string) {
      lookups.push(uid);
    },
    put() {},
  };
  let elapsed = 1000;
  const clock = { now: () => NOW * 1000, monotonic: () => elapsed, after: () => () => {} };
  const simulated: unknown[] = [];
  const simulate = async (request: unknown) => {
    simulated.push(request);
    return { status: 'simulated', error: null };
  };
  const admission = {
    store,
    clock,
    verifier,
    domain: { verifyingContract: SEPOLIA_DOMAIN.settlementContract },
    documents: { maxAppDataSize: 1000 },
    submissions: { pace: async () => {}, track: <T>(submission: () => Promise<T>) => submission() },
    convertCodes: async <T>(result: T) => {
      elapsed += 30;
      return result;
    },
    remote: { run: (_: string, job: (signal: AbortSignal) => unknown) => job(AbortSignal.timeout(60_000)) },
    simulator: { simulate },
    onFailure() {},
  };
  const calls = { wake: 0 };
  const observations: SubmissionObservation[] = [];
  const context = {
    reading: { store, clock, cache, onFailure() {} },
    admission: () => admission,
    wake: () => calls.wake++,
    onSubmitted: {
      hasListeners: () => hasListeners,
      notify: (observation: SubmissionObservation) => observations.push(observation),
    },
  } as unknown as OrderApiContext; // the members that these methods use
  return { ...recording, api: createOrderApi(context), lookups, calls, observations, simulated };
}

const decode = (bytes: Uint8Array): { order: { n: number } }[] => JSON.parse(new TextDecoder().decode(bytes));

/** Runs several ticks of the event loop. */
async function runTicks(): Promise<void> {
  for (let i = 0; i < 10; i++) await yieldToEventLoop();
}

/** Lets promises proceed without a tick of the event loop. */
async function runMicrotasks(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

const toUpper = (uid: Hex) => `0x${uid.slice(2).toUpperCase()}`;

describe('concurrent equal reads of a store with several writers', () => {
  const many = () => fixture({ writers: 'many' });

  test('share the read that follows the first one', async () => {
    const { api, gets } = many();
    const uid = uidOf(1);
    const orders = await Promise.all(range(5).map(() => api.rendered.get(uid)));
    expect(orders.map((order) => order?.uid)).toEqual(range(5).map(() => uid));
    expect(gets).toEqual([[uid], [uid]]);
  });

  test('share the next read also for lists of UIDs in any case', async () => {
    const { api, gets } = many();
    const uids = [uidOf(1), uidOf(2)];
    const results = await Promise.all([uids, uids.map(toUpper), uids].map((list) => api.rendered.getMany(list)));
    expect(results.map((list) => list.map(({ order }) => order?.uid))).toEqual([uids, uids, uids]);
    expect(gets).toEqual([uids, uids]);
  });

  test('share the next read also as bytes, in memory that no caller provides', async () => {
    const { open, opened } = createGate();
    const { api, gets } = fixture({ writers: 'many', onRead: () => opened });
    const sizes: number[] = [];
    const allocate = (size: number) => new Uint8Array(sizes.push(size));
    const reads = range(4).map(() => api.rendered.getManyBytes([uidOf(3)], { allocate }));
    await runTicks();
    open();
    const results = await Promise.all(reads);
    expect(results.map((bytes) => decode(bytes).map(({ order }) => order.n))).toEqual(range(4).map(() => [3]));
    expect(gets).toHaveLength(2);
    expect(sizes).toEqual([]);
  });

  test('share no page: each caller counts its rows and ends its read', async () => {
    const { api, lists } = many();
    const meters = range(4).map(() => ({ rows: 0 }));
    const query = { offset: 1, limit: 2 };
    const pages = await Promise.all(meters.map((meter) => api.rendered.list(query, { meter })));
    expect(pages.map(({ orders }) => orders.length)).toEqual([2, 2, 2, 2]);
    const encoded = await Promise.all(meters.map((meter) => api.rendered.listBytes(query, { meter })));
    expect(encoded.map(({ count }) => count)).toEqual([2, 2, 2, 2]);
    expect(lists).toHaveLength(8);
    expect(meters).toEqual(meters.map(() => ({ rows: 6 })));
    await expect(api.rendered.list(query, { signal: { aborted: true } })).rejects.toThrow(AbortedError);
  });

  test('share no read of other orders', async () => {
    const { api } = many();
    const { get, getMany } = api.rendered;
    const numbers = [1, 2, 3];
    const uids = numbers.map(uidOf);
    expect((await Promise.all(uids.map((uid) => get(uid)))).map((order) => order?.uid)).toEqual(uids);
    const results = await Promise.all(uids.map((uid) => getMany([uid])));
    expect(results.map(([result]) => result?.order?.uid)).toEqual(uids);
    const { open, opened } = createGate();
    const slow = fixture({ writers: 'many', onRead: () => opened }).api.rendered;
    const reads = uids.map((uid) => slow.getManyBytes([uid]));
    await runTicks();
    open();
    expect((await Promise.all(reads)).map((bytes) => decode(bytes)[0]?.order.n)).toEqual(numbers);
  });
});

describe('read of a store with one writer', () => {
  test('is not shared', async () => {
    const { api, gets, lists } = fixture();
    const [uid, meter] = [uidOf(1), { rows: 0 }];
    await Promise.all(range(3).map(() => api.rendered.get(uid)));
    expect(gets).toHaveLength(3);
    await Promise.all(range(3).map(() => api.rendered.list({ limit: 2 }, { meter })));
    await Promise.all(range(3).map(() => api.rendered.listBytes({ limit: 2 }, { meter })));
    expect(lists).toHaveLength(6);
    expect(meter.rows).toBe(18);
  });

  test('finds UIDs in the cache before it parses them', async () => {
    const { api, lookups } = fixture();
    const text = toUpper(uidOf(1).replace(/.$/, 'a') as Hex); // hex text
    await api.rendered.getMany([text]);
    expect(lookups).toEqual([text, text.toLowerCase()]);
  });

  test('ends with its caller', async () => {
    const { api, lists, gets } = fixture();
    const options = { signal: { aborted: true } };
    await expect(api.rendered.list({ status: 'open' }, options)).rejects.toThrow(AbortedError);
    await expect(api.rendered.listBytes({ status: 'open' }, options)).rejects.toThrow(AbortedError);
    await expect(api.rendered.getManyBytes([uidOf(1)], options)).rejects.toThrow(AbortedError);
    expect([lists, gets]).toEqual([[], []]);
  });

  test('as bytes waits for the reads before it, and is in the memory of its caller', async () => {
    const { api, gets } = fixture();
    const signal = { aborted: false };
    const memory = new Uint8Array(10_000);
    const first = api.rendered.getManyBytes([uidOf(1)], { allocate: (size) => memory.subarray(0, size) });
    const second = api.rendered.getManyBytes([uidOf(2)], { signal });
    const third = api.rendered.getManyBytes([uidOf(3)]);
    const rejected = expect(second).rejects.toThrow(AbortedError);
    await runMicrotasks();
    expect(gets).toEqual([[uidOf(1)]]);
    signal.aborted = true;
    await rejected;
    expect((await first).buffer).toBe(memory.buffer);
    expect(decode(await third).map(({ order }) => order.n)).toEqual([3]);
    expect(gets).toEqual([[uidOf(1)], [uidOf(3)]]);
  });
});

/** An order with the amount 0, which is accepted only if it is already stored. */
const toCreation = (validTo: number): OrderCreation => ({
  sellToken: WETH,
  buyToken: USDC,
  feeAmount: '0',
  kind: 'sell',
  partiallyFillable: false,
  from: ALICE.address,
  sellAmount: '0',
  buyAmount: '0',
  validTo,
  appData: '{}',
  signingScheme: 'presign',
  signature: '0x',
});

describe('submission', () => {
  function submissions(hasListeners = true) {
    const all = fixture({ hasListeners });
    all.store.orders.get = async (uids) =>
      uids.filter((uid) => uid.endsWith(STORED.toString(16))).map((uid) => ({ ...toRow(1, 1), uid }));
    const submit = (...validTos: readonly number[]) =>
      all.api.submitMany(validTos.map(toCreation), { acceptExisting: true });
    return { ...all, submit };
  }

  test.each([
    [[], [], 0],
    [[NEW], ['rejected'], 0],
    [[STORED], ['accepted'], 1],
    [[NEW, STORED], ['rejected', 'accepted'], 1],
  ])(
    'of orders valid to %j has the results %j and wakes the dispatcher %i times',
    async (validTos, statuses, wakes) => {
      const { submit, calls } = submissions();
      expect((await submit(...validTos)).map(({ status }) => status)).toEqual(statuses);
      expect(calls.wake).toBe(wakes);
    },
  );

  test('notifies the listeners of its results and duration', async () => {
    const { submit, observations } = submissions();
    await submit(NEW, STORED);
    expect(observations).toEqual([{ accepted: 1, rejected: ['ZeroAmount'], ms: 60 }]);
  });

  test('notifies no observer without listeners', async () => {
    const { submit, observations } = submissions(false);
    await submit(STORED);
    expect(observations).toEqual([]);
  });
});

describe('cancellation', () => {
  const orderUid: Hex = `0x${'01'.repeat(32)}${ALICE.address.toLowerCase().slice(2)}ffffffff`;

  test.each<[CancelOutcome, number]>([
    [{ status: 'cancelled' }, 1],
    [{ status: 'rejected', uid: orderUid, reason: 'missing' }, 0],
  ])('with the outcome %j wakes the dispatcher %i times', async (cancelOutcome, wakes) => {
    const { api, calls } = fixture({ cancelOutcome });
    const signed = { orderUid, ...(await signCancellation(ALICE, { orderUid })) };
    expect((await api.cancel(signed)).status).toBe(cancelOutcome.status);
    expect(calls.wake).toBe(wakes);
  });
});

describe('simulation', () => {
  test('of a stored order is found by its UID', async () => {
    const { api, store, simulated } = fixture();
    const { body, validTo, uid } = completeOrder(1);
    store.orders.get = async () => [{ ...toRow(1, 1), body, validTo }];
    expect(await api.simulate(uid, { block: 5 })).toEqual({ status: 'simulated', error: null });
    expect(simulated).toMatchObject([{ block: 5, executed: 2n }]);
  });

  test('of an unknown order has no result', async () => {
    const { api, simulated } = fixture();
    expect(await api.simulate(uidOf(77))).toBeUndefined();
    expect(simulated).toEqual([]);
  });

  test('of an order that is not stored reads no order', async () => {
    const { api, gets, simulated } = fixture();
    expect(await api.simulate({ ...toCreation(NEW), sellAmount: '7' })).toEqual({ status: 'simulated', error: null });
    expect(simulated).toMatchObject([{ executed: 7n }]);
    expect(gets).toEqual([]);
  });

  test('of a malformed order is rejected', async () => {
    const { api } = fixture();
    const result = await api.simulate({} as OrderCreation); // as JavaScript
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'InvalidBody' } });
  });
});
