import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../resilience/chaos/faults.ts';
import { blockOf, readPage, root } from './docs-pages.ts';

const readRows = (block: string, page = 'docs/internals/threat-model.md') =>
  blockOf(readPage(page), block)
    .split('\n')
    .filter((line) => line.startsWith('| **'))
    .map((line) => ({
      threat: line.split('|')[1]?.trim() ?? '',
      cells: line.split('|').slice(1, -1),
      proofs: [...line.matchAll(/`(test\/[^`]+)`((?:,? "[^"]+")+)/g)].flatMap(([, file = '', titles = '']) =>
        [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
      ),
    }));

const threats = readRows('security');
const resources = readRows('shared');
const failures = readRows('failures', 'docs/deploy/operations.md');

test('threat model lists threats', () => expect(threats.length).toBeGreaterThan(30));

test.each(resources)('threat model describes the use of $threat', ({ cells }) => {
  expect(cells).toHaveLength(6);
  for (const cell of cells) expect(cell.trim()).not.toBe('');
});

test('threat model lists the shared resources', () => expect(resources.length).toBeGreaterThan(20));

test.each([...threats, ...resources, ...failures])('page names existing tests for $threat', ({ proofs }) => {
  expect(proofs.length).toBeGreaterThan(0);
  for (const { file, title } of proofs) {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(readFileSync(join(root, file), 'utf8'), file).toContain(title);
  }
});

describe('failures of the resources of a server', () => {
  const RESOURCES = 'Descriptors, Memory, Threads, Disk, File identity, Clock, Signals, Environment'
    .concat(', Package files, Connections, DNS, Certificates')
    .split(', ');

  test.each(RESOURCES)('%s: each duration has a row without an empty cell', (resource) => {
    const rows = failures.filter(({ threat }) => threat.startsWith(`**${resource}**: `));
    const durations = rows.flatMap(({ cells }) => cells[1]?.trim().split(', ') ?? []);
    expect([...new Set(durations)].sort()).toEqual(['a minute', 'a second', 'for ever']);
    for (const { cells } of rows)
      expect([cells.length, ...cells.map((cell) => cell.trim() !== '')]).not.toContain(false);
    for (const { cells } of rows) expect(cells).toHaveLength(8);
  });

  test.each(FAULTS)(
    'the row of the fault "$name" has the status and the alert that it must show',
    ({ name, signs }) => {
      const rows = failures.filter(({ proofs }) => proofs.some(({ title }) => title === name));
      const text = rows.map(({ cells }) => cells.slice(3, 6).join(' ')).join(' ');
      expect(text).toContain(signs.ready === 'none' ? 'no response' : String(signs.ready));
      expect(text).toContain(signs.alert ?? '');
    },
  );
});
