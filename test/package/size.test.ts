import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Metafile, OutputFile } from 'esbuild';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from './host.ts';
import { ENTRIES, manifest, unpackHost } from './host.ts';

let host: Host;
beforeAll(() => {
  host = unpackHost();
});
afterAll(() => host[Symbol.dispose]());

type Bundled = { readonly outputFiles: readonly OutputFile[]; readonly metafile: Metafile };

/** Bundles a program like a host. WebAssembly is excluded. */
async function bundle(code: string, external: readonly string[] = ['hash-wasm', '@bitauth/libauth']): Promise<Bundled> {
  const file = join(host.folder, 'program.js');
  writeFileSync(file, code);
  return build({
    entryPoints: [file],
    absWorkingDir: host.folder,
    outdir: 'bundled',
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    minify: true,
    treeShaking: true,
    format: 'esm',
    target: 'es2022',
    platform: 'node',
    external: [...external],
    logLevel: 'silent',
  });
}

/** Returns the files that are loaded with the program, without lazily imported ones. */
function loadedAtOnce({ outputFiles, metafile }: Bundled): OutputFile[] {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { path: next, kind, external } of metafile.outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && external !== true) visit(next);
    }
  };
  visit('bundled/program.js');
  return outputFiles.filter(({ path }) => [...seen].some((name) => path.endsWith(`/${name}`)));
}

/** Bytes after compression of each file, as it would be sent. */
const gzipped = (files: readonly OutputFile[]) =>
  files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);

describe('bundle of a host, minified and compressed', () => {
  test('is less than 6 kB for the client', async () => {
    const bundled = await bundle(`export { createClient } from 'intentbook/client';`);
    expect(gzipped(loadedAtOnce(bundled))).toBeLessThan(6_000);
  });

  test('is less than 60 kB for a memory book behind fetch, without WebAssembly', async () => {
    const bundled = await bundle(`
      import { createOrderBook } from 'intentbook';
      import { fetchHandler } from 'intentbook/fetch';
      import { memoryStore } from 'intentbook/memory';
      const book = createOrderBook({ chainId: 1, store: memoryStore() });
      await book.start();
      export default { fetch: fetchHandler(book) };`);
    const files = loadedAtOnce(bundled);
    expect(gzipped(files)).toBeLessThan(60_000);
    expect(gzipped(files)).toBeGreaterThan(40_000); // otherwise the engine was not measured
    // Quotes, auctions, the indexer and WebAssembly are loaded lazily.
    expect(gzipped([...bundled.outputFiles])).toBeGreaterThan(gzipped(files));
    const statically = Object.values(bundled.metafile.outputs).flatMap(({ imports }) =>
      imports.flatMap(({ path, kind }) => (kind === 'import-statement' ? [path] : [])),
    );
    expect(statically.filter((path) => path.startsWith('@bitauth/'))).toEqual([]);
  });

  test('is below 5 kB without a book', async () => {
    const bundled = await bundle(`export { fixedPrices } from 'intentbook/estimators';`);
    expect(gzipped(loadedAtOnce(bundled))).toBeLessThan(5_000);
  });
});

describe('packed package', () => {
  test('is less than 1 MiB', () => {
    expect(host.packedSize).toBeLessThan(2 ** 20);
  });

  test('names the file and the line of the source in stack traces', () => {
    const code = `
      process.setSourceMapsEnabled(true);
      import('intentbook').then(({ createOrderBook }) => {
        try { createOrderBook({ chainId: 1, store: 3 }); } catch (error) { console.log(error.stack); }
      });`;
    const trace = host.run('trace.js', code);
    const [, line = ''] = /src\/option-objects\.ts:(\d+)/.exec(trace) ?? [];
    const source = readFileSync(new URL('../../src/option-objects.ts', import.meta.url), 'utf8').split('\n');
    expect(source[Number(line) - 1]).toContain('new TypeError(`createOrderBook: ');
  });
});

/** Peers that each entry imports, immediately or lazily. Entries that are not listed import none. */
const PEERS: Readonly<Record<string, readonly string[]>> = {
  'intentbook/sqlite': ['better-sqlite3'],
  'intentbook/postgres': ['pg'],
  'intentbook/channels': ['nodemailer', 'web-push'],
  'intentbook/native': ['koffi', 'secp256k1'],
  'intentbook/workers': ['piscina'],
  'intentbook/prometheus': ['prom-client'],
  // The sandbox serves its book with the server. Packages with bytecode are resolved, not imported.
  'intentbook/sandbox': ['better-sqlite3', 'nodemailer', 'pg', 'web-push'],
  // The standalone server contains all entries and loads each lazily; pino belongs to its command.
  'intentbook/server': ['better-sqlite3', 'nodemailer', 'pg', 'prom-client', 'viem', 'web-push'],
};

describe('package entry', () => {
  const known = [...Object.keys(manifest.peerDependencies), 'express', 'fastify'];

  test.each(ENTRIES)('%s imports only its own peers', async (entry) => {
    const outside = [...known, ...Object.keys(manifest.dependencies)];
    const { metafile } = await bundle(`export * from '${entry}';`, outside);
    const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
    const packages = imported.filter(({ external }) => external).map(({ path }) => path.split('/')[0] ?? '');
    const peers = [...new Set(packages)].filter((name) => known.includes(name)).sort();
    expect(peers).toEqual(PEERS[entry] ?? []);
    // No peer is loaded with the entry itself, so a host without it gets an error that names it.
    const program = metafile.outputs['bundled/program.js'];
    const atOnce = program?.imports.filter(({ kind, path }) => kind === 'import-statement' && known.includes(path));
    expect(atOnce).toEqual([]);
  });
});
