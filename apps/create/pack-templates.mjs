// Copies the examples that are templates beside the program, for its package. Runs before it is packed.
import { cpSync, rmSync } from 'node:fs';
import { TEMPLATES } from './create.mjs';

const target = new URL('templates/', import.meta.url);
rmSync(target, { recursive: true, force: true });
for (const { example } of TEMPLATES) {
  const source = new URL(`../../examples/${example}`, import.meta.url);
  cpSync(source, new URL(example, target), {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|[^\\/]+\.sqlite(-\w+)?)$/.test(path),
  });
}
