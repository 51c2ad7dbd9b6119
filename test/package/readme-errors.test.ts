import { readFileSync, writeFileSync } from 'node:fs';
import { ERRORS } from 'intentbook';
import { expect, test } from 'vitest';

const FILE = new URL('../../README.md', import.meta.url);
const BLOCK = /(<!-- errors:begin -->\n)[\s\S]*?(<!-- errors:end -->)/;

/** The table of errors as the README shows it, made from the one that the engine answers with. */
function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning, retryable }]) =>
      `| \`${code}\` | ${status} | ${meaning}${retryable ? ' Retryable.' : ''} |`,
  );
  return `\n| code | status | meaning |\n|---|---|---|\n${rows.join('\n')}\n\n`;
}

test('the README has the table of errors, whole and nothing else (INTENTBOOK_WRITE=1 writes it)', () => {
  const readme = readFileSync(FILE, 'utf8');
  expect(readme).toMatch(BLOCK);
  const wanted = readme.replace(BLOCK, (_, begin: string, end: string) => `${begin}${errorTable()}${end}`);
  if (process.env['INTENTBOOK_WRITE'] === '1') writeFileSync(FILE, wanted);
  else expect(readme).toBe(wanted);
});
