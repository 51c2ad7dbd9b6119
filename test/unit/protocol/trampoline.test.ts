import fc from 'fast-check';
import { decodeFunctionData, encodeFunctionData, parseAbi } from 'viem';
import { expect, test } from 'vitest';
import { HOOKS_TRAMPOLINE } from '../../../src/protocol/chains.ts';
import { getHooksGas, getInteractions } from '../../../src/protocol/trampoline.ts';
import { address } from './arbitraries.ts';

const abi = parseAbi([
  'struct Hook { address target; bytes callData; uint256 gasLimit; }',
  'function execute(Hook[] hooks)',
]);

const hooks = fc.array(
  fc.record({
    target: address,
    callData: fc
      .uint8Array({ maxLength: 100 })
      .map((value): `0x${string}` => `0x${Buffer.from(value).toString('hex')}`),
    gasLimit: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  }),
  { maxLength: 5 },
);

test('hooks are encoded as at most one trampoline call per side, like viem', () => {
  fc.assert(
    fc.property(hooks, hooks, (pre, post) => {
      const interactions = getInteractions({ pre, post });
      for (const [list, calls] of [
        [pre, interactions.pre],
        [post, interactions.post],
      ] as const) {
        const callData = encodeFunctionData({ abi, functionName: 'execute', args: [list] });
        expect(calls).toEqual(list.length === 0 ? [] : [{ target: HOOKS_TRAMPOLINE, value: '0', callData }]);
        if (calls[0] !== undefined)
          expect(decodeFunctionData({ abi, data: calls[0].callData }).args[0]).toHaveLength(list.length);
      }
    }),
    { numRuns: 300 },
  );
});

test('hooks use the trampoline of the host', () => {
  const hook = { target: HOOKS_TRAMPOLINE, callData: '0x', gasLimit: 1n } as const;
  const { pre, post } = getInteractions({ pre: [hook], post: [] }, `0x${'ab'.repeat(20)}`);
  expect(pre.map(({ target }) => target)).toEqual([`0x${'ab'.repeat(20)}`]);
  expect(post).toEqual([]);
});

test('hook gas includes both sides', () => {
  const hook = (gasLimit: bigint) => ({ target: HOOKS_TRAMPOLINE, callData: '0x' as const, gasLimit });
  expect(getHooksGas({ pre: [hook(1n), hook(2n)], post: [hook(2n ** 64n - 1n)] })).toBe(2n ** 64n + 2n);
  expect(getHooksGas({ pre: [], post: [] })).toBe(0n);
});
