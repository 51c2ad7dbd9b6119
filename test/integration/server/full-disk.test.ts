import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { CLI, cleanUp, scratch } from './process.ts';

afterEach(cleanUp);

/** A container or a user without the privilege cannot mount. */
const canMount = process.platform === 'linux' && spawnSync('unshare', ['--mount', 'true']).status === 0;

/** Runs a command in a folder without space, and again when there is some. */
const SCRIPT = `
  mount -t tmpfs -o size=2m tmpfs "$1" && cd "$1" && shift
  head -c 2m /dev/zero > other
  "$@" || status=$?
  rm other
  "$@" > again && exit $status
`;

test.skipIf(!canMount).each([
  ['export', 'book.ndjson'],
  ['export', 'orders.csv', '--table', 'orders'],
  ['export', 'orders.parquet', '--table', 'orders'],
  ['backup', 'copy.sqlite'],
  ['init', 'intentbook.json'],
])('%s %s on a full disk names the file, and succeeds when there is space', async (command, file, ...flags) => {
  const folder = await scratch();
  const db = join(folder, 'book.sqlite');
  const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path: db }) });
  await book.start();
  await book.orders.submit(await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 3600 }));
  await book.close();
  const small = join(folder, 'small');
  mkdirSync(small);
  const program = [process.execPath, CLI, command, file, ...(command === 'init' ? [] : ['--db', db]), ...flags];
  const args = ['--mount', 'sh', '-c', SCRIPT, 'sh', small, ...program];
  const { status, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^intentbook: [^\n]+\n$/)]);
  expect(stderr).toContain(file);
  expect(stderr).toMatch(/ENOSPC: no space left on device|the disk is full/);
});
