import { createRequire } from 'node:module';
import fc from 'fast-check';
import { nativeRecovery, systemRecovery } from 'intentbook/native';
import { recoverPublicKey } from 'viem/utils';
import { describe, expect, test, vi } from 'vitest';
import type { RecoveryBackend } from '../../../src/crypto/backend.ts';
import { keccak256 } from '../../../src/crypto/keccak.ts';
import { selectRecoveryBackend } from '../../../src/crypto/recovery.ts';
import { wasmRecovery } from '../../../src/crypto/wasm.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex, hexToBytes } from '../../../src/protocol/hex.ts';
import { SECP256K1_N } from '../../../src/protocol/signature.ts';
import { bytes, word } from '../protocol/arbitraries.ts';

const LONG = process.env['TEST_LONG'] === '1';

const FIELD = 2n ** 256n - 2n ** 32n - 977n;
const HALF = SECP256K1_N / 2n;
const native = await nativeRecovery();
const wasm = await wasmRecovery();
/** The addon of the package secp256k1, which exports the functions of its libsecp256k1. */
const ADDON = Object.keys(createRequire(import.meta.url).cache).find((path) => /secp256k1.*\.node$/.test(path)) ?? '';
const system = await systemRecovery(ADDON);
const BACKENDS = [native, system, wasm] as const;

/** Simulates a library that recovers a key from each signature. */
const faults = vi.hoisted(() => ({ recoversAlways: false }));
vi.mock(import('koffi'), async (importOriginal) => {
  const koffi = await importOriginal();
  return {
    ...koffi,
    load(file) {
      const library = koffi.load(file);
      if (!faults.recoversAlways) return library;
      return { ...library, func: () => Object.assign(() => 1, library.func('int abs(int value)')) };
    },
  };
});

interface Case {
  readonly digest: Uint8Array;
  readonly rs: Uint8Array;
  readonly recoveryId: 0 | 1;
}

function keyBy(backend: RecoveryBackend, { digest, rs, recoveryId }: Case): Hex | undefined {
  const key = backend.recover(digest, rs, recoveryId);
  return key && bytesToHex(key);
}

async function keyByViem({ digest, rs, recoveryId }: Case): Promise<Hex | undefined> {
  const text = bytesToHex(rs);
  const signature = { r: text.slice(0, 66) as Hex, s: `0x${text.slice(66)}` as const, yParity: recoveryId };
  return recoverPublicKey({ hash: bytesToHex(digest), signature }).catch(() => undefined);
}

function caseOf(digest: bigint, r: bigint, s: bigint, recoveryId: 0 | 1): Case {
  return {
    digest: hexToBytes(word(digest)),
    rs: hexToBytes(`${word(r)}${word(s).slice(2)}` as Hex), // two hex strings
    recoveryId,
  };
}

/** The x of the multiples of the generator by 1/2, 1/3, …: point addition formulas meet equal points there. */
const X_OF_G = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;
const X_OF_2G = 0xc6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5n;
const X_OF_HALF_G = 0x3b78ce563f89a0ed9414f5aa28ad0d96d6795f9c63n;
/** Cube root of unity of the field: λG and G share a y, which endomorphism code confuses first. */
const BETA = 0x7ae96a2b657c07106e64479eac3434e99cf0497512f58995c1396c28719501een;

/** Values of an attacker: both ends of each range, their neighbours, and special points of the curve. */
const SCALARS: readonly bigint[] = [
  1n,
  2n,
  3n,
  4n,
  5n,
  6n,
  7n,
  2n ** 32n - 1n,
  2n ** 64n,
  2n ** 128n - 1n,
  2n ** 128n,
  2n ** 255n,
  X_OF_G,
  X_OF_2G,
  X_OF_HALF_G,
  (X_OF_G * BETA) % FIELD,
  (X_OF_G * BETA * BETA) % FIELD,
  HALF - 1n,
  HALF,
  HALF + 1n,
  SECP256K1_N - 3n,
  SECP256K1_N - 2n,
  SECP256K1_N - 1n,
];
/** Values outside of the interface; no backend may return a key where another returns none. */
const OUTSIDE: readonly bigint[] = [0n, SECP256K1_N, SECP256K1_N + 1n, FIELD - 1n, FIELD, 2n ** 256n - 1n];
const DIGESTS: readonly bigint[] = [
  0n,
  1n,
  ...SCALARS.slice(12),
  SECP256K1_N,
  SECP256K1_N + 1n,
  FIELD,
  2n ** 256n - 1n,
];

/** Returns a reproducible byte stream, with one hash per 32 bytes. */
function* noise(seed: number): Generator<Uint8Array> {
  let block = keccak256(Uint8Array.of(seed & 255, (seed >> 8) & 255));
  for (;;) {
    block = keccak256(block);
    yield block;
  }
}

describe('recovery backends agree', () => {
  test('on each combination of adversarial values', { timeout: 3_600_000 }, async () => {
    let found = 0;
    let none = 0;
    for (const r of SCALARS) {
      for (const s of SCALARS.filter((value) => value <= HALF)) {
        for (const digest of DIGESTS) {
          for (const recoveryId of [0, 1] as const) {
            const signature = caseOf(digest, r, s, recoveryId);
            const key = keyBy(native, signature);
            if (key !== keyBy(wasm, signature) || key !== keyBy(system, signature)) {
              expect.fail(JSON.stringify({ r, s, digest, recoveryId }, String));
            }
            if (key === undefined) none++;
            else found++;
          }
        }
      }
    }
    expect(Math.min(found, none)).toBeGreaterThan(500);
  });

  test('with viem, which shares no code with them', { timeout: 3_600_000 }, async () => {
    const scalar = fc.oneof(fc.constantFrom(...SCALARS), fc.bigInt({ min: 1n, max: SECP256K1_N - 1n }));
    const digest = fc.oneof(fc.constantFrom(...DIGESTS), bytes(32).map(BigInt));
    await fc.assert(
      fc.asyncProperty(digest, scalar, scalar, fc.constantFrom<0 | 1>(0, 1), async (z, r, s, recoveryId) => {
        const signature = caseOf(z, r, s > HALF ? SECP256K1_N - s : s, recoveryId);
        const key = await keyByViem(signature);
        for (const backend of BACKENDS) expect(keyBy(backend, signature)).toBe(key);
      }),
      { numRuns: LONG ? 20_000 : 300 },
    );
  });

  test('on random bytes', { timeout: 3_600_000 }, () => {
    const source = noise(7);
    const next = () => source.next().value as Uint8Array; // it never ends
    const rounds = LONG ? 2_000_000 : 5_000;
    let found = 0;
    for (let i = 0; i < rounds; i++) {
      const rs = new Uint8Array(64);
      rs.set(next(), 0);
      rs.set(next(), 32);
      rs[32] = (rs[32] ?? 0) & 0x7f; // the lower half, except for one in 2^128
      const signature: Case = { digest: next(), rs, recoveryId: i & 1 ? 1 : 0 };
      const key = keyBy(native, signature);
      if (key !== keyBy(wasm, signature) || key !== keyBy(system, signature)) expect.fail(`round ${i}`);
      if (key !== undefined) found++;
    }
    expect(found / rounds).toBeGreaterThan(0.4); // half of all r are the x of a point
    expect(found / rounds).toBeLessThan(0.6);
  });

  test('that values outside of the interface have no key', () => {
    for (const value of OUTSIDE) {
      for (const recoveryId of [0, 1] as const) {
        for (const signature of [caseOf(1n, value, 1n, recoveryId), caseOf(1n, 1n, value, recoveryId)]) {
          for (const backend of BACKENDS) expect(keyBy(backend, signature)).toBeUndefined();
        }
      }
    }
  });
});

describe.each([native, system])('recovery backend $name', (backend) => {
  test('reads views into larger buffers and leaves its input unchanged', () => {
    const { digest, rs } = caseOf(7n, X_OF_G, 9n, 0);
    const buffer = new Uint8Array(200).fill(0xee);
    buffer.set(digest, 13);
    buffer.set(rs, 77);
    const view = { digest: buffer.subarray(13, 45), rs: buffer.subarray(77, 141), recoveryId: 0 } as const;
    expect(keyBy(backend, view)).toBe(keyBy(wasm, { digest, rs, recoveryId: 0 }));
    expect(view.digest).toEqual(digest);
    expect(view.rs).toEqual(rs);
  });

  test('throws for a mistake of the caller instead of reporting an unrecoverable signature', () => {
    expect(() => backend.recover(new Uint8Array(31), new Uint8Array(64), 0)).toThrow('32');
    expect(() => backend.recover(new Uint8Array(32), new Uint8Array(63), 0)).toThrow('64');
  });
});

describe('native recovery backend', () => {
  test('is never the JavaScript fallback of its package', () => {
    // Curve arithmetic in JavaScript takes milliseconds; the loaded module is the reliable criterion.
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    expect(loaded.some((path) => /secp256k1\/bindings\.js$/.test(path))).toBe(true);
    expect(loaded.some((path) => /secp256k1\/(lib\/)?elliptic\.js$/.test(path))).toBe(false);
  });
});

describe('recovery by the library of the system', () => {
  test('fails if the file is missing or is another library', async () => {
    for (const file of ['/nowhere/libsecp256k1.so.7', 'libm.so.6']) {
      await expect(systemRecovery(file)).rejects.toThrow('requires libsecp256k1 with its recovery module');
    }
  });

  test('fails if the library returns another key than the known one', async () => {
    faults.recoversAlways = true;
    const failure = await systemRecovery(ADDON).catch((error: Error) => error);
    faults.recoversAlways = false;
    expect(failure).toMatchObject({ cause: { message: expect.stringContaining('must recover the key') } });
  });
});

describe('backend selection', () => {
  test('by name returns a backend of that name or none', async () => {
    for (const name of ['native', 'wasm'] as const) expect((await selectRecoveryBackend(name)).name).toBe(name);
    const found = await selectRecoveryBackend('system').catch(() => undefined); // if the machine has the library
    expect(['system', undefined]).toContain(found?.name);
  });
  test('by an unknown name throws', async () => {
    await expect(selectRecoveryBackend('natvie' as 'native')).rejects.toThrow(
      'the recovery backend must be "system", "native", "wasm" or a backend, got "natvie"',
    );
  });
  test('returns an existing backend unchanged', async () => expect(await selectRecoveryBackend(native)).toBe(native));
});
