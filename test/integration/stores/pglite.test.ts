import { PGlite } from '@electric-sql/pglite';
import { createOrderBook } from 'intentbook';
import { pgliteAccountStore, pgliteStore } from 'intentbook/postgres';
import { afterAll, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { emptySchema } from '../../support/postgres.ts';
import { describeAccountConformance, describeConformance } from './conformance.ts';
import { emptyAccountSchema } from './postgres-account-schema.ts';

const database = await PGlite.create();
afterAll(() => database.close());

const place = (schema: string) => ({
  url: '',
  schema,
  query: async (text: string) => ((await database.exec(text)).at(-1)?.rows ?? []) as Record<string, unknown>[],
  [Symbol.asyncDispose]: async () => {},
});

/** PGlite decodes text without the byte order mark at its start. The bytes in the table are complete. */
const MARK = 'PGlite drops a byte order mark at the start of a text';

describeConformance('PostgreSQL store on PGlite', {
  traits: pgliteStore(database).traits,
  exceptions: {
    'returns a document unchanged, and undefined for an unknown hash': MARK,
    'stores a document with its order and returns both unchanged': MARK,
  },
  create: async () => ({
    connect: () => pgliteStore(database),
    dispose: () => emptySchema(place('intentbook')),
  }),
});

describeAccountConformance('PostgreSQL account store on PGlite', {
  traits: pgliteAccountStore(database).traits,
  create: async () => ({
    connect: () => pgliteAccountStore(database),
    dispose: () => emptyAccountSchema(place('intentbook_accounts')),
  }),
});

test('book on PGlite serves an order, and leaves the database to the application', async () => {
  const store = pgliteStore(database, { schema: 'books' });
  const book = createOrderBook({ chainId: SEPOLIA, store });
  await book.start();
  const validTo = Math.floor(Date.now() / 1000) + 600;
  const result = await book.orders.submit(await signOrder(account(1), { validTo }));
  if (result.status !== 'accepted') throw result.error;
  expect(await book.orders.get(result.uid)).toMatchObject({ uid: result.uid, status: 'open' });
  await book.close();
  const { rows } = await database.query<{ n: number }>('SELECT count(*)::integer AS n FROM books.orders');
  expect(rows).toEqual([{ n: 1 }]);
});

test('store on PGlite does not join a transaction of the host', () => {
  expect(pgliteStore(database).traits).toEqual({
    name: 'postgres',
    durable: false,
    writers: 'many',
    hostTransaction: false,
  });
});
