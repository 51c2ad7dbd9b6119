import type { FileHandle } from 'node:fs/promises';

/**
 * Writes a text to a file completely. One call of the system may write a part only, for example while a disk becomes
 * full.
 *
 * @param position - Offset of the text, in bytes.
 * @returns The end of the text, in bytes.
 * @throws Error of the system, such as `ENOSPC`.
 */
export async function writeAll(file: Pick<FileHandle, 'write'>, text: string, position: number): Promise<number> {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) {
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
  }
  return position + written;
}
