import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from 'intentbook/server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { removeStaleSocket } from '../../../apps/server/http/socket-file.ts';

let folder = '';
let host = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'intentbook-socket-'));
  host = join(folder, 'book.sock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const get = (path: string, headers: Record<string, string> = {}) =>
  new Promise<number>((resolve, reject) => {
    const sent = request({ socketPath: host, path, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });

const open = (options: object = {}) => serve({ host, db: ':memory:', accounts: 'off', ...options });

describe('socket file', () => {
  test('serves its owner and group, and is removed at the end', async () => {
    const server = await open({ metricsPort: 0 });
    expect([server.url, server.explorerUrl, server.docsUrl]).toEqual([`unix:${host}`, undefined, undefined]);
    expect(server.metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(statSync(host).mode & 0o777).toBe(0o660);
    expect([await get('/live'), await get('/api/v1/version')]).toEqual([200, 200]);
    await server.close();
    expect(existsSync(host)).toBe(false);
  });

  test('has separate budgets for the clients of a proxy that is trusted at 127.0.0.1', async () => {
    const rateLimit = { reads: 1, writes: 1, streams: 1 };
    const server = await open({ rateLimit, trustedProxies: ['127.0.0.1'] });
    const from = (client: string) => get('/api/v1/version', { 'x-forwarded-for': client });
    const statuses: number[] = [];
    for (let i = 0; i < 20; i++) statuses.push(await from('203.0.113.1'));
    expect(statuses).toContain(429);
    expect(await from('203.0.113.2')).toBe(200);
    await server.close();
  });

  test('is replaced if its process was killed, but not if it is used or is another file', async () => {
    const first = await open();
    await expect(open()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(await get('/live')).toBe(200);
    await first.close();

    // A socket whose process ended without removing it.
    const { execFileSync } = await import('node:child_process');
    const script = `require('net').createServer().listen(${JSON.stringify(host)}, () => process.kill(process.pid, 'SIGKILL'))`;
    expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })).toThrow();
    expect(existsSync(host)).toBe(true);
    const second = await open();
    expect(await get('/live')).toBe(200);
    await second.close();

    writeFileSync(host, 'a file');
    await expect(open()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(statSync(host).isFile()).toBe(true);
  });
});

test('a stale socket file is not removed if another process has replaced it', async () => {
  const { execFileSync } = await import('node:child_process');
  const script = `require('net').createServer().listen(${JSON.stringify(host)}, () => process.kill(process.pid, 'SIGKILL'))`;
  expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })).toThrow();
  const removing = removeStaleSocket(host); // the connection is refused
  rmSync(host);
  const other = createServer().listen(host);
  await removing;
  expect(existsSync(host)).toBe(true);
  await new Promise((resolve) => other.close(resolve));
});

test('a stale socket file is not confused with one of a listening process', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => void other.listen(host, resolve));
  await expect(open()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await new Promise((resolve) => other.close(resolve));
});
