import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { accountFixture, settle } from './accounts-fixture.ts';

test('notifications report log entries that were deleted before they were read', async () => {
  const store = memoryStore();
  const accountStore = memoryAccountStore();
  await using fixture = await accountFixture({ store: accountStore, bookOptions: { store, expiryInterval: 'off' } });
  const { book, accounts, failures, order, clock } = fixture;
  await order();
  await settle(book, accountStore);
  await accounts.close();
  await order({ sellAmount: '1001' });
  await order({ sellAmount: '1002' });
  await store.retention.pruneEvents({ before: Number.POSITIVE_INFINITY, through: 2, limit: 100 });
  await accounts.start();
  await settle(book, accountStore);
  clock.advance(10_000);
  expect(failures.map(String)).toEqual([
    `Error: entries 2 to 2 of the log 11155111 ${book.settlementContract} were deleted before they caused notifications`,
  ]);
  // The entries that are left were processed.
  expect(await accountStore.notifications.cursor(`log 11155111 ${book.settlementContract}`)).toBe(3);
});
