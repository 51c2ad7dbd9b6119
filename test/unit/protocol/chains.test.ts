import { describe, expect, test } from 'vitest';
import {
  CHAINS,
  chainById,
  chainBySegment,
  deployment,
  ENVIRONMENTS,
  HOOKS_TRAMPOLINE,
  NATIVE_MARKER,
} from '../../../src/protocol/chains.ts';
import { parseHex } from '../../../src/protocol/hex.ts';
import { getWrappedSymbol } from '../../../src/protocol/native-currency.ts';
import { chains } from '../../support/vectors/vectors.ts';

test('chain table matches the contract, chain by chain', () => {
  const found = CHAINS.map((chain) => ({ ...chain, wrappedSymbol: getWrappedSymbol(chain.chainId) }));
  expect(found).toEqual(chains.chains);
});

test('common contracts have the published addresses', () => {
  expect(deployment('production')).toEqual(chains.production);
  expect(deployment('staging')).toEqual(chains.staging);
  expect(HOOKS_TRAMPOLINE).toBe(chains.hooksTrampoline);
  expect(NATIVE_MARKER).toBe(chains.nativeMarker);
});

test('chain with own contracts keeps the common ones', () => {
  for (const chain of CHAINS) {
    for (const environment of ENVIRONMENTS) {
      const own = chain.ethFlow === undefined ? {} : { ethFlow: chain.ethFlow[environment] };
      expect(deployment(environment, chain)).toEqual({ ...chains[environment], ...own });
    }
  }
  expect(CHAINS.filter(({ ethFlow }) => ethFlow !== undefined)).not.toHaveLength(0);
});

test('chain addresses are in lower case', () => {
  const addresses = CHAINS.flatMap(({ wrappedNative, ethFlow }) => [wrappedNative, ...Object.values(ethFlow ?? {})]);
  for (const address of [
    ...addresses,
    ...ENVIRONMENTS.flatMap((environment) => Object.values(deployment(environment))),
  ]) {
    expect(parseHex(address, 20)).toBe(address);
  }
});

describe('chain lookup', () => {
  test.each(chains.chains)('maps $segment to chain $chainId in both directions', ({ segment, chainId }) => {
    expect(chainById(chainId)?.segment).toBe(segment);
    expect(chainBySegment(segment)?.chainId).toBe(chainId);
  });

  test.each(['', 'Mainnet', 'goerli', '__proto__', 'constructor', '1'])('finds no chain %o', (segment) => {
    expect(chainBySegment(segment)).toBeUndefined();
  });

  test.each([0, -1, 5, 31337, Number.NaN])('finds no chain %s', (chainId) => {
    expect(chainById(chainId)).toBeUndefined();
  });
});
