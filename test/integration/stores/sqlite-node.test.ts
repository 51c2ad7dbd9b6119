import { existsSync } from 'node:fs';
import { systemClock } from 'intentbook';
import { backupSqlite, sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { describe, expect, test, vi } from 'vitest';
import { loadDriver, openDatabase } from '../../../adapters/sqlite/database-driver.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order } from '../../conformance/orders.ts';
import { describeAccountConformance, describeConformance } from './conformance.ts';
import { temporaryFile } from './temporary.ts';

// A package without its native part, as on a runtime that it was not built for.
vi.mock('better-sqlite3', () => ({
  default: class {
    constructor() {
      throw new Error('there is no native part');
    }
  },
}));

const [major = 0] = process.versions.node.split('.').map(Number);

describe.skipIf(major >= 22)('SQLite store without a driver', () => {
  test('reports that the package does not load, and the cause', async () => {
    using file = temporaryFile();
    const opening = sqliteStore({ path: file.path }).open({ domain: DOMAIN, clock: systemClock });
    await expect(opening).rejects.toMatchObject({
      code: 'Unavailable',
      message:
        'the SQLite store requires the package better-sqlite3, which is installed, but does not load: ' +
        'there is no native part; run "npm rebuild better-sqlite3", or allow its install script; ' +
        'or use Node.js 22.13 or later',
      cause: { message: 'there is no native part' },
    });
    expect(existsSync(file.path)).toBe(false);
  });
});

describe.skipIf(major < 22)('SQLite of the runtime (since Node.js 22)', () => {
  test('is used if the package does not work', async () => {
    expect(await loadDriver()).toMatchObject({ kind: 'node' });
  });

  test('copies a book while it is in use', async () => {
    using file = temporaryFile();
    using copy = temporaryFile();
    const store = sqliteStore({ path: file.path });
    await store.open({ domain: DOMAIN, clock: systemClock });
    await store.orders.insert([{ order: order(1) }]);
    const writer = await openDatabase(file.path, 0);
    writer.exec('CREATE TABLE filler AS SELECT zeroblob(12000000) AS data');
    let steps = 0;
    const onProgress = () => {
      if (++steps > 9) throw new Error('the copy has begun again');
      writer.exec('INSERT INTO filler VALUES (1)');
    };
    await backupSqlite({ from: file.path, to: copy.path, onProgress });
    writer.close();
    await store.close();
    expect(steps).toBeGreaterThan(2);
    const copied = sqliteStore({ path: copy.path });
    await copied.open({ domain: DOMAIN, clock: systemClock });
    expect(await copied.orders.get([order(1).uid])).toHaveLength(1);
    await copied.orders.insert([{ order: order(2) }]);
    expect((await copied.events.after(0, 9)).map(({ id }) => id)).toEqual([
      1,
      expect.toSatisfy((id: number) => id > 2),
    ]);
    await copied.close();
  });

  describeConformance('SQLite store on it', {
    traits: sqliteStore({ path: 'never-opened' }).traits,
    async create() {
      const file = temporaryFile();
      return { connect: () => sqliteStore({ path: file.path }), dispose: async () => file[Symbol.dispose]() };
    },
  });

  describeAccountConformance('SQLite account store on it', {
    traits: sqliteAccountStore({ path: 'never-opened' }).traits,
    async create() {
      const file = temporaryFile();
      return { connect: () => sqliteAccountStore({ path: file.path }), dispose: async () => file[Symbol.dispose]() };
    },
  });
});
