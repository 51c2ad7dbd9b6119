import type { Address, Hex, StateChange } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createBalanceTotals, mergeStateChanges } from '../../../../src/market/bundles/state-diff.ts';

const address = (byte: string): Address => `0x${byte.repeat(20)}`;
const [ALICE, BOB, WETH, USDC, ZERO] = ['a1', 'b0', 'e7', 'c0', '00'].map(address) as [
  Address,
  Address,
  Address,
  Address,
  Address,
]; // five addresses
const key = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;

describe('balance differences of a bundle', () => {
  test('are the sums by account and token', () => {
    const totals = createBalanceTotals();
    expect(totals.differences()).toEqual({});
    totals.add([
      { token: WETH, from: ALICE, to: BOB, amount: 5n },
      { token: WETH, from: BOB, to: ALICE, amount: 2n },
      { token: USDC, from: ALICE, to: BOB, amount: 7n },
    ]);
    expect(totals.differences()).toEqual({
      [ALICE]: { [WETH]: '-3', [USDC]: '-7' },
      [BOB]: { [WETH]: '3', [USDC]: '7' },
    });
    totals.add([{ token: USDC, from: BOB, to: ALICE, amount: 7n }]);
    expect(totals.differences()).toEqual({
      [ALICE]: { [WETH]: '-3', [USDC]: '0' },
      [BOB]: { [WETH]: '3', [USDC]: '0' },
    });
  });

  test('do not contain the zero address, which mints and burns', () => {
    const totals = createBalanceTotals();
    totals.add([
      { token: WETH, from: ZERO, to: ALICE, amount: 5n },
      { token: WETH, from: ALICE, to: ZERO, amount: 1n },
    ]);
    expect(totals.differences()).toEqual({ [ALICE]: { [WETH]: '4' } });
  });
});

describe('state changes of a bundle', () => {
  const slot = (n: number, original: number, dirty: number, of = WETH) => ({
    address: of,
    key: key(n),
    original: key(original),
    dirty: key(dirty),
  });
  const variable = (name: string, original: unknown, dirty: unknown, ...raw: ReturnType<typeof slot>[]) =>
    ({ address: WETH, soltype: { name }, original, dirty, raw }) as unknown as StateChange;
  const untyped = (...raw: ReturnType<typeof slot>[]) =>
    ({ address: WETH, soltype: null, original: null, dirty: null, raw }) as unknown as StateChange;

  test('of a variable keep its first original value, its last dirty value and all slots', () => {
    const earlier = [variable('total', 1, 2, slot(1, 1, 2)), variable('owner', 8, 9, slot(2, 8, 9))];
    const later = [variable('total', 2, 3, slot(1, 2, 3), slot(3, 0, 4))];
    const copies = structuredClone([earlier, later]);
    expect(mergeStateChanges(earlier, later)).toEqual([
      variable('total', 1, 3, slot(1, 1, 3), slot(3, 0, 4)),
      variable('owner', 8, 9, slot(2, 8, 9)),
    ]);
    expect([earlier, later]).toEqual(copies);
  });

  test('of another variable, or of another contract, are added', () => {
    const other = { ...variable('total', 5, 6, slot(1, 5, 6, USDC)), address: USDC };
    const earlier = [variable('total', 1, 2, slot(1, 1, 2))];
    const later = [variable('owner', 3, 4, slot(2, 3, 4)), other];
    expect(mergeStateChanges(earlier, later)).toEqual([...earlier, ...later]);
    expect(mergeStateChanges([], later)).toEqual(later);
  });

  test('without a type are merged slot by slot', () => {
    const earlier = [untyped(slot(1, 1, 2), slot(2, 5, 6))];
    const later = [untyped(slot(2, 6, 7), slot(1, 2, 9, USDC), slot(3, 0, 1))];
    expect(mergeStateChanges(earlier, later)).toEqual([
      untyped(slot(1, 1, 2), slot(2, 5, 7)),
      untyped(slot(1, 2, 9, USDC)),
      untyped(slot(3, 0, 1)),
    ]);
  });

  test('with a type but without values are merged slot by slot into the variable', () => {
    const earlier = [variable('total', 1, 2, slot(1, 1, 2))];
    for (const later of [variable('total', null, 3, slot(1, 2, 3)), variable('total', 2, null, slot(1, 2, 3))]) {
      expect(mergeStateChanges(earlier, [later])).toEqual([variable('total', 1, 2, slot(1, 1, 3))]);
    }
    expect(mergeStateChanges([untyped(slot(1, 1, 2))], [variable('total', 2, 3, slot(1, 2, 3))])).toHaveLength(2);
  });
});
