import { randomBytes } from 'node:crypto';
import { access, constants, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { RecordedOperation } from './recorded-store.ts';

export interface SavedSandbox {
  /** Settings that a sandbox must have in common with the saved one, as JSON. */
  readonly settings: string;
  /** Time of the sandbox, in milliseconds since 1970. */
  readonly now: number;
  /** As `SandboxChain.save` has returned it. */
  readonly chain: unknown;
  readonly books: readonly RecordedOperation[];
  readonly accounts: readonly RecordedOperation[];
  /** Number of the accounts that were created. */
  readonly traders: number;
}

/** The first member of a file, with the version of its format. */
const FORMAT = 'intentbook sandbox 1';

/**
 * Reads a saved sandbox.
 *
 * @returns `undefined` if the file does not exist.
 * @throws TypeError if the file is not a state, or one of other settings, or if it cannot be written.
 */
export async function readState(file: string, settings: string): Promise<SavedSandbox | undefined> {
  const content = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (content === undefined) {
    // Otherwise the sandbox is lost when it is closed.
    await access(dirname(resolve(file)), constants.W_OK).catch((cause: unknown) => {
      throw new TypeError(`state must be in a folder that exists and can be written, got "${file}"`, { cause });
    });
    return undefined;
  }
  const saved = parse(content);
  if (saved === undefined) throw new TypeError(`state must be a file that a sandbox has written, got "${file}"`);
  if (saved.settings === settings) return saved;
  throw new TypeError(`state must be of a sandbox with ${settings}, got one with ${saved.settings} in "${file}"`);
}

function parse(content: Buffer): SavedSandbox | undefined {
  try {
    const [format, saved] = deserialize(gunzipSync(content)) as [unknown, SavedSandbox]; // as `writeState` has written
    return format === FORMAT ? saved : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a text that another sandbox changes when it writes the file. */
export const readVersion = (file: string): Promise<string> =>
  stat(file).then(
    ({ ino, mtimeMs, size }) => `${ino} ${mtimeMs} ${size}`,
    () => 'absent',
  );

/**
 * Writes a sandbox. The file is replaced when it is complete. It has keys of test accounts only.
 *
 * @param version - Of the file that was read. If another sandbox has replaced it, its state is kept.
 * @throws Error with the name of the file in which this state is instead.
 */
export async function writeState(file: string, saved: SavedSandbox, version: string): Promise<void> {
  const own = `${file}.${randomBytes(4).toString('hex')}`;
  const partial = `${own}.partial`;
  await writeFile(partial, gzipSync(serialize([FORMAT, saved])));
  const isOwn = version === (await readVersion(file));
  await rename(partial, isOwn ? file : own);
  if (!isOwn) throw new Error(`another sandbox has written "${file}" meanwhile; the state of this one is in "${own}"`);
}
