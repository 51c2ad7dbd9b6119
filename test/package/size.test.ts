import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** What a host is made to carry at most, in bytes, minified and compressed. It was 149 kB with all of zod in it. */
const BUDGET = 68_000;

test.skipIf(!existsSync(`${dist}/index.js`))(
  'the core, the memory store and the fetch handler stay within their budget, without the WebAssembly',
  async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `export { createApi, createOrderBook } from 'intentbook';
          export { fetchHandler } from 'intentbook/fetch';
          export { memoryStore } from 'intentbook/memory';`,
        resolveDir: dist,
      },
      alias: Object.fromEntries(
        ['index', 'adapter', 'fetch', 'memory'].map((name) => [
          name === 'index' ? 'intentbook' : `intentbook/${name}`,
          `${dist}/${name}.js`,
        ]),
      ),
      ...{ bundle: true, minify: true, format: 'esm', platform: 'browser', write: false },
      external: ['@bitauth/libauth*', 'hash-wasm*', 'secp256k1*', 'node:*'],
    });
    const [bundle] = outputFiles;
    expect(bundle).toBeDefined();
    expect(gzipSync(bundle?.contents ?? '', { level: 9 }).length).toBeLessThan(BUDGET);
  },
);
