import { hashOrderCancellations } from '@cowprotocol/contracts/lib/commonjs/order.js';
import fc from 'fast-check';
import { hashTypedData } from 'viem';
import { describe, expect, test } from 'vitest';
import { keccak256Text } from '../../../src/crypto/keccak.ts';
import {
  CANCELLATION_TYPE,
  CANCELLATIONS_TYPE,
  cancellationDigest,
  cancellationsDigest,
} from '../../../src/protocol/cancellation.ts';
import type { Domain } from '../../../src/protocol/eip712.ts';
import { domainSeparator, typedDataDigest } from '../../../src/protocol/eip712.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex, hexToBytes } from '../../../src/protocol/hex.ts';
import { hex, vectors } from '../../support/vectors/vectors.ts';
import { domain, ethersDomain, typedDomain, uid } from './arbitraries.ts';

const one = (of: Domain, orderUid: Hex) => bytesToHex(cancellationDigest(domainSeparator(of), orderUid));
const many = (of: Domain, orderUids: readonly Hex[]) => bytesToHex(cancellationsDigest(domainSeparator(of), orderUids));

describe('cancellation vectors', () => {
  test.each([
    { type: CANCELLATION_TYPE, expected: vectors.eip712.cancellationType, hash: vectors.eip712.cancellationTypeHash },
    {
      type: CANCELLATIONS_TYPE,
      expected: vectors.eip712.cancellationsType,
      hash: vectors.eip712.cancellationsTypeHash,
    },
  ])('$type', ({ type, expected, hash }) => {
    expect(type).toBe(expected);
    expect(bytesToHex(keccak256Text(type))).toBe(hash);
  });

  test.each(vectors.cancellations)('$name', ({ type, chainId, settlement, orderUids, structHash, digest }) => {
    const of = { chainId, settlementContract: hex(settlement) };
    expect(CANCELLATIONS_TYPE.startsWith(`${type}(`)).toBe(true);
    expect(many(of, orderUids.map(hex))).toBe(digest);
    expect(bytesToHex(typedDataDigest(domainSeparator(of), hexToBytes(hex(structHash))))).toBe(digest);
  });
});

test('cancellation of one order equals viem', () => {
  fc.assert(
    fc.property(domain, uid, (of, orderUid) => {
      const expected = hashTypedData({
        domain: typedDomain(of),
        types: { OrderCancellation: [{ name: 'orderUid', type: 'bytes' }] },
        primaryType: 'OrderCancellation',
        message: { orderUid },
      });
      expect(one(of, orderUid)).toBe(expected);
      expect(many(of, [orderUid])).not.toBe(expected);
    }),
    { numRuns: 200 },
  );
});

test('cancellation of 0 to 128 orders equals viem and the contracts package', () => {
  fc.assert(
    fc.property(domain, fc.array(uid, { maxLength: 128, size: 'max' }), (of, orderUids) => {
      const digest = many(of, orderUids);
      expect(digest).toBe(
        hashTypedData({
          domain: typedDomain(of),
          types: { OrderCancellations: [{ name: 'orderUids', type: 'bytes[]' }] },
          primaryType: 'OrderCancellations',
          message: { orderUids },
        }),
      );
      expect(digest).toBe(hashOrderCancellations(ethersDomain(of), orderUids));
    }),
    { numRuns: 60, examples: [1, 2, 127, 128].map((count) => [DOMAIN, numbered(count)]) },
  );
});

test('cancellation digest depends on the order of the list', () => {
  const [a, b] = numbered(2);
  if (a === undefined || b === undefined) throw new Error('two are generated');
  expect(many(DOMAIN, [a, b])).not.toBe(many(DOMAIN, [b, a]));
  expect(many(DOMAIN, [a, a])).not.toBe(many(DOMAIN, [a]));
});

const DOMAIN: Domain = { chainId: 1, settlementContract: `0x${'11'.repeat(20)}` };

function numbered(count: number): Hex[] {
  return Array.from({ length: count }, (_, i): Hex => `0x${i.toString(16).padStart(112, '0')}`);
}
