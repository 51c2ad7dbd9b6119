import { createClient } from 'intentbook/client';
import { describe, expect, it } from 'vitest';

const order = JSON.stringify({ uid: '0x12', padding: 'x'.repeat(100) });

/** Creates a body of chunks that does not end, and counts the chunks that were read. */
function endless(chunk: string) {
  const read = { chunks: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      read.chunks++;
      controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel() {
      read.cancelled = true;
    },
  });
  return { body, read };
}

describe('size of a response to the client', () => {
  it.each([
    [200, 'TooLargeError', 'at most 1000 bytes'],
    [500, 'RequestError', 'the server responded with status 500'],
  ])('is limited with status %d', async (status, name, message) => {
    const { body, read } = endless('x'.repeat(100));
    const client = createClient('http://localhost', {
      maxBytes: 1000,
      fetch: async () => new Response(body, { status }),
    });
    const error = await client.get('0x12').catch((failure: unknown) => failure);
    expect(error).toMatchObject({ name, message: expect.stringContaining(message) });
    expect(read.cancelled).toBe(true);
    expect(read.chunks).toBeLessThan(15);
  });

  it('is limited for each event of a stream, and ends a mirror', async () => {
    const { body, read } = endless(
      'data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    );
    let requests = 0;
    const client = createClient('http://localhost', {
      maxBytes: 1000,
      async fetch() {
        requests++;
        return new Response(body);
      },
    });
    await expect(client.mirror()).rejects.toThrow('at most 1000 bytes');
    expect(requests).toBe(1);
    expect(read.chunks).toBeLessThan(15);
  });

  it('is not that of all events of a stream', async () => {
    const opening = ': stream\nid: 0\n\n';
    const event = (id: number) => `id: ${id}\nevent: order\ndata: ${order}\n\n`;
    const text = opening + Array.from({ length: 50 }, (_, i) => event(i + 1)).join('');
    const client = createClient('http://localhost', {
      maxBytes: 300,
      async fetch(url) {
        if (!url.includes('/stream')) return Response.json([]);
        // Chunks that end within an event.
        const chunks = text.match(/[\s\S]{1,37}/g) ?? [];
        return new Response(
          new ReadableStream({
            pull(controller) {
              const chunk = chunks.shift();
              if (chunk !== undefined) controller.enqueue(new TextEncoder().encode(chunk));
            },
          }),
        );
      },
    });
    const mirror = await client.mirror({ status: null });
    await expect(mirror.reached(50)).resolves.not.toThrow();
    mirror.close();
  });
});

describe('timeout of a client', () => {
  it('may be a fraction of milliseconds', async () => {
    const client = createClient('http://localhost', { timeout: 1000.5, fetch: async () => Response.json({}) });
    expect(await client.get('0x12')).toEqual({});
  });
});
