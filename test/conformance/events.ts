import assert from 'node:assert/strict';
import type { StoredEvent } from 'intentbook';
import type { Rule } from './harness.ts';
import { ALICE, address, BOB, NOW, order, PLACED_AT, place, range } from './orders.ts';

export const EVENTS: readonly Rule[] = [
  {
    name: 'has no last event while the log is empty',
    async run({ store }) {
      assert.equal(await store.events.last(), 0);
      assert.deepEqual(await store.events.after(0, 10), []);
    },
  },
  {
    name: 'logs every insert and cancellation in commit order',
    async run({ store }) {
      await place(store, order(2), order(1, { owner: BOB, creationDate: PLACED_AT - 5 }));
      await store.orders.cancel({ uids: [order(2).uid], now: NOW, cancelledAt: PLACED_AT + 1 });
      assert.deepEqual(await store.events.after(0, 10), [
        { id: 1, type: 'created', uid: order(2).uid, owner: ALICE, at: PLACED_AT },
        { id: 2, type: 'created', uid: order(1, { owner: BOB }).uid, owner: BOB, at: PLACED_AT - 5 },
        { id: 3, type: 'cancelled', uid: order(2).uid, owner: ALICE, at: PLACED_AT + 1 },
      ]);
      assert.equal(await store.events.last(), 3);
    },
  },
  {
    name: 'reads the log after any id, up to a limit',
    async run({ store }) {
      await place(store, ...range(25).map((n) => order(n)));
      const all = await store.events.after(0, 100);
      assert.equal(all.length, 25);
      const paged: StoredEvent[] = [];
      for (;;) {
        const page = await store.events.after(paged.at(-1)?.id ?? 0, 10);
        if (page.length === 0) break;
        paged.push(...page);
      }
      assert.deepEqual(paged, all);
      assert.deepEqual(await store.events.after(await store.events.last(), 10), []);
      assert.deepEqual(await store.events.after(1_000_000, 10), []);
      assert.deepEqual(await store.events.after(0, 0), []);
    },
  },
  {
    name: 'takes no other event for the newest one',
    async run({ store }) {
      const { events } = store;
      const check = async (newest: number) => {
        for (const id of [newest - 1, newest + 1]) assert.notEqual(events.isNewest?.(id), true);
        assert.equal(await events.last(), newest);
        for (const id of [newest - 1, newest + 1]) assert.notEqual(events.isNewest?.(id), true);
      };
      await check(0);
      await place(store, order(1), order(2));
      await check(2);
      await store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT + 1 });
      await check(3);
      await store.orders.expire(NOW + 10_000_000, 10);
      await check(4);
    },
  },
  {
    name: 'shows every event once and in ascending order to a reader that follows concurrent writers',
    async run({ store, writers }) {
      // Different owners: writes of one owner follow each other, so that no transaction would be open beside another.
      const groups = range(100).map((n) => range(1 + (n % 3)).map((i) => order(3 * n + i, { owner: address(n + 1) })));
      const writing = Promise.all(
        groups.map(async (group, n) => {
          await writers[n % writers.length]?.orders.insert(group.map((each) => ({ order: each })));
        }),
      );
      let done = false;
      const finished = writing.finally(() => {
        done = true;
      });
      const seen: StoredEvent[] = [];
      for (let quiet = false; !quiet; ) {
        quiet = done;
        seen.push(...(await store.events.after(seen.at(-1)?.id ?? 0, 7)));
        if (seen.at(-1)?.id !== (await store.events.last())) quiet = false;
        // A store may read in this thread and write in another, whose results arrive between two ticks.
        await new Promise(setImmediate);
      }
      await finished;
      assert.deepEqual(
        seen.map(({ id }) => id),
        seen.map(({ id }) => id).sort((a, b) => a - b),
      );
      assert.deepEqual(
        seen.map(({ uid }) => uid).sort(),
        groups
          .flat()
          .map(({ uid }) => uid)
          .sort(),
      );
    },
  },
  {
    name: 'logs no rejected order',
    async run({ store }) {
      await place(store, order(1));
      await store.orders.insert([{ order: order(1) }, { order: order(2), quota: 1 }]);
      await store.orders.cancel({ uids: [order(1).uid, order(2).uid], now: NOW, cancelledAt: PLACED_AT });
      assert.equal(await store.events.last(), 1);
    },
  },
  {
    name: 'stops a watcher',
    async run({ store }) {
      const stop = store.events.watch(() => {});
      stop();
      stop();
    },
  },
];
