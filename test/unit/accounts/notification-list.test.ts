import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import type { NotificationQuery } from '../../../src/notifications/notification-list.ts';
import { listNotifications } from '../../../src/notifications/notification-list.ts';
import { manualClock } from '../../support/clock.ts';

const ALICE = `0x${'a1'.repeat(20)}`;
const announcement = (id: number, at: number) => ({ id, at, message: `message ${id}`, metadata: {} }) as never;

/** Lists the ids of announcements, two of them at the same time. */
async function list(
  query: NotificationQuery = {},
  announcements = [1, 2, 3].map((id) => announcement(id, 1000 * (id & 2))),
) {
  const store = memoryAccountStore();
  await store.open({ clock: manualClock() });
  const { notifications, next } = await listNotifications(store, ALICE, query, async () => ({
    announcements,
    failed: false,
  }));
  return { ids: notifications.map((text) => JSON.parse(text).id), next };
}

describe('list of notifications', () => {
  test('has pages that join without a gap, also between entries of the same time', async () => {
    const first = await list({ limit: 1 });
    expect(first).toEqual({ ids: ['cms-3'], next: '2000-0-3' });
    const second = await list({ limit: 1, cursor: first.next ?? '' });
    expect(second).toEqual({ ids: ['cms-2'], next: '2000-0-2' });
    expect(await list({ limit: 1, cursor: second.next ?? '' })).toEqual({ ids: ['cms-1'], next: undefined });
    expect(await list({ cursor: '2000-0' })).toEqual({ ids: ['cms-1'], next: undefined });
    expect(await list({}, [])).toEqual({ ids: [], next: undefined });
  });

  test.each([0, -1, 1.5, 1001, Number.NaN, Number.POSITIVE_INFINITY])('rejects the limit %d', async (limit) => {
    await expect(list({ limit })).rejects.toMatchObject({
      code: 'InvalidParameter',
      message: 'limit: must be an integer from 1 to 1000',
      data: { parameter: 'limit' },
    });
  });

  test.each([1, 1000])('accepts the limit %i', async (limit) => {
    expect((await list({ limit })).ids).toHaveLength(Math.min(limit, 3));
  });

  test.each(['', '5', '1-', '-1', 'x1-2', '1-2x', '1-2-', '1-2-3-4', '1-2-3x', `${'9'.repeat(16)}-1`, '1.5-2'])(
    'rejects the cursor %j',
    async (cursor) => {
      await expect(list({ cursor })).rejects.toMatchObject({
        code: 'InvalidParameter',
        message: 'cursor: must be the `next` value of a page',
        data: { parameter: 'cursor' },
      });
    },
  );

  test('accepts a cursor with numbers of 15 digits', async () => {
    const digits = '9'.repeat(15);
    expect((await list({ cursor: `${digits}-${digits}-${digits}` })).ids).toHaveLength(3);
  });
});
