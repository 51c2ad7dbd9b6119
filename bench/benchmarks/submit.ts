import Database from 'better-sqlite3';
import { createOrderBook, systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { recoveryPool } from 'intentbook/workers';
import type { CreateBenchmark, Round, Sample, Subject } from '../benchmark.ts';
import { divideTimes, measureTime, readMeasured } from '../benchmark.ts';
import { expectCount } from '../checks.ts';
import { assertAccepted, assertInserted, scratchFile, toInserts } from '../files.ts';
import { CHAIN_ID, DOMAIN, recoverKey, type Signed, signOrders } from '../orders.ts';
import { toTypedData } from '../typed-data.ts';

/** Durable submission of signed orders by one or more concurrent callers. */
export const benchmark: CreateBenchmark = ({ tiny }) => {
  const submit =
    (callers: number, orders: number, writeThread = false) =>
    async (): Promise<Subject> => {
      const count = tiny ? 2 * callers : orders;
      const book = createOrderBook({
        chainId: CHAIN_ID,
        recovery: 'native',
        store: sqliteStore({ path: scratchFile(`submit-${callers}-${writeThread}`), writeThread }),
      });
      await book.start();
      let first = 0;
      return {
        note: 'native, synchronous=FULL',
        async round(): Promise<Sample> {
          const queue = await signOrders(`submit ${callers}${writeThread ? ', write thread' : ''}`, first, count);
          first += count;
          const waits: number[] = [];
          const caller = async () => {
            for (let signed = queue.pop(); signed !== undefined; signed = queue.pop()) {
              const start = performance.now();
              const { status } = await book.orders.submit(signed.order);
              if (status !== 'accepted') throw new Error('an order was rejected');
              waits.push(performance.now() - start);
            }
          };
          const submitAll = () => Promise.all(Array.from({ length: callers }, caller));
          const { time } = await measureTime(count, submitAll, { check: () => expectCount(count)(waits.length) });
          const sorted = waits.toSorted((a, b) => a - b);
          return {
            time,
            'ms at p50': getQuantile(sorted, 0.5),
            'ms at p99': getQuantile(sorted, 0.99),
            'orders/s': 1e6 / time,
          };
        },
        close: () => book.close(),
      };
    };

  /** Submits lists of orders. @param threads - Threads of a recovery pool. 0: none. */
  const submitLists = (threads: number) => async (): Promise<Subject> => {
    const [length, lists] = tiny ? [4, 1] : [256, 4];
    const pool = threads === 0 ? undefined : await recoveryPool({ threads });
    const book = createOrderBook({
      chainId: CHAIN_ID,
      recovery: 'native',
      ...(pool === undefined ? {} : { recoveryPool: pool }),
      store: sqliteStore({ path: scratchFile(`submit-lists-${threads}`) }),
    });
    await book.start();
    let first = 0;
    return {
      async round(): Promise<Sample> {
        const signed = await signOrders(`submit lists ${threads}`, first, lists * length);
        first += signed.length;
        const submitAll = async () => {
          const outcomes: Awaited<ReturnType<typeof book.orders.submitMany>>[number][] = [];
          for (let i = 0; i < signed.length; i += length) {
            outcomes.push(...(await book.orders.submitMany(signed.slice(i, i + length).map(({ order }) => order))));
          }
          return outcomes;
        };
        return measureTime(signed.length, submitAll, { check: (results) => assertAccepted(results, signed.length) });
      },
      async close() {
        await book.close();
        await pool?.close();
      },
    };
  };

  return {
    title: 'durable submission of signed orders',
    subjects: {
      sequential: submit(1, 64),
      '16 concurrent': submit(16, 512),
      '256 concurrent': submit(256, 2048),
      '256 concurrent, write thread': submit(256, 2048, true),
      'lists of 256': submitLists(0),
      'lists of 256, recovery pool': submitLists(2),
      'viem, one commit per order': async () => {
        const { recoverTypedDataAddress } = await import('viem');
        const insert = createBareTable('peer');
        const count = tiny ? 2 : 32;
        let first = 0;
        return {
          async round() {
            const orders = (await signOrders('peer', first, count)).map((signed) => ({
              signed,
              typed: toTypedData(signed),
            }));
            first += count;
            const submitAll = async () => {
              for (const { signed, typed } of orders) {
                const signature = signed.hashed.signature as `0x${string}`; // created by signOrders
                const signer = await recoverTypedDataAddress({ ...typed, signature });
                if (signer.toLowerCase() !== signed.owner) throw new Error('an order was not recovered');
                insert([signed]);
              }
            };
            return measureTime(count, submitAll, { check: () => assertRows('peer', first) });
          },
        };
      },
      'recovery and inserts of the store, groups of 128': async () => {
        const store = sqliteStore({ path: scratchFile('store') });
        await store.open({ domain: DOMAIN, clock: systemClock });
        const count = tiny ? 2 : 1024;
        let first = 0;
        return {
          async round() {
            const orders = await signOrders('store', first, count);
            first += count;
            const inserts = await toInserts(orders);
            const insertAll = async () => {
              const results: Awaited<ReturnType<typeof store.orders.insert>> = [];
              for (let start = 0; start < count; start += 128) {
                orders.slice(start, start + 128).map(recoverKey);
                results.push(...(await store.orders.insert(inserts.slice(start, start + 128))));
              }
              return results;
            };
            return measureTime(count, insertAll, { check: (results) => assertInserted(results, count) });
          },
          close: () => store.close(),
        };
      },
      'recovery only, one commit per 128': async () => {
        const insert = createBareTable('baseline');
        const count = tiny ? 2 : 1024;
        let first = 0;
        return {
          async round() {
            const orders = await signOrders('baseline', first, count);
            first += count;
            const { time: recovery } = await measureTime(count, () => orders.map(recoverKey), {
              check: (keys) => expectCount(count)(keys.filter(([prefix]) => prefix === 4).length),
            });
            const insertAll = () => {
              for (let start = 0; start < count; start += 128) {
                const group = orders.slice(start, start + 128);
                group.map(recoverKey);
                insert(group);
              }
            };
            const sample = await measureTime(count, insertAll, { check: () => assertRows('baseline', first) });
            return { ...sample, recovery };
          },
        };
      },
    },
    measures: [
      {
        title: 'viem, one commit per order ÷ 256 concurrent',
        compute: divideTimes('viem, one commit per order', '256 concurrent'),
        target: { atLeast: 12 },
        reason: 'The faster a disk syncs, the less the peer loses by a commit for each order.',
      },
      {
        title: 'viem, one commit per order ÷ sequential',
        compute: divideTimes('viem, one commit per order', 'sequential'),
      },
      {
        title: '256 concurrent ÷ recovery only, one commit per 128',
        compute: divideTimes('256 concurrent', 'recovery only, one commit per 128'),
        target: { atMost: 1.6 },
        reason:
          'The baseline inserts into one table with one index. The store also writes the indexes of listings, the counts of ' +
          'the owner and the log: compare `recovery and inserts of the store`. The rest is validation, and the work of ' +
          'concurrent calls. A write thread moves the inserts to another thread.',
      },
      {
        title: 'recovery and inserts of the store, groups of 128 ÷ recovery only, one commit per 128',
        compute: divideTimes('recovery and inserts of the store, groups of 128', 'recovery only, one commit per 128'),
      },
      {
        title: '256 concurrent ÷ recovery and inserts of the store, groups of 128',
        compute: divideTimes('256 concurrent', 'recovery and inserts of the store, groups of 128'),
      },
      {
        title: '256 concurrent, write thread ÷ recovery only, one commit per 128',
        compute: divideTimes('256 concurrent, write thread', 'recovery only, one commit per 128'),
        target: { atMost: 1.35 },
        reason:
          'The write thread inserts beside the checks of the next orders. Its work is more than that of the baseline, which ' +
          'inserts into one table with one index.',
      },
      {
        title: 'lists of 256: gain by a recovery pool of 2 ÷ gain if recovery took no time',
        compute: (round) => divideTimes('lists of 256', 'lists of 256, recovery pool')(round) * (1 - getShare(round)),
        target: { atLeast: 0.8 },
        reason:
          'A list is parsed, recovered and stored in turn, and two threads recover it in half the time at best: compare ' +
          '`gain if recovery took half the time`.',
      },
      {
        title: 'lists of 256: gain if recovery took half the time ÷ gain if recovery took no time',
        compute: (round) => (1 - getShare(round)) / (1 - getShare(round) / 2),
      },
      {
        title: 'orders per second, 256 concurrent',
        unit: '/s',
        compute: readMeasured('256 concurrent', 'orders/s'),
      },
    ],
  };
};

/** Returns the share of recovery in the time of a list. */
function getShare(round: Round): number {
  const recovery = readMeasured('recovery only, one commit per 128', 'recovery')(round);
  return recovery / readMeasured('lists of 256', 'time')(round);
}

/** Creates a minimal table of orders: a unique UID and a text. */
function createBareTable(name: string): (orders: readonly Signed[]) => void {
  const database = new Database(scratchFile(name));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE orders (uid BLOB PRIMARY KEY, owner TEXT NOT NULL, body TEXT NOT NULL)');
  const insert = database.prepare('INSERT INTO orders VALUES (?, ?, ?)');
  return database.transaction((orders: readonly Signed[]) => {
    for (const { digest, owner, order } of orders) insert.run(digest, owner, JSON.stringify(order));
  });
}

/** Throws if a minimal table has another number of orders. */
function assertRows(name: string, count: number): void {
  const database = new Database(scratchFile(name), { readonly: true });
  const found = database.prepare('SELECT count(*) FROM orders').pluck().get();
  database.close();
  if (found !== count) throw new Error(`the table must contain ${count} orders, got ${found}`);
}

function getQuantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
