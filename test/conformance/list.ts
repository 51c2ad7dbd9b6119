import assert from 'node:assert/strict';
import type { Hex, NewOrder, OrderQuery, Store } from 'intentbook';
import type { Rule } from './harness.ts';
import { ALICE, BOB, DAI, NOW, order, PLACED_AT, place, presignOrder, range, USDC, WETH } from './orders.ts';

/** Orders of two owners, many with the same millisecond, inserted in random order. */
const SHUFFLED: readonly NewOrder[] = range(60)
  .map((n) => (n * 37) % 60)
  .map((n) =>
    order(n, { owner: n % 3 === 0 ? BOB : ALICE, creationDate: PLACED_AT + Math.floor(((n * 13) % 60) / 10) * 1000 }),
  );

const NEWEST_FIRST = [...SHUFFLED]
  .sort((a, b) => b.creationDate - a.creationDate || (a.uid < b.uid ? 1 : -1))
  .map(({ uid, owner }) => ({ uid, owner }));

const STATUSES = ['open', 'presignaturePending', 'cancelled', 'expired'] as const;

/** One order for each owner, token pair and status at `NOW`. */
const EVERY_KIND: readonly { readonly placed: NewOrder; readonly status: (typeof STATUSES)[number] }[] = [
  ...[ALICE, BOB].flatMap((owner) =>
    [WETH, DAI].flatMap((sellToken) =>
      [USDC, DAI].flatMap((buyToken) => STATUSES.map((status) => ({ owner, sellToken, buyToken, status }))),
    ),
  ),
].map(({ status, ...rest }, n) => {
  const changes = { ...rest, creationDate: PLACED_AT + (n % 5), validTo: NOW + (status === 'expired' ? -1 : n % 2) };
  return { status, placed: status === 'presignaturePending' ? presignOrder(n, changes) : order(n, changes) };
});

async function placeEveryKind(store: Store): Promise<void> {
  await place(store, ...EVERY_KIND.map(({ placed }) => placed));
  const uids = EVERY_KIND.filter(({ status }) => status === 'cancelled').map(({ placed }) => placed.uid);
  await store.orders.cancel({ uids, now: NOW, cancelledAt: PLACED_AT });
}

/** Reads a listing page by page with cursors. */
async function walk(store: Store, query: Omit<OrderQuery, 'after' | 'limit'>, limit: number): Promise<Hex[]> {
  const seen: Hex[] = [];
  let after: OrderQuery['after'];
  for (;;) {
    const page = await store.orders.list({ ...query, limit, ...(after === undefined ? {} : { after }) });
    assert.ok(page.length <= limit);
    for (const { uid } of page) {
      // A cursor that does not advance would cause an endless loop.
      assert.ok(!seen.includes(uid), `${uid} is on two pages`);
      seen.push(uid);
    }
    const last = page.at(-1);
    if (last === undefined) return seen;
    after = { creationDate: last.creationDate, uid: last.uid };
  }
}

/** Reads a listing in bounded steps, for stores that support them. */
async function scanAll(store: Store, query: Omit<OrderQuery, 'after' | 'limit'>, examine: number): Promise<Hex[]> {
  const seen: Hex[] = [];
  let after: OrderQuery['after'];
  for (let steps = 0; steps < 1000; steps++) {
    const step = await store.orders.scan?.({ ...query, limit: 3, ...(after === undefined ? {} : { after }) }, examine);
    assert.ok(step !== undefined && step.orders.length <= 3);
    seen.push(...uidsOf(step.orders));
    // Optional: the bodies as bytes.
    for (const [i, bytes] of (step.encodedBodies ?? []).entries()) {
      if (bytes !== undefined) assert.equal(new TextDecoder().decode(bytes), step.orders[i]?.body);
    }
    after = step.next;
    if (after === undefined) return seen;
  }
  throw new Error('the search does not end');
}

const uidsOf = (orders: readonly { readonly uid: Hex }[]) => orders.map(({ uid }) => uid);

export const LIST: readonly Rule[] = [
  {
    name: 'lists orders newest first, then by UID descending',
    async run({ store }) {
      await place(store, ...SHUFFLED);
      assert.deepEqual(uidsOf(await store.orders.list({ limit: 100 })), uidsOf(NEWEST_FIRST));
      const alice = uidsOf(NEWEST_FIRST.filter(({ owner }) => owner === ALICE));
      assert.deepEqual(uidsOf(await store.orders.list({ owner: ALICE, limit: 100 })), alice);
    },
  },
  {
    name: 'applies offset and limit to the same listing',
    async run({ store }) {
      await place(store, ...SHUFFLED);
      const alice = uidsOf(NEWEST_FIRST.filter(({ owner }) => owner === ALICE));
      for (const [offset, limit] of [
        [0, 10],
        [1, 1],
        [7, 13],
        [39, 5],
        [40, 5],
        [1000, 5],
        [0, 0],
      ] as const) {
        assert.deepEqual(
          uidsOf(await store.orders.list({ owner: ALICE, offset, limit })),
          alice.slice(offset, offset + limit),
          `offset ${offset}, limit ${limit}`,
        );
      }
    },
  },
  {
    name: 'pages of any size by cursor contain every order once',
    async run({ store }) {
      await place(store, ...SHUFFLED);
      const alice = uidsOf(NEWEST_FIRST.filter(({ owner }) => owner === ALICE));
      for (const size of [1, 2, 3, 7, 10, 39, 40, 41]) {
        assert.deepEqual(await walk(store, { owner: ALICE }, size), alice, `pages of ${size}`);
      }
      assert.deepEqual(await walk(store, {}, 7), uidsOf(NEWEST_FIRST));
    },
  },
  {
    name: 'shifts no page when an order is inserted between two pages',
    async run({ store }) {
      await place(store, ...SHUFFLED);
      const [first, second] = [NEWEST_FIRST.slice(0, 10), NEWEST_FIRST.slice(10, 20)];
      const last = (await store.orders.list({ limit: 10 })).at(-1);
      assert.equal(last?.uid, first.at(-1)?.uid);
      await place(store, order(900, { creationDate: PLACED_AT + 60_000 }));
      const after = { creationDate: last?.creationDate ?? 0, uid: last?.uid ?? '0x' };
      assert.deepEqual(uidsOf(await store.orders.list({ after, limit: 10 })), uidsOf(second));
    },
  },
  {
    name: 'accepts a cursor whose order is not in the listing',
    async run({ store }) {
      await place(store, order(1), order(3), order(5, { owner: BOB }));
      const after = (n: number) => ({ creationDate: PLACED_AT, uid: order(n).uid });
      assert.deepEqual(uidsOf(await store.orders.list({ after: after(2), limit: 9 })), [order(1).uid]);
      const beyond = { creationDate: PLACED_AT + 1, uid: order(0).uid };
      assert.equal((await store.orders.list({ after: beyond, limit: 9 })).length, 3);
      const alice = await store.orders.list({ owner: ALICE, after: after(4), limit: 9 });
      assert.deepEqual(uidsOf(alice), [order(3).uid, order(1).uid]);
    },
  },
  {
    name: 'applies an offset after the cursor',
    async run({ store }) {
      await place(store, ...range(9).map((n) => order(n)));
      const after = { creationDate: PLACED_AT, uid: order(7).uid };
      assert.deepEqual(uidsOf(await store.orders.list({ after, offset: 2, limit: 2 })), [order(4).uid, order(3).uid]);
    },
  },
  {
    name: 'combines filters by "and" and derives each status at the given time',
    async run({ store }) {
      await placeEveryKind(store);
      const sorted = [...EVERY_KIND].sort(
        ({ placed: a }, { placed: b }) => b.creationDate - a.creationDate || (a.uid < b.uid ? 1 : -1),
      );
      for (const owner of [undefined, ALICE, BOB]) {
        for (const sellToken of [undefined, WETH, DAI, USDC]) {
          for (const buyToken of [undefined, USDC, DAI]) {
            for (const is of [undefined, 'fulfilled', ...STATUSES] as const) {
              const expected = sorted.filter(
                ({ placed, status }) =>
                  (owner === undefined || placed.owner === owner) &&
                  (sellToken === undefined || placed.sellToken === sellToken) &&
                  (buyToken === undefined || placed.buyToken === buyToken) &&
                  (is === undefined || status === is),
              );
              const query = {
                ...(owner === undefined ? {} : { owner }),
                ...(sellToken === undefined ? {} : { sellToken }),
                ...(buyToken === undefined ? {} : { buyToken }),
                ...(is === undefined ? {} : { status: { is, now: NOW } }),
              };
              const uids = uidsOf(expected.map(({ placed }) => placed));
              assert.deepEqual(uidsOf(await store.orders.list({ ...query, limit: 100 })), uids, JSON.stringify(query));
              assert.deepEqual(await walk(store, query, 3), uids, `paged: ${JSON.stringify(query)}`);
              if (store.orders.scan !== undefined) {
                assert.deepEqual(await scanAll(store, query, 1), uids, `steps of 1: ${JSON.stringify(query)}`);
                assert.deepEqual(await scanAll(store, query, 5), uids, `steps of 5: ${JSON.stringify(query)}`);
              }
              const offset = uidsOf(await store.orders.list({ ...query, offset: 2, limit: 3 }));
              assert.deepEqual(offset, uids.slice(2, 5), `offset: ${JSON.stringify(query)}`);
            }
          }
        }
      }
    },
  },
  {
    name: 'derives the status filter from the time, forwards and backwards',
    async run({ store }) {
      const placed = [
        order(1, { validTo: NOW }),
        order(2, { validTo: NOW + 10 }),
        presignOrder(3, { validTo: NOW + 5 }),
      ];
      await place(store, ...placed);
      const numbers = async (is: 'open' | 'presignaturePending' | 'expired', now: number) => {
        const uids = uidsOf(await store.orders.list({ status: { is, now }, limit: 10 }));
        return uids.map((uid) => placed.findIndex((each) => each.uid === uid) + 1);
      };
      for (const [now, open, pending, expired] of [
        [NOW, [2, 1], [3], []],
        [NOW + 1, [2], [3], [1]],
        [NOW + 6, [2], [], [3, 1]],
        [NOW + 11, [], [], [3, 2, 1]],
        [NOW, [2, 1], [3], []],
      ] as const) {
        assert.deepEqual(await numbers('open', now), open);
        assert.deepEqual(await numbers('presignaturePending', now), pending);
        assert.deepEqual(await numbers('expired', now), expired);
      }
    },
  },
  {
    name: 'returns an empty listing for an owner without orders',
    async run({ store }) {
      await place(store, order(1));
      assert.deepEqual(await store.orders.list({ owner: BOB, limit: 10 }), []);
    },
  },
];
