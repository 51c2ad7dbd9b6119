import { systemClock } from 'intentbook';
import type { PgPool } from 'intentbook/postgres';
import { postgresAccountStore } from 'intentbook/postgres';
import { expect, test } from 'vitest';
import { ALICE } from '../../conformance/orders.ts';
import { temporarySchema } from '../../support/postgres.ts';

test('PostgreSQL account store: notifications are appended although other processes cannot be notified', async () => {
  await using place = await temporarySchema();
  const failed: string[] = [];
  const pool: PgPool = {
    async connect() {
      const client = await place.pool.connect();
      return {
        query(query) {
          if (!query.text.includes('pg_notify')) return client.query(query as never);
          failed.push(query.text);
          return Promise.reject(new Error('Connection terminated unexpectedly'));
        },
        release: (error) => client.release(error),
      };
    },
  };
  const store = postgresAccountStore(pool, { schema: place.schema, migrate: true });
  await store.open({ clock: systemClock });
  const notification = { id: 'n1', account: ALICE, type: 'order_filled', at: 1, body: '{}' } as const;
  const changes = [{ type: 'notify', notification }] as const;
  try {
    const outcome = await store.notifications.append({ feed: 'book', after: null, through: 1, changes });
    expect(outcome).toEqual({ status: 'appended', changed: 1 });
    expect(failed).toHaveLength(1);
    expect(await store.notifications.cursor('book')).toBe(1);
  } finally {
    await store.close();
  }
});
