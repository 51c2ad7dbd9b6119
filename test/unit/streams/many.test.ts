import assert from 'node:assert/strict';
import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import type { AccountStore } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { test } from 'vitest';

const LONG = process.env['TEST_LONG'] !== undefined;
const READERS = LONG ? 2000 : 100;
const EVENTS = LONG ? 100 : 20;
const BUSY = `0x${'aa'.repeat(20)}` as const;
const LOUD = `0x${'bb'.repeat(20)}` as const;

/** A store that notifies watchers of its own writes, like a store with several writers. */
function notifyingStore(store: AccountStore) {
  const wakeUps = new Set<() => void>();
  let through = 0;
  return {
    store: {
      ...store,
      notifications: {
        ...store.notifications,
        watch(wakeUp: () => void) {
          wakeUps.add(wakeUp);
          return () => void wakeUps.delete(wakeUp);
        },
      },
    } satisfies AccountStore,
    async appendFor(account: `0x${string}`, size: number) {
      const id = `event-${through}`;
      const body = JSON.stringify({ id, account, message: 'x'.repeat(size) });
      const notification = { id, account, type: 'order_filled', at: through, body } as const;
      const changes = [{ type: 'notify', notification }] as const;
      await store.notifications.append({ feed: 'test', after: through || null, through: ++through, changes });
      for (const wakeUp of wakeUps) wakeUp();
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port; // a listening server has an address
}

interface Client {
  readonly socket: Socket;
  /** Counts how often the text was read. */
  count(text: string): number;
  bytes: number;
}

function client(port: number, path: string, reads = true): Promise<Client> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const self: Client = { socket, bytes: 0, count: (wanted) => text.split(wanted).length - 1 };
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      const begun = self.bytes > 0;
      self.bytes += chunk.length;
      text += chunk.toString('latin1');
      if (begun) return;
      if (!reads) socket.pause();
      resolve(self);
    });
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  });
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits for each one in turn. */
async function all(clients: readonly Client[], done: (client: Client) => boolean): Promise<void> {
  for (const each of clients) await until(() => done(each));
}

test('stream broadcaster serves many streams while one never reads and gets a gap', async () => {
  const { store, appendFor } = notifyingStore(memoryAccountStore());
  const accounts = createAccounts({ books: [], store, streams: { queueSize: 16 } });
  await accounts.start();
  const server = createServer(nodeHandler(createAccountApi(accounts)));
  const port = await listen(server);
  const path = (account: string) => `/accounts/${account}/notifications/stream`;
  const readers = await Promise.all(Array.from({ length: READERS }, () => client(port, path(BUSY))));
  const slow = await client(port, path(LOUD), false);

  // Fills every buffer between the server and the stalled reader.
  for (let i = 0; i < 200; i++) await appendFor(LOUD, 65_536);
  const before = process.memoryUsage();
  const started = performance.now();
  for (let i = 0; i < EVENTS; i++) {
    await appendFor(BUSY, 300);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all(readers, (each) => each.count('event: notification') === EVENTS);
  const took = performance.now() - started;
  const after = process.memoryUsage();
  for (const each of readers) assert.equal(each.count('event: gap'), 0);

  slow.socket.resume();
  await until(() => slow.count('event: gap') > 0);
  assert.ok(slow.count('event: notification') < 200);
  const bytes = readers.map((each) => each.bytes);
  for (const { socket } of [...readers, slow]) socket.destroy();
  await accounts.close();
  server.closeAllConnections();
  server.close();

  if (!LONG) return;
  // The same bytes in as many chunks, written in a loop to as many sockets.
  const responses: ServerResponse[] = [];
  const bare = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
    responses.push(response);
  });
  const barePort = await listen(bare);
  const others = await Promise.all(Array.from({ length: READERS }, () => client(barePort, '/')));
  const piece = 'y'.repeat(Math.floor((bytes[0] ?? 0) / EVENTS));
  const startedBare = performance.now();
  for (let i = 0; i < EVENTS; i++) {
    for (const response of responses) response.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all(others, (each) => each.bytes >= piece.length * EVENTS);
  const tookBare = performance.now() - startedBare;
  for (const { socket } of others) socket.destroy();
  bare.closeAllConnections();
  bare.close();
  const ratio = took / tookBare;
  const grown = (after.rss - before.rss) / 2 ** 20;
  process.stdout.write(
    `${READERS} streams: ${took.toFixed(0)} ms, bare ${tookBare.toFixed(0)} ms, ratio ${ratio.toFixed(2)}, ${grown.toFixed(0)} MiB\n`,
  );
});
