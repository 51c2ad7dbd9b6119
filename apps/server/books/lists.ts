import { readFileSync, statSync } from 'node:fs';

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
 * Reads the lines of a list that have content, each with its place for errors: `file, line 3`. A `#` begins a comment.
 *
 * @param name - What the file is, for errors.
 * @throws TypeError if it cannot be read.
 */
export function readListLines(file: string, name: string) {
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
