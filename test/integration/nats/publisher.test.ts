import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { createOrderBook, type EventLog, type OrderBook, type StoredEvent } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { type NatsPublisher, type NatsPublisherOptions, natsPublisher } from 'intentbook/nats';
import { backupSqlite, sqliteStore } from 'intentbook/sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HAS_NATS, type NatsServer, natsServer } from '../../support/nats-server.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';
import { until } from '../channels/channel-fixture.ts';
import { temporaryFile } from '../stores/temporary.ts';

interface Message {
  readonly subject: string;
  readonly id: string;
  readonly body: { readonly id?: number; readonly from?: number; readonly to?: number };
}

describe.skipIf(!HAS_NATS)('NATS publisher', () => {
  let server: NatsServer;
  let connection: NatsConnection;
  let book: OrderBook;
  let stream: string;
  let streams = 0;
  let failures: unknown[];
  const publishers: NatsPublisher[] = [];

  beforeAll(async () => {
    server = await natsServer();
    await server.start();
    connection = await connect({ servers: server.url });
  });
  afterAll(async () => {
    await connection.close();
    await server.close();
  });
  beforeEach(async () => {
    book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await book.start();
    stream = `book-${++streams}`;
    failures = [];
  });
  afterEach(async () => {
    for (const publisher of publishers.splice(0)) await publisher.stop();
    await book.close();
  });

  function publish(options: Partial<NatsPublisherOptions> = {}): NatsPublisher {
    const onFailure = (failure: unknown) => void failures.push(failure);
    const publisher = natsPublisher({ log: book.log, jetstream: jetstream(connection), stream, onFailure, ...options });
    publishers.push(publisher);
    publisher.start();
    return publisher;
  }

  async function submit(count: number, from = 0): Promise<string[]> {
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const uids: string[] = [];
    for (let i = 0; i < count; i++) {
      const result = await book.orders.submit(await signOrder(account(1), { validTo, sellAmount: `${from + i + 1}` }));
      if (result.status !== 'accepted') throw result.error;
      uids.push(result.uid);
    }
    return uids;
  }

  /** Reads the messages of the stream, in their order. */
  async function messages(): Promise<Message[]> {
    const { streams: api } = await jetstream(connection).jetstreamManager();
    const { state } = await api.info(stream);
    const found: Message[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await api.getMessage(stream, { seq });
      if (message === null) continue;
      found.push({ subject: message.subject, id: message.header.get('Nats-Msg-Id'), body: message.json() });
    }
    return found;
  }

  /** The report of a log that ends before its stream. */
  const ended = (entry: number, last: number) =>
    `Error: the stream ${stream} has entry ${entry}, but the log ends at ${last}; ` +
    'a restored log continues with its next entry (see "intentbook begin-epoch"), another log needs another stream';

  const reached = (publisher: NatsPublisher, id: number) => until(() => publisher.position === id);

  test('adds each entry of the log once, in its order, and resumes after the last one', async () => {
    const [uid = ''] = await submit(3);
    const first = publish();
    await reached(first, 3);
    await book.orders.cancel({ orderUids: [uid], ...(await signCancellation(account(1), { orderUids: [uid] })) });
    await reached(first, 4);
    await first.stop();
    await submit(300, 10);
    await reached(publish(), 304);
    const found = await messages();
    expect(found.map(({ body }) => body)).toEqual(await book.log.after(0, 1000));
    expect(found.map(({ id }) => Number(id))).toEqual(Array.from({ length: 304 }, (_, i) => i + 1));
    expect(found.slice(2, 5).map(({ subject }) => subject)).toEqual([
      `${stream}.created`,
      `${stream}.cancelled`,
      `${stream}.created`,
    ]);
    expect(failures).toEqual([]);
  });

  test('shares a stream with other publishers of the same log', async () => {
    for (let i = 0; i < 3; i++) publish();
    await submit(40);
    await until(async () => (await messages()).length === 40);
    expect((await messages()).map(({ id }) => Number(id))).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });

  test('adds one message for entries that are deleted before they are published', async () => {
    const entry = (id: number) => ({ id, type: 'created', uid: '0x', owner: '0x', at: 0 }) as unknown as StoredEvent;
    let entries = [1, 2, 3].map(entry);
    const log: EventLog = {
      last: async () => entries.at(-1)?.id ?? 0,
      after: async (id, limit) => entries.filter((each) => each.id > id).slice(0, limit),
      prunedThrough: async () => 0,
      watch: () => () => {},
    };
    const first = publish({ log });
    await reached(first, 3);
    await first.stop();
    entries = [8, 9, 50].map(entry);
    await reached(publish({ log }), 50);
    expect((await messages()).slice(3)).toMatchObject([
      { subject: `${stream}.gap`, id: 'gap-7', body: { from: 4, to: 7 } },
      { id: '8' },
      { id: '9' },
      { id: 'gap-49', body: { from: 10, to: 49 } },
      { id: '50' },
    ]);
  });

  test('adds the messages again that a purged stream has lost, when it does not drop them as repetitions', async () => {
    const { streams: api } = await jetstream(connection).jetstreamManager();
    await api.add({ name: stream, subjects: [`${stream}.>`], duplicate_window: 2e9 }); // two seconds
    await submit(5);
    const first = publish();
    await reached(first, 5);
    await first.stop();
    await api.purge(stream);
    await reached(publish({ after: 2 }), 5);
    expect((await messages()).map(({ id }) => id)).toEqual(['3', '4', '5']);
    expect(failures.map(String)).toEqual([`Error: the stream ${stream} drops message 3 as a repetition of a lost one`]);
  });

  test('begins an empty stream after the id of the option, which is required if the messages are lost', async () => {
    await submit(5);
    const first = publish({ after: 3 });
    await reached(first, 5);
    expect((await messages()).map(({ id }) => id)).toEqual(['4', '5']);
    await first.stop();
    const { streams: api } = await jetstream(connection).jetstreamManager();
    await api.purge(stream);
    const second = publish();
    await until(() => failures.length > 0);
    expect(String(failures[0])).toContain('the option "after" must give its position');
    await second.stop();
    await submit(1, 9);
    await reached(publish({ after: 5 }), 6);
    expect((await messages()).map(({ id }) => id)).toEqual(['6']);
  });

  test('continues the stream of a restored log with its next entry', async () => {
    using file = temporaryFile();
    using backup = temporaryFile();
    await book.close();
    const open = async (path: string) => {
      book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path }) });
      await book.start();
    };
    await open(file.path);
    await submit(2);
    await backupSqlite({ from: file.path, to: backup.path });
    await submit(1, 2);
    const first = publish();
    await reached(first, 3);
    await first.stop();
    await book.close();
    await open(backup.path);
    const second = publish();
    await until(() => failures.length > 0);
    expect(failures.map(String)).toEqual([ended(3, 2)]);
    await submit(1, 3);
    const last = await book.log.last();
    await reached(second, last);
    await second.stop();
    expect((await messages()).map(({ id }) => id)).toEqual(['1', '2', '3', `gap-${last - 1}`, String(last)]);
  });

  test('reports a stream of another log once, and adds nothing to it', async () => {
    await submit(2);
    await reached(publish(), 2);
    const other = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await other.start();
    const publisher = publish({ log: other.log });
    await until(() => failures.length > 0);
    await publisher.stop();
    await other.close();
    expect(failures.map(String)).toEqual([ended(2, 0)]);
    await connection.request(`${stream}.created`, '"of something else"');
    const confused = publish();
    await until(() => failures.length > 1);
    await confused.stop();
    expect(String(failures[1])).toContain('is not an event of this book');
    expect(await messages()).toHaveLength(3);
  });

  test('reports a stream of a log that is as long, whose entries would be lost', async () => {
    const other = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await other.start();
    await submit(2);
    await reached(publish(), 2);
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    for (const sellAmount of ['7', '8', '9'])
      expect((await other.orders.submit(await signOrder(account(2), { validTo, sellAmount }))).status).toBe('accepted');
    const publisher = publish({ log: other.log });
    await until(() => failures.length > 0 || publisher.position === 3);
    await publisher.stop();
    await other.close();
    expect(failures.map(String)).toEqual([
      `Error: the stream ${stream} is of another log: its entry 2 differs; name another stream, or delete this one`,
    ]);
    await submit(1, 9);
    await until(async () => (await messages()).length === 3);
    expect((await messages()).map(({ body }) => body)).toEqual(await book.log.after(0, 1000));
  });

  test('publishes entries once while the server is killed, and reports the outage once', async () => {
    const own = await natsServer();
    await own.start();
    const clients: NatsConnection[] = [];
    const publisher = publish({
      async jetstream() {
        const client = await connect({ servers: own.url, maxReconnectAttempts: -1, reconnectTimeWait: 20 });
        clients.push(client);
        return jetstream(client, { timeout: 500 });
      },
    });
    await submit(5);
    await reached(publisher, 5);
    await own.kill();
    await submit(5, 10);
    await until(() => failures.length > 0);
    await own.start();
    await reached(publisher, 10);
    const { streams: api } = await jetstream(clients[0] as NatsConnection).jetstreamManager();
    expect((await api.info(stream)).state.messages).toBe(10);
    expect([failures.length, clients.length]).toEqual([1, 1]);
    await publisher.stop();
    for (const client of clients) await client.close();
    await own.close();
  });

  test.each<[Partial<NatsPublisherOptions>, string]>([
    [{ stream: 'a.b' }, 'stream must be a name'],
    [{ subject: 'a.>' }, 'subject must be a subject without wildcards'],
    [{ jetstream: {} as never }, 'jetstream must'],
    [{ log: {} as never }, 'log must'],
    [{ streams: 1 } as never, 'unknown option "streams"'],
  ])('requires valid options: %j', (options, message) => {
    const valid = { log: book.log, jetstream: jetstream(connection), stream };
    expect(() => natsPublisher({ ...valid, ...options })).toThrow(message);
  });
});
