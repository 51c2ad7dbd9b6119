import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, signOrder } from '../support/orders.ts';
import { readPage } from './docs-pages.ts';
import type { Host } from './host.ts';
import { ENTRIES, unpackHost } from './host.ts';

/** The second module resolution and the real frameworks and drivers are part of the long run. */
const LONG = process.env['TEST_LONG'] !== undefined;

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');

let host: Host;
beforeAll(() => {
  host = unpackHost(['typescript', '@types/node', 'viem']);
  if (!existsSync(join(host.folder, 'node_modules/intentbook/dist/index.d.ts'))) {
    throw new Error('the package is without its declarations; run `npm run build` first');
  }
});
afterAll(() => host[Symbol.dispose]());

/** Compiler options of the host: the strictest mode, including library declarations. */
const STRICT = {
  strict: true,
  skipLibCheck: false,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable', 'dom', 'dom.asynciterable'],
  types: ['node'],
};
const RESOLUTIONS = {
  NodeNext: { module: 'nodenext', moduleResolution: 'nodenext' },
  Bundler: { module: 'esnext', moduleResolution: 'bundler' },
} as const;

/** Compiles files of the host folder. @returns the compiler errors, or an empty text. */
function compile(folder: string, files: Readonly<Record<string, string>>, options: object): string {
  const at = join(host.folder, folder);
  mkdirSync(at, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(at, name), text);
  const compilerOptions = { ...STRICT, outDir: 'out', ...options };
  writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }));
  try {
    return execFileSync(process.execPath, [compiler, '--project', at], { encoding: 'utf8' });
  } catch (error) {
    return (error as { stdout: string }).stdout; // error of execFileSync
  }
}

/** A host that submits an order, with types of the package only. */
const trade = (load: string, order: string) => `${load}
const options: OrderBookOptions = { chainId: 11155111, store: memoryStore(), limits: { minValidity: 30 } };
const book: OrderBook = createOrderBook(options);
const seen: string[] = [];
book.on('orderCreated', ({ uid }) => seen.push(uid));
async function main(): Promise<void> {
  await book.start();
  const result: SubmitResult = await book.orders.submit(${order});
  if (result.status === 'rejected') throw result.error;
  const order: Order | undefined = await book.orders.get(result.uid);
  const answer: Response = await fetchHandler(book)(new Request('http://localhost/api/v1/orders/' + result.uid));
  // @ts-expect-error: statuses are a closed set
  if (order?.status === 'opened') throw new Error();
  console.log(order?.status, answer.status);
  await book.close();
}
void main();
`;

const TYPES = 'Order, OrderBook, OrderBookOptions, SubmitResult';
const IMPORTS = `import type { ${TYPES} } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';`;
const REQUIRES = `import type { ${TYPES} } from 'intentbook';
import intentbook = require('intentbook');
import fetchEntry = require('intentbook/fetch');
import memoryEntry = require('intentbook/memory');
const { createOrderBook } = intentbook;
const { fetchHandler } = fetchEntry;
const { memoryStore } = memoryEntry;`;

describe('TypeScript host with the packed declarations', () => {
  test('compiles in the strictest mode and submits an order, by import and by require', async () => {
    const order = await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 3600 });
    const files = {
      'trade.mts': trade(IMPORTS, JSON.stringify(order)),
      'trade.cts': trade(REQUIRES, JSON.stringify(order)),
    };
    expect(compile('strict', files, RESOLUTIONS.NodeNext)).toBe('');
    for (const file of ['trade.mjs', 'trade.cjs']) {
      const program = join(host.folder, 'strict/out', file);
      expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('open 200\n');
    }
  });
});

/** A host that passes objects of frameworks and drivers to every entry. */
const EVERYTHING = `
import Database from 'better-sqlite3';
import express from 'express';
import fastify from 'fastify';
import { createOrderBook } from 'intentbook';
import { createExplorer } from 'intentbook/explorer';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { nodeHandler } from 'intentbook/node-http';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { viemChain, viemSource } from 'intentbook/viem';
import { recoveryPool } from 'intentbook/workers';
import { createServer } from 'node:http';
import pg from 'pg';
import { createPublicClient, http } from 'viem';

const client = createPublicClient({ transport: http('http://127.0.0.1:8545') });
const book = createOrderBook({
  chainId: 1,
  store: sqliteStore(new Database(':memory:')),
  chain: viemChain(client),
  indexer: { sources: [viemSource(client)] },
  recoveryPool: await recoveryPool(),
});
export const other = createOrderBook({ chainId: 1, store: postgresStore(new pg.Pool()) });
express().use('/sepolia', expressRouter(book));
await fastify().register(fastifyPlugin, { prefix: '/sepolia', book });
createServer(nodeHandler(book)).listen(0);
export const explorer = createExplorer;
`;

describe('files of Getting started', () => {
  const { text } = readPage('docs/getting-started.md');
  const [, config = ''] = /^```json tsconfig\.json\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const blocks = [...text.matchAll(/^```ts(?: ([\w.-]+))?\n([\s\S]*?)^```$/gm)];

  /** Installs other versions of the compiler, which the long run only does. @returns the compiler. */
  function getCompiler(version: string): string {
    if (version === 'installed') return compiler;
    const folder = join(host.folder, `typescript-${version}`);
    mkdirSync(folder);
    const flags = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['install', ...flags, '--prefix', folder, `typescript@${version}`]);
    return join(folder, 'node_modules/typescript/bin/tsc');
  }

  test.each(['installed', ...(LONG ? ['5.9', '6', '7'] : [])])('compile with TypeScript, version: %s', (version) => {
    const at = join(host.folder, `getting-started-${version}`);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(at, 'tsconfig.json'), config);
    for (const [i, [, name = `file-${i}.ts`, code = '']] of blocks.entries()) writeFileSync(join(at, name), code);
    expect(blocks.length).toBeGreaterThan(5);
    const { stdout, status } = spawnSync(process.execPath, [getCompiler(version), '--project', at], {
      encoding: 'utf8',
    });
    expect([stdout, status]).toEqual(['', 0]);
  });
});

describe('package entry', () => {
  const ways = Object.entries(RESOLUTIONS).slice(0, LONG ? undefined : 1);

  test.each(ways)('has sound declarations with %s', (name, options) => {
    const entries = ENTRIES.map((entry, i) => `export * as entry${i} from '${entry}';`).join('\n');
    expect(compile(`entries-${name}`, { 'entries.mts': entries }, { ...options, noEmit: true })).toBe('');
  });

  test('compiles in a browser application, without the types of Node.js', () => {
    const entries = ['', '/accounts', '/client', '/fetch', '/memory', '/sign'];
    const text = entries.map((entry, i) => `export * as entry${i} from 'intentbook${entry}';`).join('\n');
    const options = { ...RESOLUTIONS.Bundler, lib: ['es2022', 'dom', 'dom.iterable'], types: [], noEmit: true };
    expect(compile('browser', { 'entries.ts': text }, options)).toBe('');
  });

  test.skipIf(!LONG).each(ways)('accepts the objects of frameworks and drivers, with %s', (name, options) => {
    const packages = [
      '@types/better-sqlite3',
      '@types/express',
      '@types/pg',
      'better-sqlite3',
      'express',
      'fastify',
      'pg',
      'prom-client',
      'viem',
    ];
    for (const each of packages) {
      const link = join(host.folder, 'node_modules', each);
      if (!existsSync(link)) symlinkSync(join(modules, each), link);
    }
    // Declarations of other packages are not checked.
    const own = { ...options, noEmit: true, skipLibCheck: true };
    expect(compile(`everything-${name}`, { 'everything.mts': EVERYTHING }, own)).toBe('');
  });
});
