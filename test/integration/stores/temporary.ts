import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of its own for a test, and a file in it that is not there yet. */
export interface TemporaryFile extends Disposable {
  readonly directory: string;
  readonly path: string;
}

export function temporaryFile(): TemporaryFile {
  const directory = mkdtempSync(join(tmpdir(), 'intentbook-'));
  return {
    directory,
    path: join(directory, 'book.sqlite'),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}
