import { readFileSync, statSync } from 'node:fs';

export interface ListLine {
  /** `file, line 3`, for errors. */
  readonly place: string;
  readonly text: string;
}

/** Returns a text that changes when a file is written or replaced, or when its permissions change. */
export function getVersion(file: string): string {
  try {
    const { ino, mtimeMs, ctimeMs, size } = statSync(file);
    return `${ino} ${mtimeMs} ${ctimeMs} ${size}`;
  } catch (failure) {
    // Reading the file fails as well, and reports the reason.
    return String(failure);
  }
}

/**
 * Reads the lines of a list that have content. A `#` begins a comment.
 *
 * @param name - What the file is, for errors.
 * @throws TypeError if it cannot be read.
 */
export function readListLines(file: string, name: string): readonly ListLine[] {
  return readText(file, name)
    .split('\n')
    .flatMap((line, i) => {
      const content = line.replace(/#.*/s, '').trim();
      return content === '' ? [] : [{ place: `${file}, line ${i + 1}`, text: content }];
    });
}

function readText(file: string, name: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TypeError(`${name} ${file} cannot be read`, { cause });
  }
}
