import { open, rename, stat } from 'node:fs/promises';
import { writeAll } from './write-all.ts';

/** Name of the standard output in place of a file. */
export const STANDARD_OUTPUT = '-';

/** Mode of a new file: other users of the machine cannot read it. */
export const PRIVATE = 0o600;

export interface Output {
  write(text: string): Promise<void>;
  /** Waits until the output is on stable storage. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a file for writing after its first `size` bytes, or the standard output.
 *
 * @param size - The rest of an existing file is removed. Default: 0.
 * @param found - The size of the file when it was read. Default: 0.
 * @throws Error if another process has written the file since then.
 */
export async function openOutput(path: string, size = 0, found = 0): Promise<Output> {
  if (path === STANDARD_OUTPUT) return { write: writeToReader, sync: async () => {}, close: async () => {} };
  // Appended, so that two processes never write over each other.
  const file = await open(path, 'a', PRIVATE);
  let end = size;
  const foreign = () => new Error(`another process writes the file "${path}"`);
  try {
    if ((await file.stat()).size !== found) throw foreign();
    await file.truncate(size);
  } catch (error) {
    await file.close();
    throw error;
  }
  async function assertOwn(onForeignText = async () => {}): Promise<void> {
    const [own, found] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
    const isHere = found?.ino === own.ino;
    if (isHere && own.size === end) return;
    if (isHere) await onForeignText();
    throw foreign();
  }
  return {
    async write(text) {
      // The text of another process would be among that of this one.
      await assertOwn();
      end = await writeAll(file, text, end);
      // Text of the other process is before that of this one, or was removed. No export may continue the file.
      await assertOwn(() => rename(path, `${path}.damaged`));
    },
    sync: () => file.sync(),
    close: () => file.close(),
  };
}

/** Adds the name of its file to an error of the system, which names the file of a failed `open` only. */
export function nameFile(path: string, error: unknown): unknown {
  // An export can also fail with an error of a connection to the database.
  if (error instanceof Error && 'syscall' in error && ['write', 'fsync', 'close'].includes(String(error.syscall)))
    error.message = `the file "${path}" cannot be written: ${error.message}`;
  return error;
}

/** Writes at the pace of the reader. */
function writeToReader(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      const isReaderGone = error !== null && error !== undefined && 'code' in error && error.code === 'EPIPE';
      if (isReaderGone) reject(new Error('the reader of the output has ended', { cause: error }));
      else if (error) reject(new Error(`the standard output cannot be written: ${error.message}`, { cause: error }));
      else resolve();
    });
  });
}
