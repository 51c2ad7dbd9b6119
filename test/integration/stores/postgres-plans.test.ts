import type { OrderQuery } from 'intentbook';
import { migratePostgres } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expirySql } from '../../../adapters/postgres/expiry.ts';
import { listingSql } from '../../../adapters/postgres/listing.ts';
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
    INSERT INTO "${here.schema}".orders (created, valid_to, signing_scheme, phase, quota_class, key, owner, sell_token,
      buy_token, app_data, body)
    SELECT ${PLACED_AT} + n, ${NOW} + n % 7200, 0, CASE WHEN n % 2 = 0 THEN 0 ELSE 2 + n / 2 % 4 END, 0,
      decode(lpad(to_hex(${NOW} + n % 7200), 8, '0') || lpad(to_hex(n), 104, '0'), 'hex'),
      CASE WHEN n % 10 < 9 THEN '\\x${ALICE.slice(2)}'::bytea ELSE decode(lpad(to_hex(n), 40, '0'), 'hex') END,
      CASE WHEN n % 10 < 9 THEN '\\x${WETH.slice(2)}'::bytea ELSE decode(lpad(to_hex(n % 500), 40, '0'), 'hex') END,
      CASE WHEN n % 10 < 8 THEN '\\x${USDC.slice(2)}'::bytea ELSE decode(lpad(to_hex(n % 300), 40, '0'), 'hex') END,
      decode(repeat('00', 32), 'hex'), '{"filler":"' || repeat('x', 900) || '"}'
    FROM generate_series(1, 20000) n`);
  await client.query(
    `INSERT INTO "${here.schema}".owners SELECT owner, count(*) FILTER (WHERE phase < 2), 0 FROM "${here.schema}".orders GROUP BY owner`,
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

/** The index of each combination of filters. With an owner or one token, further filters are applied to its rows. */
const FILTERS: readonly (readonly [filters: Partial<OrderQuery>, index: string])[] = (
  [
    [{}, 'orders_newest'],
    [{ owner: ALICE }, 'orders_owner'],
    [{ sellToken: WETH }, 'orders_sell'],
    [{ buyToken: USDC }, 'orders_buy'],
    [{ owner: ALICE, sellToken: WETH, buyToken: USDC }, 'orders_owner'],
  ] as const
).flatMap(([filters, index]) => [
  [filters, index] as const,
  ...(['open', 'presignaturePending', 'cancelled', 'fulfilled', 'expired'] as const).map(
    (is) => [{ ...filters, status: { is, now: NOW } }, index] as const,
  ),
]);

/** Returns the indexes of the scans of orders that are sorted before they are limited. */
function listSortsOfScans(node: Node, isSorted = false): string[] {
  if (node['Relation Name'] === 'orders') return isSorted ? [node['Index Name'] ?? 'none'] : [];
  const type = node['Node Type'];
  return (node.Plans ?? []).flatMap((each) =>
    listSortsOfScans(each, type.endsWith('Sort') || (isSorted && type !== 'Limit')),
  );
}

test.each(FILTERS)('PostgreSQL listing by %o scans one index backwards per phase', async (filters, index) => {
  for (const page of [{ limit: 10 }, { limit: 10, after: { creationDate: PLACED_AT + 5000, uid: uid(1) } }]) {
    const nodes = await planOf({ ...filters, ...page });
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const scans = nodes.filter((node) => node['Relation Name'] === 'orders');
    const recorded = scans.filter(
      (scan) => scan['Node Type'] === 'Index Scan' && scan['Index Name'] !== 'orders_expiry',
    );
    // Orders that an account placed on chain for other owners are scanned beside its own orders.
    const indexes = filters.owner === undefined ? [index] : [index, 'orders_onchain_user'];
    expect([...new Set(recorded.map((scan) => scan['Index Name']))].sort()).toEqual([...indexes].sort());
    expect(recorded.every((scan) => scan['Scan Direction'] === 'Backward')).toBe(true);
    // Only the orders of a page are sorted, except for the few whose expiry the next sweep records.
    const [root] = nodes;
    if (root === undefined) throw new Error('the plan is empty');
    expect(listSortsOfScans(root)).toEqual(filters.status?.is === 'expired' ? ['orders_expiry'] : []);
    expect(scans.length - recorded.length).toBe(filters.status?.is === 'expired' ? 1 : 0);
  }
});

test('PostgreSQL sweep scans one index as far as necessary and looks up each owner', async () => {
  const { next, due } = expirySql(`"${here.schema}"`);
  for (const [text, values, index] of [
    [next, [], 'orders_expiry'],
    [due, [NOW, 500], 'orders_expiry'],
  ] as const) {
    const nodes = await planOfSql({ text, values });
    const walks = nodes.filter((node) => node['Relation Name'] === 'orders');
    expect(walks.map((node) => node['Index Name'])).toEqual([index]);
    expect(nodes.filter((node) => /Sort|Seq|Bitmap|Hash|Merge/.test(node['Node Type']))).toEqual([]);
  }
});
