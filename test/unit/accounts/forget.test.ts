import { expect, test } from 'vitest';
import { ALICES, accountFixture } from './accounts-fixture.ts';

/** Lets the sweep of the book end. */
const swept = async () => {
  for (let i = 0; i < 100; i++) await Promise.resolve();
};

test('accounts.forget deletes the notifications of an account, and keeps its orders', async () => {
  await using fixture = await accountFixture();
  const { accounts, book, clock, order, settled, listNotifications } = fixture;
  const { uid } = await order();
  clock.advance(601_000);
  await swept();
  await settled();
  expect(await listNotifications()).toMatchObject([{ type: 'order_expired' }]);

  const forgotten = { subscriptions: 0, notifications: 1, affiliate: 'none' };
  expect(await accounts.forget(ALICES.toUpperCase().replace('0X', '0x'))).toEqual(forgotten);
  expect(await listNotifications()).toEqual([]);
  expect(await book.orders.get(uid)).toMatchObject({ uid, status: 'expired' });

  await order();
  clock.advance(601_000);
  await swept();
  await settled();
  expect(await listNotifications()).toMatchObject([{ type: 'order_expired' }]);
});

test('accounts.forget rejects an invalid address', async () => {
  await using fixture = await accountFixture();
  await expect(fixture.accounts.forget('0x12')).rejects.toMatchObject({ code: 'InvalidParameter' });
});
