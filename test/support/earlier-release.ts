import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Folder of the bundles: below the packages that they import. */
const FOLDER = join(ROOT, 'node_modules/.cache/intentbook-earlier');

/** The last commit whose schema is the kept first one: `schemas/book-1.sql`. */
export const FIRST_SCHEMA = 'd7a12b712f5b78ed7fa81d05fe0bd379451f1455';

/** Returns whether the history of this clone contains a commit. */
export const hasCommit = (commit: string) =>
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT, stdio: 'ignore' }).status === 0;

/** The parts of a release that a test uses. Its wire format is that of this one. */
export type EarlierRelease = Pick<typeof import('intentbook'), 'createOrderBook'> &
  Pick<typeof import('intentbook/postgres'), 'postgresStore'>;

const PATHS = {
  '#internal': 'src/internal.ts',
  intentbook: 'src/index.ts',
  'intentbook/accounts': 'src/entries/accounts.ts',
  'intentbook/store-kit': 'src/store-kit/index.ts',
};

/** Bundles the engine and the PostgreSQL store of a commit, and loads them. */
export async function loadEarlierRelease(commit: string): Promise<EarlierRelease> {
  const folder = join(FOLDER, commit);
  const bundle = join(folder, 'release.mjs');
  if (!existsSync(bundle)) {
    mkdirSync(folder, { recursive: true });
    const parts = ['src', 'adapters', 'package.json', 'tsconfig.json'];
    const archive = execFileSync('git', ['archive', commit, ...parts], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    await build({
      stdin: {
        contents:
          "export { createOrderBook } from './src/index.ts'; export { postgresStore } from './adapters/postgres/index.ts';",
        resolveDir: folder,
      },
      outfile: bundle,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      external: ['pg', 'viem', 'secp256k1', 'hash-wasm', '@bitauth/libauth', '@noble/hashes', 'zod', 'eventemitter3'],
      // The paths of the compiler do not apply to a folder of packages.
      alias: Object.fromEntries(Object.entries(PATHS).map(([name, path]) => [name, join(folder, path)])),
      logLevel: 'silent',
    });
  }
  return await import(pathToFileURL(bundle).href);
}
