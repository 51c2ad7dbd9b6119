import Database from 'better-sqlite3';
import { createOrderBook, type Store, systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { CreateBenchmark, Subject } from '../benchmark.ts';
import { divideTimes } from '../benchmark.ts';
import { copyOrderFile, VALID_TO } from '../files.ts';
import { CHAIN_ID } from '../orders.ts';

/** Number of orders in one step of the engine, so that both subjects commit equally often. */
const STEP = 128;
const LATER = (VALID_TO + 1) * 1000;

/**
 * A book that starts after all of its orders have expired. Its sweep updates the owners' counters and logs each order.
 * The baseline marks and logs the same rows with SQL statements.
 */
export const benchmark: CreateBenchmark = ({ orders }) => {
  const count = Math.min(orders[0] ?? 0, 10_000);

  const assertExpired = (recorded: number) => {
    if (recorded !== count) throw new Error(`${recorded} orders were recorded as expired instead of ${count}`);
  };

  return {
    title: `sweep of ${count} expired orders`,
    rounds: 5,
    subjects: {
      intentbook: async (): Promise<Subject> => ({
        async round() {
          const store = sqliteStore({ path: await copyOrderFile(count, 'expire') });
          let start = 0;
          let recorded = 0;
          let end = (_at: number): void => {};
          const ended = new Promise<number>((resolve) => {
            end = resolve;
          });
          const expire: Store['orders']['expire'] = async (now, limit) => {
            if (recorded === 0) start = performance.now();
            const expired = await store.orders.expire(now, limit);
            recorded += expired;
            if (expired < limit) end(performance.now());
            return expired;
          };
          const clock = { ...systemClock, now: () => LATER };
          const book = createOrderBook({
            chainId: CHAIN_ID,
            clock,
            store: { ...store, orders: { ...store.orders, expire } },
          });
          await book.start();
          const time = (((await ended) - start) * 1000) / count;
          await book.close();
          assertExpired(recorded);
          return { time };
        },
      }),
      'SQL statements': async (): Promise<Subject> => ({
        async round() {
          const database = new Database(await copyOrderFile(count, 'expire-bare'));
          database.pragma('journal_mode = WAL');
          database.pragma('synchronous = FULL');
          const due = database
            .prepare('SELECT id, uid, owner FROM orders WHERE live = 1 AND valid_to < ? ORDER BY valid_to, uid LIMIT ?')
            .raw();
          const recordExpiry = database.prepare('UPDATE orders SET live = 0 WHERE id = ?');
          const log = database.prepare('INSERT INTO events (type, uid, owner, at) VALUES (?, ?, ?, ?)');
          const step = database.transaction(() => {
            const rows = due.all(LATER, STEP) as [id: number, uid: Buffer, owner: Buffer][]; // as selected
            for (const [id, uid, owner] of rows) {
              recordExpiry.run(id);
              log.run('expired', uid, owner, LATER);
            }
            return rows.length;
          });
          const start = performance.now();
          let recorded = 0;
          for (let last = STEP; last === STEP; recorded += last) last = step();
          const time = ((performance.now() - start) * 1000) / count;
          database.close();
          assertExpired(recorded);
          return { time };
        },
      }),
    },
    measures: [{ title: 'sweep ÷ SQL statements', compute: divideTimes('intentbook', 'SQL statements') }],
  };
};
