import fc from 'fast-check';
import { concat, hashMessage, keccak256, domainSeparator as viemDomainSeparator } from 'viem';
import { describe, expect, test } from 'vitest';
import {
  DOMAIN_NAME,
  DOMAIN_VERSION,
  domainSeparator,
  parseDomain,
  personalDigest,
  typedDataDigest,
} from '../../../src/protocol/eip712.ts';
import { bytesToHex, hexToBytes } from '../../../src/protocol/hex.ts';
import { chains, hex, vectors } from '../../support/vectors/vectors.ts';
import { bytes, domain, typedDomain } from './arbitraries.ts';

test('EIP-712 domain has the name and version of the chain table', () => {
  expect({ name: DOMAIN_NAME, version: DOMAIN_VERSION }).toEqual(chains.domain);
});

test.each(vectors.domains)('EIP-712 separator of chain $chainId matches the vectors', (vector) => {
  const settlementContract = hex(vector.verifyingContract);
  expect(bytesToHex(domainSeparator({ chainId: vector.chainId, settlementContract }))).toBe(vector.separator);
});

test('EIP-712 separator of any domain equals viem', () => {
  fc.assert(
    fc.property(domain, (any) => {
      expect(bytesToHex(domainSeparator(any))).toBe(viemDomainSeparator({ domain: typedDomain(any) }));
    }),
    { numRuns: 500 },
  );
});

test('EIP-712 digest hashes 0x1901, the separator and the struct hash', () => {
  fc.assert(
    fc.property(bytes(32), bytes(32), (separator, structHash) => {
      const digest = typedDataDigest(hexToBytes(separator), hexToBytes(structHash));
      expect(bytesToHex(digest)).toBe(keccak256(concat(['0x1901', separator, structHash])));
    }),
    { numRuns: 200 },
  );
});

test('personal digest equals viem', () => {
  fc.assert(
    fc.property(bytes(32), (digest) => {
      expect(bytesToHex(personalDigest(hexToBytes(digest)))).toBe(hashMessage({ raw: digest }));
    }),
    { numRuns: 200 },
  );
});

test('personal digest of the reference order matches the vectors', () => {
  const hashes = vectors.orders.flatMap(({ digest, ethsignMessageHash }) =>
    ethsignMessageHash === undefined ? [] : [{ digest, ethsignMessageHash }],
  );
  expect(hashes).toHaveLength(1);
  for (const { digest, ethsignMessageHash } of hashes) {
    expect(bytesToHex(personalDigest(hexToBytes(hex(digest))))).toBe(ethsignMessageHash);
  }
});

describe('parseDomain', () => {
  const settlementContract = hex(chains.production.settlement);

  test('accepts the contract in either case', () => {
    const [vector] = vectors.domains;
    const checksummed = vector?.verifyingContract as `0x${string}`; // the text of a checksummed address
    expect(parseDomain({ chainId: 1, settlementContract: checksummed })).toEqual({ chainId: 1, settlementContract });
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('rejects chain %s', (chainId) => {
    expect(() => parseDomain({ chainId, settlementContract })).toThrow(TypeError);
    expect(() => parseDomain({ chainId, settlementContract })).toThrow('chainId');
  });

  test.each(['0x', '0x9008', `${settlementContract}00` as const, `0X${settlementContract.slice(2)}` as '0x', '0xzz'])(
    'rejects contract %s',
    (address) => {
      expect(() => parseDomain({ chainId: 1, settlementContract: address as '0x' })).toThrow(TypeError); // no such type
      expect(() => parseDomain({ chainId: 1, settlementContract: address as '0x' })).toThrow('settlementContract');
    },
  );

  test.each(['1', 1n, null, undefined])('rejects chain %o of another type', (chainId) => {
    const options = Object.assign({ chainId: 1, settlementContract }, { chainId });
    expect(() => parseDomain(options)).toThrow(TypeError);
  });
});
