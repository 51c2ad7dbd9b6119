// Run `node test/package/complete-lock.mjs` after `npm install` has changed package-lock.json.
//
// npm omits builds for other platforms from the lock file if the registry does not serve them, and `npm ci` then
// rejects the file. This script adds them by their names. An entry without a digest is downloaded only on its platform.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const { packages } = lock;
const PLATFORM =
  /(android|darwin|freebsd|netbsd|openbsd|sunos|aix|openharmony|win32|windows|linux|wasm32|wasi)-([a-z0-9]+)(?:-([a-z0-9]+))?$/;

let added = 0;
for (const [path, entry] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (packages[`node_modules/${name}`] || packages[`${path}/node_modules/${name}`]) continue;
    const [, os, cpu, abi] = PLATFORM.exec(name) ?? [];
    if (os === undefined) throw new Error(`${name}, of ${path}: its name tells no platform`);
    packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu === 'amd64' ? 'x64' : cpu], // some packages use another platform name than Node.js
      ...(entry.dev && { dev: true }),
      ...(abi === 'musl' && { libc: ['musl'] }),
      optional: true,
      os: [os],
    };
    added++;
  }
}

const [root, ...rest] = Object.entries(packages);
lock.packages = Object.fromEntries([root, ...rest.sort(([a], [b]) => a.localeCompare(b, 'en'))]);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} entries added`);
