import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build as buildWithEsbuild } from 'esbuild';
import { build as buildWithVite } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import webpack from 'webpack';
import { account, SEPOLIA, signOrder } from '../support/orders.ts';
import type { Host } from './host.ts';
import { ENTRIES, manifest, unpackHost } from './host.ts';

const ncc = createRequire(import.meta.url).resolve('@vercel/ncc/dist/ncc/cli.js');
/** Packages with native parts, and optional ones, which applications do not bundle. */
const EXTERNAL = Object.keys(manifest.peerDependencies);

let host: Host;
beforeAll(async () => {
  host = unpackHost(['better-sqlite3', 'pg', 'piscina', '@electric-sql/pglite']);
  const order = await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 3600 });
  writeFileSync(join(host.folder, 'order.json'), JSON.stringify(order));
  writeFileSync(join(host.folder, 'program.mjs'), PROGRAM);
});
afterAll(() => host[Symbol.dispose]());

/** A program with a book in an SQLite file, its HTTP interface, and entries that load files or packages on use. */
const PROGRAM = `
import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { recoveryPool } from 'intentbook/workers';
import order from './order.json';
async function main() {
  const store = sqliteStore({ path: process.argv[2], writeThread: 'auto' });
  const book = createOrderBook({ chainId: ${SEPOLIA}, store });
  await book.start();
  const { status } = await book.orders.submit(order);
  const listed = await fetchHandler(book)(new Request('http://localhost/api/v1/orders'));
  await book.close();
  console.log(status, (await listed.json()).length, typeof postgresStore, typeof recoveryPool);
}
main();
`;

/** Bundles the program. @returns the file to run. */
const BUNDLERS: Readonly<Record<string, () => Promise<string>>> = {
  async 'esbuild, cjs'() {
    await bundleWithEsbuild('cjs', 'program.mjs', 'esbuild.cjs');
    return 'esbuild.cjs';
  },
  async 'esbuild, esm'() {
    await bundleWithEsbuild('esm', 'program.mjs', 'esbuild.mjs');
    return 'esbuild.mjs';
  },
  async 'esbuild, cjs in another folder'() {
    await bundleWithEsbuild('cjs', 'program.mjs', 'deep/er/esbuild.cjs');
    return 'deep/er/esbuild.cjs';
  },
  async webpack() {
    const compiler = webpack({
      context: host.folder,
      mode: 'production',
      target: 'node20',
      entry: './program.mjs',
      output: { path: host.folder, filename: 'webpack.cjs' },
      externals: Object.fromEntries(EXTERNAL.map((name) => [name, `commonjs ${name}`])),
    });
    const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) => {
      compiler?.run((error, done) => (error ? reject(error) : resolve(done)));
    });
    expect(stats?.toJson({ errors: true }).errors).toEqual([]);
    return 'webpack.cjs';
  },
  async 'vite, for a server'() {
    await buildWithVite({
      root: host.folder,
      configFile: false,
      logLevel: 'silent',
      ssr: { noExternal: ['intentbook'] },
      build: { ssr: 'program.mjs', outDir: 'vite', rollupOptions: { output: { entryFileNames: 'vite.mjs' } } },
    });
    return 'vite/vite.mjs';
  },
  async ncc() {
    const external = EXTERNAL.flatMap((name) => ['-e', name]);
    execFileSync(process.execPath, [ncc, 'build', 'program.mjs', '-q', '-o', 'ncc', ...external], { cwd: host.folder });
    return 'ncc/index.mjs';
  },
};

async function bundleWithEsbuild(format: 'cjs' | 'esm', entry: string, outfile: string): Promise<void> {
  await buildWithEsbuild({
    absWorkingDir: host.folder,
    entryPoints: [entry],
    outfile,
    bundle: true,
    format,
    platform: 'node',
    target: 'node20',
    external: EXTERNAL,
    logLevel: 'silent',
  });
}

describe.each(Object.entries(BUNDLERS))('bundle by %s', (name, bundle) => {
  test('stores an order in an SQLite file and lists it', async () => {
    const file = await bundle();
    const database = `${name.replaceAll(/\W/g, '-')}.sqlite`;
    const output = execFileSync(process.execPath, [file, database], { cwd: host.folder, encoding: 'utf8' });
    expect(output).toBe('accepted 1 function function\n');
    rmSync(join(host.folder, database));
  });
});

test.each(ENTRIES)('%s loads in a bundle of format cjs', async (entry) => {
  writeFileSync(join(host.folder, 'entry.mjs'), `export * from '${entry}';`);
  await bundleWithEsbuild('cjs', 'entry.mjs', 'entry.cjs');
  expect(host.run('load.cjs', `console.log(Object.keys(require('./entry.cjs')).length > 0);`)).toBe('true\n');
});
