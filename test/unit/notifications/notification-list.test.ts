import { systemClock } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { listNotifications } from '../../../src/notifications/notification-list.ts';

const ACCOUNT = `0x${'ab'.repeat(20)}` as const;
const COUNT = 400;

/** Creates a store with notifications. `reads` has the rows of each read. */
async function createStore(onRead = () => {}) {
  const store = memoryAccountStore();
  await store.open({ clock: systemClock });
  const changes = Array.from({ length: COUNT }, (_, n) => {
    const notification = { id: `id-${n}`, account: ACCOUNT, type: 'order_filled' as const };
    return { type: 'notify' as const, notification: { ...notification, at: 1000 + (n >> 1), body: `${n}` } };
  });
  await store.notifications.append({ feed: 'test', after: null, through: 1, changes });
  const reads: number[] = [];
  const notifications: typeof store.notifications = {
    ...store.notifications,
    async list(query) {
      const rows = await store.notifications.list(query);
      reads.push(rows.length);
      onRead();
      return rows;
    },
  };
  return { store: { ...store, notifications }, reads };
}

const announceNothing = async () => ({ announcements: [], failed: false });

test('a long list is read in steps', async () => {
  const { store, reads } = await createStore();
  const all = await listNotifications(store, ACCOUNT, {}, announceNothing);
  expect(all.notifications).toEqual(Array.from({ length: COUNT }, (_, n) => String(COUNT - 1 - n)));
  expect(all.next).toBeUndefined();
  expect(reads).toEqual([128, 128, 128, 16]);
});

test('a page has the requested size, and the next one begins after it', async () => {
  const { store } = await createStore();
  const first = await listNotifications(store, ACCOUNT, { limit: 256 }, announceNothing);
  expect(first.notifications).toHaveLength(256);
  const second = await listNotifications(store, ACCOUNT, { cursor: first.next ?? '' }, announceNothing);
  expect([...first.notifications, ...second.notifications]).toHaveLength(COUNT);
  expect(second.notifications[0]).toBe(String(COUNT - 1 - 256));
});

test('an aborted list ends between two steps', async () => {
  const signal = { aborted: false };
  const { store, reads } = await createStore(() => {
    signal.aborted = true;
  });
  const listing = listNotifications(store, ACCOUNT, {}, announceNothing, { signal });
  await expect(listing).rejects.toThrow('no longer needs');
  expect(reads).toEqual([128]);
});
