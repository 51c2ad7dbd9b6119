import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { nativeRecovery, systemRecovery } from 'intentbook/native';
import { describe, expect, test } from 'vitest';
import { wasmRecovery } from '../../../src/crypto/wasm.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { parseEcdsaSignature, SECP256K1_N } from '../../../src/protocol/signature.ts';

/**
 * Vectors of Project Wycheproof (C2SP/wycheproof, testvectors_v1, Apache-2.0). No npm package contains them, so
 * TEST_WYCHEPROOF names a folder with them.
 */
const FOLDER = process.env['TEST_WYCHEPROOF'];
const FILES =
  FOLDER === undefined ? [] : readdirSync(FOLDER).filter((file) => /secp256k1.*_p1363_test\.json$/.test(file));

const FIELD = 2n ** 256n - 2n ** 32n - 977n;

interface Vectors {
  readonly testGroups: readonly {
    readonly publicKey: { readonly uncompressed: string };
    readonly sha: string;
    readonly tests: readonly {
      readonly tcId: number;
      readonly comment: string;
      readonly msg: string;
      readonly sig: string;
      readonly result: 'valid' | 'invalid';
    }[];
  }[];
}

const HASHES: Readonly<Record<string, [name: string, size?: number]>> = {
  'SHA-256': ['sha256'],
  'SHA-512': ['sha512'],
  SHAKE128: ['shake128', 32],
  SHAKE256: ['shake256', 64],
};

/** ECDSA signs the first 32 bytes of a longer hash. */
function digestOf(sha: string, message: string): Uint8Array {
  const [name, outputLength] = HASHES[sha] ?? [];
  if (name === undefined) throw new Error(`no hash ${sha}`);
  const hash = createHash(name, outputLength === undefined ? {} : { outputLength });
  return new Uint8Array(hash.update(message, 'hex').digest()).slice(0, 32);
}

describe.skipIf(FOLDER === undefined)(
  'Wycheproof (skipped unless TEST_WYCHEPROOF names the folder of its vectors)',
  async () => {
    const native = await nativeRecovery();
    const wasm = await wasmRecovery();
    const addon = Object.keys(createRequire(import.meta.url).cache).find((path) => /secp256k1.*\.node$/.test(path));
    const system = await systemRecovery().catch(() => systemRecovery(addon));

    test('vectors exist', () => expect(FILES.length).toBeGreaterThan(0));

    test.each(FILES)('%s', (file) => {
      const { testGroups } = JSON.parse(readFileSync(join(FOLDER ?? '', file), 'utf8')) as Vectors;
      let valid = 0;
      for (const { publicKey, sha, tests } of testGroups) {
        for (const { tcId, comment, msg, sig, result } of tests) {
          const keys = ['1b', '1c'].map((v) => {
            const parsed = parseEcdsaSignature(`0x${sig}${v}` as Hex); // hex, by the schema of the vectors
            if (typeof parsed === 'string') return undefined; // out of range, or not 64 bytes
            const digest = digestOf(sha, msg);
            const found = [native, wasm, system].map((backend) => {
              const key = backend.recover(digest, parsed.rs, parsed.recoveryId);
              return key && bytesToHex(key);
            });
            expect(new Set(found).size, `${tcId} ${comment}`).toBe(1);
            return found[0];
          });
          // The x of a point above the group order has a recovery id of 2 or 3, which Ethereum does not support.
          if (BigInt(`0x0${sig.slice(0, 64)}`) < FIELD - SECP256K1_N) continue;
          const recovered = keys.includes(`0x${publicKey.uncompressed}`);
          expect({ tcId, comment, recovered }).toEqual({ tcId, comment, recovered: result === 'valid' });
          if (recovered) valid++;
        }
      }
      expect(valid).toBeGreaterThan(50);
    });
  },
);
