import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { account, signOrder } from '../support/orders.ts';
import { readPage, tablesOf } from './docs-pages.ts';
import type { FrameworkHost } from './framework-hosts.ts';
import { FRAMEWORK_HOSTS, PARTS } from './framework-hosts.ts';
import type { Host } from './host.ts';
import { unpackHost } from './host.ts';
import type { HostResponse } from './host-client.ts';
import { readText, send } from './host-client.ts';

/** Packages that are no development dependencies are installed in the long run. */
const LONG = process.env['TEST_LONG'] !== undefined;

let host: Host;
beforeAll(() => {
  const given = FRAMEWORK_HOSTS.flatMap(({ packages = [] }) => packages);
  host = unpackHost([...new Set(given), 'vitest', 'better-sqlite3']);
  for (const [name, code] of Object.entries(PARTS)) writeFileSync(join(host.folder, name), code);
  if (!LONG) return;
  const installed = new Set(FRAMEWORK_HOSTS.flatMap(({ installed: packages = [] }) => packages));
  const folder = join(host.folder, 'installed');
  mkdirSync(folder);
  const flags = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error', '--legacy-peer-deps'];
  execFileSync('npm', ['install', ...flags, '--prefix', folder, ...installed, 'jest@30']);
  // Beside the links to development dependencies, which npm would remove.
  for (const name of readdirSync(join(folder, 'node_modules'))) {
    const link = join(host.folder, 'node_modules', name);
    if (!existsSync(link)) symlinkSync(join(folder, 'node_modules', name), link);
  }
}, 600_000);
afterAll(() => host[Symbol.dispose]());

/** A running host program. */
interface RunningHost {
  readonly port: number;
  readonly protocol: 'h2' | undefined;
  readonly send: (signal: NodeJS.Signals) => void;
  /** Sends SIGTERM. @returns whether the exit code is the expected one. */
  stop(): Promise<boolean>;
}

async function start({
  name,
  code,
  command = [process.execPath],
  protocol,
  exitCode = 0,
}: FrameworkHost): Promise<RunningHost> {
  const file = join(host.folder, `${name.replaceAll(/\W+/g, '-')}.mjs`);
  writeFileSync(file, code);
  const [program = '', ...args] = command;
  const path = `${join(host.folder, 'node_modules/.bin')}:${process.env['PATH']}`;
  const child = spawn(program, [...args, file], {
    cwd: host.folder,
    env: { ...process.env, NODE_OPTIONS: '', PATH: path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const [line = ''] = await Promise.race([once(lines, 'line') as Promise<[string]>, exited.then(() => [''])]);
  const [, port] = /^listening (\d+)$/.exec(line) ?? [];
  if (port === undefined) throw new Error(`the program printed "${line}"`);
  return {
    port: Number(port),
    protocol,
    send: (signal) => void child.kill(signal),
    async stop() {
      child.kill('SIGTERM');
      return (await exited)[0] === exitCode;
    },
  };
}

let signed = 0;
const signedOrder = async () =>
  JSON.stringify(await signOrder(account(++signed), { validTo: Math.floor(Date.now() / 1000) + 3600 }));

const submit = async (running: RunningHost) =>
  send(running, '/book/api/v1/orders', { method: 'POST', body: await signedOrder() });

/** Reads a stream until a text has arrived. */
async function readUntil({ body }: HostResponse, wanted: string): Promise<void> {
  let read = '';
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    read += String(chunk);
    if (read.includes(wanted)) return;
  }
  throw new Error(`the stream has ended after "${read}"`);
}

/** The cases, by name. Each runs against every host. */
const CASES: Readonly<Record<string, (running: RunningHost) => Promise<void>>> = {
  async 'body parsers'(running) {
    const response = await submit(running);
    const uid = JSON.parse(await readText(response)) as string;
    expect([response.status, uid]).toEqual([201, expect.stringMatching(/^0x[0-9a-f]{112}$/)]);
    const read = await send(running, `/book/api/v1/orders/${uid}`);
    expect([read.status, JSON.parse(await readText(read))]).toEqual([200, expect.objectContaining({ status: 'open' })]);
    const invalid = await send(running, '/book/api/v1/orders', { method: 'POST', body: '{' });
    expect(invalid.status).toBe(400);
    await readText(invalid);
  },
  async compression(running) {
    await readText(await submit(running));
    const response = await send(running, '/book/api/v1/orders');
    expect([response.status, response.headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(JSON.parse(await readText(response))).toHaveLength(1);
  },
  async CORS(running) {
    for (let i = 0; i < 2; i++) await readText(await submit(running));
    const headers = { origin: 'https://host.example' };
    const response = await send(running, '/book/api/v1/orders?limit=1', { headers });
    await readText(response);
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': 'https://host.example',
      'access-control-expose-headers': expect.stringContaining('Link'),
      link: expect.stringContaining('rel="next"'),
    });
    const asked = { ...headers, 'access-control-request-method': 'POST', authorization: '' };
    const preflight = await send(running, '/book/api/v1/orders', { method: 'OPTIONS', headers: asked });
    await readText(preflight);
    expect(preflight.status).toBeLessThan(300);
    expect(preflight.headers['access-control-allow-origin']).toBe('https://host.example');
  },
  async authentication(running) {
    const response = await send(running, '/book/api/v1/version', { headers: { authorization: 'Bearer other' } });
    await readText(response);
    expect(response.status).toBe(401);
  },
  async prefix(running) {
    const statuses = ['/book/api/v1/version', '/api/v1/version', '/booking/api/v1/version'].map(async (path) => {
      const response = await send(running, path);
      await readText(response);
      return response.status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 404, 404]);
  },
  async 'event stream'(running) {
    const response = await send(running, '/book/api/v1/orders/stream');
    expect([response.status, response.headers['content-type']]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    await readUntil(response, ': stream');
    const uid = JSON.parse(await readText(await submit(running))) as string;
    await readUntil(response, uid);
    response.abort();
  },
  async abort(running) {
    for (let i = 0; i < 5; i++) {
      const response = await send(running, '/book/api/v1/orders/stream');
      await readUntil(response, ': stream');
      response.abort();
    }
    const after = await submit(running);
    expect([after.status, await readText(after)]).toEqual([201, expect.any(String)]);
  },
  /** The application rolls back an order, and commits one. */
  async 'host transaction'(running) {
    const response = await send(running, '/book/api/v1/orders/stream');
    await readUntil(response, ': stream');
    running.send('SIGUSR2');
    await readUntil(response, 'bbbb'.repeat(10));
    response.abort();
    const listed = JSON.parse(await readText(await send(running, '/book/api/v1/orders'))) as { owner: string }[];
    expect(listed.map(({ owner }) => owner)).toEqual([`0x${'bbbb'.repeat(10)}`]);
  },
  async shutdown(running) {
    const response = await send(running, '/book/api/v1/orders/stream');
    await readUntil(response, ': stream');
    const ended = readText(response);
    expect(await running.stop()).toBe(true);
    await ended;
  },
};

/** Returns the reason for which a case does not apply to a host. */
function findReason({ skip, hasDatabase }: FrameworkHost, name: string): string | undefined {
  if (name === 'host transaction' && hasDatabase !== true) return 'the application has no database';
  return skip?.[name];
}

describe.each(FRAMEWORK_HOSTS)('book in $name', (framework) => {
  for (const [name, run] of Object.entries(CASES)) {
    const needsRegistry = framework.installed === undefined || LONG ? undefined : 'long run only';
    const reason = findReason(framework, name) ?? needsRegistry;
    const title = `serves: ${name}${reason === undefined ? '' : ` (skipped: ${reason})`}`;
    it.skipIf(reason !== undefined)(title, async () => run(await start(framework)));
  }
});

describe('book in a test runner that loads its modules again', () => {
  /** A second copy of the package finds the file in use, and opens it after the first copy has closed it. */
  const test = (imports: string, reset: string) => `${imports}
  test('module reset', async () => {
    const path = process.env.BOOK_FILE;
    const open = async () => {
      const { createOrderBook } = await import('intentbook');
      const { sqliteStore } = await import('intentbook/sqlite');
      return createOrderBook({ chainId: 11155111, store: sqliteStore({ path }) });
    };
    const first = await open();
    await first.start();
    ${reset};
    const second = await open();
    await expect(second.start()).rejects.toThrow('already open as a book of this process');
    await first.close();
    const third = await open();
    await third.start();
    expect((await third.ready()).ready).toBe(true);
    await third.close();
  }, 120_000);`;

  function run(folder: string, file: string, code: string, args: readonly string[], options = ''): void {
    const cwd = join(host.folder, folder);
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(cwd, file), code);
    const env = { ...process.env, VITEST: '', NODE_OPTIONS: options, BOOK_FILE: join(cwd, 'book.sqlite') };
    execFileSync(process.execPath, args, { cwd, env, stdio: 'pipe' });
  }

  it('Vitest: refuses a second book on the file, by a message that names the cause', () => {
    const code = test(`import { expect, test, vi } from 'vitest';`, 'vi.resetModules()');
    run('vitest', 'book.test.js', code, [join(host.folder, 'node_modules/vitest/vitest.mjs'), 'run', '--root', '.']);
  });

  it.skipIf(!LONG)('Jest: refuses a second book on the file (long run only)', () => {
    const code = test(`import { expect, jest, test } from '@jest/globals';`, 'jest.resetModules()');
    const args = [join(host.folder, 'node_modules/jest/bin/jest.js'), '--rootDir', '.', '--transform', '{}'];
    run('jest', 'book.test.js', code, args, '--experimental-vm-modules');
  });
});

it('guide lists the hosts, and the cases that do not apply', () => {
  const table = tablesOf(readPage('docs/guides/frameworks.md').text).find(({ heading }) => heading === 'Tested hosts');
  const rows = FRAMEWORK_HOSTS.map((framework) => [
    framework.name,
    ...Object.keys(CASES).map((each) => (findReason(framework, each) === undefined ? 'yes' : 'no')),
  ]);
  expect(table?.header).toEqual(['host', ...Object.keys(CASES)]);
  expect(table?.rows).toEqual(rows);
});
