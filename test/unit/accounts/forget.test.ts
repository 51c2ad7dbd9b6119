import type { Channel, DeliveryResult } from 'intentbook';
import { expect, test } from 'vitest';
import { ALICES, accountFixture, turns } from './accounts-fixture.ts';

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

test.each<DeliveryResult>([
  { status: 'delivered' },
  { status: 'failed', error: 'down' },
  { status: 'gone', error: 'gone' },
  { status: 'deferred' },
])('accounts.forget leaves nothing of a message that is being sent: %j', async (result) => {
  const ends: (() => void)[] = [];
  const channel: Channel = {
    name: 'slow',
    signs: false,
    confirmation: 'none',
    parseTarget: (target) => target,
    deliver: () => new Promise((resolve) => ends.push(() => resolve(result))),
  };
  await using fixture = await accountFixture({ channels: [channel] });
  const { accounts, clock, order, store, failures } = fixture;
  const subscription = { id: 's', account: ALICES, channel: 'slow', target: 't', types: ['order_expired'] } as const;
  const created = { ...subscription, state: 'active', secret: null, createdAt: clock.now() } as const;
  const nonce = { account: ALICES, nonce: '1', expiresAt: clock.now() };
  await store.subscriptions.create({ subscription: created, nonce, quota: 1, now: clock.now() });
  await order();
  clock.advance(601_000);
  await turns(() => ends.length === 1);

  expect(await accounts.forget(ALICES)).toEqual({ subscriptions: 1, notifications: 1, affiliate: 'none' });
  ends[0]?.();
  await swept();
  clock.advance(60_000);
  await swept();
  const { deliveries } = await accounts.backlog();
  expect([ends.length, failures, deliveries]).toEqual([1, [], { pending: 0, dead: 0, suspended: 0 }]);
});

test('accounts.forget rejects an invalid address', async () => {
  await using fixture = await accountFixture();
  await expect(fixture.accounts.forget('0x12')).rejects.toMatchObject({ code: 'InvalidParameter' });
});
