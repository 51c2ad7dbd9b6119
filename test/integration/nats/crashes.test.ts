import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createOrderBook, type StoredEvent } from 'intentbook';
import { natsPublisher } from 'intentbook/nats';
import { sqliteStore } from 'intentbook/sqlite';
import { describe, expect, test } from 'vitest';
import { HAS_NATS, natsServer } from '../../support/nats-server.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { until } from '../channels/channel-fixture.ts';
import { spawnServer } from '../server/spawn.ts';

/** Rounds; each kills the server of the book, NATS, or both. */
const ROUNDS = process.env['TEST_LONG'] === undefined ? 3 : 100;
const ORDERS = 12;

describe.skipIf(!HAS_NATS)('events on NATS', () => {
  test(
    'are the log, nothing twice and nothing missing, after kills of the server and of NATS',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'intentbook-nats-book-'));
      const path = join(folder, 'book.sqlite');
      const nats = await natsServer();
      await nats.start();
      const args = ['--chain', 'sepolia', '--db', path, '--accounts', 'off', '--nats-url', nats.url];
      let server = await spawnServer(args);
      const validTo = Math.floor(Date.now() / 1000) + 36_000;
      let acknowledged = 0;
      let signed = 0;

      /** Submits orders one by one, until one is not acknowledged. */
      async function submit(url: string, onOrder: (count: number) => void): Promise<void> {
        for (let i = 0; i < ORDERS; i++) {
          const body = JSON.stringify(
            await signOrder(account(1 + (signed % 40)), { validTo, sellAmount: `${++signed}` }),
          );
          const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
          const response = await fetch(`${url}/api/v1/orders`, init).catch(() => undefined);
          if (response?.status !== 201) return;
          onOrder(++acknowledged);
        }
      }

      for (let round = 0; round < ROUNDS; round++) {
        const [killsServer, killsNats] = [round % 3 !== 1, round % 3 !== 0];
        const kills: Promise<unknown>[] = [];
        const at = acknowledged + (round % (ORDERS - 1));
        await submit(server.url, (count) => {
          if (count <= at || kills.length > 0) return;
          if (killsServer) kills.push(server.end('SIGKILL'));
          if (killsNats) kills.push(nats.kill());
        });
        await Promise.all(kills);
        if (killsServer) server = await spawnServer(args);
        if (killsNats) await nats.start();
      }

      await server.end('SIGTERM');
      const connection = await connect({ servers: nats.url });
      const client = jetstream(connection);
      const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path }) });
      await book.start();
      // What was stored in the last moment is published now.
      const publisher = natsPublisher({ log: book.log, jetstream: client, stream: 'intentbook-sepolia' });
      publisher.start();
      const last = await book.log.last();
      await until(() => publisher.position === last);
      await publisher.stop();
      const log: StoredEvent[] = [];
      for (let page = await book.log.after(0, 500); page.length > 0; page = await book.log.after(log.length, 500))
        log.push(...page);
      await book.close();
      const { streams } = await client.jetstreamManager();
      const { state } = await streams.info('intentbook-sepolia');
      const published: unknown[] = [];
      for (let seq = 1; seq <= state.last_seq; seq++)
        published.push((await streams.getMessage('intentbook-sepolia', { seq }))?.json());
      expect(published).toEqual(log);
      expect(log.length).toBeGreaterThanOrEqual(acknowledged);
      await connection.close();
      await nats.close();
      rmSync(folder, { recursive: true });
    },
    60_000 + ROUNDS * 10_000,
  );
});
