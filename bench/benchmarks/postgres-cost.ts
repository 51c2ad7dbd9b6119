import type { ChainEvent, Hex, OrderInsert, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import type { RecordingPool } from '../../test/support/postgres-explain.ts';
import { createRecordingPool } from '../../test/support/postgres-explain.ts';
import type { CreateBenchmark, Sample, Subject } from '../benchmark.ts';
import { readMeasured } from '../benchmark.ts';
import { expectCount } from '../checks.ts';
import { assertInserted, createModelOrder, getOwner } from '../files.ts';
import { DOMAIN, hashText } from '../orders.ts';
import type { BenchServer } from '../postgres.ts';
import { openBenchServer } from '../postgres.ts';
import { createOrderFactory, fillStore } from '../postgres-book.ts';

const SCHEMA = 'bench_cost';
const GROUP = 64;

/** Orders that are inserted after a checkpoint, so that the full pages of its cycle are counted. */
const INSERTED = 20_096;
const FILLED = 2048;
const TRADES = 450_000;
const HELD_EVENTS = 300_000;

/** What a write and the event log cost PostgreSQL, in counts that do not depend on the load of the machine. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = orders.at(-1) ?? 0;
  const scale = (full: number) => (tiny ? Math.min(full, 128) : full);
  return {
    title: `cost of writes among ${count} orders on PostgreSQL`,
    rounds: 1,
    subjects: {
      async PostgreSQL(): Promise<Subject> {
        const server = await openBenchServer([SCHEMA]);
        const filled = await fillStore(server, SCHEMA, count);
        await filled.close();
        const connections = new pg.Pool({ connectionString: server.url, max: 2 });
        const pool = createRecordingPool(connections);
        const store = postgresStore(pool, { schema: SCHEMA });
        await store.open({ domain: DOMAIN, clock: systemClock });
        const session = await createBook(server, store, pool);
        let sample: Promise<Sample> | undefined;
        return {
          note: server.version,
          // Counts are the same in every round, so that they are taken once.
          round: () => {
            sample ??= measureAll(session, scale);
            return sample;
          },
          async close() {
            await store.close();
            await connections.end();
            await server.close();
          },
        };
      },
    },
    measures: [
      {
        title: 'WAL per order in groups of 64, from a checkpoint on',
        unit: 'KB',
        target: { atMost: 4 },
        compute: readMeasured('PostgreSQL', 'WAL'),
      },
      {
        title: 'statements per group of 64 orders',
        target: { atMost: 1 },
        compute: readMeasured('PostgreSQL', 'statements'),
      },
      {
        title: 'HOT share of partial fills after the first',
        unit: '%',
        target: { atLeast: 95 },
        compute: readMeasured('PostgreSQL', 'HOT'),
      },
      {
        title: `blocks for a page of the trades of one account with ${scale(TRADES)}`,
        target: { atMost: 50 },
        compute: readMeasured('PostgreSQL', 'trade blocks'),
      },
      {
        title: 'blocks for one event after 300,000 others, while a snapshot is held',
        compute: readMeasured('PostgreSQL', 'event blocks'),
      },
      {
        title: 'the same ÷ blocks after the first events',
        target: { atMost: 1.5 },
        compute: readMeasured('PostgreSQL', 'event growth'),
      },
    ],
  };
};

async function measureAll(
  session: Awaited<ReturnType<typeof createBook>>,
  scale: (full: number) => number,
): Promise<Sample> {
  const inserted = await session.insert(scale(INSERTED));
  const filled = await session.fill(scale(FILLED));
  const trades = await session.readTrades(scale(TRADES));
  const log = await session.readLogWithSnapshot(scale(HELD_EVENTS));
  return { ...inserted, ...filled, ...trades, ...log };
}

async function createBook(server: BenchServer, store: Store, pool: RecordingPool) {
  const { client } = server;
  const { order: model } = await createModelOrder();
  const createOrder = await createOrderFactory('new');

  async function insert(orders: number): Promise<readonly OrderInsert[]> {
    const inserts: OrderInsert[] = [];
    for (let i = 0; i < orders; i += GROUP) {
      const group = Array.from({ length: GROUP }, createOrder);
      assertInserted(await store.orders.insert(group), GROUP);
      inserts.push(...group);
    }
    return inserts;
  }

  const one = async (text: string) => Number((await client.query(text)).rows[0]?.value);
  const readWal = () => one("SELECT pg_current_wal_insert_lsn() - pg_lsn '0/0' AS value");
  const readStatistic = async (table: string, column: string) => {
    await client.query('SELECT pg_stat_force_next_flush()');
    return one(
      `SELECT ${column} AS value FROM pg_stat_all_tables WHERE schemaname = '${SCHEMA}' AND relname = '${table}'`,
    );
  };

  /** Makes the sessions of the pool, which are idle, report their statistics. */
  async function flushStatistics(): Promise<void> {
    const sessions = [await pool.connect(), await pool.connect()];
    for (const session of sessions) {
      await session.query({ text: 'SELECT pg_stat_force_next_flush()' });
      session.release();
    }
  }

  let inserted: readonly OrderInsert[] = [];
  return {
    async insert(orders: number) {
      await insert(GROUP); // connections and plans
      await client.query('CHECKPOINT');
      const [wal, start] = [await readWal(), performance.now()];
      const transactions = await readTransactions(client);
      inserted = await insert(orders);
      const time = ((performance.now() - start) * 1000) / inserted.length;
      const statements = (await readTransactions(client)) - transactions;
      return {
        time,
        WAL: ((await readWal()) - wal) / 1024 / inserted.length,
        statements: statements / (inserted.length / GROUP),
      };
    },

    async fill(fills: number) {
      const uids = inserted.slice(0, fills).map(({ order }) => order.uid);
      const sell = (block: number) =>
        store.chain.apply({
          events: uids.map((uid, i) => createTrade(uid, model, { block, log: i })),
          blocks: [],
          through: { number: block, hash: createHash('block', block) },
          forgetBelow: 0,
          at: Date.now(),
        });
      await sell(20_000_001); // each order gets its row
      await flushStatistics();
      const before = [
        await readStatistic('fills', 'n_tup_upd'),
        await readStatistic('fills', 'n_tup_hot_upd'),
      ] as const;
      for (const block of [20_000_002, 20_000_003]) await sell(block);
      await flushStatistics();
      const after = [await readStatistic('fills', 'n_tup_upd'), await readStatistic('fills', 'n_tup_hot_upd')] as const;
      return { HOT: (100 * (after[1] - before[1])) / (after[0] - before[0]) };
    },

    async readTrades(trades: number) {
      const account = getOwner(1);
      await client.query(
        `INSERT INTO ${SCHEMA}.chain_events (block, log, type, block_hash, transaction_hash, key, owner, detail)
         SELECT 30000000 + n, 0, 0, sha256(n::text::bytea), sha256(n::text::bytea),
           '\\x00000000'::bytea || sha256(n::text::bytea) || $1, $1, '{}' FROM generate_series(1, $2) n`,
        [Buffer.from(account.slice(2), 'hex'), trades],
      );
      await client.query(`VACUUM ANALYZE ${SCHEMA}.chain_events`);
      return {
        'trade blocks': await countBlocks(pool, async () => {
          const page = await store.chain.trades({ filter: { account }, limit: 10 });
          expectCount(10)(page.length);
        }),
      };
    },

    async readLogWithSnapshot(events: number) {
      const holder = new pg.Client({ connectionString: server.url });
      await holder.connect();
      await store.events.last();
      const readOne = async () => {
        await insert(GROUP);
        const last = await store.events.last();
        await insert(1);
        return countBlocks(pool, async () => {
          expectCount(10)((await store.events.after(last, 10)).length);
        });
      };
      await readOne();
      const first = await readOne();
      await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class LIMIT 1');
      // Numbered in many steps, as readers do.
      for (let written = 0; written < events; written += 20 * GROUP) {
        await insert(20 * GROUP);
        await store.events.last();
      }
      const later = await readOne();
      await holder.query('COMMIT');
      await holder.end();
      return { 'event blocks': later, 'event growth': later / first };
    },
  };
}

/** Returns the number of the next transaction, without assigning it. */
async function readTransactions(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ next: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next');
  return Number(rows[0]?.next);
}

/** Counts the blocks that the server reads for an operation of the store. */
async function countBlocks(pool: RecordingPool, work: () => Promise<unknown>): Promise<number> {
  return [...(await pool.countBlocks(work)).values()].reduce((sum, blocks) => sum + blocks, 0);
}

const createHash = (name: string, n: number): Hex => `0x${hashText(`${name} ${n}`).toString('hex')}`;

function createTrade(
  uid: Hex,
  model: OrderInsert['order'],
  { block, log }: { readonly block: number; readonly log: number },
): ChainEvent {
  return {
    type: 'trade',
    uid,
    blockNumber: block,
    blockHash: createHash('block', block),
    logIndex: log,
    transactionHash: createHash('transaction', block),
    timestamp: 1_700_000_000,
    owner: `0x${uid.slice(66, 106)}`,
    sellToken: model.sellToken,
    buyToken: model.buyToken,
    sellAmount: '1000',
    buyAmount: '1000',
    feeAmount: '0',
    executedFee: '1',
    prices: null,
    protocolFees: [],
  };
}
