import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { OrderBook } from 'intentbook';
import { createOrderBook, systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { FIRST_SCHEMA, hasCommit, loadEarlierRelease } from '../../support/earlier-release.ts';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signCancellation, signOrder } from '../../support/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { until } from '../channels/channel-fixture.ts';

/** Number of clients, each with an account. */
const CLIENTS = 6;
/** Rows in the tables that the migrations of this release rewrite or alter, as in a book of production. */
const KEPT_COMPETITIONS = 20_000;
const KEPT_DOCUMENTS = 50_000;

/** Creates the kept schema of the first release with rows in the tables that are migrated. */
async function createKept({ schema, query }: TemporarySchema): Promise<void> {
  const file = fileURLToPath(new URL('schemas/book-1.sql', import.meta.url));
  await query(`BEGIN; ${readFileSync(file, 'utf8').replaceAll('"released"', `"${schema}"`)} COMMIT`);
  await query(`INSERT INTO "${schema}".competitions (auction, body)
    SELECT n, '{"auctionDeadlineBlock":' || n || ',"solutions":"' || repeat('x', 1000) || '"}'
    FROM generate_series(1, ${KEPT_COMPETITIONS}) n`);
  await query(`INSERT INTO "${schema}".documents (used_until, referenced, hash, document)
    SELECT n, true, decode(lpad(to_hex(n), 64, '0'), 'hex'), '{}' FROM generate_series(1, ${KEPT_DOCUMENTS}) n`);
}

/** Locks a table for reads, as a long query does. A migration waits for its end, and writes wait for the migration. */
async function holdTable({ url, schema }: TemporarySchema) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE "${schema}".documents IN ACCESS SHARE MODE`);
  return { release: () => client.query('COMMIT'), [Symbol.asyncDispose]: () => client.end() };
}

/** Orders that clients have submitted and cancelled at the books of `serving`, one after the other. */
class Load {
  readonly serving = new Set<OrderBook>();
  readonly accepted: string[] = [];
  readonly cancelled = new Set<string>();
  readonly failures: unknown[] = [];
  #stopped = false;
  #next = 0;
  readonly #clients: Promise<void>[];

  constructor(first: OrderBook) {
    this.serving.add(first);
    this.#clients = Array.from({ length: CLIENTS }, (_, client) => this.#run(client));
  }

  async #run(client: number): Promise<void> {
    const signer = account(client);
    while (!this.#stopped) {
      try {
        const uid = await this.#submit(client);
        if (uid !== undefined && this.accepted.length % 3 === 0) {
          const orderUids = [uid];
          const signed = { orderUids, ...(await signCancellation(signer, { orderUids })) };
          const result = await this.#choose().orders.cancel(signed);
          if (result.status === 'cancelled') this.cancelled.add(uid);
          else this.failures.push(result);
        }
      } catch (failure) {
        this.failures.push(failure);
      }
    }
  }

  async #submit(client: number): Promise<string | undefined> {
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const signed = await signOrder(account(client), { validTo, buyAmount: String(1 + this.#next++) });
    const result = await this.#choose().orders.submit(signed);
    if (result.status !== 'accepted') return void this.failures.push(result);
    this.accepted.push(result.uid);
    return result.uid;
  }

  #choose(): OrderBook {
    const books = [...this.serving];
    return books[this.#next % books.length] as OrderBook; // one is always serving
  }

  /** Resolves after a number of further orders. */
  async advance(count: number): Promise<void> {
    const wanted = this.accepted.length + count;
    await until(async () => this.accepted.length >= wanted || this.failures.length > 0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }
}

/** Records the orders that a book has reported to its listeners. */
function listen(book: OrderBook): string[] {
  const seen: string[] = [];
  book.on('orderCreated', ({ uid }) => void seen.push(uid));
  return seen;
}

describe.skipIf(!hasCommit(FIRST_SCHEMA))('PostgreSQL schema of the first release', () => {
  test('is migrated under load, with servers of both releases, without a failed or lost write', async () => {
    await using here = await temporarySchema();
    await createKept(here);
    const { url, schema } = here;
    const earlier = await loadEarlierRelease(FIRST_SCHEMA);
    const openEarlier = () =>
      earlier.createOrderBook({ chainId: SEPOLIA, store: earlier.postgresStore({ url, schema }) });
    const old = openEarlier();
    await old.start();
    const seenByOld = listen(old);
    const load = new Load(old);
    await load.advance(100);

    await using reader = await holdTable(here);
    await expect(migratePostgres({ url, schema })).rejects.toThrow('held its lock for too long (55P03)');
    await load.advance(50);
    await reader.release();
    expect(await migratePostgres({ url, schema })).not.toEqual([]);
    await load.advance(100);

    const current = createOrderBook({ chainId: SEPOLIA, store: postgresStore({ url, schema }) });
    await current.start();
    const seenByCurrent = listen(current);
    const before = load.accepted.length;
    load.serving.add(current);
    await load.advance(200);

    load.serving.delete(old);
    await load.advance(100);
    const accepted = [...load.accepted];
    await until(async () => accepted.every((uid) => seenByOld.includes(uid)));
    await old.close();

    // A release that is taken back: the earlier one uses the new schema.
    const again = openEarlier();
    await again.start();
    load.serving.add(again);
    await load.advance(100);
    await load.stop();
    await until(async () => load.accepted.slice(before + CLIENTS).every((uid) => seenByCurrent.includes(uid)));
    await again.close();
    await current.close();

    expect(load.failures).toEqual([]);
    const store = postgresStore({ url, schema, listen: false });
    await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
    const events = await store.events.after(0, 1_000_000);
    await store.close();
    const uidsOf = (type: string) =>
      events
        .filter((each) => each.type === type)
        .map(({ uid }) => uid)
        .sort();
    expect(uidsOf('created')).toEqual([...load.accepted].sort());
    expect(uidsOf('cancelled')).toEqual([...load.cancelled].sort());
    expect(events.map(({ id }) => id)).toEqual(events.map((_, i) => (events[0]?.id ?? 0) + i));
    expect(new Set(seenByOld).size).toBe(seenByOld.length);
    expect(new Set(seenByCurrent).size).toBe(seenByCurrent.length);
  });
});
