import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PayoutSource } from 'intentbook';
import { expect, onTestFinished, test, vi } from 'vitest';
import { payoutFile } from '../../../apps/server/books/affiliate-payouts.ts';

const ADDRESS = `0x${'ab'.repeat(20)}` as const;
const line = (amount: string) => `${ADDRESS} affiliate ${amount}\n`;

function createFile(content: string) {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-payouts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'payouts.txt');
  const write = (text: string) => writeFileSync(file, text);
  write(content);
  return { file, write };
}

const read = (payouts: PayoutSource) => payouts.paidOut('affiliate', ADDRESS, { signal: new AbortController().signal });

test('the previous payouts count while the file is written in place', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { file, write } = createFile(line('1234.5'));
  const payouts = payoutFile(file);
  for (const part of ['', `${ADDRESS} affiliate 12`, line('1334.5')]) {
    vi.advanceTimersByTime(5_000);
    write(part);
    expect(read(payouts)).toBe('1234.5');
  }
  vi.advanceTimersByTime(1_000);
  expect(read(payouts)).toBe('1334.5');
});

test.each([
  ['is empty', ''],
  ['has an incomplete line', line('1334.5').slice(0, -3)],
])('no payouts are read of a changed file that %s', (_name, content) => {
  const { file, write } = createFile(line('1234.5'));
  const payouts = payoutFile(file, 0);
  write(content);
  expect(() => read(payouts)).toThrow('are incomplete');
  write(line('1334.5'));
  expect(read(payouts)).toBe('1334.5');
});
