// Writes the scores of the last mutation run into docs/internals/testing.md, between the markers. Rows of folders that
// the run has not changed are kept, so that folders can be measured one by one.
import { readFileSync, writeFileSync } from 'node:fs';

const { files } = JSON.parse(readFileSync(new URL('report.json', import.meta.url), 'utf8'));
const page = new URL('../../../docs/internals/testing.md', import.meta.url);

const rooms = new Map();
for (const [file, { mutants }] of Object.entries(files)) {
  const room = file.split('/').slice(0, 2).join('/');
  const sum = rooms.get(room) ?? { killed: 0, timeout: 0, survived: 0, uncovered: 0, left: 0 };
  for (const { status } of mutants) {
    if (status === 'Killed') sum.killed++;
    else if (status === 'Timeout') sum.timeout++;
    else if (status === 'Survived') sum.survived++;
    else if (status === 'NoCoverage') sum.uncovered++;
    else sum.left++;
  }
  rooms.set(room, sum);
}

const [begin, end] = ['<!-- mutation:begin -->', '<!-- mutation:end -->'];
const text = readFileSync(page, 'utf8');
const [before, rest] = text.split(begin);
const [known, after] = rest?.split(end) ?? [];
if (after === undefined) throw new Error('the page must have the markers mutation:begin and mutation:end');

const rows = new Map([...known.matchAll(/^\| `(.+?)` \|.*$/gm)].map(([row, room]) => [room, row]));
for (const [room, { killed, timeout, survived, uncovered, left }] of rooms) {
  const caught = killed + timeout;
  const score = ((100 * caught) / (caught + survived + uncovered)).toFixed(1);
  rows.set(room, `| \`${room}\` | ${score} % | ${killed} | ${timeout} | ${survived} | ${uncovered} | ${left} |`);
}
const sorted = Array.from(rows).sort(([a], [b]) => (a < b ? -1 : 1));
const block = [
  '| folder | score | killed | timed out | survived | not covered | excluded |',
  '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
  ...sorted.map(([, row]) => row),
].join('\n');
writeFileSync(page, `${before}${begin}\n${block}\n${end}${after}`);
console.log(block);
