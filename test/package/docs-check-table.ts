import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { blockOf, readPage, root, tablesOf } from './docs-pages.ts';

/** Whether tables are written instead of compared: `INTENTBOOK_WRITE=1`. */
const WRITE = process.env['INTENTBOOK_WRITE'] === '1';

/**
 * Compares the table between two markers of a page with rows from the code, or writes it. The last cell of a row is its
 * description. A description in the page wins over the one from the code, unless `exact` is set.
 */
export function checkTable(
  path: string,
  name: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { exact = false, least = 21 }: { readonly exact?: boolean; readonly least?: number } = {},
): void {
  const page = readPage(path);
  const block = blockOf(page, name);
  const documented = tablesOf(block)[0]?.rows ?? [];
  const described = new Map(documented.map((row) => [row[0], row.at(-1)]));
  const wanted = rows.map((row) => (exact ? row : [...row.slice(0, -1), described.get(row[0]) ?? row.at(-1) ?? '']));
  if (WRITE) {
    const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
    const lines = [line(header), `|${'---|'.repeat(header.length)}`, ...wanted.map(line)];
    const marked = (content: string) => `<!-- ${name}:begin -->\n${content}<!-- ${name}:end -->`;
    const text = page.text.replace(marked(block), () => marked(`\n${lines.join('\n')}\n\n`));
    writeFileSync(join(root, path), text);
    return;
  }
  expect(documented.length).toBeGreaterThanOrEqual(least);
  expect(documented, `INTENTBOOK_WRITE=1 writes the table "${name}" of ${path}`).toEqual(wanted);
  if (!exact) expect(documented.filter((row) => row.at(-1) === '')).toEqual([]);
}
