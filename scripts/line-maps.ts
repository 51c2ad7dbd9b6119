// Reduces the source maps of the package to one entry per line. The published code keeps the lines of its sources, so
// that stack traces still name the file and the line; full maps would be as large as the code.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SourceMapSegment } from '@jridgewell/sourcemap-codec';
import { decode, encode } from '@jridgewell/sourcemap-codec';

/** Reduces every source map of a folder. */
export async function reduceToLines(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.js.map')) continue;
    const path = join(folder, name);
    const map = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...map, names: [], mappings: toLines(map.mappings) }));
  }
}

/** Returns the mappings of each line's first position that has a source. */
function toLines(mappings: string): string {
  return encode(
    decode(mappings).map((segments) => {
      const first = segments.find((segment): segment is Exclude<SourceMapSegment, [number]> => segment.length > 1);
      return first === undefined ? [] : [[0, first[1], first[2], first[3]] as const];
    }),
  );
}
