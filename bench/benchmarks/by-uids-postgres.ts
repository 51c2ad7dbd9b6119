import { createOrderBook } from 'intentbook';
import type pg from 'pg';
import type { CreateBenchmark, Measure, Subject } from '../benchmark.ts';
import { measureTime, readMeasured } from '../benchmark.ts';
import { checkBody, checkOrders, expectCount } from '../checks.ts';
import { VALID_TO } from '../files.ts';
import { CHAIN_ID } from '../orders.ts';
import type { BenchServer } from '../postgres.ts';
import { openBenchServer } from '../postgres.ts';
import { BOUGHT, fillStore, METADATA, SOLD, selectOrders } from '../postgres-book.ts';
import { createUidPicker } from '../stats.ts';

const UIDS = 128;
const STORE_SCHEMA = 'bench_by_uids';
const SUMMING_SCHEMA = 'bench_summing';
/** The least query that returns what does not change of an order: body and quote. */
const TEXTS_SELECT = `SELECT key, body, quote FROM ${STORE_SCHEMA}.orders WHERE key = ANY($1)`;
const TEXTS_QUERY = { name: 'texts', rowMode: 'array' } as const;
const SUMMING_QUERY = { name: 'summing', rowMode: 'array' } as const;

/**
 * Reads 128 of a million orders with quotes, half of them filled. The subject is the store of a book on PostgreSQL. The
 * peer is a query that sums the events of each order, over the tables of an order book that stores no totals. Both run
 * in turn on one server, until the rows are available. The complete by_uids, including the response body, is also
 * measured.
 */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = orders.at(-1) ?? 0;
  const repetitions = tiny ? 1 : 40;

  return {
    title: `by_uids of ${UIDS} among ${count} orders on PostgreSQL`,
    subjects: {
      async PostgreSQL(): Promise<Subject> {
        const server = await openBenchServer([STORE_SCHEMA, SUMMING_SCHEMA]);
        const store = await fillStore(server, STORE_SCHEMA, count);
        const book = createOrderBook({ chainId: CHAIN_ID, store });
        await book.start();
        await fillSummingTables(server, count);
        const pick = createUidPicker(count, UIDS);
        const prepare = () => {
          const uids = pick();
          return {
            uids,
            bytes: [uids.map((uid) => Buffer.from(uid.slice(2), 'hex'))],
            keys: [uids.map((uid) => Buffer.from(`${uid.slice(106)}${uid.slice(2, 106)}`, 'hex'))],
          };
        };
        const timing = { repetitions, prepare };
        const checkKeys = ({ rows }: pg.QueryArrayResult, [keys = []]: readonly Buffer[][]) => {
          expectCount(keys.length)(rows.length);
          const first: unknown = rows[0]?.[0];
          if (!keys.some((key) => first instanceof Buffer && first.equals(key)))
            throw new Error('the query has returned another order');
        };
        return {
          note: server.version,
          async round() {
            const read = await measureTime(1, ({ uids }) => store.orders.get(uids), {
              ...timing,
              check: (found, { uids }) => checkOrders(found, uids),
            });
            const rendered = await measureTime(1, ({ uids }) => book.orders.rendered.getManyBytes(uids), {
              ...timing,
              check: (body, { uids }) => checkBody(body, uids), // lengths differ: half of the orders are filled
            });
            const summing = await measureTime(
              1,
              ({ bytes }) => server.client.query({ ...SUMMING_QUERY, text: SUMMING_SELECT, values: bytes }),
              { ...timing, check: (result, { bytes }) => checkKeys(result, bytes) },
            );
            const texts = await measureTime(
              1,
              ({ keys }) => server.client.query({ ...TEXTS_QUERY, text: TEXTS_SELECT, values: keys }),
              { ...timing, check: (result, { keys }) => checkKeys(result, keys) },
            );
            return {
              ...read,
              by_uids: rendered.time,
              'summing query': summing.time,
              'SELECT of the texts': texts.time,
            };
          },
          async close() {
            await book.close();
            await server.close();
          },
        };
      },
    },
    measures: [
      {
        title: 'query that sums trades, invalidations and pre-signatures ÷ query of the store',
        target: { atLeast: 3 },
        reason:
          'Most of the time, PostgreSQL and the driver find and move 190 kB of text: compare `SELECT of the texts by key`.',
        compute: (round) =>
          readMeasured('PostgreSQL', 'summing query')(round) / readMeasured('PostgreSQL', 'time')(round),
      },
      {
        title: 'summing query without rendering ÷ by_uids with rendering',
        target: { atLeast: 3.5 },
        reason: 'As for the query of the store. In addition, the rows of the summing query are not rendered.',
        compute: (round) =>
          readMeasured('PostgreSQL', 'summing query')(round) / readMeasured('PostgreSQL', 'by_uids')(round),
      },
      {
        title: 'summing query ÷ SELECT of the texts by key',
        compute: (round) =>
          readMeasured('PostgreSQL', 'summing query')(round) / readMeasured('PostgreSQL', 'SELECT of the texts')(round),
      },
      milliseconds('summing query, rows not rendered', 'summing query'),
      milliseconds('SELECT of the texts by key, rows not rendered', 'SELECT of the texts'),
      milliseconds('query of the store, as orders', 'time'),
      milliseconds('by_uids, including the response body', 'by_uids'),
    ],
  };
};

const milliseconds = (title: string, measured: string): Measure => ({
  title,
  compute: (round) => readMeasured('PostgreSQL', measured)(round) / 1000,
  unit: ' ms',
});

/**
 * Stores the same orders in a schema with a table for each kind of event and an index for each query: a row for the
 * columns of an order, and a sum or a lookup for each derived field.
 */
async function fillSummingTables({ client }: BenchServer, count: number): Promise<void> {
  const s = SUMMING_SCHEMA;
  const from = selectOrders(count);
  await client.query(`
    CREATE SCHEMA ${s};
    CREATE TABLE ${s}.orders (uid bytea, owner bytea NOT NULL, created timestamptz NOT NULL, sell_token bytea NOT NULL,
      buy_token bytea NOT NULL, sell_amount numeric(78,0) NOT NULL, buy_amount numeric(78,0) NOT NULL,
      valid_to bigint NOT NULL, fee_amount numeric(78,0) NOT NULL, kind smallint NOT NULL,
      partially_fillable boolean NOT NULL, signature bytea NOT NULL, cancelled timestamptz, receiver bytea,
      app_data bytea NOT NULL, signing_scheme smallint NOT NULL, settlement_contract bytea NOT NULL,
      sell_balance smallint NOT NULL, buy_balance smallint NOT NULL, class smallint NOT NULL);
    CREATE TABLE ${s}.trades (block bigint, log bigint, uid bytea NOT NULL, sell_amount numeric(78,0) NOT NULL,
      buy_amount numeric(78,0) NOT NULL, fee_amount numeric(78,0) NOT NULL);
    CREATE TABLE ${s}.executions (uid bytea, auction bigint, fee numeric(78,0) NOT NULL, fee_token bytea);
    CREATE TABLE ${s}.invalidations (block bigint, log bigint, uid bytea NOT NULL);
    CREATE TABLE ${s}.onchain_invalidations (uid bytea, block bigint NOT NULL, log bigint NOT NULL);
    CREATE TABLE ${s}.presignatures (block bigint, log bigint, owner bytea NOT NULL, uid bytea NOT NULL,
      signed boolean NOT NULL);
    CREATE TABLE ${s}.ethflow (uid bytea, valid_to bigint NOT NULL, refund bytea);
    CREATE TABLE ${s}.placements (uid bytea, sender bytea NOT NULL, error smallint);
    CREATE TABLE ${s}.interactions (uid bytea, ordinal integer, target bytea NOT NULL, value numeric(78,0) NOT NULL,
      data bytea NOT NULL, execution smallint NOT NULL);
    CREATE TABLE ${s}.documents (hash bytea, document bytea NOT NULL);
    CREATE TABLE ${s}.quotes (uid bytea, gas_amount double precision, gas_price double precision, price double precision,
      sell_amount numeric(78,0), buy_amount numeric(78,0), solver bytea, verified boolean, metadata json);`);
  await client.query(
    `INSERT INTO ${s}.orders SELECT uid, owner, to_timestamp(1700000000 + n / 50), sell_token, sell_token, ${SOLD},
       ${BOUGHT}, ${VALID_TO}, 0, 0, false, sha256(uid) || sha256(owner) || '\\x1b', NULL, NULL, sha256('{}'), 0, owner,
       0, 0, 0 FROM (${from}) o`,
  );
  await client.query(
    `INSERT INTO ${s}.trades SELECT n, 0, uid, ${SOLD}, ${BOUGHT}, 0 FROM (${from}) o WHERE n % 2 = 1`,
  );
  await client.query(
    `INSERT INTO ${s}.executions SELECT uid, n, 12345678901, sell_token FROM (${from}) o WHERE n % 2 = 1`,
  );
  await client.query(`INSERT INTO ${s}.invalidations SELECT n, 1, uid FROM (${from}) o WHERE n % 100 = 0`);
  await client.query(`INSERT INTO ${s}.onchain_invalidations SELECT uid, n, 2 FROM (${from}) o WHERE n % 100 = 2`);
  await client.query(`INSERT INTO ${s}.presignatures SELECT n, 3, owner, uid, true FROM (${from}) o WHERE n % 100 = 4`);
  await client.query(`INSERT INTO ${s}.placements SELECT uid, owner, NULL FROM (${from}) o WHERE n % 100 = 6`);
  await client.query(`INSERT INTO ${s}.ethflow SELECT uid, ${VALID_TO}, NULL FROM (${from}) o WHERE n % 100 = 6`);
  await client.query(`INSERT INTO ${s}.documents VALUES (sha256('{}'), '{}')`);
  await client.query(
    `INSERT INTO ${s}.quotes SELECT uid, 150000, 1234567890, 1, ${SOLD}, ${BOUGHT}, owner, true, '${METADATA}'
     FROM (${from}) o`,
  );
  for (const [table, columns] of [
    ...['orders', 'onchain_invalidations', 'ethflow', 'placements', 'quotes'].map((table) => [table, 'uid'] as const),
    ...([
      ['trades', 'uid, block, log'],
      ['executions', 'uid, auction'],
      ['invalidations', 'uid, block, log'],
    ] as const),
    ...([
      ['presignatures', 'uid, block, log'],
      ['interactions', 'uid, ordinal'],
      ['documents', 'hash'],
    ] as const),
  ]) {
    await client.query(`ALTER TABLE ${s}.${table} ADD PRIMARY KEY (${columns})`);
  }
  await client.query(`VACUUM ANALYZE ${[...SUMMING_TABLES].map((table) => `${s}.${table}`).join(', ')}`);
}

const SUMMING_TABLES = [
  'orders',
  'trades',
  'executions',
  'invalidations',
  'onchain_invalidations',
  'presignatures',
  'ethflow',
  'placements',
  'interactions',
  'documents',
  'quotes',
] as const;

const SUMMING_SELECT = `
  SELECT o.*,
    coalesce((SELECT sum(t.buy_amount) FROM ${SUMMING_SCHEMA}.trades t WHERE t.uid = o.uid), 0) AS bought,
    coalesce((SELECT sum(t.sell_amount) FROM ${SUMMING_SCHEMA}.trades t WHERE t.uid = o.uid), 0) AS sold,
    coalesce((SELECT sum(t.fee_amount) FROM ${SUMMING_SCHEMA}.trades t WHERE t.uid = o.uid), 0) AS signed_fee,
    coalesce((SELECT sum(e.fee) FROM ${SUMMING_SCHEMA}.executions e WHERE e.uid = o.uid), 0) AS fee,
    (SELECT e.fee_token FROM ${SUMMING_SCHEMA}.executions e WHERE e.uid = o.uid LIMIT 1) AS fee_token,
    o.cancelled IS NOT NULL OR EXISTS (SELECT FROM ${SUMMING_SCHEMA}.invalidations i WHERE i.uid = o.uid)
      OR EXISTS (SELECT FROM ${SUMMING_SCHEMA}.onchain_invalidations i WHERE i.uid = o.uid) AS invalidated,
    o.signing_scheme = 2 AND coalesce((SELECT NOT p.signed FROM ${SUMMING_SCHEMA}.presignatures p WHERE p.uid = o.uid
      ORDER BY p.block DESC, p.log DESC LIMIT 1), true) AS presignature_pending,
    array(SELECT (i.target, i.value, i.data) FROM ${SUMMING_SCHEMA}.interactions i WHERE i.uid = o.uid AND i.execution = 0
      ORDER BY i.ordinal) AS pre,
    array(SELECT (i.target, i.value, i.data) FROM ${SUMMING_SCHEMA}.interactions i WHERE i.uid = o.uid AND i.execution = 1
      ORDER BY i.ordinal) AS post,
    (SELECT p.sender FROM ${SUMMING_SCHEMA}.placements p WHERE p.uid = o.uid) AS onchain_user,
    (SELECT p.error FROM ${SUMMING_SCHEMA}.placements p WHERE p.uid = o.uid) AS placement_error,
    (SELECT (f.valid_to, f.refund) FROM ${SUMMING_SCHEMA}.ethflow f WHERE f.uid = o.uid) AS ethflow,
    (SELECT d.document FROM ${SUMMING_SCHEMA}.documents d WHERE d.hash = o.app_data) AS document,
    q.*
  FROM ${SUMMING_SCHEMA}.orders o LEFT JOIN ${SUMMING_SCHEMA}.quotes q ON q.uid = o.uid
  WHERE o.uid = ANY($1::bytea[])`;
