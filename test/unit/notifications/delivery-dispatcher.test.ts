import type { Address, Channel, Subscription } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { createDeliveryDispatcher } from '../../../src/notifications/delivery-dispatcher.ts';
import { manualClock } from '../../support/clock.ts';

const HOUR = 3_600_000;
const addressOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;

/**
 * A dispatcher over the memory store with a channel whose targets are `host/path`. Hosts named `slow…` never respond,
 * and the first attempt at a host named `flaky…` fails.
 */
async function fixture() {
  const clock = manualClock();
  const store = memoryAccountStore();
  await store.open({ clock });
  const delivered: string[] = [];
  const running: { readonly target: string; readonly account: Address }[] = [];
  const timeouts: number[] = [];
  /** Ids of all attempts. */
  const attempts: string[] = [];
  const channel: Channel = {
    name: 'test',
    signs: false,
    confirmation: 'none',
    parseTarget: (target) => target,
    getHost: (target) => target.split('/')[0],
    async deliver({ id, subscription: { target, account } }, { signal }) {
      attempts.push(id);
      if (target.startsWith('flaky') && attempts.length === 1) return { status: 'failed', error: 'not reachable' };
      if (target.startsWith('refused')) throw new AggregateError([new Error('connect ECONNREFUSED ::1:80')]);
      if (!target.startsWith('slow')) {
        delivered.push(target);
        return { status: 'delivered' };
      }
      const attempt = { target, account };
      const startedAt = clock.now();
      running.push(attempt);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      timeouts.push(clock.now() - startedAt);
      running.splice(running.indexOf(attempt), 1);
      return { status: 'delivered' };
    },
  };
  const dispatcher = createDeliveryDispatcher({
    store,
    clock,
    channels: new Map([['test', channel]]),
    attempts: 3,
    retryDelay: 1000,
    maxRetryDelay: HOUR,
    timeout: 15_000,
    jitter: () => 0.5,
    onFailure(failure) {
      throw failure;
    },
  });
  let subscriptions = 0;
  let cursor = 0;

  return {
    clock,
    store,
    delivered,
    running,
    timeouts,
    attempts,
    dispatcher,
    async subscribe(account: Address, target: string) {
      const n = ++subscriptions;
      const subscription: Subscription = {
        id: `subscription-${n}`,
        account,
        channel: 'test',
        target,
        secret: null,
        types: ['order_cancelled'],
        state: 'active',
        createdAt: clock.now(),
      };
      const nonce = { account, nonce: String(n), expiresAt: clock.now() + HOUR };
      await store.subscriptions.create({ subscription, nonce, quota: 100, now: clock.now() });
    },
    /** Creates a notification for each account. */
    async notify(...accounts: Address[]) {
      const changes = accounts.map((account) => {
        const id = `notification-${account}-${++cursor}`;
        const body = JSON.stringify({ id, account });
        return {
          type: 'notify',
          notification: { id, account, type: 'order_cancelled', at: clock.now(), body },
        } as const;
      });
      const after = await store.notifications.cursor('test');
      const outcome = await store.notifications.append({ feed: 'test', after, through: cursor, changes });
      expect(outcome.status).toBe('appended');
      dispatcher.wake();
      await settled();
    },
    settled,
  };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('delivery dispatcher', () => {
  test('names the reason of a failure that has no message', async () => {
    const { subscribe, notify, store, dispatcher } = await fixture();
    await subscribe(addressOf(1), 'refused.example/');
    dispatcher.start();
    await notify(addressOf(1));
    const deliveries = await store.deliveries.list({ state: 'pending', limit: 10 });
    expect(deliveries).toMatchObject([{ error: 'connect ECONNREFUSED ::1:80' }]);
  });

  test('delivers to others at once while two accounts have many slow targets', async () => {
    const { subscribe, notify, delivered, running, dispatcher } = await fixture();
    const [first, second, other] = [addressOf(1), addressOf(2), addressOf(3)];
    for (let n = 0; n < 20; n++) {
      await subscribe(first, `slow-${n}.example/`);
      await subscribe(second, `slow-${n}.example/`);
    }
    await subscribe(other, 'fast.example/');
    dispatcher.start();
    await notify(first, second);
    await notify(first, second, other);
    expect(delivered).toEqual(['fast.example/']);
    for (const account of [first, second]) expect(running.filter((each) => each.account === account)).toHaveLength(2);
  });

  test('delivers at once to a target that works while 100 accounts have slow targets', async () => {
    const { subscribe, notify, delivered, running, dispatcher } = await fixture();
    const strangers = Array.from({ length: 100 }, (_, n) => addressOf(n + 1));
    for (const [n, account] of strangers.entries())
      for (let i = 0; i < 5; i++) await subscribe(account, `slow-${n}-${i}.example/`);
    await subscribe(addressOf(999), 'fast.example/');
    dispatcher.start();
    await notify(addressOf(999));
    await notify(...strangers);
    await notify(addressOf(999));
    expect(delivered).toEqual(['fast.example/', 'fast.example/']);
    expect(running).toHaveLength(16);
  });

  test('makes at most four attempts to one host at a time', async () => {
    const { clock, subscribe, notify, delivered, running, settled, dispatcher } = await fixture();
    const accounts = Array.from({ length: 30 }, (_, n) => addressOf(n + 1));
    for (const account of accounts) await subscribe(account, 'slow.example/');
    await subscribe(addressOf(99), 'fast.example/');
    dispatcher.start();
    await notify(...accounts, addressOf(99));
    // It is due after the others.
    expect(delivered).toEqual(['fast.example/']);
    for (let n = 0; n < 4; n++) {
      expect(running).toHaveLength(4);
      clock.advance(1000);
      await settled();
    }
  });

  test('shortens the timeout of a host that is new or was slow', async () => {
    const { clock, subscribe, notify, timeouts, settled, dispatcher } = await fixture();
    await subscribe(addressOf(1), 'slow.example/');
    dispatcher.start();
    for (let n = 0; n < 2; n++) await notify(addressOf(1));
    for (let n = 0; n < 60; n++) {
      clock.advance(500);
      await settled();
    }
    expect(timeouts.slice(0, 2)).toEqual([5_000, 5_000]);
  });

  test('delivers once after a retry during which the clock stepped forward', async () => {
    const { clock, subscribe, notify, attempts, delivered, dispatcher } = await fixture();
    await subscribe(addressOf(1), 'flaky.example/');
    dispatcher.start();
    await notify(addressOf(1));
    expect([attempts.length, delivered.length]).toEqual([1, 0]);
    clock.jump(2 * HOUR);
    clock.advance(5_000);
    await settled();
    clock.advance(HOUR);
    await settled();
    expect(delivered).toEqual(['flaky.example/']);
    expect([attempts.length, new Set(attempts).size]).toEqual([2, 1]);
    await dispatcher.stop();
  });

  test('delivers once after a retry during which the clock stepped back by more than the maximum delay', async () => {
    const { clock, subscribe, notify, attempts, delivered, dispatcher } = await fixture();
    await subscribe(addressOf(1), 'flaky.example/');
    dispatcher.start();
    await notify(addressOf(1));
    clock.jump(-2 * HOUR);
    clock.advance(5_000);
    await settled();
    expect(delivered).toEqual(['flaky.example/']);
    expect([attempts.length, new Set(attempts).size]).toEqual([2, 1]);
    await dispatcher.stop();
  });
});
