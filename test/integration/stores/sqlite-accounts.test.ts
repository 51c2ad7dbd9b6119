import assert from 'node:assert/strict';
import { systemClock } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { test } from 'vitest';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';
import { describeAccountConformance } from './conformance.ts';
import { temporaryFile } from './temporary.ts';

describeAccountConformance('the SQLite account store keeps the contract', {
  traits: sqliteAccountStore({ path: 'never-opened' }).traits,
  async create() {
    const file = temporaryFile();
    return {
      connect: () => sqliteAccountStore({ path: file.path, synchronous: 'FULL' }),
      dispose: async () => file[Symbol.dispose](),
    };
  },
});

test('SQLite file belongs to a book or to the account interface and rejects a second writer', async () => {
  using file = temporaryFile();
  const store = sqliteAccountStore({ path: file.path });
  await store.open({ clock: systemClock });
  await assert.rejects(sqliteAccountStore({ path: file.path }).open({ clock: systemClock }), { code: 'WriterActive' });
  await store.close();
  const book = sqliteStore({ path: file.path });
  await assert.rejects(book.open({ domain: SEPOLIA_DOMAIN, clock: systemClock }), { code: 'DomainMismatch' });
});
