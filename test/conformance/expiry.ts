import assert from 'node:assert/strict';
import type { NewOrder, OrderQuery, Store } from 'intentbook';
import { apply, at, FLOW, invalidation, PLACED, placement, presignature, read, SELL, trade } from './chain.ts';
import type { Rule } from './harness.ts';
import { ALICE, BOB, DAI, NOW, order, PLACED_AT, place, presignOrder, range, USDC, uid, WETH } from './orders.ts';

/** Last second in which most orders of the suite are valid, and first second in which they are expired. */
const END = NOW + 3600;
const LATER = END + 1;
const ALL = 1000;

const types = async (store: Store, from = 0) =>
  (await store.events.after(from, ALL)).map(({ type, uid, cause }) => [cause?.reverted ?? type, uid] as const);

/** Reads every listing by status at a time, and everything else that depends on time. */
async function seen(store: Store, now: number, uids: readonly NewOrder[]) {
  const filters: Partial<OrderQuery>[] = [{}, { owner: ALICE }, { owner: BOB }, { sellToken: WETH }, { buyToken: DAI }];
  const listed = [];
  for (const is of ['open', 'presignaturePending', 'expired', 'cancelled', 'fulfilled'] as const) {
    for (const filter of filters) {
      const query = { ...filter, status: { is, now } };
      const all = await store.orders.list({ ...query, limit: ALL });
      listed.push(all);
      // Pages of three by cursor and by offset contain the same orders.
      const paged: typeof all = [];
      for (;;) {
        const last = paged.at(-1);
        const after = last === undefined ? {} : { after: { creationDate: last.creationDate, uid: last.uid } };
        const page = await store.orders.list({ ...query, ...after, limit: 3 });
        const same = await store.orders.list({ ...query, offset: paged.length, limit: 3 });
        assert.deepEqual(page, same);
        paged.push(...page);
        if (page.length < 3) break;
      }
      assert.deepEqual(paged, all);
    }
  }
  const rows = await store.orders.get(uids.map(({ uid }) => uid));
  rows.sort((a, b) => (a.uid < b.uid ? -1 : 1));
  return { listed, rows, counts: [await store.orders.count(ALICE, now), await store.orders.count(BOB, now)] };
}

export const EXPIRY: readonly Rule[] = [
  {
    name: 'of an order that waits for its presignature for a shorter time is reverted by the presignature',
    async run({ store }) {
      const validTo = NOW + 3600;
      const signed = { ...presignOrder(1), uid: uid(1, ALICE, validTo), validTo: NOW + 60 };
      const unsigned = { ...presignOrder(2), uid: uid(2, ALICE, validTo), validTo: NOW + 60 };
      await place(store, signed, unsigned);
      assert.equal(await store.orders.expire(NOW + 61, 10), 2);
      assert.deepEqual(await store.orders.count(ALICE, NOW + 61), { open: 0, pending: 0 });
      await apply(store, 10, presignature(signed, 10, true));
      assert.deepEqual(await store.orders.count(ALICE, NOW + 61), { open: 1, pending: 0 });
      const [row] = await store.orders.get([signed.uid]);
      assert.deepEqual([row?.state, row?.validTo], ['open', validTo]);
      // Retention deletes the other one as soon as its time has passed.
      assert.equal(await store.orders.prune({ before: NOW + 62, limit: 10 }), 1);
      assert.deepEqual(await store.orders.get([unsigned.uid]), []);
    },
  },
  {
    name: 'of an order that waits for its presignature is not changed by other events',
    async run({ store }) {
      const waiting = { ...presignOrder(1), uid: uid(1, ALICE, NOW + 3600), validTo: NOW + 60 };
      await place(store, waiting);
      await apply(store, 10, presignature(presignOrder(7), 10, true));
      assert.equal((await store.orders.get([waiting.uid]))[0]?.validTo, NOW + 60);
    },
  },
  {
    name: 'sweeps an order once after its last second and logs the time of expiry',
    async run({ store }) {
      await place(store, SELL);
      assert.equal(await store.orders.expire(END, ALL), 0);
      assert.equal(await store.orders.expire(END + 50, ALL), 1);
      assert.equal(await store.orders.expire(END + 90, ALL), 0);
      assert.deepEqual(await store.events.after(1, 9), [
        { id: 2, type: 'expired', uid: SELL.uid, owner: ALICE, at: LATER * 1000 },
      ]);
    },
  },
  {
    name: 'sweeps the earliest expired orders first, up to the limit',
    async run({ store }) {
      const orders = [5, 2, 8, 1, 9, 4].map((n) => order(n, { validTo: NOW + n, owner: n % 2 === 0 ? ALICE : BOB }));
      await place(store, ...orders);
      assert.equal(await store.orders.expire(NOW + 9, 2), 2);
      assert.equal(await store.orders.expire(NOW + 9, 2), 2);
      assert.equal(await store.orders.expire(NOW + 9, 2), 1);
      assert.equal(await store.orders.expire(NOW + 10, 2), 1);
      const swept = (await store.events.after(orders.length, ALL)).map(({ at: when }) => when / 1000 - NOW - 1);
      assert.deepEqual(swept, [1, 2, 4, 5, 8, 9]);
    },
  },
  {
    name: 'does not sweep an order that was cancelled or filled before',
    async run({ store }) {
      const cancelled = order(4);
      await place(store, SELL, cancelled, order(5));
      await store.orders.cancel({ uids: [cancelled.uid], now: NOW, cancelledAt: PLACED_AT });
      await apply(store, 10, trade(SELL, 10, { sellAmount: '100' }), invalidation(order(5), 11));
      const last = await store.events.last();
      assert.equal(await store.orders.expire(LATER, ALL), 0);
      assert.equal(await store.events.last(), last);
    },
  },
  {
    name: 'logs the expiry of a presign order only if it was signed on chain',
    async run({ store }) {
      const [never, signed, revoked] = [presignOrder(1), presignOrder(2), presignOrder(3)];
      await place(store, never, signed, revoked);
      await apply(store, 10, presignature(signed, 10, true), { ...presignature(revoked, 10, true), ...at(10, 1) });
      await apply(store, 11, presignature(revoked, 11, false));
      const last = await store.events.last();
      assert.equal(await store.orders.expire(LATER, ALL), 3);
      assert.deepEqual(await types(store, last), [
        ['expired', signed.uid],
        ['expired', revoked.uid],
      ]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
    },
  },
  {
    name: 'returns the same orders before and after a sweep',
    async run({ store }) {
      const orders = range(30).map((n) =>
        (n % 7 === 6 ? presignOrder : order)(n + 10, {
          owner: n % 3 === 0 ? BOB : ALICE,
          creationDate: PLACED_AT + ((n * 7) % 11),
          sellToken: n % 4 === 0 ? DAI : WETH,
          buyToken: n % 5 === 0 ? DAI : USDC,
          validTo: NOW + ((n * 5) % 13),
        }),
      );
      await place(store, ...orders);
      await apply(store, 9, { ...placement(9), userValidTo: NOW + 3 });
      await apply(
        store,
        10,
        invalidation(order(3), 10),
        ...orders.slice(0, 3).map((each, i) => ({ ...invalidation(each, 10), ...at(10, i + 1) })),
      );
      const all = [...orders, PLACED];
      for (const now of [NOW + 4, NOW + 8, NOW + 20]) {
        const before = await seen(store, now, all);
        while ((await store.orders.expire(now, 4)) === 4);
        assert.deepEqual(await seen(store, now, all), before);
      }
    },
  },
  {
    name: 'lists and counts a swept order as expired even if a clock is behind',
    async run({ store }) {
      await place(store, SELL);
      await store.orders.expire(LATER, ALL);
      const uids = [SELL.uid];
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
      for (const owner of [undefined, ALICE]) {
        const of = owner === undefined ? {} : { owner };
        const listed = async (is: 'open' | 'expired') =>
          (await store.orders.list({ ...of, status: { is, now: NOW }, limit: 9 })).map(({ uid }) => uid);
        assert.deepEqual([await listed('open'), await listed('expired')], [[], uids]);
      }
      assert.deepEqual(await store.orders.insert([{ order: order(7), quota: 1 }]), [{ status: 'inserted' }]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
    },
  },
  {
    name: 'cancels and replaces a swept order whose validity has not passed',
    async run({ store }) {
      const [replaced, never] = [order(4), order(5)];
      await place(store, SELL, replaced, never);
      await store.orders.expire(LATER, ALL);
      const last = await store.events.last();
      const cancel = { uids: [SELL.uid], cancelledAt: PLACED_AT };
      assert.deepEqual(await store.orders.cancel({ ...cancel, now: LATER }), {
        status: 'rejected',
        uid: SELL.uid,
        reason: 'expired',
      });
      assert.deepEqual(await store.orders.cancel({ ...cancel, now: NOW }), { status: 'cancelled' });
      const replacement = order(7);
      // The count does not include the swept order, so its replacement frees nothing.
      const exceeding = { order: replacement, replaces: replaced.uid, quota: 0 };
      assert.deepEqual(await store.orders.insert([exceeding]), [{ status: 'quotaExceeded', quota: 0, count: 0 }]);
      assert.deepEqual(await store.orders.insert([{ order: replacement, replaces: replaced.uid, quota: 9 }]), [
        { status: 'inserted' },
      ]);
      assert.deepEqual(await types(store, last), [
        ['reinstated', SELL.uid],
        ['cancelled', SELL.uid],
        ['reinstated', replaced.uid],
        ['cancelled', replaced.uid],
        ['created', replacement.uid],
      ]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.equal((await read(store, SELL)).state, 'cancelled');
    },
  },
  {
    name: 'reinstates swept orders that are still valid, in steps, with their counters and events',
    async run({ store }) {
      const short = order(4, { validTo: NOW + 10 });
      const [never, signed] = [presignOrder(5), presignOrder(6, { owner: BOB })];
      await place(store, SELL, short, never, signed);
      await apply(store, 10, presignature(signed, 10, true));
      await apply(store, 11, presignature(signed, 11, false));
      const before = await seen(store, NOW, [SELL, never, signed]);
      assert.equal(await store.orders.reinstate({ validFrom: NOW, at: PLACED_AT, limit: ALL }), 0);
      assert.equal(await store.orders.expire(LATER, ALL), 4);
      const last = await store.events.last();
      const request = { validFrom: NOW + 11, at: PLACED_AT + 5, limit: 2 };
      let total = 0;
      for (let step = -1; step !== 0; total += step) {
        step = await store.orders.reinstate(request);
        assert.ok(step <= 2);
      }
      assert.equal(total, 3);
      const events = await store.events.after(last, ALL);
      assert.deepEqual(
        events.map(({ type, uid, at: time }) => [type, uid, time]).sort(),
        [
          ['reinstated', SELL.uid, PLACED_AT + 5],
          ['reinstated', signed.uid, PLACED_AT + 5],
        ].sort(),
      );
      const after = await seen(store, NOW, [SELL, never, signed]);
      assert.deepEqual(after.rows, before.rows);
      assert.deepEqual(after.counts[1], before.counts[1]);
      assert.equal(await store.orders.expire(LATER, ALL), 3);
    },
  },
  {
    name: 'reverts an expiry after a late fill or cancellation on chain, but not after a partial fill',
    async run({ store }) {
      const cancelled = order(4);
      await place(store, SELL, cancelled);
      await store.orders.expire(LATER, ALL);
      await apply(store, 10, trade(SELL, 10));
      const part = await read(store, SELL);
      assert.deepEqual([part.state, part.executedSellAmount], ['open', '40']);
      assert.equal(await store.orders.expire(LATER, ALL), 0);
      await apply(store, 11, trade(SELL, 11, { sellAmount: '60' }), { ...invalidation(cancelled, 11), ...at(11, 1) });
      assert.equal((await read(store, SELL)).state, 'fulfilled');
      assert.equal((await read(store, cancelled)).state, 'cancelled');
      assert.deepEqual(await types(store, 4), [
        ['traded', SELL.uid],
        ['reinstated', SELL.uid],
        ['reinstated', cancelled.uid],
        ['traded', SELL.uid],
        ['cancelled', cancelled.uid],
      ]);
      assert.equal(await store.orders.expire(LATER, ALL), 0);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
    },
  },
  {
    name: 'expires an order, repeatedly if necessary, whose fill is rolled back after its end',
    async run({ store }) {
      const early = order(4, { body: SELL.body, validTo: NOW + 50 });
      await place(store, SELL, early);
      await store.orders.expire(NOW + 51, ALL);
      const fills = [trade(SELL, 10, { sellAmount: '100' }), trade(early, 10, { ...at(10, 1), sellAmount: '100' })];
      await apply(store, 10, ...fills);
      const last = await store.events.last();
      assert.equal(await store.orders.expire(LATER, ALL), 0);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.equal(await store.orders.expire(LATER, ALL), 2);
      assert.deepEqual(await types(store, last), [
        ['traded', early.uid],
        ['traded', SELL.uid],
        ['expired', early.uid],
        ['expired', SELL.uid],
      ]);
      await apply(store, 10, ...fills);
      assert.deepEqual(
        (await types(store, last + 4)).map(([type]) => type),
        ['reinstated', 'reinstated', 'traded', 'traded'],
      );
    },
  },
  {
    name: 'logs the expiry of an order after a late presignature until that is rolled back',
    async run({ store }) {
      const waiting = presignOrder(3);
      await place(store, waiting);
      await store.orders.expire(LATER, ALL);
      await apply(store, 10, presignature(waiting, 10, true));
      assert.equal((await read(store, waiting)).state, 'open');
      await store.chain.rollback({ to: 9, at: PLACED_AT + 7 });
      assert.deepEqual(await types(store), [
        ['created', waiting.uid],
        ['presigned', waiting.uid],
        ['expired', waiting.uid],
        ['reinstated', waiting.uid],
        ['presigned', waiting.uid],
      ]);
      assert.equal((await store.events.after(3, 1))[0]?.at, PLACED_AT + 7);
      assert.equal(await store.orders.expire(LATER, ALL), 0);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
    },
  },
  {
    name: "expires an order placed on chain at its user's validity and removes it with its placement",
    async run({ store }) {
      await apply(store, 10, placement(10));
      assert.equal(await store.orders.expire(PLACED.validTo, ALL), 0);
      assert.equal(await store.orders.expire(PLACED.validTo + 1, ALL), 1);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(
        (await types(store)).map(([type]) => type),
        ['created', 'expired', 'reinstated', 'created'],
      );
      await apply(store, 10, placement(10));
      assert.deepEqual(await store.orders.count(FLOW, NOW), { open: 1, pending: 0 });
      assert.equal(await store.orders.expire(PLACED.validTo + 1, ALL), 1);
    },
  },
  {
    name: 'reinstates an order when the validity that ended it is rolled back',
    async run({ store }) {
      const sent: NewOrder = { ...PLACED, validTo: 0xffff_ffff, creationDate: PLACED_AT };
      await place(store, sent);
      await apply(store, 10, placement(10));
      await store.orders.expire(PLACED.validTo + 1, ALL);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(await store.orders.count(FLOW, PLACED.validTo + 1), { open: 1, pending: 0 });
      const open = await store.orders.list({ owner: FLOW, status: { is: 'open', now: PLACED.validTo + 1 }, limit: 9 });
      assert.deepEqual(
        open.map(({ uid }) => uid),
        [sent.uid],
      );
      assert.deepEqual(
        (await types(store)).map(([type]) => type),
        ['created', 'placed', 'expired', 'reinstated', 'placed'],
      );
    },
  },
  {
    name: 'logs each expiry once under concurrent sweeps and cancellations',
    async run({ store, writers }) {
      const orders = range(120).map((n) => order(n + 10, { owner: n % 3 === 0 ? ALICE : BOB, validTo: NOW + (n % 5) }));
      await place(store, ...orders);
      const sweep = async (writer: Store) => {
        let swept = 0;
        for (let round = 0; round < 12; round++) swept += await writer.orders.expire(NOW + 3, 10);
        return swept;
      };
      const cancelled = orders.filter((_, n) => n % 11 === 0);
      await Promise.all([
        ...[...writers, ...writers].map(sweep),
        ...cancelled.map(({ uid }) => store.orders.cancel({ uids: [uid], now: NOW + 3, cancelledAt: PLACED_AT })),
      ]);
      await sweep(store);
      const log = (await store.events.after(orders.length, ALL)).map(({ type, uid }) => ({ type, uid }));
      const ended = orders.filter(({ validTo }) => validTo < NOW + 3).length;
      assert.equal(new Set(log.map(({ uid }) => uid)).size, log.length, 'each ends once');
      const rows = await store.orders.get(orders.map(({ uid }) => uid));
      const gone = rows.filter(({ state, validTo }) => state === 'open' && validTo < NOW + 3);
      assert.deepEqual(
        log
          .filter(({ type }) => type === 'expired')
          .map(({ uid }) => uid)
          .sort(),
        gone.map(({ uid }) => uid).sort(),
      );
      assert.equal(
        gone.length + rows.filter(({ state, validTo }) => state === 'cancelled' && validTo < NOW + 3).length,
        ended,
      );
      for (const owner of [ALICE, BOB]) {
        const left = orders.filter((each) => each.owner === owner && each.validTo >= NOW + 3);
        const live = left.filter(({ uid }) => rows.some((row) => row.uid === uid && row.state === 'open'));
        assert.deepEqual(await store.orders.count(owner, NOW), { open: live.length, pending: 0 });
      }
    },
  },
  {
    name: 'keeps swept orders after the store is closed and reopened',
    async run({ store, open }) {
      await place(store, SELL, order(4, { validTo: LATER }));
      await store.orders.expire(LATER, ALL);
      const look = async (of: Store) => ({ seen: await seen(of, NOW, [SELL]), log: await of.events.after(0, ALL) });
      const before = await look(store);
      await store.close();
      const again = await open();
      assert.deepEqual(await look(again), before);
      assert.equal(await again.orders.expire(LATER, ALL), 0);
      assert.equal(await again.orders.expire(LATER + 1, ALL), 1);
    },
  },
];
