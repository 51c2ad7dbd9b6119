import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { connectSqlite } from '../../../adapters/sqlite/connection.ts';
import { temporaryFile } from '../../integration/stores/temporary.ts';

test('the write-ahead log shrinks after a long read of another process', async () => {
  using file = temporaryFile();
  const source = { kind: 'file', path: file.path, synchronous: 'NORMAL', busyTimeout: 0 } as const;
  const { database, disconnect } = await connectSqlite(source);
  database.exec('CREATE TABLE filler (content BLOB)');
  const insert = database.prepare('INSERT INTO filler VALUES (zeroblob(4000000))');
  const reader = new Database(file.path, { readonly: true });
  reader.exec('BEGIN; SELECT count(*) FROM filler');
  reader.prepare('SELECT count(*) FROM filler').get();
  for (let i = 0; i < 24; i++) insert.run();
  const size = () => statSync(`${file.path}-wal`).size;
  expect(size()).toBeGreaterThan(80_000_000);
  reader.close();
  // The first commit completes the checkpoint, the second one begins the log again.
  for (let i = 0; i < 2; i++) insert.run();
  expect(size()).toBeLessThanOrEqual(64 * 1024 * 1024);
  disconnect();
});
