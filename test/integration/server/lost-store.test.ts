import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { addressOf, CLI, cleanUp, intentbook, run, scratch } from './process.ts';

afterEach(cleanUp);

const FAULTY = new URL('../../resilience/chaos/faulty-process.mjs', import.meta.url).href;

describe('server that has lost its store', () => {
  async function start(cwd: string) {
    const db = join(cwd, 'orders.sqlite');
    const server = intentbook(['serve', '--port', '0', '--db', db, '--lease-wait', '0']);
    await addressOf(server);
    return { db, server };
  }

  test.each([
    ['the file of the book', 'orders.sqlite', /\/ has lost its store/],
    ['the file of the accounts', 'orders-accounts.sqlite', /accounts has lost its store/],
  ])('reports once that %s was moved, and ends with 1, without a request', async (_, name, message) => {
    const cwd = await scratch();
    const { server } = await start(cwd);
    mkdirSync(join(cwd, 'moved'));
    renameSync(join(cwd, name), join(cwd, 'moved', name));
    const { code, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr.match(/has lost its store/g)).toHaveLength(1);
  });

  test('ends with 1 after another process has become the writer while it was stopped', async () => {
    const cwd = await scratch();
    const { db, server } = await start(cwd);
    server.child.kill('SIGSTOP');
    const database = new Database(db);
    database.prepare("UPDATE lease SET token = 'of another process'").run();
    database.close();
    server.child.kill('SIGCONT');
    const { code, stderr } = await server.ended;
    expect([code, stderr.match(/has lost its store/g)?.length]).toEqual([1, 1]);
  });

  test('reports once that its write thread has ended, and ends with 1', async () => {
    const cwd = await scratch();
    const program = ['--import', FAULTY, CLI, 'serve', '--port', '0', '--db', join(cwd, 'orders.sqlite')];
    const server = run(process.execPath, [...program, '--db-thread', 'on']);
    await addressOf(server);
    server.child.kill('SIGUSR2');
    const { code, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(stderr.match(/has lost its store: .*write thread/g)).toHaveLength(1);
  });
});
