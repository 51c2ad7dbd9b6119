import type { UpstreamQuote } from 'intentbook';
import { describe, expect, it } from 'vitest';
import { html, json, settle, upstreamFixture } from './upstream-fixture.ts';

const frame = (data: object, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const quote = (id: number) => frame({ quote: { buyAmount: String(id) }, id });
const error = (errorType: string) => frame({ errorType, description: 'text' }, 'error');

/** Starts a stream whose parts the test writes. */
function startStream(request: object = { timeout: 3000 }, response?: Response) {
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      source = controller;
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  const fixture = upstreamFixture(
    () => response ?? new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
  );
  const found: UpstreamQuote[] = [];
  const iterator = fixture.upstream.quotes(request)[Symbol.asyncIterator]();
  let isDone = false;
  const reading = (async () => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) found.push(next.value);
    isDone = true;
  })();
  return {
    ...fixture,
    found,
    iterator,
    reading,
    isDone: () => isDone,
    isCancelled: () => isCancelled,
    async write(text: string) {
      source?.enqueue(new TextEncoder().encode(text));
      await settle();
    },
    async end(failure?: Error) {
      if (failure === undefined) source?.close();
      else source?.error(failure);
      await settle();
    },
  };
}

const summarize = (found: readonly UpstreamQuote[]) =>
  found.map((each) =>
    each.status === 'quoted' ? each.quote.id : each.status === 'rejected' ? each.code : each.status,
  );

describe('stream of quotes', () => {
  it('passes on a quote whose text contains the line separators of Unicode', async () => {
    const { found, write, end, reading } = startStream();
    await settle();
    await write(frame({ quote: { buyAmount: '1' }, id: 7, note: 'a\u2028b\u2029' }));
    await end();
    await reading;
    expect(summarize(found)).toContain(7);
  });

  it('passes quotes on as they arrive, in any division, and leaves out errors of single solvers', async () => {
    const { found, write, end, reading } = startStream();
    await settle();
    await write(`: keep-alive\n\n${quote(1)}${quote(2).slice(0, 20)}`);
    expect(summarize(found)).toEqual([1]);
    await write(`${quote(2).slice(20)}${error('NoLiquidity')}${quote(3).replaceAll('\n', '\r\n')}`);
    await end();
    await reading;
    expect(summarize(found)).toEqual([1, 2, 3]);
  });

  it('scenario 33: with errors only ends with a rejection', async () => {
    const { found, write, end, reading } = startStream();
    await settle();
    await write(error('InsufficientLiquidity'));
    await end();
    await reading;
    expect(found).toMatchObject([{ status: 'rejected', code: 'InsufficientLiquidity', description: 'text' }]);
  });

  it('scenario 33: that is cut ends with a failure after its quotes', async () => {
    const { found, write, end, reading } = startStream();
    await settle();
    await write(quote(1));
    await end(new TypeError('terminated'));
    await reading;
    expect(summarize(found)).toEqual([1, 'failed']);
  });

  it('scenario 33: that is silent ends at the timeout of its request, and leaves nothing behind', async () => {
    const { found, write, advance, clock, isDone, isCancelled, requests } = startStream();
    await settle();
    await write(quote(1));
    await advance(3900);
    expect(isDone()).toBe(false);
    await advance(100);
    expect([isDone(), isCancelled(), requests[0]?.signal.aborted, clock.pending]).toEqual([true, true, true, 0]);
    expect(summarize(found)).toEqual([1]);
  });

  it('scenario 33: without any event fails at its timeout', async () => {
    const { found, advance, isDone } = startStream({});
    await settle();
    await advance(12_000, 1000);
    expect(isDone()).toBe(true);
    expect(found).toEqual([{ status: 'failed', reason: 'no response within 12000 ms' }]);
  });

  it('scenario 33: whose reader leaves ends the request at once', async () => {
    const { iterator, isCancelled, requests, clock } = startStream();
    await settle();
    await iterator.return?.();
    await settle();
    expect([isCancelled(), requests[0]?.signal.aborted, clock.pending]).toEqual([true, true, 0]);
  });

  it('passes on a rejection before the first event, and pauses after a 429', async () => {
    const rejected = startStream({}, json(400, { errorType: 'UnsupportedToken', description: '' }));
    await rejected.reading;
    expect(rejected.found).toMatchObject([{ status: 'rejected', code: 'UnsupportedToken' }]);
    const blocked = startStream({}, html(429));
    await blocked.reading;
    expect(blocked.found).toMatchObject([{ status: 'blocked' }]);
    expect(blocked.upstream.status().paused.quote).toMatchObject({ reason: 'responded with status 429' });
  });

  it('reports one call', async () => {
    const { calls, write, end, reading } = startStream();
    await settle();
    await write(quote(1));
    await end();
    await reading;
    expect(calls).toEqual([{ class: 'quote', outcome: 'ok', ms: 0 }]);
  });
});

describe('a failed stream of quotes', () => {
  it('is shown as failing, unless its reader has stopped, until a request succeeds', async () => {
    const failed = startStream();
    await settle();
    await failed.end(new Error('the connection was cut'));
    await failed.reading;
    expect(failed.upstream.status().failing.quote).toBeDefined();
    const stopped = startStream();
    await settle();
    await stopped.iterator.return?.();
    await settle();
    expect(stopped.upstream.status().failing).toEqual({});
  });
});
