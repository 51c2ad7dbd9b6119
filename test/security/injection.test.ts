import type { Store } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { expect, test } from 'vitest';
import { temporaryFile } from '../integration/stores/temporary.ts';
import { temporarySchema } from '../support/postgres.ts';
import { accepted, admissionFixture, orderOf } from '../unit/orders/admission-fixture.ts';

/** Texts that break out of a string, an identifier, a placeholder, a pattern, a comment or a notification. */
const HOSTILE = [
  `'); DROP TABLE orders; --`,
  `'; DELETE FROM orders WHERE '1'='1`,
  `" OR 1=1 --`,
  '$1',
  '$$; SELECT 1; $$',
  ':name',
  '?',
  '?1',
  '%',
  '_',
  '\\',
  "\\'",
  `\\\\'; --`,
  '/* */',
  '-1',
  '--',
  '\u0001',
  'NOTIFY x',
  '\u2028',
  "E'\\''",
  'U&"\\0041"',
  '{{1}}',
];
const DOCUMENT = JSON.stringify({ appCode: HOSTILE, metadata: {} });

const stores: readonly [name: string, open: () => Promise<{ store: Store; done: () => Promise<void> }>][] = [
  ['memory', async () => ({ store: memoryStore(), done: async () => {} })],
  [
    'SQLite',
    async () => {
      const file = temporaryFile();
      return { store: sqliteStore({ path: file.path }), done: async () => file[Symbol.dispose]() };
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const place = await temporarySchema();
      const { url, schema } = place;
      return { store: postgresStore({ url, schema, migrate: true }), done: async () => place[Symbol.asyncDispose]() };
    },
  ],
];

test.each(stores)('input is never executed as SQL: %s', async (_, open) => {
  const { store, done } = await open();
  const fixture = await admissionFixture({ store });
  const { book, http } = fixture;
  const uid = await accepted(book, await orderOf({ appData: DOCUMENT }));
  const stored = await book.orders.get(uid);
  expect(stored?.fullAppData).toBe(DOCUMENT);
  expect(await book.appData.put(JSON.stringify({ HOSTILE }))).toMatchObject({ status: 'stored' });

  const before = await book.orders.list({});
  for (const text of HOSTILE) {
    const encoded = encodeURIComponent(text);
    const targets = [
      ...['owner', 'sellToken', 'buyToken', 'status', 'cursor', 'limit', 'offset'].map(
        (name) => `/api/v1/orders?${name}=${encoded}`,
      ),
      `/api/v1/orders/${encoded}`,
      `/api/v1/account/${encoded}/orders`,
      `/api/v1/trades?owner=${encoded}`,
      `/api/v1/app_data/${encoded}`,
      `/api/v1/transactions/${encoded}/orders`,
      `/api/v1/users/${encoded}/total_surplus`,
    ];
    for (const target of targets) expect((await http.send('GET', target)).status, target).toBeLessThan(500);
  }
  expect(await book.orders.list({})).toEqual(before);
  expect(fixture.failures).toEqual([]);
  await fixture[Symbol.asyncDispose]();
  await done();
});
