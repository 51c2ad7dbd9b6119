import { keccak_256 } from '@noble/hashes/sha3.js';
import { utils } from 'ethers';
import fc from 'fast-check';
import { keccak256 as viemKeccak256 } from 'viem';
import { describe, expect, test } from 'vitest';
import { accelerateKeccak, keccak256, keccak256Text, wasmKeccak } from '../../../src/crypto/keccak.ts';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { vectors } from '../../support/vectors/vectors.ts';

test('keccak-256 of the empty text is that of Ethereum, not SHA-3', () => {
  expect(bytesToHex(keccak256Text(''))).toBe('0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470');
});

test('keccak-256 equals ethers and viem for every length around the block of 136 bytes', () => {
  for (let length = 0; length <= 420; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 255);
    const hash = bytesToHex(keccak256(bytes));
    expect(hash).toBe(utils.keccak256(bytes));
    expect(hash).toBe(viemKeccak256(bytes));
  }
});

test('keccak-256 hashes a view into a larger buffer like its copy', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(9), (bytes, offset) => {
      const larger = new Uint8Array(bytes.length + 20).fill(0xee);
      larger.set(bytes, offset);
      expect(keccak256(larger.subarray(offset, offset + bytes.length))).toEqual(keccak256(bytes));
    }),
    { numRuns: 200 },
  );
});

test('keccak-256 hashes text as UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(bytesToHex(keccak256Text(text))).toBe(utils.id(text));
    }),
    { numRuns: 200 },
  );
});

test('keccak-256 result stays unchanged after the next call', () => {
  const first = keccak256(Uint8Array.of(1));
  const text = bytesToHex(first);
  keccak256(Uint8Array.of(2));
  expect(bytesToHex(first)).toBe(text);
});

describe('keccak-256 in WebAssembly', async () => {
  const fast = await wasmKeccak();

  test('equals JavaScript for every length around blocks of 136 bytes and of 16 KiB', () => {
    const lengths = [...Array(420).keys(), 16383, 16384, 16385, 32768, 40_000];
    for (const length of lengths) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 11 + length) & 255);
      expect(bytesToHex(fast(bytes))).toBe(bytesToHex(keccak_256(bytes)));
    }
  });

  test('hashes a view like its copy, and its result stays unchanged after the next call', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(9), (bytes, offset) => {
        const larger = new Uint8Array(bytes.length + 20).fill(0xee);
        larger.set(bytes, offset);
        const first = fast(larger.subarray(offset, offset + bytes.length));
        fast(Uint8Array.of(offset));
        expect(bytesToHex(first)).toBe(bytesToHex(keccak_256(bytes)));
        expect(larger[offset + bytes.length]).toBe(0xee);
      }),
      { numRuns: 300 },
    );
  });

  test('is used after it was loaded, with the same results', async () => {
    const before = keccak256Text('intentbook');
    await accelerateKeccak();
    await accelerateKeccak(); // the second call changes nothing
    expect(keccak256Text('intentbook')).toEqual(before);
  });
});

describe('keccak-256 vector', () => {
  test.each(vectors.appData)('app data $fullAppData', ({ fullAppData, appDataHash, cidV1Base16 }) => {
    const hash = bytesToHex(keccak256Text(fullAppData));
    expect(hash).toBe(appDataHash);
    expect(`f01551b20${hash.slice(2)}`).toBe(cidV1Base16); // base16, CIDv1, raw, keccak-256, 32 bytes
  });

  test.each([
    ['GPv2Signing.Scheme.PreSign', vectors.eip712.preSigned],
    ['isValidSignature(bytes32,bytes)', vectors.eip712.eip1271Magic],
  ])('%s', (text, hash) => {
    expect(bytesToHex(keccak256Text(text)).slice(0, hash.length)).toBe(hash);
  });
});
