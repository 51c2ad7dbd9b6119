import { createClient } from 'intentbook/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const encode = (text: string) => new TextEncoder().encode(text);

/** Creates a client of a server that opens each stream and closes it after a time, and counts the streams. */
function getClient(lifetime: number) {
  const opened = { streams: 0 };
  const client = createClient('http://localhost', {
    async fetch(url, init) {
      if (!url.includes('/stream')) return Response.json([]);
      opened.streams++;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(encode(': stream\nid: 1\n\n'));
          const timer = setTimeout(() => controller.close(), lifetime);
          init?.signal?.addEventListener('abort', () => clearTimeout(timer));
        },
      });
      return new Response(body);
    },
  });
  return { client, opened };
}

describe('reconnection of a mirror', () => {
  it('waits longer each time while the server closes each stream', async () => {
    const { client, opened } = getClient(0);
    const mirror = await client.mirror();
    await vi.advanceTimersByTimeAsync(120_000);
    mirror.close();
    expect(opened.streams).toBeGreaterThan(8);
    expect(opened.streams).toBeLessThan(25);
  });

  it('starts with the first delay after a stream that was open for long', async () => {
    const { client, opened } = getClient(20_000);
    const mirror = await client.mirror();
    await vi.advanceTimersByTimeAsync(20 * 20_250);
    mirror.close();
    expect(opened.streams).toBeGreaterThanOrEqual(20);
  });
});
