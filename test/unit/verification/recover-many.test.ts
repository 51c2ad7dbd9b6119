import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { beforeAll, describe, expect, test } from 'vitest';
import type { RecoveryBackend } from '../../../src/crypto/backend.ts';
import { keccak256Text } from '../../../src/crypto/keccak.ts';
import type { RecoveryPool } from '../../../src/crypto/packed.ts';
import { PACKED_SIGNATURE, recoverPacked } from '../../../src/crypto/packed.ts';
import { wasmRecovery } from '../../../src/crypto/wasm.ts';
import { OrderBookError } from '../../../src/errors.ts';
import { parseEcdsaSignature } from '../../../src/protocol/signature.ts';
import type { SignedDigest, Verifier } from '../../../src/verification/verifier.ts';
import { createVerifier, recoverEach } from '../../../src/verification/verifier.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';

const SIGNER = privateKeyToAccount(keccak256(toHex('a key')));
const signer = SIGNER.address.toLowerCase();
const digest = keccak256Text('what was signed');
const UNREADABLE = new OrderBookError('InvalidSignature', 'this one cannot be read');

let backend: RecoveryBackend;
let verifier: Verifier;
let signed: Record<'eip712' | 'ethsign' | 'unrecoverable', SignedDigest>;

beforeAll(async () => {
  backend = await wasmRecovery();
  verifier = await createVerifier({ ...SEPOLIA_DOMAIN, backend });
  const read = (hex: string, scheme: SignedDigest['scheme']): SignedDigest => {
    const signature = parseEcdsaSignature(hex as `0x${string}`); // created here
    if (typeof signature === 'string') throw new Error(signature);
    return { digest, scheme, signature };
  };
  const hash = `0x${Buffer.from(digest).toString('hex')}` as const;
  signed = {
    eip712: read(await SIGNER.sign({ hash }), 'eip712'),
    ethsign: read(await SIGNER.signMessage({ message: { raw: hash } }), 'ethsign'),
    unrecoverable: read(`0x${'00'.repeat(31)}05${'00'.repeat(31)}011b`, 'eip712'), // 5 is not the x of a curve point
  };
});

/** A pool that recovers in process and records its batch sizes. */
function pool(choice: Partial<RecoveryPool> = {}): RecoveryPool & { readonly sizes: number[] } {
  const sizes: number[] = [];
  return {
    threads: 2,
    smallest: 1,
    sizes,
    async recover(signatures) {
      sizes.push(signatures.length / PACKED_SIGNATURE);
      return recoverPacked(signatures, backend);
    },
    ...choice,
  };
}

const recover = (items: readonly (SignedDigest | OrderBookError)[], chosen?: RecoveryPool) =>
  recoverEach(items, (item) => item, verifier.recoverDigest, chosen);

describe('recoverMany returns one result per order, with and without threads', () => {
  test.each([
    ['without', undefined],
    ['with', {}],
  ])('%s', async (_, choice) => {
    const { eip712, ethsign, unrecoverable } = signed;
    const chosen = choice && pool(choice);
    const items = [UNREADABLE, eip712, unrecoverable, UNREADABLE, ethsign, unrecoverable, eip712];
    const answers = await recover(items, chosen);
    expect(answers).toEqual([UNREADABLE, signer, undefined, UNREADABLE, signer, undefined, signer]);
    if (chosen !== undefined) expect(chosen.sizes.reduce((sum, size) => sum + size)).toBe(5);
    expect(await recover([], chosen)).toEqual([]);
  });
});

describe('recovery pool', () => {
  test('is used from its minimum batch size', async () => {
    const seen = pool({ smallest: 3 });
    const two = [signed.eip712, signed.eip712];
    expect(await recover(two, seen)).toEqual([signer, signer]);
    expect(seen.sizes).toEqual([]);
    await recover([...two, signed.eip712], seen);
    expect(seen.sizes.reduce((sum, size) => sum + size)).toBe(3);
  });

  test.each([
    [40, 2, [5, 5, 5, 5, 5, 5, 5, 5]],
    [9, 2, [2, 2, 2, 2, 1]],
    [3, 4, [1, 1, 1]],
    [600, 1, [150, 150, 150, 150]],
    [1100, 1, [256, 256, 256, 256, 76]],
  ])(
    'splits %i orders into slices for its %i threads, four per thread, with at most 256 each',
    async (count, threads, sizes) => {
      const given: number[] = [];
      const counting = pool({
        threads,
        async recover(signatures) {
          given.push(signatures.length / PACKED_SIGNATURE);
          return new Uint8Array((signatures.length / PACKED_SIGNATURE) * 21);
        },
      });
      expect(await recover(Array(count).fill(signed.eip712), counting)).toEqual(Array(count).fill(undefined));
      expect(given).toEqual(sizes);
    },
  );

  test('fails the call once with the error of a failed slice', async () => {
    let recordedCalls = 0;
    const failing = pool({
      async recover() {
        throw new Error(`thread ${++recordedCalls} is gone`);
      },
    });
    await expect(recover(Array(20).fill(signed.eip712), failing)).rejects.toThrow('thread 1 is gone');
  });
});

describe('recoverMany yields to the event loop', () => {
  test.each([
    [8, 0],
    [9, 1],
    [16, 1],
    [17, 2],
  ])('of %i local recoveries after each eight: %i times', async (count, turns) => {
    expect(await ticksOf(() => recover(Array(count).fill(signed.unrecoverable)))).toBe(turns);
  });

  test('between the slices for a pool: once less than slices', async () => {
    const idle = pool({ recover: async (signatures) => new Uint8Array((signatures.length / PACKED_SIGNATURE) * 21) });
    expect(await ticksOf(() => recover(Array(24).fill(signed.unrecoverable), idle))).toBe(7);
  });
});

/** Counts the event loop ticks during a call. */
async function ticksOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let done = false;
  const count = () => {
    if (done) return;
    turns++;
    setImmediate(count);
  };
  await new Promise((resolve) => setImmediate(resolve));
  setImmediate(count);
  await work();
  done = true;
  return turns;
}
