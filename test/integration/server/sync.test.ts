import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { account, signOrder } from '../../support/orders.ts';
import { spawnProgram } from './spawn.ts';

const ORDERS = 5;
const TRACED = 'fsync,fdatasync,write,writev,pwrite64,sendto,sendmsg';
const hasStrace = spawnSync('strace', ['-V']).status === 0;

const folder = mkdtempSync(join(tmpdir(), 'intentbook-sync-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Submits orders one by one to a server with traced system calls. Counts the responses that were written with and
 * without a completed sync of the log since its last write.
 *
 * A killed process leaves the page cache intact, so that no kill can show this.
 */
async function answersBySync(synchronous: 'FULL' | 'OFF'): Promise<{ synced: number; unsynced: number }> {
  const log = join(folder, `${synchronous}.strace`);
  const program = fileURLToPath(new URL('./traced-server.mjs', import.meta.url));
  const server = await spawnProgram(
    [program, join(folder, `${synchronous}.sqlite`), synchronous],
    ['strace', '-f', '-y', '-s', '32', '-e', `trace=${TRACED}`, '-o', log],
  );
  const validTo = Math.floor(Date.now() / 1000) + 600;
  for (let i = 0; i < ORDERS; i++) {
    const body = JSON.stringify(await signOrder(account(i), { validTo }));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}/api/v1/orders`, { method: 'POST', headers, body });
    expect(response.status).toBe(201);
    await response.text();
  }
  await server.end('SIGTERM');

  let written = false;
  let syncing: string | undefined;
  const counts = { synced: 0, unsynced: 0 };
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    const thread = line.split(' ')[0];
    if (/pwrite64\(\d+<[^>]*-wal>/.test(line)) written = true;
    // An interrupted call is traced in two lines; the test uses its end.
    if (/f(data)?sync\(\d+<[^>]*-wal>/.test(line)) {
      if (line.includes('unfinished')) syncing = thread;
      else if (line.endsWith('= 0')) written = false;
    } else if (/<\.\.\. f(data)?sync resumed>.*= 0$/.test(line) && thread === syncing) written = false;
    if (line.includes('HTTP/1.1 201')) counts[written ? 'unsynced' : 'synced']++;
  }
  return counts;
}

describe.skipIf(!hasStrace)('system call trace of the server (skipped where strace is not installed)', () => {
  test('shows a completed sync of the log between each commit and its 201', async () => {
    expect(await answersBySync('FULL')).toEqual({ synced: ORDERS, unsynced: 0 });
  });

  test('shows no sync before a 201 with synchronous=OFF', async () => {
    expect(await answersBySync('OFF')).toEqual({ synced: 0, unsynced: ORDERS });
  });
});
