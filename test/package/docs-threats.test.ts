import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blockOf, readPage, root } from './docs-pages.ts';

const readRows = (block: string) =>
  blockOf(readPage('docs/internals/threat-model.md'), block)
    .split('\n')
    .filter((line) => line.startsWith('| **'))
    .map((line) => ({
      threat: line.split('|')[1]?.trim() ?? '',
      cells: line.split('|').slice(1, -1),
      proofs: [...line.matchAll(/`(test\/[^`]+)` "([^"]+)"/g)],
    }));

const threats = readRows('security');
const resources = readRows('shared');

test('threat model lists threats', () => expect(threats.length).toBeGreaterThan(30));

test.each(resources)('threat model describes the use of $threat', ({ cells }) => {
  expect(cells).toHaveLength(6);
  for (const cell of cells) expect(cell.trim()).not.toBe('');
});

test('threat model lists the shared resources', () => expect(resources.length).toBeGreaterThan(20));

test.each([...threats, ...resources])('threat model names existing tests for $threat', ({ proofs }) => {
  expect(proofs.length).toBeGreaterThan(0);
  for (const [, file = '', title = ''] of proofs) {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(readFileSync(join(root, file), 'utf8'), file).toContain(title);
  }
});
