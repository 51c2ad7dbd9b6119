import fc from 'fast-check';
import type { NewOrder, Store, TradeQuery } from 'intentbook';
import { systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSurplusReader } from '../../../src/chain/surplus.ts';
import { apply, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, BOB, order, PLACED_AT, place, range } from '../../conformance/orders.ts';

/** One wei for each atom of both tokens. */
const PRICES = { sellToken: String(10n ** 18n), buyToken: String(10n ** 18n) };
const TERMS = JSON.stringify({ kind: 'sell', sellAmount: '1000000', buyAmount: '500000' });

let store: Store;
beforeEach(async () => {
  store = memoryStore();
  await store.open({ domain: DOMAIN, clock: systemClock });
});
afterEach(() => store.close());

/** A trade of 100 for 50 and a surplus of `gain` wei. */
const gaining = (of: NewOrder, block: number, logIndex: number, gain: number, fork = 0) =>
  trade(of, block, {
    sellAmount: '100',
    buyAmount: String(50 + gain),
    logIndex,
    prices: PRICES,
    blockHash: hash(block, fork),
  });
const hash = (block: number, fork: number) => `0x${(block * 16 + fork).toString(16).padStart(64, '0')}` as const;

describe('total surplus', () => {
  test('equals the sum of the canonical trades after any blocks and reorganisations', async () => {
    const operation = fc.oneof(
      fc.record({
        type: fc.constant('block' as const),
        trades: fc.array(fc.tuple(fc.nat(3), fc.nat(99)), { maxLength: 4 }),
      }),
      fc.record({ type: fc.constant('rollback' as const), blocks: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ type: fc.constant('read' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
        const lived = memoryStore();
        await lived.open({ domain: DOMAIN, clock: systemClock });
        const placed = range(4).map((n) => order(n, { owner: n < 2 ? ALICE : BOB, body: TERMS }));
        await place(lived, ...placed);
        const reader = createSurplusReader(lived);
        /** Gains of each block by owner. */
        const blocks: (readonly (readonly [owner: string, gain: number])[])[] = [];
        const check = async () => {
          for (const owner of [ALICE, BOB]) {
            const gains = blocks.flat().filter(([of]) => of === owner);
            expect(await reader.total(owner)).toBe(gains.reduce((sum, [, gain]) => sum + BigInt(gain), 0n));
          }
        };
        let forks = 0;
        await apply(lived, 1);
        for (const each of operations) {
          if (each.type === 'read') await check();
          else if (each.type === 'block') {
            const trades = each.trades.flatMap(([n, gain]) => (placed[n] ? [{ of: placed[n], gain }] : []));
            const number = blocks.length + 2;
            const events = trades.map(({ of, gain }, i) => gaining(of, number, i, gain, forks % 16));
            await lived.chain.apply({
              events,
              blocks: [],
              through: { number, hash: hash(number, forks % 16) },
              forgetBelow: 0,
              at: PLACED_AT,
            });
            blocks.push(trades.map(({ of, gain }) => [of.owner, gain]));
          } else {
            const left = Math.max(0, blocks.length - each.blocks);
            await lived.chain.rollback({ to: left + 1, at: PLACED_AT });
            blocks.length = left;
            forks++;
          }
        }
        await check();
        await lived.close();
      }),
      { numRuns: 300 },
    );
  });

  test('is not computed further when no caller is left', async () => {
    const placed = order(1, { body: TERMS });
    await place(store, placed);
    await apply(store, 9, ...range(400).map((i) => gaining(placed, 5, i, 1)));
    let reads = 0;
    const chain = {
      ...store.chain,
      trades: (query: TradeQuery) => {
        reads++;
        return store.chain.trades(query);
      },
    };
    const reader = createSurplusReader({ ...store, chain });
    const leaving = new AbortController();
    const total = reader.total(ALICE, { signal: leaving.signal });
    leaving.abort();
    await expect(total).rejects.toBe(leaving.signal.reason);
    expect(reads).toBe(1);

    // Another caller keeps the computation alive.
    const both = [new AbortController(), new AbortController()] as const;
    const totals = both.map(({ signal }) => reader.total(ALICE, { signal }));
    both[0].abort();
    expect(await Promise.all(totals)).toEqual([400n, 400n]);
    expect(reads).toBe(1 + 5);
  });
});
