import type { Hex } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import type { OrderStatus } from 'intentbook/store-kit';
import { checkCancellable, getEndTime, getLogEpochStart, getOrderStatus, ORDER_STATUSES } from 'intentbook/store-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { QUOTA_CLASSES, SCHEMES } from '#internal';
import { getEpochStart } from '../../../adapters/postgres/log-epoch.ts';
import { PHASES, sqlUid, toKey, toUid } from '../../../adapters/postgres/rows.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, NOW, PLACED_AT, USDC, uid, WETH } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

/** Order of the codes that `cancel_rejection` returns. */
const REASONS = [undefined, 'missing', 'fulfilled', 'cancelled', 'expired', 'on-chain'] as const;

/** Every phase, scheme, quota class, validity around the present and creation around it. */
const ORDERS = PHASES.flatMap(({ state }, phase) =>
  SCHEMES.flatMap((signingScheme, scheme) =>
    QUOTA_CLASSES.flatMap((_, quotaClass) =>
      [-1, 0, 1].flatMap((left) =>
        [PLACED_AT, (NOW + 1) * 1000 + 999].map((creationDate) => {
          const validTo = NOW + left;
          return { phase, state, scheme, signingScheme, quotaClass, validTo, creationDate };
        }),
      ),
    ),
  ),
).map((row, i) => ({ ...row, uid: `${uid(i + 1).slice(0, 106)}${row.validTo.toString(16)}` as Hex }));

type Row = (typeof ORDERS)[number];

let here: TemporarySchema;
beforeAll(async () => {
  here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
  const values = ORDERS.map(
    ({ phase, scheme, quotaClass, validTo, creationDate, uid: each }) =>
      `(${creationDate}, ${validTo}, ${scheme}, ${phase}, ${quotaClass}, '${toKey(each)}'::bytea)`,
  );
  await here.query(`INSERT INTO "${here.schema}".orders (created, valid_to, signing_scheme, phase, quota_class, key, owner, sell_token,
    buy_token, app_data, body) SELECT v.*, '\\x${ALICE.slice(2)}', '\\x${WETH.slice(2)}', '\\x${USDC.slice(2)}',
    decode(repeat('00', 32), 'hex'), '{"kind":"sell"}' FROM (VALUES ${values.join()}) v`);
});
afterAll(async () => await here[Symbol.asyncDispose]());

/** Evaluates SQL for each order, by UID. */
async function evaluate(sql: string): Promise<ReadonlyMap<string, unknown>> {
  const rows = await here.query(`SELECT '0x' || encode(${sqlUid('key')}, 'hex') AS uid, ${sql} AS value
    FROM "${here.schema}".orders`);
  return new Map(rows.map((row) => [String(row['uid']), row['value']]));
}

const byTwin = (twin: (row: Row) => unknown) => new Map(ORDERS.map((row) => [row.uid, twin(row)]));
const sorted = (map: ReadonlyMap<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe('rule that SQL repeats', () => {
  test.each<[string, () => string, (row: Row) => unknown]>([
    [
      'checkCancellable',
      () => `"${here.schema}".cancel_rejection(phase, valid_to, signing_scheme, ${NOW})`,
      (row) => REASONS.indexOf(checkCancellable(row, NOW)),
    ],
    [
      'getEndTime',
      () => `(valid_to < ${NOW + 1} AND created < ${NOW + 1} * 1000::bigint)`,
      (row) => getEndTime(row) < NOW + 1,
    ],
    ['toUid', () => `'0x' || encode(${sqlUid('key')}, 'hex')`, (row) => toUid(toKey(row.uid))],
  ])('%s agrees with its twin', async (_, sql, twin) => {
    expect(sorted(await evaluate(sql()))).toEqual(sorted(byTwin(twin)));
  });

  test('cancel_rejection of an absent order agrees with checkCancellable', async () => {
    const [row] = await here.query(`SELECT "${here.schema}".cancel_rejection(NULL, NULL, NULL, ${NOW}) AS code`);
    expect(REASONS[Number(row?.['code'])]).toBe(checkCancellable(undefined, NOW));
  });

  test.each(ORDER_STATUSES)('the filter of the status %s agrees with getOrderStatus', async (is: OrderStatus) => {
    const store = postgresStore({ url: here.url, schema: here.schema, listen: false });
    await store.open({ domain: DOMAIN, clock: manualClock() });
    const found = await store.orders.list({ status: { is, now: NOW }, limit: ORDERS.length });
    await store.close();
    // An expiry that was recorded too early counts in listings until the sweep reverts it.
    const isEarly = (row: Row) => PHASES[row.phase]?.expiryRecorded === true && row.validTo >= NOW;
    const early = new Set<string>(ORDERS.filter(isEarly).map((row) => row.uid));
    const expected = ORDERS.filter((row) => !isEarly(row) && getOrderStatus(row, NOW) === is).map((row) => row.uid);
    expect(found.flatMap((row) => (early.has(row.uid) ? [] : [row.uid])).sort()).toEqual(expected.sort());
  });

  test.each(QUOTA_CLASSES.map((name, code) => [name, code] as const))(
    'live_count of the class %s agrees with getOrderStatus',
    async (_, code) => {
      const s = `"${here.schema}"`;
      const counted = `count(*) FILTER (WHERE phase < 2 AND quota_class = 0), count(*) FILTER (WHERE phase < 2 AND quota_class = 1)`;
      await here.query(
        `INSERT INTO ${s}.owners SELECT owner, ${counted} FROM ${s}.orders GROUP BY owner ON CONFLICT DO NOTHING`,
      );
      const isLive = (row: Row) =>
        !PHASES[row.phase]?.expiryRecorded && /^(open|presign)/.test(getOrderStatus(row, NOW));
      const [row] = await here.query(`SELECT ${s}.live_count('\\x${ALICE.slice(2)}', ${code}, ${NOW})::integer AS n`);
      expect(row?.['n']).toBe(ORDERS.filter((each) => each.quotaClass === code && isLive(each)).length);
    },
  );

  test.each([0, 5, 1e12, 4e15])('getEpochStart after %d agrees with getLogEpochStart', async (last) => {
    for (const now of [0, 1_700_000_000_000, 1_800_000_000_123, 9_000_000_000_000]) {
      const sql = getEpochStart(String(last)).replaceAll('clock_timestamp()', `to_timestamp(${now}::numeric / 1000)`);
      const [row] = await here.query(`SELECT (${sql})::text AS start`);
      expect(Number(row?.['start'])).toBe(getLogEpochStart(last, now));
    }
  });
});
