import { getEventListeners } from 'node:events';
import { createClient } from 'intentbook/client';
import { expect, it } from 'vitest';

const opening = ': stream\nid: 1\n\n';
const gap = 'event: gap\ndata: {"from":2,"to":5}\n\n';

/** Creates a stream that sends these texts and then stays open until it is aborted. */
function streamOf(texts: readonly string[], signal: AbortSignal): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      signal.addEventListener('abort', () => controller.error(signal.reason));
    },
  });
  return new Response(body);
}

it('mirror: rejects with the reason of its signal while the server cannot be reached', async () => {
  let requests = 0;
  const client = createClient('http://localhost', {
    maxDelay: 1,
    async fetch() {
      requests++;
      throw new TypeError('fetch failed');
    },
  });
  const control = new AbortController();
  const mirror = client.mirror({}, { signal: control.signal });
  await expect.poll(() => requests).toBeGreaterThan(1);
  control.abort(new Error('the page was left'));
  await expect(mirror).rejects.toThrow('the page was left');
  expect(getEventListeners(control.signal, 'abort')).toEqual([]);
  await expect(client.mirror({}, { signal: control.signal })).rejects.toThrow('the page was left');
});

it('mirror: ends with its signal after all orders are read', async () => {
  let streamed: AbortSignal | undefined;
  const client = createClient('http://localhost', {
    async fetch(url, init) {
      if (!url.includes('/stream')) return Response.json([]);
      streamed = init?.signal as AbortSignal;
      return streamOf([opening], streamed);
    },
  });
  const control = new AbortController();
  const mirror = await client.mirror({}, { signal: control.signal });
  const reached = mirror.reached(2);
  control.abort();
  await expect(reached).rejects.toThrow('the mirror was closed');
  expect([mirror.connected, streamed?.aborted]).toEqual([false, true]);
});

it('mirror: is not connected after it has failed', async () => {
  let reads = 0;
  const control = new AbortController();
  const client = createClient('http://localhost', {
    async fetch(url, init) {
      if (url.includes('/stream')) return streamOf([opening, gap], init?.signal as AbortSignal);
      reads++;
      return reads === 1 ? Response.json([]) : new Response('{}', { status: 403 });
    },
  });
  const mirror = await client.mirror({}, { signal: control.signal });
  await expect(mirror.reached(9)).rejects.toMatchObject({ status: 403 });
  expect(mirror.connected).toBe(false);
  expect(getEventListeners(control.signal, 'abort')).toEqual([]);
});
