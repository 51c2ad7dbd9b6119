import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { tradeOf } from '../../support/chain-events.ts';
import { signCancellation } from '../../support/orders.ts';
import type { AccountFixture } from './accounts-fixture.ts';
import { ALICE, accountFixture } from './accounts-fixture.ts';

/** Submits and cancels an order for each amount. */
async function cancelOrders({ book, order }: AccountFixture, amounts: readonly number[]): Promise<void> {
  for (const amount of amounts) {
    const { uid: orderUid } = await order({ sellAmount: String(amount) });
    await book.orders.cancel({ orderUids: [orderUid], ...(await signCancellation(ALICE, { orderUids: [orderUid] })) });
  }
}

const ANEW = expect.stringMatching(/^Error: the log 11155111 0x[0-9a-f]{40} does not have the entry \d+ that was read/);

describe('a book that was made anew beside a kept account store', () => {
  test.each([
    ['shorter', [1]],
    ['equally long', [1, 2, 3, 4, 5]],
    ['longer', [1, 2, 3, 4, 5, 6, 7]],
  ])('with a %s log: notifies of each cause, and reports the new log once', async (_name, amounts) => {
    const store = memoryAccountStore();
    {
      await using old = await accountFixture({ store });
      await cancelOrders(old, [11, 12, 13, 14, 15]);
      expect(await old.listNotifications()).toHaveLength(5);
    }
    await using fixture = await accountFixture({ store });
    await cancelOrders(fixture, amounts);
    expect(await fixture.listNotifications()).toHaveLength(5 + amounts.length);
    expect(fixture.failures.map(String)).toEqual([ANEW]);
    expect((await fixture.accounts.backlog()).books.map(({ entries }) => entries)).toEqual([0]);
  });

  test('shows the backlog of the new log', async () => {
    const store = memoryAccountStore();
    {
      await using old = await accountFixture({ store });
      await cancelOrders(old, [11, 12]);
      await old.settled();
    }
    const broken = {
      ...store,
      notifications: { ...store.notifications, append: () => Promise.reject(new Error('full')) },
    };
    await using fixture = await accountFixture({ store: broken });
    await cancelOrders(fixture, [1]);
    expect((await fixture.accounts.backlog()).books.map(({ entries }) => entries)).toEqual([2]);
  });

  test('creates no notification twice if the new log has the old entries', async () => {
    const store = memoryAccountStore();
    const fill = async (fixture: AccountFixture) =>
      fixture.applyBlock(1, [tradeOf(await fixture.order(), 1000n, 400n)]);
    {
      await using old = await accountFixture({ store });
      await fill(old);
      await cancelOrders(old, [11]);
      expect(await old.listNotifications()).toHaveLength(2);
    }
    await using fixture = await accountFixture({ store });
    await fill(fixture);
    await cancelOrders(fixture, [11]);
    expect(await fixture.listNotifications()).toHaveLength(2);
    const log = await store.notifications.after(0, 100);
    expect(log).toHaveLength(2);
  });

  test('creates no notification that retention would delete', async () => {
    const store = memoryAccountStore();
    await using fixture = await accountFixture({ store, retention: 1 });
    // A trade of a block that is older than a day.
    await fixture.applyBlock(1, [{ ...tradeOf(await fixture.order(), 1000n, 400n), timestamp: 1_600_000_000 }]);
    expect(await fixture.listNotifications()).toEqual([]);
  });
});
