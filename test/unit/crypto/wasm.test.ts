import { utils } from 'ethers';
import fc from 'fast-check';
import { publicKeyToAddress, recoverPublicKey } from 'viem/utils';
import { describe, expect, test } from 'vitest';
import { wasmRecovery } from '../../../src/crypto/wasm.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex, hexToBytes } from '../../../src/protocol/hex.ts';
import { SECP256K1_N } from '../../../src/protocol/signature.ts';
import { bytes, word } from '../protocol/arbitraries.ts';

const FIELD = 2n ** 256n - 2n ** 32n - 977n;
const HALF = SECP256K1_N / 2n;

/** The x of the generator. Its y is even, so recovery id 0 means this point. */
const GENERATOR_X = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;

const backend = await wasmRecovery();

function recover(digest: Hex, r: bigint, s: bigint, recoveryId: 0 | 1): Hex | undefined {
  // Two hex strings.
  const key = backend.recover(hexToBytes(digest), hexToBytes(`${word(r)}${word(s).slice(2)}` as Hex), recoveryId);
  return key && bytesToHex(key);
}

async function recoverWithViem(digest: Hex, r: bigint, s: bigint, yParity: 0 | 1): Promise<Hex | undefined> {
  try {
    return await recoverPublicKey({ hash: digest, signature: { r: word(r), s: word(s), yParity } });
  } catch {
    return undefined;
  }
}

const edges = (max: bigint) => fc.constantFrom(1n, 2n, 3n, 4n, 5n, GENERATOR_X, HALF, max - 1n, max);
const r = fc.oneof(edges(SECP256K1_N - 1n), fc.bigInt({ min: 1n, max: SECP256K1_N - 1n }));
const s = fc.oneof(
  edges(HALF).filter((value) => value <= HALF),
  fc.bigInt({ min: 1n, max: HALF }),
);
const digest = fc.oneof(
  fc.constantFrom(0n, 1n, HALF, SECP256K1_N - 1n, SECP256K1_N, SECP256K1_N + 1n, FIELD, 2n ** 256n - 1n).map(word),
  bytes(32),
);
const recoveryId = fc.constantFrom<0 | 1>(0, 1);

test('WebAssembly recovery backend reports its name', () => {
  expect(backend.name).toBe('wasm');
});

test('WebAssembly recovery equals viem for any signature in range', async () => {
  let found = 0;
  let none = 0;
  await fc.assert(
    fc.asyncProperty(digest, r, s, recoveryId, async (...signature) => {
      const key = recover(...signature);
      if (key === undefined) none++;
      else found++;
      expect(key).toBe(await recoverWithViem(...signature));
    }),
    { numRuns: 500 },
  );
  expect(Math.min(found, none)).toBeGreaterThan(100); // both outcomes occurred
});

test('WebAssembly recovery returns the key of a signature made by ethers', () => {
  fc.assert(
    fc.property(digest, fc.bigInt({ min: 1n, max: SECP256K1_N - 1n }), (hash, secret) => {
      const key = new utils.SigningKey(word(secret));
      const made = key.signDigest(hash);
      const recovered = recover(hash, BigInt(made.r), BigInt(made.s), made.recoveryParam === 0 ? 0 : 1);
      expect(recovered).toBe(key.publicKey);
    }),
    { numRuns: 30 },
  );
});

describe('WebAssembly recovery returns no key', () => {
  test('if no point of the curve has r as its x', () => {
    // x³ + 7 is no square for 5.
    for (const parity of [0, 1] as const) expect(recover(word(1n), 5n, 1n, parity)).toBeUndefined();
  });

  test('if the key is the point at infinity', () => {
    // Q = (s·R − z·G) / r with R = G and z = s.
    for (const z of [1n, 2n, 12345n, HALF]) {
      expect(recover(word(z), GENERATOR_X, z, 0)).toBeUndefined();
      expect(recover(word(z), GENERATOR_X, z, 1)).toBeTypeOf('string');
    }
  });
});

test('WebAssembly recovery reduces a digest modulo the order of the group', () => {
  expect(recover(word(SECP256K1_N + 1n), GENERATOR_X, 2n, 0)).toBe(recover(word(1n), GENERATOR_X, 2n, 0));
  expect(recover(word(SECP256K1_N), GENERATOR_X, 2n, 0)).toBe(recover(word(0n), GENERATOR_X, 2n, 0));
});

test('WebAssembly recovery survives r and s out of range', () => {
  const outside = [0n, SECP256K1_N, FIELD, 2n ** 256n - 1n];
  for (const value of outside) {
    for (const parity of [0, 1] as const) {
      expect(recover(word(1n), value, 1n, parity)).toBeUndefined();
      expect(recover(word(1n), 1n, value, parity)).toBeUndefined();
    }
  }
});

test('WebAssembly recovery survives hostile input, and its results stay unchanged after later calls', () => {
  const good = () => backend.recover(hexToBytes(word(7n)), hexToBytes(`${word(GENERATOR_X)}${word(9n).slice(2)}`), 0);
  const kept = good();
  const text = kept && bytesToHex(kept);
  expect(text).toMatch(/^0x04[0-9a-f]{128}$/);
  fc.assert(
    fc.property(bytes(32), bytes(64), recoveryId, (hash, rs, parity) => {
      const input = [hexToBytes(hash), hexToBytes(rs)] as const;
      backend.recover(...input, parity);
      expect(input.map(bytesToHex)).toEqual([hash, rs]); // the input is unchanged
    }),
    { numRuns: 2000 },
  );
  const again = good();
  expect(again && bytesToHex(again)).toBe(text);
  expect(kept && bytesToHex(kept)).toBe(text);
  expect(text && publicKeyToAddress(text)).toMatch(/^0x/);
});

test('WebAssembly recovery instances share nothing', async () => {
  const other = await wasmRecovery();
  const [a, b] = [hexToBytes(word(7n)), hexToBytes(`${word(GENERATOR_X)}${word(9n).slice(2)}`)];
  const first = backend.recover(a, b, 0);
  other.recover(hexToBytes(word(8n)), b, 1);
  expect(backend.recover(a, b, 0)).toEqual(first);
  expect(other.recover(a, b, 0)).toEqual(first);
});
