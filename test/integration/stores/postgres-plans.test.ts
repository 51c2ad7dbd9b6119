import type { OrderQuery } from 'intentbook';
import { migratePostgres } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expirySql } from '../../../adapters/postgres/expiry.ts';
import { listingSql } from '../../../adapters/postgres/listing.ts';
import { pruningSql } from '../../../adapters/postgres/pruning.ts';
import { ALICE, NOW, PLACED_AT, USDC, uid, WETH } from '../../conformance/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

let here: TemporarySchema;
let client: pg.Client;

/** A book where one owner and one token have almost all orders, which misleads a planner with average statistics. */
beforeAll(async () => {
  here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
  client = new pg.Client({ connectionString: here.url });
  await client.connect();
  await client.query(`
    INSERT INTO "${here.schema}".orders (created, valid_to, signing_scheme, state, budget, live, uid, owner, sell_token,
      buy_token, app_data, body)
    SELECT ${PLACED_AT} + n, ${NOW} + n % 7200, 0, CASE WHEN n % 2 = 0 THEN 0 ELSE 2 + n / 2 % 2 END, 0, n % 2 = 0,
      decode(lpad(to_hex(n), 112, '0'), 'hex'),
      CASE WHEN n % 10 < 9 THEN '\\x${ALICE.slice(2)}'::bytea ELSE decode(lpad(to_hex(n), 40, '0'), 'hex') END,
      CASE WHEN n % 10 < 9 THEN '\\x${WETH.slice(2)}'::bytea ELSE decode(lpad(to_hex(n % 500), 40, '0'), 'hex') END,
      CASE WHEN n % 10 < 8 THEN '\\x${USDC.slice(2)}'::bytea ELSE decode(lpad(to_hex(n % 300), 40, '0'), 'hex') END,
      decode(repeat('00', 32), 'hex'), '{"filler":"' || repeat('x', 900) || '"}'
    FROM generate_series(1, 20000) n`);
  await client.query(
    `INSERT INTO "${here.schema}".owners SELECT owner, count(*) FILTER (WHERE live), 0 FROM "${here.schema}".orders GROUP BY owner`,
  );
  await client.query(`ANALYZE "${here.schema}".orders, "${here.schema}".owners`);
  await client.query('SET jit = off');
});
afterAll(async () => {
  await client.end();
  await here[Symbol.asyncDispose]();
});

interface Node {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Scan Direction'?: string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Node[];
}

/** Returns the generic plan of a listing, for any bound values. */
async function planOf(query: OrderQuery): Promise<Node[]> {
  return planOfSql(listingSql(`"${here.schema}"`, query));
}

async function planOfSql({ text, values }: { text: string; values: readonly unknown[] }): Promise<Node[]> {
  await client.query("SET plan_cache_mode = 'force_generic_plan'");
  const literals = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  await client.query(`PREPARE listing AS ${text}`);
  try {
    const { rows } = await client.query(
      `EXPLAIN (FORMAT JSON) EXECUTE listing${literals.length === 0 ? '' : `(${literals.join(', ')})`}`,
    );
    const flatten = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
    return flatten((rows[0]['QUERY PLAN'] as [{ Plan: Node }])[0].Plan);
  } finally {
    await client.query('DEALLOCATE listing');
  }
}

const FILTERS: readonly (readonly [filters: Partial<OrderQuery>, index: string])[] = [
  [{}, 'orders_newest'],
  [{ owner: ALICE }, 'orders_owner'],
  [{ sellToken: WETH }, 'orders_sell'],
  [{ buyToken: USDC }, 'orders_buy'],
  [{ sellToken: WETH, buyToken: USDC }, 'orders_sell'],
  [{ owner: ALICE, sellToken: WETH, buyToken: USDC }, 'orders_owner'],
  ...(['open', 'presignaturePending'] as const).flatMap((is) => {
    const status = { is, now: NOW };
    return [
      [{ status }, 'orders_live_newest'],
      [{ status, owner: ALICE }, 'orders_live_owner'],
      [{ status, owner: ALICE, sellToken: WETH, buyToken: USDC }, 'orders_live_owner'],
      [{ status, sellToken: WETH }, 'orders_live_sell'],
      [{ status, buyToken: USDC }, 'orders_live_buy'],
      [{ status, sellToken: WETH, buyToken: USDC }, 'orders_live_pair'],
    ] as const;
  }),
  [{ status: { is: 'expired', now: NOW }, owner: ALICE }, 'orders_owner'],
  [{ status: { is: 'expired', now: NOW }, owner: ALICE, sellToken: WETH, buyToken: USDC }, 'orders_owner'],
  ...(['cancelled', 'fulfilled'] as const).flatMap((is) => {
    const status = { is, now: NOW };
    return [
      [{ status }, 'orders_done'],
      [{ status, owner: ALICE }, 'orders_owner'],
      [{ status, sellToken: WETH, buyToken: USDC }, 'orders_done'],
    ] as const;
  }),
];

test.each(FILTERS)('PostgreSQL listing by %o scans its index backwards and sorts nothing', async (filters, index) => {
  for (const page of [{ limit: 10 }, { limit: 10, after: { creationDate: PLACED_AT + 5000, uid: uid(1) } }]) {
    const nodes = await planOf({ ...filters, ...page });
    expect(nodes.map((node) => node['Node Type']).filter((type) => /Sort|Seq|Bitmap/.test(type))).toEqual([]);
    const walks = nodes.filter((node) => node['Relation Name'] === 'orders');
    // Orders that an account placed on chain for other owners are scanned beside its own orders.
    const indexes = filters.owner === undefined ? [index] : [index, 'orders_onchain_user'];
    expect(walks.map((walk) => walk['Index Name'])).toEqual(indexes);
    expect(walks.every((walk) => walk['Node Type'] === 'Index Scan' && walk['Scan Direction'] === 'Backward')).toBe(
      true,
    );
    // One additional index lookup per document, if documents are requested.
    expect(nodes.filter((node) => node['Relation Name'] === 'documents').map((node) => node['Index Name'])).toEqual([
      'documents_pkey',
    ]);
  }
});

const EXPIRED: readonly Partial<OrderQuery>[] = [
  {},
  { sellToken: WETH },
  { buyToken: USDC },
  { sellToken: WETH, buyToken: USDC },
];

test.each(EXPIRED)(
  'PostgreSQL listing of expired orders by %o scans swept orders and sorts only the others',
  async (filters) => {
    for (const page of [{ limit: 10 }, { limit: 10, after: { creationDate: PLACED_AT + 5000, uid: uid(1) } }]) {
      const nodes = await planOf({ ...filters, ...page, status: { is: 'expired', now: NOW } });
      const walk = nodes.find((node) => node['Index Name'] === 'orders_expired');
      expect(walk).toMatchObject({ 'Node Type': 'Index Scan', 'Scan Direction': 'Backward' });
      expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
      const indexes = nodes.flatMap((node) => node['Index Name'] ?? []).filter((name) => name.startsWith('orders_'));
      expect(indexes.sort()).toEqual(['orders_expired', 'orders_expiring']);
      // Those few rows, and of them the page.
      expect(nodes.filter((node) => node['Node Type'] === 'Sort')).toHaveLength(2);
    }
  },
);

test('PostgreSQL sweep and prune scan one index as far as necessary and look up each owner', async () => {
  const { next, due } = expirySql(`"${here.schema}"`);
  const pruning = pruningSql(`"${here.schema}"`);
  for (const [text, values, index] of [
    [next, [], 'orders_expiring'],
    [due, [NOW, 500], 'orders_expiring'],
    [pruning.oldest, [], 'orders_newest'],
    [pruning.due, [PLACED_AT, NOW, 500], 'orders_newest'],
  ] as const) {
    const nodes = await planOfSql({ text, values });
    const walks = nodes.filter((node) => node['Relation Name'] === 'orders');
    expect(walks.map((node) => node['Index Name'])).toEqual([index]);
    expect(nodes.filter((node) => /Sort|Seq|Bitmap|Hash|Merge/.test(node['Node Type']))).toEqual([]);
  }
});
