import { copyFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createOrderBook, type Store, systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { MakeTrial, Subject } from '../benchmark.ts';
import { times } from '../benchmark.ts';
import { orderFile, scratchFile, VALID_TO } from '../files.ts';
import { CHAIN_ID } from '../orders.ts';

/** What the engine takes in one step, so that both commit as often. */
const STEP = 128;
const LATER = (VALID_TO + 1) * 1000;

/**
 * A book that comes back when all of its orders have expired: its sweep, which counts them out of their owners' caps and
 * logs each, against the same rows marked and logged by bare statements.
 */
export const trial: MakeTrial = ({ orders }) => {
  const count = Math.min(orders[0] ?? 0, 10_000);
  const scratch = async (name: string) => {
    const path = scratchFile(name);
    copyFileSync(await orderFile(count), path);
    return path;
  };

  return {
    title: `sweep of ${count} expired orders`,
    rounds: 5,
    subjects: {
      intentbook: async (): Promise<Subject> => ({
        async round() {
          const store = sqliteStore({ path: await scratch('expire') });
          let start = 0;
          let swept = 0;
          let end = (_at: number): void => {};
          const ended = new Promise<number>((resolve) => {
            end = resolve;
          });
          const expire: Store['orders']['expire'] = async (now, limit) => {
            if (swept === 0) start = performance.now();
            const some = await store.orders.expire(now, limit);
            swept += some;
            if (some < limit) end(performance.now());
            return some;
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
          if (swept !== count) throw new Error(`${swept} orders were swept up`);
          return { time };
        },
      }),
      'bare statements': async (): Promise<Subject> => ({
        async round() {
          const database = new Database(await scratch('expire-bare'));
          database.pragma('journal_mode = WAL');
          database.pragma('synchronous = FULL');
          const due = database
            .prepare('SELECT id, uid, owner FROM orders WHERE live = 1 AND valid_to < ? ORDER BY valid_to, uid LIMIT ?')
            .raw();
          const indexedBlock = database.prepare('UPDATE orders SET live = 0 WHERE id = ?');
          const log = database.prepare('INSERT INTO events (type, uid, owner, at) VALUES (?, ?, ?, ?)');
          const step = database.transaction(() => {
            const rows = due.all(LATER, STEP) as [id: number, uid: Buffer, owner: Buffer][]; // as selected
            for (const [id, uid, owner] of rows) {
              indexedBlock.run(id);
              log.run('expired', uid, owner, LATER);
            }
            return rows.length;
          });
          const start = performance.now();
          while (step() === STEP);
          const time = ((performance.now() - start) * 1000) / count;
          database.close();
          return { time };
        },
      }),
    },
    measures: [{ title: 'sweep ÷ bare statements', of: times('intentbook', 'bare statements') }],
  };
};
