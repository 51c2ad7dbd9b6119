import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ATTACKS } from './long/fairness/attacks.ts';
import { OPERATIONS } from './long/fairness/victim.ts';
import { runStores } from './long/suites/fairness.ts';

// The short form of the suite: one attack of each kind. Times are not asserted.
const KINDS = [/by_uids, 1 MB/, /notifications\/stream/, /usdPrice.* hangs/, /webhooks.* hangs/];

test('another client gets correct responses on both stores beside each kind of attack', {
  timeout: 240_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-fairness-'));
  const notes: Record<string, string | number> = {};
  const note = (what: string, figure: string | number) => void Object.assign(notes, { [what]: figure });
  const attacks = ATTACKS.filter(({ name }) => KINDS.some((kind) => kind.test(name)));
  const size = { orders: 2_000, trades: 500, notifications: 1_000 };
  try {
    const share = { milliseconds: 20_000, folder, note, count: () => {} };
    const results = await runStores(share, size, attacks, [8]);
    expect(results.map(({ store }) => store)).toEqual(['SQLite', 'PostgreSQL']);
    for (const { base, rows } of results) {
      expect(OPERATIONS.filter((each) => !(base[each] > 0))).toEqual([]);
      expect(rows.flatMap(({ cells }) => cells).filter(({ sent, factor }) => sent === 0 || !(factor > 0))).toEqual([]);
    }
    const failed = Object.entries(notes).filter(([name]) => name.startsWith('failed operations'));
    expect(failed.map(([, figure]) => figure)).toEqual([0, 0]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
