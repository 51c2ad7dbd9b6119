import { viemSimulator } from 'intentbook/viem';
import { describe, expect, test } from 'vitest';

const [ALICE, BOB, WETH] = ['a1', 'b0', 'e7'].map((byte) => `0x${byte.repeat(20)}` as const) as [
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
];
const ZERO = `0x${'00'.repeat(20)}` as const;
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const SYSTEM = '0xfffffffffffffffffffffffffffffffffffffffe';
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const DEPOSIT = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c';
const WITHDRAWAL = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65';

const word = (value: string | number) => `0x${String(value).replace('0x', '').padStart(64, '0')}`;
const log = (address: string, topics: readonly string[], amount: number) => ({
  address,
  topics: topics.map((each) => (each.length === 42 ? word(each) : each)),
  data: word(amount.toString(16)),
});
const transfer = (token: string, from: string, to: string, amount: number) => log(token, [TRANSFER, from, to], amount);

/** Returns the transfers of a call for which the node returns these logs. */
async function simulate(logs: readonly object[], status = '0x1') {
  const node = { request: async () => [{ calls: [{ status, gasUsed: '0x5208', logs }] }] };
  const simulator = viemSimulator(node as never, { wrappedNative: WETH, stateDiff: false }); // the member that is used
  const call = { from: ALICE, to: BOB, data: '0x', value: 0n } as const;
  const outcome = await simulator.simulate([call as never], { signal: new AbortController().signal });
  if (outcome.status !== 'simulated') throw new Error(outcome.status);
  const [result] = outcome.results;
  return { ...result, transfers: result?.transfers.map((each) => [each.token, each.from, each.to, each.amount]) };
}

describe('bundle simulator on a node', () => {
  test('has no transfers of a call that fails', async () => {
    const logs = [transfer(NATIVE, ALICE, BOB, 9), transfer(WETH, ALICE, BOB, 7), log(WETH, [DEPOSIT, ALICE], 7)];
    expect(await simulate(logs, '0x0')).toMatchObject({ success: false, transfers: [] });
    expect((await simulate(logs)).transfers).toHaveLength(3);
  });

  test('reads null of a node as an empty list and as no data', async () => {
    const { logs } = await simulate([{ address: BOB, topics: null, data: null }]);
    expect(logs).toEqual([{ address: BOB, topics: [], data: '0x' }]);
  });

  test.each([
    ['a deposit', [log(WETH, [DEPOSIT, ALICE], 7)], [[WETH, ZERO, ALICE, 7n]]],
    [
      'a deposit with its transfer',
      [transfer(WETH, ZERO, ALICE, 7), log(WETH, [DEPOSIT, ALICE], 7)],
      [[WETH, ZERO, ALICE, 7n]],
    ],
    [
      'a withdrawal before its transfer',
      [log(WETH, [WITHDRAWAL, ALICE], 7), transfer(WETH, ALICE, ZERO, 7)],
      [[WETH, ALICE, ZERO, 7n]],
    ],
    [
      'a deposit and another transfer',
      [log(WETH, [DEPOSIT, ALICE], 7), transfer(WETH, ALICE, BOB, 7)],
      [
        [WETH, ZERO, ALICE, 7n],
        [WETH, ALICE, BOB, 7n],
      ],
    ],
    ['a deposit of another token', [log(BOB, [DEPOSIT, ALICE], 7)], []],
    ['a log of the chain', [transfer(SYSTEM, ALICE, BOB, 9)], [[NATIVE, ALICE, BOB, 9n]]],
    [
      'logs of the chain and of the node',
      [transfer(SYSTEM, ALICE, BOB, 9), transfer(NATIVE, ALICE, BOB, 9)],
      [[NATIVE, ALICE, BOB, 9n]],
    ],
  ] as const)('counts %s once', async (_name, logs, expected) => {
    expect((await simulate(logs)).transfers).toEqual(expected);
  });
});
