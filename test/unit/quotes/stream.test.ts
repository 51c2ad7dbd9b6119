import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Api, QuoteStreamEvent } from 'intentbook';
import { createApi } from 'intentbook';
import { nodeHandler } from 'intentbook/node-http';
import { describe, expect, test } from 'vitest';
import { answering, ETHER, hanging, prompted, quotesFixture, SELL, settle, source } from './quotes-fixture.ts';

const GOOD = (3n * ETHER) / 10n;

/** A stream that must start, with its events so far. */
async function opened(fixture: Awaited<ReturnType<typeof quotesFixture>>, request = SELL, signal?: AbortSignal) {
  const result = await fixture.book.quotes.stream(request, signal === undefined ? {} : { signal });
  if (result.status !== 'streaming') throw result.error;
  const events: QuoteStreamEvent[] = [];
  const state = { events, ended: false };
  const reading = (async () => {
    for await (const event of result.quotes) events.push(event);
    state.ended = true;
  })();
  return { state, reading, iterable: result.quotes };
}

/** Sends a request to an API without a network. */
async function get(api: Api, path: string) {
  const request = { method: 'GET', path, query: '', header: () => undefined, body: { type: 'none' } } as const;
  const response = await api.handle(request);
  return [response.status, JSON.parse(String(response.body))] as const;
}

const bought = (events: readonly QuoteStreamEvent[]) =>
  events.map((event) =>
    event.type === 'quote' ? Math.round(Number(event.quote.quote.buyAmount) / 1e15) : event.error.code,
  );

describe('quote stream', () => {
  test('emits each better quote when it arrives, with its own id', async () => {
    const sources = ['a', 'b', 'c', 'd'].map(prompted);
    const fixture = await quotesFixture({ estimators: sources });
    const { state } = await opened(fixture);
    for (const [i, amount] of [GOOD, GOOD - 1n, GOOD + GOOD / 100n, GOOD].entries()) {
      sources[i]?.recordedCalls[0]?.answer({ amount, gas: 100_000 });
      await settle();
    }
    expect(bought(state.events)).toEqual([299, 302]);
    expect(state.ended).toBe(true);
    const ids = state.events.map((event) => event.type === 'quote' && event.quote.id);
    expect(ids).toEqual([1, 2]);
  });

  test('ends at the deadline with the quotes so far', async () => {
    const fixture = await quotesFixture({ estimators: [answering('good', GOOD), hanging('slow')] });
    const { state, reading } = await opened(fixture);
    await settle();
    expect([state.events.length, state.ended]).toEqual([1, false]);
    fixture.clock.advance(4_999);
    await settle();
    expect(state.ended).toBe(false);
    fixture.clock.advance(1);
    await reading;
    expect(state.events).toHaveLength(1);
    expect(fixture.outcomes()).toEqual({ good: 'responded', slow: 'late' });
  });

  test.each([-3_600_000, 3_600_000])('keeps its deadline if the clock steps by %i ms', async (step) => {
    const sources = ['first', 'second', 'late'].map(prompted);
    const fixture = await quotesFixture({ estimators: sources });
    const { state, reading } = await opened(fixture);
    sources[0]?.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    await settle();
    fixture.clock.advance(1_000);
    fixture.clock.jump(step);
    sources[1]?.recordedCalls[0]?.answer({ amount: 2n * GOOD, gas: 100_000 });
    await settle();
    fixture.clock.advance(3_999);
    await settle();
    expect([bought(state.events), state.ended]).toEqual([[299, 598], false]);
    fixture.clock.advance(1);
    await reading;
    expect(state.events).toHaveLength(2);
    // Each quote expires by the clock at the time when it was found.
    const [first = 0, second = 0] = state.events.map((event) =>
      event.type === 'quote' ? Date.parse(event.quote.expiration) : Number.NaN,
    );
    expect(second - first).toBe(step + 1_000);
  });

  test.each([
    ['no estimator has a price', [source('none', () => undefined), hanging('slow')], 'NoLiquidity'],
    ['no estimate covers the fee', [answering('dear', GOOD, 10 ** 12), hanging('slow')], 'SellAmountDoesNotCoverFee'],
    [
      'an estimator reports an unsupported token',
      [
        source('knowing', () => ({ unsupportedToken: '0x0625afb445c3b6b7b929342a04a22599fd5dbb59' }) as const),
        hanging('slow'),
      ],
      'UnsupportedToken',
    ],
  ])('emits one error at the deadline if %s', async (_, estimators, code) => {
    const fixture = await quotesFixture({ estimators });
    const { state, reading } = await opened(fixture);
    await settle();
    expect(state.events).toEqual([]);
    fixture.clock.advance(5_000);
    await reading;
    expect(bought(state.events)).toEqual([code]);
  });

  test('emits no error for an insufficient estimate after a sufficient one', async () => {
    const fixture = await quotesFixture({
      estimators: [answering('dear', 2n * GOOD, 10 ** 12), answering('good', GOOD)],
    });
    const { state, reading } = await opened(fixture);
    await reading;
    expect(bought(state.events)).toEqual([299]);
  });

  test('rejects an invalid request before it starts', async () => {
    const unpriced = await quotesFixture({ estimators: [{ ...answering('a', GOOD), nativePrice: () => undefined }] });
    expect(await unpriced.book.quotes.stream(SELL)).toMatchObject({ error: { code: 'NoLiquidity' } });
    const gasless = await quotesFixture({ gasPrice: () => Number.NaN, estimators: [answering('a', GOOD)] });
    expect(await gasless.book.quotes.stream(SELL)).toMatchObject({ error: { code: 'ChainUnavailable' } });
    expect(await gasless.book.quotes.stream({ ...SELL, kind: 'x' as never })).toMatchObject({ status: 'rejected' });
    await settle();
    // No work continues without a caller.
    expect([unpriced.clock.pending, gasless.clock.pending]).toEqual([1, 1]);
  });

  test('does not delay the first sell token price for a hanging estimator', async () => {
    const slow = { ...hanging('slow'), nativePrice: () => new Promise<string>(() => {}) };
    const fixture = await quotesFixture({ estimators: [slow, answering('good', GOOD)] });
    const { state } = await opened(fixture);
    await settle();
    expect(state.events).toHaveLength(1);
  });

  test('stops its estimators when the reader leaves without an event', async () => {
    const slow = prompted('slow');
    const fixture = await quotesFixture({ estimators: [slow] });
    const { iterable } = await opened(fixture);
    const iterator = iterable[Symbol.asyncIterator]();
    const next = iterator.next();
    await settle();
    await iterator.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(slow.recordedCalls[0]?.context.signal.aborted).toBe(true);
    expect(fixture.outcomes()).toEqual({ slow: 'abandoned' });
  });

  test('stops its estimators when its signal aborts', async () => {
    const slow = prompted('slow');
    const fixture = await quotesFixture({ estimators: [slow] });
    const gone = new AbortController();
    const { reading } = await opened(fixture, SELL, gone.signal);
    gone.abort();
    await reading;
    expect(slow.recordedCalls[0]?.context.signal.aborted).toBe(true);
  });

  test('ends on time with a hanging store: a quote that is not stored in time has no id', async () => {
    const fixture = await quotesFixture({ estimators: [answering('good', GOOD)] });
    Object.assign(fixture.store.quotes, { insert: () => new Promise(() => {}) });
    const { state, reading } = await opened(fixture);
    await settle();
    expect(state).toEqual({ events: [], ended: false });
    fixture.clock.advance(4_999);
    await settle();
    expect(state.ended).toBe(false);
    fixture.clock.advance(1);
    await reading;
    expect(state.events).toMatchObject([{ type: 'quote', quote: { id: null } }]);
    expect(fixture.clock.pending).toBe(1); // the sweep
  });

  test.each([
    ['with the quotes so far', [answering('good', GOOD)], [299]],
    ['with a retryable error if it has none', [], ['InternalServerError']],
  ])('ends %s when the book closes', async (_, estimators, expected) => {
    const fixture = await quotesFixture({ estimators: [hanging('slow'), ...estimators] });
    const { state, reading } = await opened(fixture);
    await settle();
    await fixture.book.close();
    await reading;
    expect(bought(state.events)).toEqual(expected);
  });

  test('shares estimator calls with plain quotes of one trade', async () => {
    const slow = prompted('slow');
    const fixture = await quotesFixture({ estimators: [slow] });
    const streams = await Promise.all([opened(fixture), opened(fixture)]);
    const plain = fixture.book.quotes.request(SELL);
    await settle();
    expect(slow.recordedCalls).toHaveLength(1);
    slow.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    await Promise.all(streams.map(({ reading }) => reading));
    expect((await plain).status).toBe('quoted');
    expect(streams.map(({ state }) => bought(state.events))).toEqual([[299], [299]]);
  });

  test('emits a quote without an id if it cannot be stored', async () => {
    const fixture = await quotesFixture({ estimators: [answering('good', GOOD)] });
    Object.assign(fixture.store.quotes, { insert: async () => Promise.reject(new Error('the disk is full')) });
    const { state, reading } = await opened(fixture);
    await reading;
    expect(state.events).toMatchObject([{ type: 'quote', quote: { id: null } }]);
    expect(fixture.failures).toMatchObject([{ message: 'the disk is full' }]);
    await expect(fixture.book.quotes.request(SELL)).rejects.toThrow('the disk is full');
  });
});

describe('quote stream over a socket', () => {
  async function serve(fixture: Awaited<ReturnType<typeof quotesFixture>>) {
    const server = createServer(nodeHandler(createApi(fixture.book)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo; // a listening server has an address
    return {
      post: (signal?: AbortSignal) =>
        fetch(`http://127.0.0.1:${port}/api/v1/quote/stream`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(SELL),
          ...(signal === undefined ? {} : { signal }),
        }),
      [Symbol.asyncDispose]: () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }

  test('sends quotes as unnamed events of one JSON line when they arrive', async () => {
    const [one, two] = [prompted('one'), prompted('two')];
    const fixture = await quotesFixture({ estimators: [one, two] });
    await using server = await serve(fixture);
    const response = await server.post();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-store, no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    one.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    const { value = '' } = (await reader?.read()) ?? {};
    expect(value).toMatch(/^data: \{"quote":\{.*\}\n\n$/);
    two.recordedCalls[0]?.answer({ amount: GOOD * 2n, gas: 100_000 });
    let rest = '';
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
      rest += part.value;
    expect(rest).toMatch(/^data: \{"quote":\{.*\}\n\n$/);
    expect(JSON.parse(rest.slice(6))).toMatchObject({ id: 2, quote: { kind: 'sell' } });
  });

  test('sends an error as an event of that name', async () => {
    const fixture = await quotesFixture({ estimators: [source('none', () => undefined)] });
    await using server = await serve(fixture);
    const response = await server.post();
    expect(await response.text()).toBe(
      `event: error\ndata: {"errorType":"NoLiquidity","description":"no estimator has a price for this trade"}\n\n`,
    );
  });

  test('stops its estimators when the client leaves', async () => {
    let stopped: () => void = () => {};
    const isStopped = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    const slow = source('slow', (_, { signal }) => {
      signal.addEventListener('abort', stopped);
      return new Promise(() => {});
    });
    const fixture = await quotesFixture({ estimators: [slow, answering('good', GOOD)] });
    await using server = await serve(fixture);
    const client = new AbortController();
    const response = await server.post(client.signal);
    await response.body?.getReader().read();
    client.abort();
    await isStopped;
    expect(fixture.outcomes()).toMatchObject({ slow: 'abandoned' });
    expect(fixture.failures).toEqual([]);
  });
});

test('quote stream sends a comment every 15 s of silence, so that proxies keep the connection', async () => {
  const { book, clock } = await quotesFixture({ maxTimeout: 60_000, estimators: [hanging('slow')] });
  const { body } = await createApi(book).handle({
    method: 'POST',
    path: '/api/v1/quote/stream',
    query: '',
    header: (name) => (name === 'content-type' ? 'application/json' : undefined),
    body: { type: 'parsed', value: { ...SELL, timeout: 40_000 } },
  });
  const chunks: string[] = [];
  const reading = (async () => {
    for await (const chunk of body as AsyncIterable<string>) chunks.push(chunk);
  })();
  for (let s = 0; s < 40; s += 5) {
    await settle();
    clock.advance(5_000);
  }
  await reading;
  expect(chunks).toEqual([
    ': keep-alive\n\n',
    ': keep-alive\n\n',
    expect.stringMatching(/^event: error\ndata: .*NoLiquidity/),
  ]);
  expect(clock.pending).toBe(1); // the sweep
});

describe('token routes', () => {
  test.each(['native_price', 'metadata'])('abort when the client leaves while %s is read', async (route) => {
    const slow = { ...answering('slow', GOOD), nativePrice: () => new Promise<string>(() => {}) };
    const { book, clock } = await quotesFixture({ estimators: [slow] });
    const gone = new AbortController();
    const answer = createApi(book).handle({
      method: 'GET',
      path: `/api/v1/token/${SELL.sellToken}/${route}`,
      query: '',
      header: () => undefined,
      body: { type: 'none' },
      signal: gone.signal,
    });
    await settle();
    const waiting = clock.pending;
    gone.abort();
    await answer.catch(() => {});
    expect(clock.pending).toBe(waiting - 1);
  });

  test('return native_price as a number and metadata as a scaled integer; unknown tokens are rejected or null', async () => {
    const fixture = await quotesFixture({ estimators: [answering('good', GOOD)] });
    const api = createApi(fixture.book);
    const token = SELL.sellToken;
    expect(await get(api, `/api/v1/token/${token}/native_price`)).toEqual([200, { price: 0.0003 }]);
    expect(await get(api, `/api/v1/token/${token}/metadata`)).toEqual([
      200,
      { firstTradeBlock: null, nativePrice: '300000000000000' },
    ]);
    const none = await quotesFixture({ estimators: [] });
    const other = createApi(none.book);
    expect(await get(other, `/api/v1/token/${token}/native_price`)).toMatchObject([400, { errorType: 'NoLiquidity' }]);
    expect(await get(other, `/api/v1/token/${token}/metadata`)).toEqual([
      200,
      { firstTradeBlock: null, nativePrice: null },
    ]);
    for (const path of ['native_price', 'metadata']) {
      expect(await get(other, `/api/v1/token/COW/${path}`)).toMatchObject([400, { errorType: 'InvalidParameter' }]);
    }
  });
});
