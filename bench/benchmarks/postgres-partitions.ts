import type { Hex, OrderInsert, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import type { CreateBenchmark, Measure } from '../benchmark.ts';
import { measureTime, readMeasured } from '../benchmark.ts';
import { getOwner } from '../files.ts';
import { DOMAIN } from '../orders.ts';
import { openBenchServer } from '../postgres.ts';
import { createOrderFactory, fillStore } from '../postgres-book.ts';
import { createUidPicker } from '../stats.ts';

const PARTITIONS = 16;
const GROUP = 64;
const UIDS = 128;
const PAGE = 10;

/** The operations that are compared, with their names in the samples. */
const OPERATIONS = {
  'read by UID': 'get',
  'read of 128 UIDs': 'getMany',
  'page of one owner': 'owner',
  'newest page': 'newest',
  'group of 64 submissions': 'submit',
} as const;

/** Tables of orders in 16 hash partitions by owner, compared with one table. Both are in one server. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = Math.min(100_000, orders.at(-1) ?? 0);
  const repetitions = tiny ? 1 : 40;

  return {
    title: `${PARTITIONS} partitions among ${count} orders on PostgreSQL`,
    subjects: {
      async PostgreSQL() {
        const schemas = { one: 'bench_one_table', partitioned: 'bench_partitioned' };
        const server = await openBenchServer(Object.values(schemas));
        const stores = {
          one: await fillStore(server, schemas.one, count),
          partitioned: await fillStore(server, schemas.partitioned, count, PARTITIONS),
        };
        for (const store of Object.values(stores)) await store.open({ domain: DOMAIN, clock: systemClock });
        const createOrder = await createOrderFactory('group');
        const createGroup = () => Array.from({ length: GROUP }, createOrder);
        return {
          note: server.version,
          // The operations of both alternate, so that other activity of the machine affects both.
          async round() {
            const samples: Record<string, number> = {};
            for (const operation of Object.values(OPERATIONS)) {
              for (const [name, store] of Object.entries(stores)) {
                samples[`${operation} ${name}`] = (await measureOperation(operation, store, createGroup)).time;
              }
            }
            return { time: samples['submit one'] ?? Number.NaN, ...samples };
          },
          async close() {
            for (const store of Object.values(stores)) await store.close();
            await server.close();
          },
        };
      },
    },
    measures: Object.entries(OPERATIONS).flatMap(([title, operation]): Measure[] => [
      {
        title: `${title}: ${PARTITIONS} partitions ÷ one table`,
        compute: (round) =>
          readMeasured('PostgreSQL', `${operation} partitioned`)(round) /
          readMeasured('PostgreSQL', `${operation} one`)(round),
      },
    ]),
  };

  async function measureOperation(
    operation: (typeof OPERATIONS)[keyof typeof OPERATIONS],
    { orders: table }: Store,
    createGroup: () => readonly OrderInsert[],
  ) {
    const check = (length: number, expected: number) => {
      if (length !== Math.min(expected, count)) throw new Error(`${operation} has returned ${length} rows`);
    };
    switch (operation) {
      case 'get':
      case 'getMany': {
        const size = operation === 'get' ? 1 : UIDS;
        const read = async (uids: readonly Hex[]) => check((await table.get(uids)).length, size);
        return measureTime(1, read, { repetitions, prepare: createUidPicker(count, size) });
      }
      case 'owner':
        return measureTime(1, () => table.list({ owner: getOwner(5), limit: PAGE }), { repetitions });
      case 'newest':
        return measureTime(1, async () => check((await table.list({ limit: PAGE })).length, PAGE), { repetitions });
      case 'submit': {
        const insert = async (group: readonly OrderInsert[]) => {
          const outcomes = await table.insert(group);
          if (outcomes.some(({ status }) => status !== 'inserted')) throw new Error('an order was not inserted');
        };
        return measureTime(1, insert, { repetitions, prepare: createGroup });
      }
    }
  }
};
