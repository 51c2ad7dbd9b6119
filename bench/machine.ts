import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

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

/** Percent of busy processor time from which on a machine is not quiet. */
const MAX_BUSY = 10;

/**
 * Measures for a second how much processor time other programs take, and the host of a virtual machine (steal).
 *
 * @returns the percentage if the machine is not quiet, `undefined` otherwise.
 */
export async function measureActivity(): Promise<number | undefined> {
  const before = readTimes();
  await wait(1000);
  const after = readTimes();
  const percent = Math.round((100 * (after.busy - before.busy)) / (after.all - before.all));
  return percent > MAX_BUSY ? percent : undefined;
}

function readTimes(): { readonly busy: number; readonly all: number } {
  try {
    // user, nice, system, idle, iowait, irq, softirq and steal; the times of guests are part of the first two.
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
    const times = line.split(/\s+/).slice(1, 9).map(Number);
    const all = times.reduce((sum, time) => sum + time, 0);
    return { busy: all - (times[3] ?? 0) - (times[4] ?? 0), all };
  } catch {
    const times = cpus().map((cpu) => cpu.times); // other systems report no steal
    const idle = times.reduce((sum, each) => sum + each.idle, 0);
    const all = times.flatMap((each) => Object.values(each)).reduce((sum, time) => sum + time, 0);
    return { busy: all - idle, all };
  }
}
