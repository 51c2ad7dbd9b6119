import { connect } from 'node:net';
import type { Api } from 'intentbook';
import { nodeHandler } from 'intentbook/node-http';
import { expect, test } from 'vitest';
import { createHardenedServer } from '../../../apps/server/http/hardened-server.ts';
import { createServerApi } from '../../../apps/server/http/server-api.ts';

/** An API whose streams send as fast as they are read, and never end. */
function endless(chunk: string, left: () => void): Api {
  return {
    async handle() {
      const text: AsyncIterator<string> = {
        next: () => (chunk === '' ? new Promise(() => {}) : Promise.resolve({ done: false, value: chunk })),
        async return() {
          left();
          return { done: true, value: undefined };
        },
      };
      return {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: { [Symbol.asyncIterator]: () => text },
      };
    },
  };
}

async function served(chunk: string) {
  const state = { left: 0 };
  const api = createServerApi({ mounted: [{ path: '/', api: endless(chunk, () => state.left++) }], pages: {} });
  const server = createHardenedServer(nodeHandler(api));
  const url = await server.listen(0, '127.0.0.1');
  return { api, server, url, state };
}

// Without the abort, each stream would wait for the full timeout.
const GRANTED = 300_000;

test('server shutdown ends a stream that waits for its next event, and its source', async () => {
  const { api, server, url, state } = await served('');
  const response = await fetch(url);
  expect(api.openStreams).toBe(1);
  const body = response.text();
  api.closeStreams();
  await server.close(GRANTED);
  expect(await body).toBe('');
  expect([state.left, api.openStreams]).toEqual([1, 0]);
});

test('server shutdown aborts a stream whose reader has stopped reading', async () => {
  const { api, server, url } = await served('x'.repeat(1_000_000));
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('readable', resolve)); // the source is not read
  api.closeStreams();
  await expect(server.close(GRANTED)).resolves.toBeUndefined();
  socket.destroy();
});

test('stream opened during server shutdown is empty', async () => {
  const { api } = await served('data');
  api.closeStreams();
  const { body } = await api.handle({
    method: 'GET',
    path: '/',
    query: '',
    header: () => undefined,
    body: { type: 'none' },
  });
  const chunks: string[] = [];
  for await (const chunk of body as AsyncIterable<string>) chunks.push(chunk);
  expect(chunks).toEqual([]);
});

test('server shutdown sends a file to its end', async () => {
  const rows = ['a\r\n', 'b\r\n'];
  const api = createServerApi({
    mounted: [
      {
        path: '/',
        api: {
          handle: async () => ({
            status: 200,
            headers: { 'content-type': 'text/csv; charset=utf-8' },
            body: (async function* () {
              for (const row of rows) {
                yield row;
                await new Promise((resolve) => setTimeout(resolve, 20));
              }
            })(),
          }),
        },
      },
    ],
    pages: {},
  });
  const server = createHardenedServer(nodeHandler(api));
  const response = await fetch(await server.listen(0, '127.0.0.1'));
  api.closeStreams();
  const closing = server.close(GRANTED);
  expect(await response.text()).toBe(rows.join(''));
  await closing;
});

test('server releases a stream and its source when the reader leaves', async () => {
  const { api, server, url, state } = await served('');
  const controller = new AbortController();
  await fetch(url, { signal: controller.signal });
  controller.abort();
  while (api.openStreams > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(state.left).toBe(1);
  await server.close(0);
});
