import type { Address, Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { CompetingSolution, ExecutedOrder } from '../../../../src/auctions/drivers/winner-selection.ts';
import { selectWinners } from '../../../../src/auctions/drivers/winner-selection.ts';
import { NATIVE_MARKER } from '../../../../src/protocol/chains.ts';
import { unpackUid } from '../../../../src/protocol/hex.ts';
import type { WireFeePolicy } from '../../../../src/protocol/protocol-fees.ts';
import { address, uid } from '../../../conformance/orders.ts';

const [A, B, C, WRAPPED] = [address(0xa), address(0xb), address(0xc), address(0xee)];
const ETHER = 10n ** 18n;

/** A sale of 100 atoms with a limit of 0, so that its score is what it buys. */
const sale = (n: number, bought: bigint, sellToken = A, buyToken = B): ExecutedOrder => ({
  uid: uid(n),
  kind: 'sell',
  sellToken,
  buyToken,
  sellAmount: 100n,
  buyAmount: 0n,
  executedSell: 100n,
  executedBuy: bought,
});

const solution = (name: string, solver: number, ...orders: ExecutedOrder[]) => ({
  name,
  driver: `driver ${solver}`,
  solver: address(solver),
  orders,
});

interface Choice {
  readonly prices?: Readonly<Record<Address, string>>;
  readonly orders?: ReadonlyMap<Hex, { readonly protocolFees: readonly WireFeePolicy[] }>;
  readonly jitOwners?: readonly Address[];
  readonly maxWinners?: number;
  readonly auctionId?: number;
}

/** The orders 1 to 9 are in the auction, and a token is worth as much as native currency. */
function select(solutions: readonly (CompetingSolution & { readonly name: string })[], choice: Choice = {}) {
  const one = String(ETHER);
  const orders = new Map([1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [uid(n), { protocolFees: [] }]));
  const { ranked, referenceScores } = selectWinners(solutions, {
    auctionId: 1,
    prices: { [A]: one, [B]: one, [C]: one, [WRAPPED]: one },
    orders,
    jitOwners: [],
    wrappedNative: WRAPPED,
    maxWinners: 10,
    ...choice,
  });
  const named = ranked.map(({ solution: { name }, score, isWinner, filteredOut }) => {
    return `${name} ${score}${isWinner ? ' wins' : ''}${filteredOut ? ' unfair' : ''}`;
  });
  return { named, references: Object.fromEntries(referenceScores) };
}

describe('winner selection', () => {
  test('counts just-in-time orders of the owners of the auction, without fees', () => {
    const jit = { ...sale(1, 5n), uid: uid(77) };
    const { owner } = unpackUid(jit.uid);
    const solutions = [solution('alone', 1, sale(1, 3n)), solution('with a pool', 2, sale(1, 1n), jit)];
    expect(select(solutions).named).toEqual(['alone 3 wins', 'with a pool 1']);
    expect(select(solutions, { jitOwners: [owner] }).named).toEqual(['with a pool 6 wins', 'alone 3']);
    const other = address(0x99);
    expect(select(solutions, { jitOwners: [other] }).named).toEqual(['alone 3 wins', 'with a pool 1']);
  });

  test('lets no solution without a positive score win', () => {
    const { named } = select([solution('at the limit', 1, sale(1, 0n)), solution('bid', 2, sale(1, 1n))]);
    expect(named).toEqual(['bid 1 wins']);
  });

  test('shares auctions between solvers with equal scores', () => {
    const winners = Array.from({ length: 40 }, (_, i) => {
      const { named } = select([solution('a', 1, sale(1, 5n)), solution('b', 2, sale(1, 5n))], { auctionId: i + 1 });
      return named[0];
    });
    const wins = winners.filter((name) => name === 'a 5 wins').length;
    expect(wins).toBeGreaterThan(10);
    expect(wins).toBeLessThan(30);
    // A repeated auction has the same winner.
    const again = select([solution('b', 2, sale(1, 5n)), solution('a', 1, sale(1, 5n))], { auctionId: 1 });
    expect(again.named[0]).toBe(winners[0]);
  });

  test('draws equal scores by the driver, so that a solver gains nothing by the choice of its account', () => {
    const winners = Array.from({ length: 20 }, (_, i) => {
      const other = { ...solution('b', 2, sale(1, 5n)), solver: address(100 + i) };
      return select([solution('a', 1, sale(1, 5n)), other], { auctionId: 1 }).named[0];
    });
    expect(new Set(winners).size).toBe(1);
  });

  test('lets one solution win with an order of a solver, whatever tokens it claims', () => {
    const { named } = select([
      solution('first', 1, sale(1, 10n), sale(20, 1n, B, C)),
      solution('second', 2, sale(2, 9n, B, A), sale(20, 1n, C, B)),
    ]);
    expect(named).toEqual(['first 10 wins', 'second 9']);
  });

  test('ranks by score, and lets one solution win per directed pair', () => {
    const { named } = select([
      solution('low', 1, sale(1, 10n)),
      solution('high', 2, sale(1, 30n)),
      solution('back', 3, sale(2, 20n, B, A)),
      solution('other', 4, sale(3, 5n, A, C)),
    ]);
    expect(named).toEqual(['high 30 wins', 'back 20 wins', 'other 5 wins', 'low 10']);
  });

  test('keeps the order of solutions with equal scores', () => {
    expect(select([solution('first', 1, sale(1, 10n)), solution('second', 2, sale(2, 10n))]).named).toEqual([
      'first 10 wins',
      'second 10',
    ]);
  });

  test('filters out a batch that is below the baseline of one of its pairs', () => {
    const { named } = select([
      solution('batch', 1, sale(1, 90n), sale(2, 9n, A, C)),
      solution('single', 2, sale(3, 10n, A, C)),
    ]);
    expect(named).toEqual(['single 10 wins', 'batch 99 unfair']);
  });

  test('lets a batch win that reaches each baseline', () => {
    const { named } = select([
      solution('batch', 1, sale(1, 90n), sale(2, 10n, A, C)),
      solution('single', 2, sale(3, 10n, A, C)),
    ]);
    expect(named).toEqual(['batch 100 wins', 'single 10']);
  });

  test('does not filter out a solution with one pair that is below the baseline', () => {
    expect(select([solution('a', 1, sale(1, 5n)), solution('b', 2, sale(1, 9n))]).named).toEqual(['b 9 wins', 'a 5']);
  });

  test('treats wrapped and native currency as one token when it picks winners', () => {
    const { named } = select([
      solution('native', 1, sale(1, 10n, A, NATIVE_MARKER)),
      solution('wrapped', 2, sale(2, 9n, A, WRAPPED)),
    ]);
    expect(named).toEqual(['native 10 wins', 'wrapped 9']);
  });

  test('selects at most the configured number of winners', () => {
    const solutions = [solution('a', 1, sale(1, 3n)), solution('b', 2, sale(2, 2n, B, A))];
    expect(select(solutions, { maxWinners: 1 }).named).toEqual(['a 3 wins', 'b 2']);
  });

  test('drops a solution without an order of the auction, and one with a token without a price', () => {
    const unpriced = address(0xdd);
    expect(
      select([solution('own', 1, sale(50, 10n)), solution('unpriced', 2, sale(1, 10n, A, unpriced))]).named,
    ).toEqual([]);
  });

  test('does not score orders of the solver', () => {
    expect(select([solution('a', 1, sale(1, 10n), sale(50, 1000n, A, C))]).named).toEqual(['a 10 wins']);
  });

  test('adds protocol fees to the score', () => {
    const orders = new Map([[uid(1), { protocolFees: [{ volume: { factor: 0.5 } }] }]]);
    expect(select([solution('a', 1, sale(1, 10n))], { orders }).named).toEqual(['a 20 wins']);
  });

  test('scores the surplus of a purchase in the buy token at its limit price', () => {
    // 40 of at most 100 atoms are sold, which is a surplus of 60, or 30 of the buy token, each worth 2.
    const purchase = { ...sale(1, 50n), kind: 'buy' as const, buyAmount: 50n, executedSell: 40n };
    const prices = { [B]: String(2n * ETHER) };
    expect(select([solution('a', 1, purchase)], { prices }).named).toEqual(['a 60 wins']);
  });

  test('computes reference scores without the solver of a winner', () => {
    const { references } = select([
      solution('a', 1, sale(1, 30n)),
      solution('a2', 1, sale(2, 7n, B, A)),
      solution('b', 2, sale(1, 20n)),
      solution('c', 3, sale(3, 5n, A, C)),
    ]);
    expect(references).toEqual({ [address(1)]: 25n, [address(3)]: 37n });
  });

  test('selects no winner without solutions', () => {
    expect(select([])).toEqual({ named: [], references: {} });
  });
});
