import { readFile } from 'node:fs/promises';

/**
 * Reads a text file in UTF-8. A byte order mark is left out (RFC 8259, 8.1).
 *
 * @throws Error with a `code`: that of the system, or `UTF-16`.
 */
export async function readText(path: string): Promise<string> {
  const bytes = await readFile(path);
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw Object.assign(new Error(`the file "${path}" must be UTF-8, got UTF-16`), { code: 'UTF-16' });
  }
  return new TextDecoder().decode(bytes);
}
