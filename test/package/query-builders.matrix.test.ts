import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { account, signOrder } from '../support/orders.ts';
import { temporaryDatabase } from '../support/postgres.ts';
import { readPage } from './docs-pages.ts';
import type { Host } from './host.ts';
import { unpackHost } from './host.ts';

/** The query builders are no development dependencies, and are installed in the long run. */
const LONG = process.env['TEST_LONG'] !== undefined;

const page = readPage('docs/guides/transactions.md').text;
const recipes = new Map(
  [...page.matchAll(/^```js (\w+)\.js\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [name, code]),
);

let host: Host;
beforeAll(() => {
  if (!LONG) return;
  host = unpackHost(['pg']);
  const flags = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error', '--legacy-peer-deps'];
  const folder = join(host.folder, 'installed');
  execFileSync('npm', ['install', ...flags, '--prefix', folder, 'drizzle-orm@0', 'kysely@0']);
  for (const name of ['drizzle-orm', 'kysely']) {
    symlinkSync(join(folder, 'node_modules', name), join(host.folder, 'node_modules', name));
  }
}, 600_000);
afterAll(() => host?.[Symbol.dispose]());

/** Submits orders with a recipe, and prints the state of the tables after each. */
const program = (recipe: string, orders: readonly unknown[]) => `
import { createOrderBook } from 'intentbook';
import { postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { submitWithInvoice } from './${recipe}.mjs';
const pool = new pg.Pool({ connectionString: process.env.POSTGRES_URL, max: 4 });
const book = createOrderBook({ chainId: 11155111, store: postgresStore(pool, { migrate: true }) });
await book.start();
await pool.query('CREATE TABLE invoices (id text PRIMARY KEY, order_uid text NOT NULL)');
for (const order of ${JSON.stringify(orders)}) {
  const result = await submitWithInvoice(book, pool, order, 'invoice').catch(({ cause, code }) => cause?.code ?? code);
  const { rows } = await pool.query('SELECT order_uid FROM invoices');
  const stored = await book.orders.list({ limit: 10 });
  console.log(JSON.stringify([result.status ?? result, result.error?.code, rows.length, stored.orders.length]));
}
await book.close();
await pool.end();
`;

describe('query builder', () => {
  it('has a recipe for each', () => {
    expect([...recipes.keys()]).toEqual(['drizzle', 'kysely']);
  });

  it.skipIf(!LONG).each([...recipes])(
    '%s: commits the order with the row, or neither (long run only)',
    async (name, code) => {
      await using database = await temporaryDatabase();
      writeFileSync(join(host.folder, `${name}.mjs`), code);
      const validTo = Math.floor(Date.now() / 1000) + 600;
      const orders = [
        await signOrder(account(1), { validTo, feeAmount: '1' }),
        await signOrder(account(1), { validTo }),
        await signOrder(account(2), { validTo }), // its invoice exists
      ];
      writeFileSync(join(host.folder, 'run.mjs'), program(name, orders));
      const env = { ...process.env, NODE_OPTIONS: '', POSTGRES_URL: database.url };
      const printed = execFileSync(process.execPath, ['run.mjs'], { cwd: host.folder, env, encoding: 'utf8' });
      expect(
        printed
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual([
        ['rejected', 'NonZeroFee', 0, 0],
        ['accepted', null, 1, 1],
        ['23505', null, 1, 1],
      ]);
    },
  );
});
