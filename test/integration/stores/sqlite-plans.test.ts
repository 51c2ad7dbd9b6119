import Database from 'better-sqlite3';
import type { OrderQuery } from 'intentbook';
import { expect, test } from 'vitest';
import { accountSql, listingSql, pageSql } from '../../../adapters/sqlite/listing.ts';
import { FOUNDATION, MIGRATIONS } from '../../../adapters/sqlite/schema.ts';
import { ALICE, NOW, PLACED_AT, USDC, uid, WETH } from '../../conformance/orders.ts';

/** Returns the plan of the row ids of a page. The rows are then read by row id, in the order of the ids. */
function planOf(query: OrderQuery, { sql, parameters } = listingSql('', query)): string[] {
  const database = new Database(':memory:');
  try {
    for (const migration of [FOUNDATION, ...MIGRATIONS]) database.exec(migration(''));
    const page = `EXPLAIN QUERY PLAN SELECT o.body ${pageSql('', sql, false)}`;
    const rows = database.prepare(page).all(...parameters) as { detail: string }[]; // by SQLite
    const plan = rows.map(({ detail }) => detail);
    expect([plan[0], ...plan.slice(-2)]).toEqual([
      'CO-ROUTINE p',
      'SCAN p',
      'SEARCH o USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
    return plan.slice(1, -2);
  } finally {
    database.close();
  }
}

const FILTERS: readonly (readonly [filters: Partial<OrderQuery>, walk: string])[] = [
  [{}, 'orders_newest'],
  [{ owner: ALICE }, 'orders_owner (owner=?)'],
  [{ sellToken: WETH }, 'orders_sell (sell_token=?)'],
  [{ buyToken: USDC }, 'orders_buy (buy_token=?)'],
  [{ sellToken: WETH, buyToken: USDC }, 'orders_sell (sell_token=?)'],
  [{ owner: ALICE, sellToken: WETH, buyToken: USDC }, 'orders_owner (owner=?)'],
  ...(['open', 'presignaturePending'] as const).flatMap((is) => {
    const status = { is, now: NOW };
    return [
      [{ status }, 'orders_live'],
      [{ status, owner: ALICE }, 'orders_live_owner (owner=?)'],
      [{ status, sellToken: WETH }, 'orders_live'],
      [{ status, buyToken: USDC }, 'orders_live'],
      [{ status, sellToken: WETH, buyToken: USDC }, 'orders_live'],
      [{ status, owner: ALICE, sellToken: WETH, buyToken: USDC }, 'orders_live_owner (owner=?)'],
    ] as const;
  }),
  [{ status: { is: 'expired', now: NOW }, owner: ALICE }, 'orders_owner (owner=?)'],
  ...(['cancelled', 'fulfilled'] as const).flatMap((is) => {
    const status = { is, now: NOW };
    return [
      [{ status }, 'orders_done (state=?)'],
      [{ status, owner: ALICE }, 'orders_owner (owner=?)'],
      [{ status, sellToken: WETH, buyToken: USDC }, 'orders_done (state=?)'],
    ] as const;
  }),
];

test.each(FILTERS)('SQLite listing by %o scans one index in its own order and sorts nothing', (filters, walk) => {
  const index = walk.split(' ')[0];
  for (const page of [{ limit: 10 }, { limit: 10, offset: 20 }]) {
    const [first, ...rest] = planOf({ ...filters, ...page });
    expect(first).toMatch(new RegExp(`^(SCAN|SEARCH) o USING (COVERING )?INDEX ${index}\\b`));
    expect(rest).toEqual([]);
  }
});

test.each(FILTERS)('SQLite listing page by %o starts at its cursor', (filters, walk) => {
  const after = { creationDate: PLACED_AT, uid: uid(1) };
  const plan = planOf({ ...filters, after, limit: 10 });
  const [index, ...equal] = walk.split(' ');
  const bounds = [equal.join(' ').replace(/[()]/g, '') || undefined, '(created,uid)<(?,?)'].filter(
    (bound) => bound !== undefined,
  );
  expect(plan[0]?.replace('COVERING ', '')).toBe(`SEARCH o USING INDEX ${index} (${bounds.join(' AND ')})`);
  expect(plan.join('\n')).not.toContain('TEMP B-TREE');
});

const MINE = FILTERS.filter(([{ owner }]) => owner !== undefined);

test.each(MINE)(
  'SQLite listing by %o of an account with on-chain orders scans two indexes as far as the page',
  (filters, walk) => {
    const after = { creationDate: PLACED_AT, uid: uid(1) };
    const query = { ...filters, after, limit: 10 };
    const plan = planOf(query, accountSql('', ALICE, query));
    const walks = plan.filter((detail) => /\bo\b/.test(detail));
    const index = walk.split(' ')[0];
    expect(walks[0]).toMatch(
      new RegExp(`^SEARCH o USING (COVERING )?INDEX ${index} \\(owner=\\? AND \\(created,uid\\)<`),
    );
    expect(walks[1]).toMatch(/^SEARCH o USING INDEX orders_onchain_user \(onchain_user=\? AND \(created,uid\)</);
    // Sorted rows are those of the two scans, at most a page of each.
    expect(walks).toHaveLength(2);
    expect(plan.filter((detail) => detail.startsWith('USE TEMP B-TREE'))).toHaveLength(1);
  },
);

test('SQLite listing of expired orders scans swept orders and sorts only the others', () => {
  for (const filters of [{}, { sellToken: WETH, buyToken: USDC }]) {
    const after = { creationDate: PLACED_AT, uid: uid(1) };
    const plan = planOf({ ...filters, status: { is: 'expired', now: NOW }, after, limit: 10 });
    const walks = plan.filter((detail) => /\bo\b/.test(detail));
    expect(walks[0]).toMatch(/^SEARCH o USING (COVERING )?INDEX orders_expired \(\(created,uid\)<\(\?,\?\)\)$/);
    expect(walks[1]).toMatch(/^SEARCH o USING INDEX orders_expiring \(valid_to<\?\)$/);
    expect(walks).toHaveLength(2);
  }
});
