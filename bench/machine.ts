import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';

/** Describes the machine in one line: figures of two machines must not be compared. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const packages = ['better-sqlite3', 'secp256k1', '@bitauth/libauth', 'hash-wasm', 'viem', 'express', 'fastify'];
  const versions = packages.map((name) => `${name} ${getVersion(name)}`).join(', ');
  return `${cpus().length} × ${cpu?.model ?? 'unknown processor'}, ${memory}, Node ${process.versions.node}; ${versions}`;
}

const require = createRequire(import.meta.url);

/** Reads a version from the manifest file, because not every package exports its manifest. */
function getVersion(name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      const manifest = JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')) as { version: string };
      return manifest.version; // npm requires it
    } catch {
      // The package is not in this folder.
    }
  }
  return 'unknown';
}
