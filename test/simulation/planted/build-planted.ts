import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { PlantedFault } from './planted.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Folder of the bundles: below the packages that they import. */
const FOLDER = join(ROOT, 'node_modules/.cache/intentbook-planted');

/**
 * Bundles the simulator, with a fault in one source file. The file itself is unchanged.
 *
 * @returns the path of the bundle.
 * @throws Error if the text to replace does not occur exactly once.
 */
export async function buildPlanted(fault?: PlantedFault): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  return fault === undefined ? bundle('plain', []) : bundle(fault.name, [plant(fault)]);
}

function plant({ name, file, find, replace }: PlantedFault): Plugin {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const count = source.split(find).length - 1;
  if (count !== 1) throw new Error(`"${name}": the text occurs ${count} times in ${file}`);
  return {
    name: 'plant',
    setup(plugins) {
      plugins.onLoad({ filter: /\.ts$/ }, ({ path }) =>
        path === join(ROOT, file) ? { contents: source.replace(find, () => replace), loader: 'ts' } : undefined,
      );
    },
  };
}

async function bundle(name: string, plugins: Plugin[]): Promise<string> {
  const outfile = join(FOLDER, `${name.replace(/\W+/g, '-')}.mjs`);
  await build({
    entryPoints: [join(ROOT, 'test/simulation/index.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['better-sqlite3', 'pg', 'koffi', 'secp256k1', 'hash-wasm', '@bitauth/libauth', '@noble/hashes', 'zod'],
    alias: { '#internal': join(ROOT, 'src/internal.ts') },
    logLevel: 'silent',
    plugins,
  });
  return outfile;
}
