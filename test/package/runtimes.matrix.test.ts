import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, signOrder } from '../support/orders.ts';

/** A real installation needs the registry and takes minutes. */
const LONG = process.env['TEST_LONG'] !== undefined;

const manifest = { name: 'intentbook' };
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'intentbook-runtimes-'));
const host = join(folder, 'host');
afterAll(() => rmSync(folder, { recursive: true }));

const npm = (cwd: string, ...args: string[]) =>
  execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, encoding: 'utf8' });

/** A program that submits an order through the fetch handler in any runtime. */
const trade = (load: string, order: string, store = 'memoryStore()') => `${load}
const book = createOrderBook({ chainId: 11155111, store: ${store} });
(async () => {
  await book.start();
  const handler = fetchHandler(book);
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(order)} };
  const posted = await handler(new Request('http://localhost/api/v1/orders', init));
  const uid = await posted.json();
  const read = await handler(new Request('http://localhost/api/v1/orders/' + uid));
  console.log(posted.status, read.status, (await read.json()).status);
  await book.close();
})();
`;

/** A program that starts the server in any runtime, and reads an event stream for longer than an idle one may last. */
const SERVER = `
import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';

const server = await serve({ port: 0, db: ':memory:', chain: 'sepolia' });
console.log((await fetch(server.url + '/live')).status);
await server.close();
if (globalThis.Bun !== undefined) {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  const host = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: fetchHandler(book) });
  const response = await fetch(new URL('/api/v1/orders/stream', host.url));
  const ended = (async () => { for await (const _ of response.body); return 'ended'; })();
  console.log(await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 14_000, 'open'))]));
}
process.exit(0);
`;

/** A program that runs the conformance suites of the SQLite stores in any runtime, and prints failed cases. */
const CONFORMANCE = `
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { accountStoreConformance, storeConformance } from 'intentbook/testing';

const harness = (connect) => ({
  traits: connect('never-opened').traits,
  async create() {
    const folder = mkdtempSync(join(tmpdir(), 'intentbook-conformance-'));
    const dispose = async () => rmSync(folder, { recursive: true });
    return { connect: () => connect(join(folder, 'book.sqlite')), dispose };
  },
});
const cases = [
  ...storeConformance(harness((path) => sqliteStore({ path }))),
  ...accountStoreConformance(harness((path) => sqliteAccountStore({ path }))),
].filter(({ skip }) => skip === undefined);
const failed = [];
for (const { group, name, run } of cases) {
  await run().catch((error) => failed.push(group + ': ' + name + ': ' + error.stack));
}
console.log(JSON.stringify({ count: cases.length, failed }));
`;

const NAMES = [
  ['createOrderBook', 'intentbook'],
  ['memoryStore', 'intentbook/memory'],
  ['fetchHandler', 'intentbook/fetch'],
] as const;

describe.skipIf(!LONG)('package installed from its tarball into an empty folder (long run only)', () => {
  beforeAll(async () => {
    mkdirSync(host);
    const packed = npm(root, 'pack', '--ignore-scripts', '--pack-destination', folder).trim().split('\n').at(-1) ?? '';
    writeFileSync(join(host, 'package.json'), '{ "private": true }');
    npm(host, 'install', join(folder, packed));
    const order = JSON.stringify(await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 3600 }));
    const imports = NAMES.map(([name, from]) => `import { ${name} } from '${from}';`).join('\n');
    const requires = NAMES.map(([name, from]) => `const { ${name} } = require('${from}');`).join('\n');
    writeFileSync(join(host, 'trade.mjs'), trade(imports, order));
    writeFileSync(join(host, 'trade.cjs'), trade(requires, order));
    // Without the package better-sqlite3.
    const sqlite = imports.replace("memoryStore } from 'intentbook/memory'", "sqliteStore } from 'intentbook/sqlite'");
    writeFileSync(join(host, 'sqlite.mjs'), trade(sqlite, order, 'sqliteStore({ path: process.argv[2] })'));
    writeFileSync(join(host, 'conformance.mjs'), CONFORMANCE);
    writeFileSync(join(host, 'server.mjs'), SERVER);
  }, 300_000);

  /** Runs the conformance suites of the SQLite stores without the package better-sqlite3. */
  function expectConformance(program: string, ...args: string[]): void {
    const output = execFileSync(program, [...args, 'conformance.mjs'], { cwd: host, encoding: 'utf8', stdio: 'pipe' });
    const { count, failed } = JSON.parse(output) as { count: number; failed: string[] }; // printed by the program
    expect(failed).toEqual([]);
    expect(count).toBeGreaterThan(150);
  }

  /** Installs a runtime from its npm package and returns its program. */
  function runtime(name: string, version: string, program: string): string {
    const at = join(folder, `${name}-${version}`);
    mkdirSync(at);
    writeFileSync(join(at, 'package.json'), '{ "private": true }');
    npm(at, 'install', `${name}@${version}`);
    return join(at, 'node_modules', program);
  }

  test.each(['20', '22', '24'])(
    'works on Node %s, by import and by require',
    (version) => {
      const node = runtime('node', version, '.bin/node');
      expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(new RegExp(`^v${version}\\.`));
      for (const file of ['trade.mjs', 'trade.cjs']) {
        expect(execFileSync(node, [file], { cwd: host, encoding: 'utf8' })).toBe('201 200 open\n');
      }
    },
    300_000,
  );

  test.each(['22', '24'])(
    'stores orders in SQLite of Node %s',
    (version) => {
      const node = join(folder, `node-${version}`, 'node_modules/.bin/node');
      expect(
        execFileSync(node, ['sqlite.mjs', `node-${version}.sqlite`], { cwd: host, encoding: 'utf8', stdio: 'pipe' }),
      ).toBe('201 200 open\n');
      expectConformance(node);
    },
    300_000,
  );

  test('works on Bun, also with its SQLite', () => {
    const bun = runtime('bun', '1', '.bin/bun');
    expect(execFileSync(bun, ['trade.mjs'], { cwd: host, encoding: 'utf8' })).toBe('201 200 open\n');
    const stored = execFileSync(bun, ['sqlite.mjs', 'bun.sqlite'], { cwd: host, encoding: 'utf8', stdio: 'pipe' });
    expect(stored).toBe('201 200 open\n');
    expect(execFileSync(bun, ['server.mjs'], { cwd: host, encoding: 'utf8' })).toBe('200\nopen\n');
    expectConformance(bun);
  }, 300_000);

  test('works on Deno, also with its SQLite', () => {
    const deno = runtime('deno', '2', '.bin/deno');
    const args = ['run', '--allow-all', '--node-modules-dir=manual', 'trade.mjs'];
    expect(execFileSync(deno, args, { cwd: host, encoding: 'utf8' })).toBe('201 200 open\n');
    const withSqlite = [...args.slice(0, -1), 'sqlite.mjs', 'deno.sqlite'];
    expect(execFileSync(deno, withSqlite, { cwd: host, encoding: 'utf8', stdio: 'pipe' })).toBe('201 200 open\n');
    const server = execFileSync(deno, [...args.slice(0, -1), 'server.mjs'], { cwd: host, encoding: 'utf8' });
    expect(server).toBe('200\n');
    expectConformance(deno, ...args.slice(0, -1));
  }, 300_000);

  test('provides its command', () => {
    const command = join(host, 'node_modules', '.bin', manifest.name);
    const output = execFileSync(command, ['--version'], { cwd: host, encoding: 'utf8' });
    expect(output).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

/** Restrictions that an application may have. */
const FLAGS = [
  '--no-warnings',
  '--disable-proto=throw',
  '--disable-proto=delete',
  '--disallow-code-generation-from-strings',
  '--frozen-intrinsics',
  '--preserve-symlinks',
  '--stack-size=200',
  '--throw-deprecation',
  '--pending-deprecation',
];

test.each(FLAGS)('example program works on the current runtime with the option %s', async (flag) => {
  const order = JSON.stringify(await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 3600 }));
  // Within the package, its own name resolves like in a host.
  const file = join(root, 'test/package/.trade.mjs');
  writeFileSync(file, trade(NAMES.map(([name, from]) => `import { ${name} } from '${from}';`).join('\n'), order));
  try {
    const output = execFileSync(process.execPath, [flag, file], { encoding: 'utf8', stdio: 'pipe' });
    expect(output).toBe('201 200 open\n');
  } finally {
    rmSync(file);
  }
});
