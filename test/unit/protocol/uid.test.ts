import {
  extractOrderUidParams,
  ORDER_UID_LENGTH,
  packOrderUidParams,
} from '@cowprotocol/contracts/lib/commonjs/order.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packUid, parseUid, UID_SIZE, unpackUid } from '../../../src/protocol/hex.ts';
import { hex, vectors } from '../../support/vectors/vectors.ts';
import { address, bytes, uid, validTo } from './arbitraries.ts';

test.each(vectors.uids)('UID $uid is packed and unpacked as in the vectors', (vector) => {
  const parts = { digest: hex(vector.orderDigest), owner: hex(vector.owner), validTo: vector.validTo };
  expect(packUid(parts)).toBe(vector.uid);
  expect(unpackUid(hex(vector.uid))).toEqual(parts);
});

test('UID packs and unpacks as the contracts package does', () => {
  expect(UID_SIZE).toBe(ORDER_UID_LENGTH);
  fc.assert(
    fc.property(bytes(32), address, validTo, (digest, owner, expiry) => {
      const packed = packUid({ digest, owner, validTo: expiry });
      expect(packed).toBe(packOrderUidParams({ orderDigest: digest, owner, validTo: expiry }));
      expect(unpackUid(packed)).toEqual({ digest, owner, validTo: expiry });
      const theirs = extractOrderUidParams(packed);
      expect(theirs.owner.toLowerCase()).toBe(owner);
      expect(theirs).toMatchObject({ orderDigest: digest, validTo: expiry });
    }),
    { numRuns: 500 },
  );
});

describe('parseUid', () => {
  test('accepts 56 bytes in either case', () => {
    fc.assert(
      fc.property(uid, (text) => {
        expect(parseUid(text)).toBe(text);
        expect(parseUid(`0x${text.slice(2).toUpperCase()}`)).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['55 bytes', `0x${'ab'.repeat(55)}`],
    ['57 bytes', `0x${'ab'.repeat(57)}`],
    ['an odd number of digits', `0x${'ab'.repeat(55)}a`],
    ['no prefix', 'ab'.repeat(57)],
    ['an upper-case prefix', `0X${'ab'.repeat(56)}`],
    ['an invalid letter', `0x${'ab'.repeat(55)}ag`],
    ['nothing', ''],
    ['an array of one UID', [`0x${'ab'.repeat(56)}`]],
    ['null', null],
    ['a number', 56],
  ])('rejects %s', (_, text) => {
    expect(parseUid(text)).toBeUndefined();
  });
});
