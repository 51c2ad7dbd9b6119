import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blockOf, readPage, root } from './docs-pages.ts';

const threats = blockOf(readPage('docs/internals/threat-model.md'), 'security')
  .split('\n')
  .filter((line) => line.startsWith('| **'))
  .map((line) => ({
    threat: line.split('|')[1]?.trim() ?? '',
    proofs: [...line.matchAll(/`(test\/[^`]+)` "([^"]+)"/g)],
  }));

test('threat model lists threats', () => expect(threats.length).toBeGreaterThan(30));

test.each(threats)('threat model names existing tests for $threat', ({ proofs }) => {
  expect(proofs.length).toBeGreaterThan(0);
  for (const [, file = '', title = ''] of proofs) {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(readFileSync(join(root, file), 'utf8'), file).toContain(title);
  }
});
