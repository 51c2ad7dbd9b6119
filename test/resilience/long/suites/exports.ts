import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { exportBook } from '../../../../apps/server/commands/export.ts';
import { exportTable } from '../../../../apps/server/commands/table-export/index.ts';
import { exportOrders } from '../../../../apps/server/commands/table-export/order-table.ts';
import { DOMAIN } from '../../../conformance/harness.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { queryDuckDb } from '../../../support/duckdb.ts';
import type { LongSuite } from '../suite.ts';

/** Number of orders, if the time suffices. */
const ORDERS = 1_000_000;

/** Milliseconds that an order takes in all steps, at most. */
const PER_ORDER = 0.5;

/** Maximum time of the export to Parquet, as a multiple of that to NDJSON. */
const LIMIT = 1.5;

const PROGRESS = { at() {}, end() {} };

export const suite: LongSuite = {
  description: 'export of 1,000,000 orders: exact sums in DuckDB, Parquet in at most 1.5 times the time of NDJSON',
  async run({ milliseconds, note, count }) {
    const orders = Math.min(ORDERS, Math.floor(milliseconds / PER_ORDER));
    const folder = mkdtempSync(join(tmpdir(), 'intentbook-exports-'));
    const store = sqliteStore({ path: join(folder, 'book.sqlite') });
    await store.open({ domain: DOMAIN, clock: systemClock });
    try {
      let sum = 0n;
      for (let i = 0; i < orders; i += 1000) {
        const rows = Array.from({ length: Math.min(1000, orders - i) }, (_, n) => completeOrder(i + n));
        for (const { body } of rows) sum += BigInt(JSON.parse(body).sellAmount);
        await store.orders.insert(rows.map((order) => ({ order })));
      }
      const seconds = async (work: () => Promise<unknown>) => {
        const since = performance.now();
        await work();
        return (performance.now() - since) / 1000;
      };
      const table = async (name: string) =>
        exportTable('orders', await exportOrders(store, undefined), join(folder, name), PROGRESS);
      const ndjson = await seconds(() => exportBook(store, DOMAIN, join(folder, 'orders.ndjson'), PROGRESS));
      const parquet = await seconds(() => table('orders.parquet'));
      const csv = await seconds(() => table('orders.csv'));
      note('seconds of NDJSON, Parquet, CSV', [ndjson, parquet, csv].map((each) => each.toFixed(1)).join(', '));
      const [row] = await queryDuckDb(
        `SELECT count(*)::VARCHAR AS n, count(DISTINCT uid)::VARCHAR AS uids, sum(sell_amount_hi)::VARCHAR AS high,
          sum(sell_amount_lo)::VARCHAR AS low FROM '${join(folder, 'orders.parquet')}'`,
      );
      assert.deepEqual(row, { n: String(orders), uids: String(orders), high: '0', low: String(sum) });
      assert.ok(parquet <= LIMIT * ndjson, `Parquet took ${parquet} s, NDJSON ${ndjson} s`);
      count('exported orders', 3 * orders);
    } finally {
      await store.close();
      rmSync(folder, { recursive: true });
    }
  },
};
