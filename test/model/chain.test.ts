import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { test } from 'vitest';
import { temporaryFile } from '../stores/temporary.ts';
import { emptySchema, temporarySchema } from '../support/postgres.ts';
import type { Step } from './chain-model.ts';
import { begin, invariants, look, ORDERS, PICKS, play, tell } from './chain-model.ts';

const DOMAIN = { chainId: 1, settlementContract: `0x${'90'.repeat(20)}` } as const;
const LONG = process.env['INTENTBOOK_TEST_LONG'] !== undefined;

const order = fc.nat(ORDERS.length - 1);
const picked = fc.record({ type: fc.constantFrom(...PICKS), order, amount: fc.integer({ min: 1, max: 7 }) });
const block = fc.array(picked, { maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant('blocks' as const), blocks: fc.array(block, { maxLength: 3 }) }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('rollback' as const), depth: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant({ op: 'return' as const }) },
  { weight: 1, arbitrary: fc.constant({ op: 'again' as const }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('insert' as const), order }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('cancel' as const), order }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('expire' as const), seconds: fc.constantFrom(0, 150, 250, 400, 3600) }),
  },
);
const sequence = fc.array(step, { maxLength: 20 });

async function open(store: Store): Promise<Store> {
  await store.open({ domain: DOMAIN, clock: systemClock });
  await begin(store);
  return store;
}

/** Plays a sequence on a store and on the oracle, then tells a third one the end of it only. */
async function agrees(steps: readonly Step[], subject: Store): Promise<void> {
  const [lived, oracle, told] = [await open(subject), await open(memoryStore()), await open(memoryStore())];
  try {
    const history = await play(steps, [lived, oracle], invariants());
    await tell(history, told);
    const expected = await look(told);
    assert.deepEqual(await look(oracle), expected);
    assert.deepEqual(await look(lived), expected);
  } finally {
    await lived.close();
  }
}

test('a memory store that has lived through reorganisations equals one that knows the canonical chain only', async () => {
  const numRuns = LONG ? 20_000 : 3000;
  await fc.assert(
    fc.asyncProperty(sequence, (steps) => agrees(steps, memoryStore())),
    { numRuns },
  );
});

test('and so does an SQLite store', async () => {
  const numRuns = LONG ? 5000 : 100;
  const run = async (steps: readonly Step[]) => {
    using file = temporaryFile();
    await agrees(steps, sqliteStore({ path: file.path, synchronous: 'OFF' }));
  };
  await fc.assert(fc.asyncProperty(sequence, run), { numRuns });
});

test('and so does a PostgreSQL store', async () => {
  const numRuns = LONG ? 2000 : 60;
  await using place = await temporarySchema();
  const { url, schema } = place;
  const run = async (steps: readonly Step[]) => {
    try {
      await agrees(steps, postgresStore({ url, schema, migrate: true, connections: 2 }));
    } finally {
      await emptySchema(place);
    }
  };
  await fc.assert(fc.asyncProperty(sequence, run), { numRuns });
});
