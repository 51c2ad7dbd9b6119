// Databases for the tests of the PostgreSQL store. A new database takes three seconds of processor time, so the tests
// use views of one database, which is cleared after a failed test.
import { PGlite } from '@electric-sql/pglite';

/** Number of times that a database is cleared before it is replaced. */
const MOST_CLEARED = 200;

/** Sources that create tables and functions. */
const DEFINES_SCHEMA = /(schema|migrate|functions)\.ts$/;

/** Deletes all rows, like `emptySchema` and `emptyAccountSchema`. New tables would take ten times as long. */
const DELETE_ROWS = [
  'SET session_replication_role = replica;',
  'DO $$ DECLARE t record; BEGIN',
  "FOR t IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'intentbook%' LOOP",
  "IF t.tablename = 'progress' THEN EXECUTE format('UPDATE %I.progress SET number = NULL, hash = NULL', t.schemaname);",
  "ELSIF t.tablename = 'locks' THEN EXECUTE format('UPDATE %I.locks SET last = 0', t.schemaname);",
  "ELSIF t.tablename NOT IN ('log_lock', 'migrations') THEN",
  "EXECUTE format('DELETE FROM %I.%I', t.schemaname, t.tablename);",
  'END IF; END LOOP; END $$;',
  'DROP SCHEMA IF EXISTS books CASCADE',
].join('\n');

const DROP_SCHEMAS = 'DROP SCHEMA IF EXISTS intentbook, intentbook_accounts, books CASCADE';

let dump;
let database;
let cleared = 0;
let isRevoked = { now: false };

/** Returns a view of the database. Only the last view can be used. */
export async function createDatabase() {
  if (dump === undefined) {
    database = await PGlite.create();
    dump = await database.dumpDataDir('none');
  }
  database ??= await PGlite.create({ loadDataDir: dump });
  const of = database;
  isRevoked.now = true;
  const revoked = { now: false };
  isRevoked = revoked;
  const run = (operation) => {
    if (revoked.now) throw new Error('the view of the database is revoked');
    return operation();
  };
  return {
    query: async (...values) => run(() => of.query(...values)),
    exec: async (...values) => run(() => of.exec(...values)),
    parsers: of.parsers,
    serializers: of.serializers,
    waitReady: of.waitReady,
    close: async () => {},
  };
}

/** Deletes what tests have created. Calls of an earlier view that are in progress end first. */
export async function clearDatabase(mutatedFile) {
  isRevoked.now = true;
  if (++cleared > MOST_CLEARED) return replaceDatabase();
  await database.exec('ROLLBACK');
  await database.exec(DEFINES_SCHEMA.test(mutatedFile) ? DROP_SCHEMAS : DELETE_ROWS);
  await database.exec('DISCARD ALL');
}

/** Replaces a database that may be blocked. */
export async function replaceDatabase() {
  isRevoked.now = true;
  cleared = 0;
  const previous = database;
  database = undefined;
  await previous?.close();
}
