import Database from 'better-sqlite3';
import { systemClock } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { expect, test, vi } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { temporaryFile } from './temporary.ts';

/** Opens a store in a file and closes it. */
type Open = (path: string) => Promise<void>;

/**
 * Returns the plan of each statement that a store prepares, by its text.
 *
 * @param before - Changes the file of the store, which is then opened again.
 */
async function listPlans(open: Open, before?: (path: string) => void): Promise<ReadonlyMap<string, readonly string[]>> {
  using file = temporaryFile();
  if (before !== undefined) {
    await open(file.path);
    before(file.path);
  }
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
  sqlite_stat1: 'one row for each index',
  sqlite_stat4: '24 rows for each index',
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

/** Leaves statistics of tables with one row. They remain when the tables grow. */
function analyzeOneRow(path: string): void {
  const database = new Database(path);
  database.exec('ANALYZE; DELETE FROM sqlite_stat1');
  database.exec(
    "INSERT INTO sqlite_stat1 SELECT tbl_name, name, '1 1 1 1 1 1 1' FROM sqlite_schema WHERE type = 'index'",
  );
  database.close();
}

test.each(STORES)('%s ignores statistics that were made of a small file', async (_, open) => {
  const reopened = await listPlans(open, () => {});
  const analyzed = await listPlans(open, analyzeOneRow);
  const changed = [...reopened].filter(([text, plan]) => analyzed.get(text)?.join() !== plan.join());
  expect(changed).toEqual([]);
  expect(reopened.size).toBeGreaterThan(20);
});

test('a store that is open ignores statistics that another connection makes', async () => {
  using file = temporaryFile();
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const store = sqliteStore({ path: file.path, writeThread: false });
  await store.open({ domain: DOMAIN, clock: systemClock });
  const database = prepare.mock.contexts[0] as Database.Database; // the connection of the store
  prepare.mockRestore();
  const plan = () => database.prepare('EXPLAIN QUERY PLAN DELETE FROM competitions WHERE auction <= 1').all();
  const before = plan();
  analyzeOneRow(file.path);
  database.prepare('SELECT * FROM meta').get(); // reads the schema again if another connection has changed it
  expect(plan()).toEqual(before);
  await store.close();
});

test('SQLite statements that scan are recognised', () => {
  expect(listScans(['SCAN orders', 'SCAN o USING INDEX orders_newest', 'SCAN lease'])).toEqual(['orders']);
});
