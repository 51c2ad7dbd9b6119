import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { orderColumns, quoteColumns } from '../../adapters/sqlite/rows.ts';
import type { CreateBenchmark } from '../benchmark.ts';
import { divideTimes, getSample, measureTime, quantile, readMeasured } from '../benchmark.ts';
import { expectCount } from '../checks.ts';
import { copyOrderFile, orderFile } from '../files.ts';
import { CHAIN_ID, signOrders } from '../orders.ts';

/** Changes of the book in each round, each with a new auction. */
const CHANGES = 5;

/** The building of an auction from all open orders of a book, and of the next one after a change. */
export const benchmark: CreateBenchmark = ({ orders }) => {
  const count = orders[0] ?? 0;
  return {
    title: `auction of ${count} open orders`,
    rounds: 7,
    subjects: {
      async SQLite() {
        const path = await copyOrderFile(count, 'auction');
        let added = 0;
        return {
          note: 'no prices, no chain',
          // Each round opens the book, because only the first auction reads all orders.
          async round() {
            const book = createOrderBook({ chainId: CHAIN_ID, store: sqliteStore({ path }) });
            await book.start();
            const read = async () => (await book.auctions.current()).orders.length;
            const check = expectCount(count + added);
            const first = await measureTime(1, read, { check });
            const again = await measureTime(1, read, { check, repetitions: 5 });
            const render = async () => (await book.auctions.rendered.current()).size;
            await render();
            const changed: number[] = [];
            const bytes: number[] = [];
            for (const { order } of await signOrders('auction', added, CHANGES)) {
              const { status } = await book.orders.submit(order);
              if (status !== 'accepted') throw new Error('an order was rejected');
              const checkNext = expectCount(count + ++added);
              changed.push((await measureTime(1, read, { check: checkNext })).time);
              bytes.push((await measureTime(1, render, { check: checkNext })).time);
            }
            await book.close();
            return {
              time: first.time,
              'ms first': first.time / 1000,
              'ms repeated': again.time / 1000,
              'ms after a change': quantile(changed, 0.5) / 1000,
              'ms to render a change': quantile(bytes, 0.5) / 1000,
            };
          },
        };
      },
      'SELECT and JSON.parse': async () => {
        const path = await orderFile(count);
        return {
          async round() {
            const database = new Database(path, { readonly: true });
            const sql =
              `SELECT ${orderColumns('', 'full')}, ${quoteColumns} FROM orders o INDEXED BY orders_live ` +
              'LEFT JOIN order_quotes q ON q.order_id = o.id WHERE o.live = 1 ORDER BY o.created DESC, o.uid DESC';
            const read = () => {
              const rows = database.prepare(sql).raw().all() as string[][];
              return rows.map(([, body = '']) => JSON.parse(body) as { readonly uid: string }).length;
            };
            const sample = await measureTime(1, read, { check: expectCount(count) });
            database.close();
            return sample;
          },
        };
      },
    },
    measures: [
      {
        title: 'first auction',
        unit: ' ms',
        compute: readMeasured('SQLite', 'ms first'),
      },
      {
        title: 'SELECT and JSON.parse of the same orders',
        compute: (round) => getSample(round, 'SELECT and JSON.parse').time / 1000,
        unit: ' ms',
      },
      {
        title: 'first auction ÷ SELECT and JSON.parse of the same orders',
        compute: divideTimes('SQLite', 'SELECT and JSON.parse'),
        target: { atMost: 1.2 },
        reason:
          'Each order also becomes a candidate: its checksum is compared, and its spending, rest and fees are computed.',
      },
      {
        title: 'unchanged auction',
        unit: ' ms',
        compute: readMeasured('SQLite', 'ms repeated'),
        target: { atMost: 1 },
      },
      {
        title: 'auction after a new order',
        unit: ' ms',
        compute: readMeasured('SQLite', 'ms after a change'),
        target: { atMost: 2 },
        reason:
          'The order is read, and each of the others is checked again, because time and funds pass without an event.',
      },
      {
        title: 'the same, rendering as JSON',
        unit: ' ms',
        compute: readMeasured('SQLite', 'ms to render a change'),
      },
    ],
  };
};
