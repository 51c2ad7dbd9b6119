import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';

/** What a figure was measured on, in one line: figures of two machines are not to be compared. */
export function machine(): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const packages = ['better-sqlite3', 'secp256k1', '@bitauth/libauth', 'hash-wasm', 'viem', 'express', 'fastify'];
  const versions = packages.map((name) => `${name} ${versionOf(name)}`).join(', ');
  return `${cpus().length} × ${cpu?.model ?? 'unknown processor'}, ${memory}, Node ${process.versions.node}; ${versions}`;
}

const require = createRequire(import.meta.url);

/** Read from its file: not every package lets its manifest be imported. */
function versionOf(name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return (JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')) as { version: string }).version; // npm insists
    } catch {
      // Not in this folder.
    }
  }
  return 'unknown';
}
