import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const [, table = ''] = readme.split(/<!-- security:(?:begin|end) -->/);
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| **'))
  .map((line) => ({
    threat: line.split('|')[1]?.trim() ?? '',
    proofs: [...line.matchAll(/`(test\/[^`]+)` "([^"]+)"/g)],
  }));

test('there are threats to tell of', () => expect(rows.length).toBeGreaterThan(30));

test.each(rows)('what is said of $threat is proven by tests that are there', ({ proofs }) => {
  expect(proofs.length).toBeGreaterThan(0);
  for (const [, file = '', title = ''] of proofs) {
    expect(existsSync(new URL(file, root)), file).toBe(true);
    expect(readFileSync(new URL(file, root), 'utf8'), file).toContain(title);
  }
});
