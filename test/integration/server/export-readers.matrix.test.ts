import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createAccountApi } from 'intentbook/accounts';
import { memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportTable } from '../../../apps/server/commands/table-export/index.ts';
import { exportNotifications } from '../../../apps/server/commands/table-export/notification-table.ts';
import { exportOrders } from '../../../apps/server/commands/table-export/order-table.ts';
import { exportTrades } from '../../../apps/server/commands/table-export/trade-table.ts';
import { tradeOf } from '../../support/chain-events.ts';
import { queryDuckDb } from '../../support/duckdb.ts';
import { ALICES, accountFixture } from '../../unit/accounts/accounts-fixture.ts';
import { directFixture } from '../http/http-fixture.ts';

/** Returns why a program cannot be used. */
const findObstacle = (name: string, packageName: string) =>
  spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
    ? undefined
    : `${name} is missing (package ${packageName})`;

const OFFICE = findObstacle('soffice', 'libreoffice-calc-nogui');
const PYTHON = findObstacle('python3', 'python3');

type Rows = readonly Readonly<Record<string, string>>[];

/** Reads a file with the module csv of Python, whose fields are texts. It is not part of this project. */
function readWithPython(file: string): Rows {
  const script =
    'import csv,json,sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8")))))';
  return JSON.parse(execFileSync('python3', ['-c', script, file], { encoding: 'utf8', maxBuffer: 2 ** 26 })) as Rows;
}

async function readWithDuckDb(file: string, options: string): Promise<Rows> {
  const rows = await queryDuckDb(`SELECT * FROM read_csv('${file}', header = true${options})`);
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? '')])));
}

/** Opens a file in LibreOffice and saves it. @param type - 1: columns are recognised, 2: columns are texts. */
function saveWithOffice(file: string, folder: string, type: 1 | 2): Rows {
  const columns = readFileSync(file, 'utf8').split('\r\n')[0]?.split(',').length ?? 0;
  const types = Array.from({ length: columns }, (_, i) => `${i + 1}/${type}`).join('/');
  mkdirSync(folder, { recursive: true });
  execFileSync(
    'soffice',
    [
      '--headless',
      `-env:UserInstallation=file://${folder}/profile`,
      `--infilter=CSV:44,34,76,1,${types},1033,false,false`,
      '--convert-to',
      'csv:Text - txt - csv (StarCalc):44,34,76,1,,1033,false,false,false',
      '--outdir',
      folder,
      file,
    ],
    { stdio: 'ignore' },
  );
  return readWithPython(join(folder, basename(file)));
}

const PROGRESS = { at() {}, end() {} };
const AMOUNTS = [1n, 10n ** 15n + 7n, 1_234_567_890_123_456_789_012n, 10n ** 50n + 1n];

/** Writes every CSV and JSON export of a book with small and large amounts. */
async function writeExports(folder: string) {
  const store = memoryStore();
  await using fixture = await accountFixture({ bookOptions: { store } });
  for (const [i, amount] of AMOUNTS.entries()) {
    const order = await fixture.order({
      sellAmount: String(amount),
      buyAmount: String(amount),
      appData: `{"v":"=1+${i}"}`,
    });
    await fixture.applyBlock(i + 1, [tradeOf(order, amount, amount)]);
  }
  await fixture.settled();
  const http = directFixture(createAccountApi(fixture.accounts), () => 0);
  const get = async (path: string, file: string) => {
    const { status, text } = await http.send('GET', `/accounts/${ALICES}/${path}`);
    expect(status).toBe(200);
    writeFileSync(join(folder, file), text);
  };
  const tables = [
    ['orders', await exportOrders(store, undefined)],
    ['trades', await exportTrades(store, undefined)],
    ['notifications', await exportNotifications(fixture.store, undefined)],
  ] as const;
  for (const [name, table] of tables) await exportTable(name, table as never, join(folder, `${name}.csv`), PROGRESS);
  for (const kind of ['orders', 'trades']) {
    await get(`${kind}?format=csv`, `account-${kind}.csv`);
    await get(kind, `account-${kind}.json`);
  }
}

const CSV = ['orders', 'trades', 'notifications', 'account-orders', 'account-trades'].map((name) => `${name}.csv`);

describe.skipIf(PYTHON !== undefined)('CSV export', () => {
  let folder = '';
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'intentbook-readers-'));
    await writeExports(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(CSV)('%s has exact amounts in DuckDB if its columns are texts', async (name) => {
    const file = join(folder, name);
    const rows = readWithPython(file);
    expect(rows.length).toBeGreaterThanOrEqual(AMOUNTS.length);
    expect(await readWithDuckDb(file, ', all_varchar = true')).toEqual(rows);
    // An account of DuckDB's default is in the guide: it reads large amounts as DOUBLE.
    if (/orders|trades/.test(name)) expect(JSON.stringify(rows)).toContain(String(AMOUNTS[3]));
  });

  test('needs text columns: the default of DuckDB rounds large amounts', async () => {
    const file = join(folder, 'account-trades.csv');
    expect(await readWithDuckDb(file, '')).not.toEqual(readWithPython(file));
  });

  test.each(['account-orders', 'account-trades'])('%s has the amounts of its JSON form', async (name) => {
    const json = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Record<
      string,
      Record<string, string>
    >[];
    const amounts = json.map((each) => (each['order'] ?? each['trade'] ?? each)['sellAmount']);
    const rows = readWithPython(join(folder, `${name}.csv`));
    expect(rows.map((row) => row['sellAmount'])).toEqual(amounts);
    const read = await queryDuckDb(`SELECT count(*)::INTEGER AS n FROM read_json('${join(folder, `${name}.json`)}')`);
    expect(read).toEqual([{ n: AMOUNTS.length }]);
  });

  test.skipIf(OFFICE !== undefined).each(CSV)(
    '%s is the same after LibreOffice has opened it with text columns',
    (name) => {
      const file = join(folder, name);
      expect(saveWithOffice(file, join(folder, `office-${name}`), 2)).toEqual(readWithPython(file));
    },
  );

  test.skipIf(OFFICE !== undefined)('needs text columns in LibreOffice, which rounds large amounts', () => {
    const file = join(folder, 'account-trades.csv');
    expect(saveWithOffice(file, join(folder, 'office-default'), 1)).not.toEqual(readWithPython(file));
  });
});
