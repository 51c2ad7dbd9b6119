import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Host } from './host.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));

/** Copies an example into a folder that has installed the package. @returns the folder of the copy. */
export function copyExample(host: Host, name: string): string {
  const folder = join(host.folder, name);
  cpSync(join(EXAMPLES, name), folder, {
    recursive: true,
    filter: (path) => !/node_modules|\.next/.test(path.slice(EXAMPLES.length)),
  });
  return folder;
}
