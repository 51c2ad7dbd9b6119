import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { createOrderBook, type OrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { natsPublisher } from 'intentbook/nats';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { publishEvents } from '../../../apps/server/books/publish-events.ts';
import { HAS_NATS, type NatsServer, natsServer } from '../../support/nats-server.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { until } from '../channels/channel-fixture.ts';

describe.skipIf(!HAS_NATS)('NATS server that rejects the credentials for a time', () => {
  let server: NatsServer;
  let book: OrderBook;

  beforeEach(async () => {
    server = await natsServer();
    await server.start('right');
    book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await book.start();
    book.on('failure', () => {}); // the outages
  });
  afterEach(async () => {
    await book.close();
    await server.close();
  });

  async function submit(sellAmount: string): Promise<void> {
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const result = await book.orders.submit(await signOrder(account(1), { validTo, sellAmount }));
    if (result.status !== 'accepted') throw result.error;
  }

  /** Starts the server with another password for a time in which a client attempts more than two connections. */
  async function rotate(): Promise<void> {
    await server.kill();
    await server.start('other');
    await submit('2');
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    await server.kill();
    await server.start('right');
    await submit('3');
  }

  async function reached(count: number): Promise<void> {
    const connection = await connect({ servers: server.url, user: 'book', pass: 'right' });
    const { streams } = await jetstream(connection).jetstreamManager();
    await until(async () => (await streams.info('book').catch(() => undefined))?.state.messages === count);
    await connection.close();
  }

  test('the server of the books publishes all entries afterwards', async () => {
    const stop = await publishEvents(book, { urls: [server.url.replace('//', '//book:right@')], stream: 'book' });
    await submit('1');
    await reached(1);
    await rotate();
    await reached(3);
    await stop();
  });

  test('a publisher replaces a client whose connection is closed', async () => {
    const connections: NatsConnection[] = [];
    const publisher = natsPublisher({
      log: book.log,
      stream: 'book',
      async jetstream() {
        const connection = await connect({ servers: server.url, user: 'book', pass: 'right' });
        connections.push(connection);
        return jetstream(connection);
      },
    });
    publisher.start();
    await submit('1');
    await reached(1);
    await connections[0]?.close();
    await submit('2');
    await reached(2);
    expect(connections).toHaveLength(2);
    await publisher.stop();
    for (const connection of connections) await connection.close();
  });
});
