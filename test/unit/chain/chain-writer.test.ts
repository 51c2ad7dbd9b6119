import type { ApplyOutcome, Hex, NewQuote, RollbackOutcome, Store } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test, vi } from 'vitest';
import type { FindDocument } from '../../../src/admission/documents.ts';
import { createChainWriter } from '../../../src/chain/chain-writer.ts';
import { OrderBookError } from '../../../src/errors.ts';
import { parseOptions } from '../../../src/options.ts';
import type { QuoteRequest } from '../../../src/protocol/quote-request.ts';
import type { Happening } from '../../support/chain-events.ts';
import { blockOf, eventsIn, hashOf, placementOf, TRADER } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { COW, SEPOLIA, SEPOLIA_DOMAIN, WETH } from '../../support/orders.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';

type Context = Parameters<typeof createChainWriter>[0];

const FLOW: Hex = `0x${'ef'.repeat(20)}`;
const TOKENS = { sellToken: WETH.toLowerCase() as Hex, buyToken: COW.toLowerCase() as Hex }; // in lower case
const NOW = 1_700_000_000_000;

/** A quote whose rank and body have its number. */
const quoteOf = (n: number, changes: Partial<NewQuote> = {}): NewQuote => ({
  ...TOKENS,
  kind: 'sell',
  amount: '1000',
  quoteKind: 'onchainEip1271',
  expiresAt: NOW + 600_000,
  rank: String(n),
  quote: { body: `{"n":${n}}`, metadata: '{}' },
  ...changes,
});

const NO_PRICE = { status: 'rejected', error: new OrderBookError('NoLiquidity') };

interface WriterOptions {
  readonly apply?: ApplyOutcome;
  readonly rollback?: RollbackOutcome;
  /** The result of a new quote; stores it. Default: none is available. */
  readonly request?: (request: QuoteRequest, store: Store) => Promise<unknown>;
  readonly hasQuotes?: boolean;
  readonly findDocument?: FindDocument;
  readonly reorgLimit?: number;
}

async function fixture({ apply, rollback, request, hasQuotes = true, findDocument, reorgLimit }: WriterOptions = {}) {
  const store = memoryStore();
  const clock = manualClock(NOW);
  await store.open({ domain: SEPOLIA_DOMAIN, clock });
  const emitted: [string, unknown][] = [];
  const failures: unknown[] = [];
  const requests: QuoteRequest[] = [];
  const rollbacks: unknown[] = [];
  const wakes = { count: 0 };
  const closing = new AbortController();
  const estimator = { name: 'none', estimate: () => undefined };
  const configuration = parseOptions({
    chainId: SEPOLIA,
    clock,
    store: {
      ...store,
      chain: {
        ...store.chain,
        apply: async (batch) => apply ?? store.chain.apply(batch),
        async rollback(to) {
          rollbacks.push(to);
          return rollback ?? store.chain.rollback(to);
        },
      },
    },
    ...(reorgLimit === undefined ? {} : { indexer: { sources: [scriptedChain().node('a')], reorgLimit } }),
    ...(hasQuotes ? { quotes: { estimators: [estimator], gasPrice: '0' } } : {}),
  });
  const context: Context = {
    ...configuration,
    assertStarted: () => {},
    wake: () => void wakes.count++,
    cache: undefined,
    emit: (event, observation) => void emitted.push([event, observation]),
    onFailure: (failure) => void failures.push(failure),
    findAuction: async () => undefined,
    documents: { ...configuration.documents, find: findDocument },
    requestQuote: (async (asked: QuoteRequest) => {
      requests.push(asked);
      return request?.(asked, store) ?? NO_PRICE;
    }) as Context['requestQuote'], // the members that are used
  };
  const writer = createChainWriter(context, () => closing.signal);
  return {
    store,
    clock,
    writer,
    emitted,
    failures,
    requests,
    rollbacks,
    wakes,
    closing,
    /** Applies one placement and returns its stored order. */
    async place(happening: Happening, number = 5) {
      const through = blockOf(number);
      const outcome = await writer.apply({ events: eventsIn(through, [happening]), through });
      expect(outcome.status).toBe('applied');
      const { uid } = (await store.events.after(0, 100)).at(-1) ?? {};
      const [order] = uid === undefined ? [] : await store.orders.get([uid]);
      return order;
    },
  };
}

const errorOf = (order: { placement: string | null } | undefined) =>
  JSON.parse(order?.placement ?? '{}').onchainOrderData?.placementError;

describe('chain writer', () => {
  test('reports applied events, and wakes the log only for new ones', async () => {
    const outcomes: ApplyOutcome[] = [
      { status: 'applied', applied: 2, known: 1, indexedBlock: blockOf(5) },
      { status: 'applied', applied: 0, known: 3, indexedBlock: blockOf(5) },
    ];
    const seen = [];
    for (const apply of outcomes) {
      const { writer, emitted, wakes } = await fixture({ apply });
      expect(await writer.apply({ events: [], through: blockOf(5) })).toBe(apply);
      seen.push([wakes.count, ...emitted]);
    }
    const observation = { indexedBlock: blockOf(5), ignored: 0, unattributed: 0 };
    expect(seen).toEqual([
      [1, ['chainApplied', { ...observation, applied: 2, known: 1 }]],
      [0, ['chainApplied', { ...observation, applied: 0, known: 3 }]],
    ]);
  });

  test('counts trades without a known fee, unless nothing was new', async () => {
    const trade: Happening = {
      event: 'Trade',
      owner: TRADER,
      ...TOKENS,
      sellAmount: 1n,
      buyAmount: 1n,
      feeAmount: 0n,
      orderUid: `0x${'12'.repeat(56)}`,
    };
    const through = blockOf(5);
    const { writer, emitted } = await fixture();
    for (const _ of [1, 2]) await writer.apply({ events: eventsIn(through, [trade, trade]), through });
    expect(emitted.map(([, observation]) => observation)).toMatchObject([
      { applied: 2, known: 0, unattributed: 2 },
      { applied: 0, known: 2, unattributed: 0 },
    ]);
  });

  test.each<ApplyOutcome>([
    { status: 'moved', indexedBlock: null },
    { status: 'conflict', block: 5, stored: hashOf('another'), indexedBlock: blockOf(5) },
  ])('reports nothing if nothing was applied: $status', async (apply) => {
    const { writer, emitted, wakes } = await fixture({ apply });
    expect(await writer.apply({ events: [], through: blockOf(5) })).toBe(apply);
    expect([emitted, wakes.count]).toEqual([[], 0]);
  });

  test.each([
    [3, 1],
    [0, 0],
  ])('reports a rollback of %d events and wakes the log %d times', async (removed, count) => {
    const { writer, emitted, wakes, rollbacks } = await fixture({
      rollback: { status: 'rolledBack', removed, indexedBlock: blockOf(4) },
    });
    await writer.rollback(4);
    expect(rollbacks).toEqual([{ to: 4, at: NOW }]);
    expect(emitted).toEqual([['chainRolledBack', { to: 4, indexedBlock: blockOf(4), removed }]]);
    expect(wakes.count).toBe(count);
  });

  test('passes on the condition of a rollback and reports none that has not happened', async () => {
    const { writer, emitted, wakes, rollbacks } = await fixture({
      rollback: { status: 'moved', indexedBlock: null },
    });
    await writer.rollback(0, { after: null });
    await writer.rollback(3, { after: blockOf(5) });
    expect(rollbacks).toEqual([
      { to: 0, at: NOW, after: null },
      { to: 3, at: NOW, after: blockOf(5) },
    ]);
    expect([emitted, wakes.count]).toEqual([[], 0]);
  });

  test.each([
    [undefined, [2002]],
    [1999, [2002]],
    [2000, [2002, 1]],
  ])('keeps the hashes of more blocks than the limit %s of reorganisations', async (reorgLimit, numbers) => {
    const { store, writer } = await fixture(reorgLimit === undefined ? {} : { reorgLimit });
    for (const number of [1, 2002]) await writer.apply({ events: [], through: blockOf(number) });
    expect((await store.chain.blocks()).map(({ number }) => number)).toEqual(numbers);
  });

  test.each([-2, 1.5, Number.NaN])('rejects a rollback to block %d', async (to) => {
    const { writer } = await fixture();
    await expect(writer.rollback(to)).rejects.toThrow(new TypeError('a rollback goes to a block number'));
  });
});

describe('quote of an order that is placed on chain', () => {
  test('is the one that it names', async () => {
    const { store, place, requests } = await fixture();
    await store.quotes.insert(quoteOf(1));
    const id = await store.quotes.insert(quoteOf(2));
    await store.quotes.insert(quoteOf(3));
    expect((await place(placementOf(TOKENS, { quoteId: id })))?.quote).toEqual({ body: '{"n":2}', metadata: '{}' });
    expect(requests).toEqual([]);
  });

  test.each([0, 999])('otherwise is a matching one: id %d', async (quoteId) => {
    const { store, place, requests } = await fixture();
    await store.quotes.insert(quoteOf(1));
    expect((await place(placementOf(TOKENS, { quoteId })))?.quote?.body).toBe('{"n":1}');
    expect(requests).toEqual([]);
  });

  test('is a matching one without a query of the id if that is above 2^53', async () => {
    const { store, place } = await fixture();
    const match = vi.spyOn(store.quotes, 'match');
    await store.quotes.insert(quoteOf(1));
    const placed = await place(placementOf(TOKENS, { data: `0x7${'f'.repeat(15)}65535bf0` }));
    expect(placed?.quote?.body).toBe('{"n":1}');
    expect(match.mock.calls).toEqual([[expect.not.objectContaining({ id: expect.anything() })]]);
  });

  test.each([
    ['sell', 0, 'eip1271', { sellAmountAfterFee: '1000' }],
    ['buy', 0, 'eip1271', { buyAmountAfterFee: '400' }],
    ['sell', 1, 'presign', { sellAmountAfterFee: '1000' }],
  ] as const)('otherwise is a new one: %s, scheme %d', async (kind, scheme, signingScheme, size) => {
    const { place, requests, failures } = await fixture({
      async request(_, store) {
        const quoteKind = scheme === 1 ? 'onchainPresign' : 'onchainEip1271';
        const amount = kind === 'sell' ? '1000' : '400';
        const id = await store.quotes.insert(quoteOf(4, { kind, quoteKind, amount }));
        return { status: 'quoted', quote: { id } };
      },
    });
    const terms = { ...TOKENS, kind: hashOf(kind), validTo: NOW / 1000 + 600 };
    const happening = { ...placementOf(terms), signature: { scheme, data: FLOW } };
    const order = await place(happening as Happening);
    expect(requests).toEqual([
      { ...TOKENS, from: scheme === 1 ? TRADER : FLOW, kind, onchainOrder: true, signingScheme, ...size },
    ]);
    expect([order?.quote?.body, errorOf(order), failures]).toEqual(['{"n":4}', undefined, []]);
  });

  const broken = new Error('no price');
  test.each<[string, WriterOptions['request'], unknown[]]>([
    ['is rejected', async () => ({ ...NO_PRICE, quote: { id: 1 } }), []],
    ['is not stored', async () => ({ status: 'quoted', quote: { id: null } }), []],
  ])('is missing if a new one %s', async (_, request, failures) => {
    const started = await fixture(request === undefined ? {} : { request });
    const order = await started.place(placementOf(TOKENS));
    expect([errorOf(order), order?.quote, started.failures]).toEqual(['QuoteNotFound', null, failures]);
  });

  const lateError = new OrderBookError('NoLiquidity', undefined, { temporary: true });
  const temporary: [string, () => Promise<unknown>, unknown[]][] = [
    ['fails', () => Promise.reject(broken), [broken]],
    ['has no gas price', async () => ({ status: 'rejected', error: new OrderBookError('ChainUnavailable') }), []],
    ['has an estimator that is late', async () => ({ status: 'rejected', error: lateError }), []],
  ];

  test.each(temporary)('is missing without an error if a new one %s', async (_, request, failures) => {
    const started = await fixture({ request });
    const order = await started.place(placementOf(TOKENS));
    expect([errorOf(order), order?.quote, started.failures]).toEqual([undefined, null, failures]);
  });

  test.each(temporary)('is read again after the next start if the book closes and a new one %s', async (_, request) => {
    const started = await fixture({ request });
    started.closing.abort();
    await expect(started.place(placementOf(TOKENS))).rejects.toMatchObject({ code: 'Closed' });
  });

  test.each([
    [NOW / 1000, 1],
    [NOW / 1000 - 1, 0],
  ])('of an order that is valid to %d is requested %d times', async (userValidTo, count) => {
    const { place, requests } = await fixture();
    await place(placementOf(TOKENS, { userValidTo }));
    expect(requests).toHaveLength(count);
  });

  test('of an order that is stored already is not requested again', async () => {
    const { place, requests, writer } = await fixture();
    await place(placementOf(TOKENS));
    const through = blockOf(6);
    await writer.apply({ events: eventsIn(through, [placementOf(TOKENS)]), through });
    expect(requests).toHaveLength(1);
  });

  test('is not required by a book without estimators', async () => {
    const { place, requests } = await fixture({ hasQuotes: false });
    const order = await place(placementOf(TOKENS));
    expect([errorOf(order), requests]).toEqual([undefined, []]);
  });

  describe('of a block with many placements', () => {
    const happenings = Array.from({ length: 40 }, (_, n) => placementOf({ ...TOKENS, buyAmount: BigInt(n + 1) }));
    const through = blockOf(5);

    /** Applies the block. Each request ends with a call of the function that it adds to `pending`. */
    async function start() {
      const pending: (() => void)[] = [];
      const started = await fixture({
        request: () => new Promise((resolve) => pending.push(() => resolve(NO_PRICE))),
      });
      const applied = started.writer.apply({ events: eventsIn(through, happenings), through });
      return { ...started, pending, applied };
    }

    test('are requested concurrently, 8 at a time', async () => {
      const { pending, applied, requests } = await start();
      for (const count of [8, 16, 24, 32, 40]) {
        await vi.waitFor(() => expect(requests).toHaveLength(count));
        for (const respond of pending.splice(0)) respond();
      }
      await applied;
    });

    test('are requested for 5 seconds; then placements are stored without one, and without an error', async () => {
      const { pending, applied, requests, clock, store } = await start();
      await vi.waitFor(() => expect(requests).toHaveLength(8));
      clock.advance(5000);
      for (const respond of pending) respond();
      await applied;
      const uids = (await store.events.after(0, 100)).map(({ uid }) => uid);
      const errors = (await store.orders.get(uids)).map(errorOf);
      expect([requests.length, errors.length]).toEqual([8, 40]);
      expect(errors.filter((error) => error === 'QuoteNotFound')).toHaveLength(8);
    });
  });
});

describe('app-data document of an order that is placed on chain', () => {
  const hook = { target: FLOW, callData: '0x1234', gasLimit: '21000' };
  const document = JSON.stringify({ metadata: { hooks: { post: [hook] } } });
  const placement = placementOf({ ...TOKENS, appData: hashOf(document) });
  const failure = new OrderBookError('InternalServerError', 'the source is not available');

  /** A book whose document source fails a number of times. */
  async function start(times: number) {
    const find = vi.fn(async () => document);
    for (let i = 0; i < times; i++) find.mockRejectedValueOnce(failure);
    return { ...(await fixture({ findDocument: find })), find };
  }

  test('is stored with its order, unless it is not valid', async () => {
    const { place } = await start(0);
    expect(await place(placement)).toMatchObject({ fullAppData: document });
    const text = 'not JSON';
    const invalid = await fixture({ findDocument: async () => text });
    const order = await invalid.place(placementOf({ ...TOKENS, appData: hashOf(text) }));
    expect(order).toMatchObject({ fullAppData: null });
    expect(await invalid.store.appData.get(hashOf(text))).toBeUndefined();
  });

  test('is queried again after a failure', async () => {
    const { place, clock, find } = await start(2);
    const placed = place(placement);
    for (const [count, delay] of [
      [1, 500],
      [2, 1000],
    ] as const) {
      await vi.waitFor(() => expect([find.mock.calls.length, clock.pending]).toEqual([count, 1]));
      clock.advance(delay);
    }
    expect(JSON.parse((await placed)?.body ?? '').interactions.post).toHaveLength(1);
    expect(find).toHaveBeenCalledTimes(3);
  });

  test('is queried for 10 seconds; then the order is stored without its hooks', async () => {
    const { place, clock, find } = await start(100);
    const placed = place(placement);
    for (const count of [1, 2, 3, 4]) {
      await vi.waitFor(() => expect([find.mock.calls.length, clock.pending]).toEqual([count, 1]));
      clock.advance(500 * 2 ** (count - 1));
    }
    expect(JSON.parse((await placed)?.body ?? '').interactions.post).toEqual([]);
    expect(find).toHaveBeenCalledTimes(5);
  });

  test('is queried again after the next start if the book closes', async () => {
    const { writer, clock, closing, store } = await start(1);
    const through = blockOf(5);
    const applied = writer.apply({ events: eventsIn(through, [placement]), through });
    const result = expect(applied).resolves.toMatchObject({ status: 'applied' });
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    closing.abort();
    await result; // the source responds again, at once

    const failing = await start(100);
    const rejected = failing.writer.apply({ events: eventsIn(through, [placement]), through });
    const reason = expect(rejected).rejects.toMatchObject({ code: 'Closed' });
    await vi.waitFor(() => expect(failing.clock.pending).toBe(1));
    failing.closing.abort();
    await reason;
    expect([await store.events.last(), await failing.store.events.last()]).toEqual([1, 0]);
  });
});
