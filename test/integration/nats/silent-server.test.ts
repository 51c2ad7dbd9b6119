import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { publishEvents } from '../../../apps/server/books/publish-events.ts';
import { SEPOLIA } from '../../support/orders.ts';

test('events on NATS: a stop does not wait for a server that does not respond, and ends a connection that is late', async () => {
  const nats = createServer().listen(0, '127.0.0.1');
  await once(nats, 'listening');
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  const urls = [`nats://127.0.0.1:${(nats.address() as AddressInfo).port}`]; // it listens
  const connected = once(nats, 'connection');
  const stop = await publishEvents(book, { urls, stream: 'book' });
  const [socket] = (await connected) as [Socket];
  const closed = once(socket, 'close');
  await stop();
  expect(socket.closed).toBe(false);

  socket.on('data', (data) => String(data).includes('PING') && socket.write('PONG\r\n'));
  socket.write('INFO {"server_id":"a","version":"2.11.0","proto":1,"headers":true,"max_payload":1048576}\r\n');
  await closed;
  await book.close();
  nats.close();
  expect(failures).toEqual([]);
});
