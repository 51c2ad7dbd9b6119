import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Input {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Returns the inputs in a corpus folder of a target, or none without a folder. */
export function readCorpus(folder: string, target: string): Input[] {
  const place = join(folder, target);
  if (!existsSync(place)) return [];
  return readdirSync(place)
    .sort()
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(place, name))) }));
}

/** Stores an input under the name of its finding or under its hash. */
export function keepInput(folder: string, target: string, bytes: Uint8Array, name = hashOf(bytes)): void {
  mkdirSync(join(folder, target), { recursive: true });
  writeFileSync(join(folder, target, name), bytes);
}

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex').slice(0, 12);
