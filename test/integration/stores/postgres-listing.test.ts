import type { OrderQuery, StoredOrder } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, order, place, uid } from '../../conformance/orders.ts';
import { temporarySchema } from '../../support/postgres.ts';

/** The index of owners has the creation date in two columns, which change at these dates. */
const BOUNDARY = 396 * 2 ** 32;
const DISTANCES = [0, 1, 2 ** 31, 2 ** 32];
const LATEST = 2 ** 50;
const DATES = [0, ...DISTANCES.flatMap((n) => [BOUNDARY + n - 1, BOUNDARY + n]), LATEST, LATEST + 1, LATEST + 2];

test('PostgreSQL listing of an owner is sorted by creation date and reads each page from its cursor on', async () => {
  await using here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
  const store = postgresStore({ url: here.url, schema: here.schema, listen: false });
  await store.open({ domain: DOMAIN, clock: systemClock });
  try {
    const orders = [...new Set(DATES)].map((creationDate, n) => order(n, { creationDate }));
    await place(store, ...orders);
    const list = (query: Partial<OrderQuery>) => store.orders.list({ owner: ALICE, limit: 100, ...query });
    const newest = orders.map((each) => each.uid).reverse();
    const uids = (page: readonly StoredOrder[]) => page.map((each) => each.uid);
    expect(uids(await list({}))).toEqual(newest);

    const pages: string[] = [];
    for (let page = await list({ limit: 2 }); page.length > 0; ) {
      pages.push(...uids(page));
      const last = page.at(-1);
      if (last === undefined) break;
      page = await list({ limit: 2, after: { creationDate: last.creationDate, uid: last.uid } });
    }
    expect(pages).toEqual(newest);

    const after = (creationDate: number) => list({ after: { creationDate, uid: uid(0) } });
    expect(uids(await after(Number.MAX_SAFE_INTEGER))).toEqual(newest);
    expect(uids(await after(2 ** 50 + 1))).toEqual(newest.slice(2));
    expect(await after(0)).toEqual([]);
    expect(await after(-1)).toEqual([]);
  } finally {
    await store.close();
  }
});
