import assert from 'node:assert/strict';
import type { AccountStore, NewNotification, NotificationChange, ProgressMarker } from 'intentbook';
import { ALICE, BOB, range } from '../orders.ts';
import type { AccountRule } from './harness.ts';
import { AT } from './harness.ts';

/** Returns the suite's n-th notification of Alice. */
export function notification(n: number, changes: Partial<NewNotification> = {}): NewNotification {
  return {
    id: `notification-${n}`,
    account: ALICE,
    type: 'order_filled',
    at: AT + n,
    body: JSON.stringify({ id: `notification-${n}`, message: `the ${n}th, “quoted”` }),
    ...changes,
  };
}

export const notify = (...notifications: NewNotification[]): NotificationChange[] =>
  notifications.map((each) => ({ type: 'notify', notification: each }));
export const withdraw = (n: number): NotificationChange => ({ type: 'withdraw', id: `notification-${n}` });

/** Advances a feed by one batch. */
export async function step(
  store: AccountStore,
  changes: readonly NotificationChange[],
  marks: readonly ProgressMarker[] = [],
): Promise<number> {
  const after = await store.notifications.cursor('book');
  const outcome = await store.notifications.append({
    feed: 'book',
    after,
    through: (after ?? 0) + 1,
    changes,
    marks,
  });
  assert.equal(outcome.status, 'appended');
  return outcome.status === 'appended' ? outcome.changed : 0;
}

const idsOf = async (store: AccountStore, account = ALICE) =>
  (await store.notifications.list({ account, limit: 1000 })).map(({ id }) => id);

export const NOTIFICATIONS: readonly AccountRule[] = [
  {
    name: 'has no cursor, notification or entry while the store is empty',
    async run({ store }) {
      assert.equal(await store.notifications.cursor('book'), null);
      assert.deepEqual(await store.notifications.list({ account: ALICE, limit: 10 }), []);
      assert.equal(await store.notifications.last(), 0);
      assert.deepEqual(await store.notifications.after(0, 10), []);
      assert.deepEqual(await store.notifications.after(0, 10, ALICE), []);
      assert.deepEqual(await store.notifications.marks('book', ['a']), []);
    },
  },
  {
    name: 'writes notifications, entries, marks and cursor of a batch together',
    async run({ store }) {
      const outcome = await store.notifications.append({
        feed: 'book',
        after: null,
        through: 7,
        changes: notify(notification(1), notification(2, { account: BOB })),
        marks: [{ key: 'a', value: '1' }],
      });
      assert.deepEqual(outcome, { status: 'appended', changed: 2 });
      assert.equal(await store.notifications.cursor('book'), 7);
      assert.deepEqual(await store.notifications.list({ account: ALICE, limit: 10 }), [
        { id: 'notification-1', seq: 1, at: AT + 1, body: notification(1).body },
      ]);
      assert.deepEqual(await store.notifications.after(0, 10), [
        { id: 1, account: ALICE, type: 'notification', notification: 'notification-1', body: notification(1).body },
        { id: 2, account: BOB, type: 'notification', notification: 'notification-2', body: notification(2).body },
      ]);
      assert.equal(await store.notifications.last(), 2);
      assert.deepEqual(await store.notifications.marks('book', ['a', 'b', 'a']), [{ key: 'a', value: '1' }]);
    },
  },
  {
    name: 'writes nothing of a batch derived from another cursor and returns the current cursor',
    async run({ store }) {
      await step(store, notify(notification(1)));
      for (const after of [null, 0, 2]) {
        const outcome = await store.notifications.append({
          feed: 'book',
          after,
          through: 9,
          changes: [...notify(notification(2)), withdraw(1)],
          marks: [{ key: 'a', value: '1' }],
        });
        assert.deepEqual(outcome, { status: 'moved', cursor: 1 });
      }
      assert.deepEqual(await idsOf(store), ['notification-1']);
      assert.equal(await store.notifications.last(), 1);
      assert.deepEqual(await store.notifications.marks('book', ['a']), []);
    },
  },
  {
    name: 'lets exactly one of several concurrent batches advance a cursor, also for an empty log',
    async run({ writers }) {
      for (const after of [null, 1, 2]) {
        const outcomes = await Promise.all(
          range(12).map(async (n) =>
            writers[n % writers.length]?.notifications.append({
              feed: 'book',
              after,
              through: (after ?? 0) + 1,
              changes: notify(notification(100 * (after ?? 0) + n)),
            }),
          ),
        );
        assert.equal(outcomes.filter((outcome) => outcome?.status === 'appended').length, 1);
      }
      assert.equal((await idsOf(writers[0] as AccountStore)).length, 3); // always present
    },
  },
  {
    name: 'keeps the cursors and marks of separate logs apart',
    async run({ store }) {
      await step(store, [], [{ key: 'a', value: '1' }]);
      const other = { feed: 'other', after: null, through: 50, changes: notify(notification(1)) };
      assert.equal((await store.notifications.append({ ...other, marks: [] })).status, 'appended');
      assert.equal(await store.notifications.cursor('book'), 1);
      assert.equal(await store.notifications.cursor('other'), 50);
      assert.deepEqual(await store.notifications.marks('other', ['a']), []);
    },
  },
  {
    name: 'replaces and removes marks',
    async run({ store }) {
      await step(
        store,
        [],
        [
          { key: 'a', value: '1' },
          { key: 'b', value: '2' },
        ],
      );
      await step(
        store,
        [],
        [
          { key: 'a', value: 'x' },
          { key: 'b', value: null },
          { key: 'c', value: null },
        ],
      );
      assert.deepEqual(await store.notifications.marks('book', ['a', 'b', 'c']), [{ key: 'a', value: 'x' }]);
    },
  },
  {
    name: 'stores a repeated notification once and keeps the first version',
    async run({ store }) {
      assert.equal(await step(store, notify(notification(1), notification(1))), 1);
      assert.equal(await step(store, notify(notification(1, { at: AT + 99, body: '{"other":true}' }))), 0);
      assert.deepEqual(await store.notifications.list({ account: ALICE, limit: 10 }), [
        { id: 'notification-1', seq: 1, at: AT + 1, body: notification(1).body },
      ]);
      assert.equal(await store.notifications.last(), 1);
    },
  },
  {
    name: 'hides a withdrawn notification, and restores it with its id, and the time and text of its new cause',
    async run({ store }) {
      await step(store, notify(notification(1, { at: AT }), notification(2, { at: AT })));
      assert.equal(await step(store, [withdraw(1), withdraw(1), withdraw(77)]), 1);
      assert.deepEqual(await idsOf(store), ['notification-2']);
      assert.equal(await step(store, notify(notification(1, { at: AT + 5, body: '{}' }))), 1);
      assert.deepEqual(
        (await store.notifications.list({ account: ALICE, limit: 10 })).map(({ id, seq, at }) => [id, seq, at]),
        [
          ['notification-1', 1, AT + 5],
          ['notification-2', 2, AT],
        ],
      );
      assert.deepEqual(
        (await store.notifications.after(2, 10)).map(({ id, type, notification, body }) => [
          id,
          type,
          notification,
          body,
        ]),
        [
          [3, 'withdrawn', 'notification-1', '{}'],
          [4, 'notification', 'notification-1', '{}'],
        ],
      );
    },
  },
  {
    name: 'applies the changes of a batch in their order',
    async run({ store }) {
      const again = notification(1, { at: AT + 9, body: '{"message":"the amounts after a reorganisation"}' });
      assert.equal(await step(store, [...notify(notification(1)), withdraw(1), ...notify(again)]), 3);
      const [{ at, body } = { at: 0, body: '' }] = await store.notifications.list({ account: ALICE, limit: 1 });
      assert.deepEqual([at, body], [again.at, again.body]);
      assert.equal(await step(store, [withdraw(1), ...notify(notification(1)), withdraw(1)]), 3);
      assert.deepEqual(await idsOf(store), []);
      assert.equal(await store.notifications.last(), 6);
    },
  },
  {
    name: 'pages the notifications of an account, newest first, with the last inserted first among equal dates',
    async run({ store }) {
      const many = range(25).map((n) => notification(n, { at: AT + (n % 5) }));
      await step(store, [...notify(...many), ...notify(notification(99, { account: BOB }))]);
      const expected = [...many]
        .map((each, i) => ({ ...each, seq: i + 1 }))
        .sort((a, b) => b.at - a.at || b.seq - a.seq)
        .map(({ id }) => id);
      const paged: string[] = [];
      for (let after: { at: number; seq: number } | undefined; ; ) {
        const page = await store.notifications.list({ account: ALICE, limit: 4, ...(after && { after }) });
        paged.push(...page.map(({ id }) => id));
        after = page.at(-1);
        if (after === undefined) break;
      }
      assert.deepEqual(paged, expected);
      assert.deepEqual(await idsOf(store, BOB), ['notification-99']);
      assert.deepEqual(await store.notifications.list({ account: ALICE, limit: 0 }), []);
    },
  },
  {
    name: 'reads the log after an id, of all accounts or of one, up to a limit',
    async run({ store }) {
      await step(store, notify(...range(20).map((n) => notification(n, { account: n % 3 === 0 ? BOB : ALICE }))));
      const all = await store.notifications.after(0, 100);
      assert.equal(all.length, 20);
      assert.deepEqual(await store.notifications.after(15, 3), all.slice(15, 18));
      const bobs = all.filter(({ account }) => account === BOB);
      assert.deepEqual(await store.notifications.after(0, 100, BOB), bobs);
      assert.deepEqual(await store.notifications.after(bobs[2]?.id ?? 0, 2, BOB), bobs.slice(3, 5));
      assert.deepEqual(await store.notifications.after(1_000_000, 10), []);
      assert.deepEqual(await store.notifications.after(0, 0), []);
    },
  },
  {
    name: 'shows every entry in ascending order to a reader that follows concurrent writers',
    async run({ store, writers }) {
      let done = false;
      const writing = Promise.all(
        range(40).map((n) =>
          writers[n % writers.length]?.notifications.append({
            feed: `feed ${n}`,
            after: null,
            through: 1,
            changes: notify(notification(n), notification(100 + n)),
          }),
        ),
      ).finally(() => {
        done = true;
      });
      const seen: number[] = [];
      for (let quiet = false; !quiet; ) {
        quiet = done;
        const page = await store.notifications.after(seen.at(-1) ?? 0, 7);
        seen.push(...page.map(({ id }) => id));
        if (page.length > 0) quiet = false;
      }
      await writing;
      assert.equal(seen.length, 80);
      assert.deepEqual(
        seen,
        [...seen].sort((a, b) => a - b),
      );
    },
  },
  {
    name: 'keeps notifications, cursors and marks after the store is closed and reopened',
    skip: ({ durable }) => (durable ? undefined : 'traits.durable is false'),
    async run({ store, open }) {
      await step(store, notify(notification(1), notification(2)), [{ key: 'a', value: '1' }]);
      await step(store, [withdraw(2)]);
      const log = await store.notifications.after(0, 10);
      await store.close();
      const again = await open();
      assert.equal(await again.notifications.cursor('book'), 2);
      assert.deepEqual(await idsOf(again), ['notification-1']);
      assert.deepEqual(await again.notifications.after(0, 10), log);
      assert.deepEqual(await again.notifications.marks('book', ['a']), [{ key: 'a', value: '1' }]);
    },
  },
  {
    name: 'stops a watcher',
    async run({ store }) {
      const stop = store.notifications.watch(() => {});
      stop();
      stop();
    },
  },
];
