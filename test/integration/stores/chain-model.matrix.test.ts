import fc from 'fast-check';
import type { ChainEvent, InsertOutcome, NewOrder, Store, StoredOrder } from 'intentbook';
import { expect, test } from 'vitest';
import { apply, at, invalidation, PLACED, placement, presignature, refund, trade } from '../../conformance/chain.ts';
import { ALICE, NOW, order, PLACED_AT, presignOrder, range } from '../../conformance/orders.ts';
import { alongside, SUBJECTS } from './second-store.ts';

const LONG = process.env['TEST_LONG'] !== undefined;

/** Few orders, so that operations collide. Each trade fills a half, and some orders expire before others. */
const ORDERS = range(8).map((n): NewOrder => {
  const changes = {
    body: JSON.stringify({ kind: 'sell', sellAmount: '80', buyAmount: '40' }),
    validTo: n < 4 ? NOW + 600 : NOW + 3600,
  };
  return n % 3 === 2 ? presignOrder(n, changes) : order(n, changes);
});
const some = fc.constantFrom(...ORDERS);

/** A chain event of a block. */
type CreateChainEvent = (block: number, index: number) => ChainEvent;

const chainEvent: fc.Arbitrary<CreateChainEvent> = fc.oneof(
  some.map(
    (of): CreateChainEvent =>
      (block, index) => ({ ...invalidation(of, block), ...at(block, index) }),
  ),
  some.map(
    (of): CreateChainEvent =>
      (block, index) =>
        trade(of, block, at(block, index)),
  ),
  fc.tuple(some, fc.boolean()).map(
    ([of, signed]): CreateChainEvent =>
      (block, index) => ({ ...presignature(of, block, signed), ...at(block, index) }),
  ),
  fc.constant<CreateChainEvent>((block, index) => placement(block, at(block, index))),
  fc.constant<CreateChainEvent>((block, index) => ({ ...refund(PLACED, block), ...at(block, index) })),
);

const coming = fc.record(
  { order: some, quota: fc.integer({ min: 1, max: 3 }), replaces: some.map(({ uid }) => uid) },
  { requiredKeys: ['order'] },
);

/** Reads the complete content of a store. */
async function everything(store: Store) {
  const uids = [...ORDERS, PLACED].map(({ uid }) => uid);
  const entries = await store.events.after(0, 1000);
  // An order placed on chain starts with a new version each time, so that versions never repeat.
  const shown = (rows: readonly StoredOrder[]) =>
    rows.map((row) => (row.uid === PLACED.uid ? { ...row, version: 0 } : row));
  const byUid = (a: StoredOrder, b: StoredOrder) => (a.uid < b.uid ? -1 : 1);
  return {
    rows: shown(await store.orders.get(uids)).sort(byUid),
    listed: shown(await store.orders.list({ limit: 100 })),
    open: shown(await store.orders.list({ limit: 100, status: { is: 'open', now: NOW + 601 } })),
    counts: await Promise.all([0, 601, 3601].map((later) => store.orders.count(ALICE, NOW + later))),
    trades: await store.chain.trades({ filter: { account: ALICE }, limit: 100 }),
    progress: await store.chain.progress(),
    // Entries of one step can have another order.
    log: entries.map(({ type, uid, cause }) => `${type} ${uid} ${JSON.stringify(cause?.position)}`).sort(),
  };
}

test.each(SUBJECTS)(
  '$name store matches the memory store for batches of orders with earlier chain events',
  async (subject) => {
    const scenes = fc.record({
      facts: fc.array(chainEvent, { maxLength: 5 }),
      batches: fc.array(fc.array(coming, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(scenes, ({ facts, batches }) =>
        alongside(subject, async (...stores) => {
          const [seen, wanted] = await Promise.all(
            stores.map(async (store) => {
              await apply(store, 30, ...facts.map((fact, i) => fact(10 + i, 0)));
              const outcomes: InsertOutcome[][] = [];
              for (const batch of batches) outcomes.push(await store.orders.insert(batch));
              return { outcomes, ...(await everything(store)) };
            }),
          );
          expect(seen).toEqual(wanted);
        }),
      ),
      { numRuns: (LONG ? 100 : 2) * subject.runs },
    );
  },
);

/** Returns the `n`th operation on a book. */
interface Step {
  readonly label: string;
  readonly run: (store: Store, n: number) => Promise<unknown>;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(coming, { minLength: 1, maxLength: 4 }).map(
      (inserts): Step => ({
        label: `insert ${JSON.stringify(inserts)}`,
        run: (store) => store.orders.insert(inserts),
      }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.array(chainEvent, { maxLength: 4 }).map(
      (facts): Step => ({
        label: `apply ${JSON.stringify(facts.map((fact) => fact(0, 0)))}`,
        run: (store, n) => apply(store, 10 + n, ...facts.map((fact, i) => fact(10 + n, i))),
      }),
    ),
  },
  fc.integer({ min: 1, max: 4 }).map(
    (back): Step => ({
      label: `rollback ${back}`,
      run: (store, n) => store.chain.rollback({ to: 10 + n - back, at: PLACED_AT + n }),
    }),
  ),
  fc.array(some, { minLength: 1, maxLength: 2 }).map(
    (orders): Step => ({
      label: `cancel ${orders.map(({ uid }) => uid)}`,
      run: (store, n) =>
        store.orders.cancel({ uids: orders.map(({ uid }) => uid), now: NOW, cancelledAt: PLACED_AT + n }),
    }),
  ),
  fc
    .constantFrom(NOW, NOW + 601, NOW + 3601)
    .map((now): Step => ({ label: `expire ${now}`, run: (store) => store.orders.expire(now, 100) })),
);

test.each(SUBJECTS)('$name store matches the memory store after random chain and owner operations', async (subject) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), (steps) =>
      alongside(subject, async (store, oracle) => {
        for (const [n, { label, run }] of steps.entries()) {
          expect(await run(store, n), label).toEqual(await run(oracle, n));
          expect(await everything(store), label).toEqual(await everything(oracle));
        }
      }),
    ),
    { numRuns: (LONG ? 60 : 1) * subject.runs },
  );
});
