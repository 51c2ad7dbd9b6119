import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a directory for a test and returns the path of a new file in it. */
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
