import Database from 'better-sqlite3';
import { systemClock } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { expect, test, vi } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { temporaryFile } from './temporary.ts';

/** Opens a store in a file and closes it. */
type Open = (path: string) => Promise<void>;

/** Returns the plan of each statement that a store prepares, by its text. */
async function listPlans(open: Open): Promise<ReadonlyMap<string, readonly string[]>> {
  using file = temporaryFile();
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  await open(file.path);
  const texts = new Set(prepare.mock.calls.map(([text]) => text));
  prepare.mockRestore();
  const database = new Database(file.path);
  const explain = (text: string) => {
    const parameters = Array.from(text.matchAll(/\?/g), () => null);
    return database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...parameters) as { detail: string }[]; // by SQLite
  };
  const statements = [...texts].filter((text) => /^\s*(SELECT|WITH|UPDATE|DELETE|INSERT|REPLACE)\b/i.test(text));
  const plans = new Map(statements.map((text) => [text, explain(text).map(({ detail }) => detail)]));
  database.close();
  return plans;
}

const ACCOUNT_STORE: Open = async (path) => {
  const store = sqliteAccountStore({ path });
  await store.open({ clock: systemClock });
  await store.close();
};

const STORES: readonly (readonly [name: string, open: Open])[] = [
  [
    'the store of a book',
    async (path) => {
      const store = sqliteStore({ path });
      await store.open({ domain: DOMAIN, clock: systemClock });
      await store.close();
    },
  ],
  ['the account store', ACCOUNT_STORE],
];

/** What a plan may scan, and why it does not grow with the number of orders or notifications. */
const SCANNED: Readonly<Record<string, string>> = {
  sqlite_master: 'the schema',
  sqlite_schema: 'the schema',
  sqlite_sequence: 'one row for each table',
  lease: 'one row',
  meta: 'one row',
  progress: 'one row',
  log_retention: 'one row',
  blocks: 'the hashes of the newest blocks',
  auctions: 'in the order of ids, up to a limit',
  competitions: 'in the order of ids, up to a limit',
  lanes: 'two rows for each channel',
  l: 'two rows for each channel',
  json_each: 'a parameter, or the types of a subscription',
  '(subquery': 'rows that the statement has selected',
};

const listScans = (plan: readonly string[]) =>
  plan.flatMap((step) => {
    const [, name = ''] = / USING .*INDEX /.test(step) ? [] : (/^SCAN (\(?\w+)/.exec(step) ?? []);
    return name === '' || name in SCANNED ? [] : [name];
  });

test.each(STORES)('%s scans no table that grows', async (_, open) => {
  const plans = await listPlans(open);
  expect(plans.size).toBeGreaterThan(20);
  const scans = [...plans].map(([text, plan]) => ({ text, scans: listScans(plan) }));
  expect(scans.filter((each) => each.scans.length > 0)).toEqual([]);
});

test('SQLite statements find deliveries by their state only to list or to count them', async () => {
  const plans = await listPlans(ACCOUNT_STORE);
  const byState = [...plans].filter(([, plan]) => plan.some((step) => /deliveries_state \(state=\?\)$/.test(step)));
  expect(byState.map(([text]) => text)).toEqual([
    'SELECT count(*) FROM deliveries WHERE state = ?',
    'SELECT seq FROM deliveries WHERE state = 2 ORDER BY seq',
  ]);
});

test('SQLite statements that scan are recognised', () => {
  expect(listScans(['SCAN orders', 'SCAN o USING INDEX orders_newest', 'SCAN lease'])).toEqual(['orders']);
});
