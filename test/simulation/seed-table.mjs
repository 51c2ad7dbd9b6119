// Adds a run of the simulator to the table of docs/internals/testing.md, which has one row for each store.
import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/internals/testing.md', import.meta.url);
const TABLE = /(<!-- seeds:begin -->\n\|.*\n\|.*\n)([\s\S]*?)(<!-- seeds:end -->)/;

const format = (count) => count.toLocaleString('en');

/** Returns the page with the seeds of a run added to the row of its store. */
export function addRun(page, { store, from, seeds, findings }) {
  if (!TABLE.test(page)) throw new Error('the page must have a table between seeds:begin and seeds:end');
  return page.replace(TABLE, (_, head, rows, end) => {
    const others = rows.split('\n').filter((row) => row !== '');
    const index = others.findIndex((row) => row.startsWith(`| ${store} |`));
    const [row = ''] = index < 0 ? [] : others.splice(index, 1);
    const total = seeds + Number((row.split('|')[2] ?? '0').replaceAll(',', ''));
    const found = findings === 0 ? 'no finding' : `${findings} with a finding`;
    const all = [...others, `| ${store} | ${format(total)} | ${format(seeds)} from ${from}, ${found} |`].sort();
    return `${head}${all.join('\n')}\n${end}`;
  });
}

export function writeRun(run) {
  writeFileSync(PAGE, addRun(readFileSync(PAGE, 'utf8'), run));
}
