import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
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

test('SQLite file has no bytes of a forgotten account, before and after it is closed', async () => {
  using file = temporaryFile();
  const store = sqliteAccountStore({ path: file.path });
  await store.open({ clock: systemClock });
  const account = `0x${'11'.repeat(20)}` as const;
  const now = systemClock.now();
  // More rows than fit in a page.
  for (let i = 0; i < 50; i++) {
    const id = String(i).padStart(32, '0');
    const subscription = { id, account, channel: 'email', target: `personal${i}@example.org`, createdAt: now };
    const outcome = await store.subscriptions.create({
      subscription: { ...subscription, secret: 'whsec_personal', types: ['order_filled'], state: 'active' },
      nonce: { account, nonce: String(i), expiresAt: now },
      quota: 50,
      now,
    });
    assert.equal(outcome.status, 'created');
  }
  const hasBytes = () =>
    [file.path, `${file.path}-wal`].some((path) => existsSync(path) && readFileSync(path).includes('personal'));
  assert.ok(hasBytes());
  await store.forget(account);
  assert.ok(!hasBytes());
  await store.close();
  assert.ok(!hasBytes());
});
