import Database from 'better-sqlite3';
import { sqliteStore } from 'intentbook/sqlite';
import { describeConformance } from './conformance.ts';
import { temporaryFile } from './temporary.ts';

describeConformance('SQLite store with its own file', {
  traits: sqliteStore({ path: 'never-opened' }).traits,
  async create() {
    const file = temporaryFile();
    return { connect: () => sqliteStore({ path: file.path }), dispose: async () => file[Symbol.dispose]() };
  },
});

describeConformance('SQLite store on a host connection', {
  traits: { name: 'sqlite', durable: true, writers: 'single', hostTransaction: true, verifiesBodies: true },
  async create() {
    const file = temporaryFile();
    const database = new Database(file.path);
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    // Settings of the host must not affect the statements of the store.
    database.defaultSafeIntegers(true);
    return {
      connect: () => sqliteStore(database, { prefix: 'book_' }),
      async transact(work) {
        database.exec('BEGIN');
        try {
          await work(database);
          database.exec('COMMIT');
        } catch (error) {
          database.exec('ROLLBACK');
          throw error;
        }
      },
      async dispose() {
        database.close();
        file[Symbol.dispose]();
      },
    };
  },
});
