import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import type { Step } from './chain-model.ts';
import { applyHistory, begin, invariants, look, ORDERS, PICKS, play } from './chain-model.ts';

const DOMAIN = { chainId: 1, settlementContract: `0x${'90'.repeat(20)}` } as const;

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
export const sequence = fc.array(step, { maxLength: 20 });

async function open(store: Store): Promise<Store> {
  await store.open({ domain: DOMAIN, clock: systemClock });
  await begin(store);
  return store;
}

/** Runs a sequence on a store and on the oracle, then its canonical history on a third store. */
export async function agrees(steps: readonly Step[], subject: Store): Promise<void> {
  const [simulated, oracle, replayed] = [await open(subject), await open(memoryStore()), await open(memoryStore())];
  try {
    const history = await play(steps, [simulated, oracle], invariants());
    await applyHistory(history, replayed);
    const expected = await look(replayed);
    assert.deepEqual(await look(oracle), expected);
    assert.deepEqual(await look(simulated), expected);
  } finally {
    await simulated.close();
  }
}
