import { createOrderBook, createVerifier, type RecoveryPool, type SignedOrder } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { nativeRecovery } from 'intentbook/native';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signOrder, type WireOrder } from '../../support/orders.ts';

// The built package, because threads run files, which the sources are not.
const { recoveryPool } = (await import('../../../dist/workers.js' as string)) as typeof import('intentbook/workers');

const SIGNER = account(1);
const EMPTY = '0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d';
const inAnHour = Math.floor(Date.now() / 1000) + 3600;

let pool: Awaited<ReturnType<typeof recoveryPool>>;
let signed: WireOrder[];

beforeAll(async () => {
  pool = await recoveryPool({ threads: 2 });
  signed = await Promise.all(
    Array.from({ length: 150 }, (_, i) =>
      signOrder(
        SIGNER,
        { validTo: inAnHour, sellAmount: String(i + 1) },
        { scheme: i % 3 === 0 ? 'ethsign' : 'eip712' },
      ),
    ),
  );
});
afterAll(() => pool.close());

/** Returns an order for a verifier, with the hash of its document. */
const hashed = (order: WireOrder): SignedOrder => ({ ...order, appData: EMPTY });

function watched(inner: RecoveryPool): RecoveryPool & { readonly sizes: number[] } {
  const sizes: number[] = [];
  return {
    ...inner,
    sizes,
    recover(signatures) {
      sizes.push(signatures.length / 97);
      return inner.recover(signatures);
    },
  };
}

describe('verifier with a worker pool', () => {
  test('returns the same results in the same order as without a pool', async () => {
    const alone = await createVerifier(SEPOLIA_DOMAIN);
    const seen = watched(pool);
    const together = await createVerifier({ ...SEPOLIA_DOMAIN, pool: seen });
    const orders = signed.map(hashed);
    orders[7] = { ...orders[7], signature: '0x12' } as SignedOrder; // cannot be parsed
    // 5 is not the x of a curve point.
    orders[9] = { ...orders[9], signature: `0x${'00'.repeat(31)}05${'00'.repeat(31)}011b` } as SignedOrder;
    orders[11] = { ...orders[11], sellAmount: '999' } as SignedOrder; // another signer
    const answers = await together.recoverMany(orders);
    expect(answers).toEqual(await alone.recoverMany(orders));
    expect(answers[0]).toEqual({ signer: SIGNER.address.toLowerCase() });
    expect([7, 9].map((i) => answers[i]?.error?.code)).toEqual(['InvalidSignature', 'InvalidSignature']);
    expect(seen.sizes.reduce((sum, size) => sum + size)).toBe(149);
    expect(seen.sizes.length).toBeLessThanOrEqual(9); // few messages
  });

  test('recovers few orders itself', async () => {
    const seen = watched(pool);
    const verifier = await createVerifier({ ...SEPOLIA_DOMAIN, pool: seen });
    const orders = signed.slice(0, pool.smallest - 1).map(hashed);
    expect(await verifier.recoverMany(orders)).toEqual(orders.map(() => ({ signer: SIGNER.address.toLowerCase() })));
    expect(seen.sizes).toEqual([]);
  });

  test('reports a failed thread and continues', async () => {
    let broken = true;
    const verifier = await createVerifier({
      ...SEPOLIA_DOMAIN,
      pool: { ...pool, recover: (packed) => (broken ? Promise.reject(new Error('gone')) : pool.recover(packed)) },
    });
    await expect(verifier.recoverMany(signed.map(hashed))).rejects.toThrow('gone');
    broken = false;
    expect(await verifier.recoverMany(signed.map(hashed))).toHaveLength(150);
  });

  test('accepts an empty list', async () => {
    expect(await (await createVerifier({ ...SEPOLIA_DOMAIN, pool })).recoverMany([])).toEqual([]);
  });
});

test('book with a worker pool recovers a batch of submissions in it', async () => {
  const seen = watched(pool);
  await using book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), recoveryPool: seen });
  await book.start();
  const results = await book.orders.submitMany(signed);
  expect(results.every(({ status }) => status === 'accepted')).toBe(true);
  expect(seen.sizes.reduce((sum, size) => sum + size)).toBe(150);
});

describe('worker pool', () => {
  test('uses the selected backend in each thread', async () => {
    await using wasm = await recoveryPool({ threads: 1, backend: 'wasm' });
    const orders = signed.slice(0, 70).map(hashed);
    const verifier = await createVerifier({ ...SEPOLIA_DOMAIN, backend: await nativeRecovery(), pool: wasm });
    expect(await verifier.recoverMany(orders)).toEqual(orders.map(() => ({ signer: SIGNER.address.toLowerCase() })));
  });

  test('does not end the process when it repeatedly fails to start', async () => {
    for (let i = 0; i < 8; i++) {
      await expect(recoveryPool({ threads: 2, backend: 'natvie' as 'native' })).rejects.toThrow('cannot be started');
    }
  });

  test('reports at once when it cannot start', async () => {
    await expect(recoveryPool({ backend: 'natvie' as 'native' })).rejects.toThrow('cannot be started');
    await expect(recoveryPool({ threads: 0 })).rejects.toThrow(TypeError);
    await expect(recoveryPool({ treads: 2 } as object)).rejects.toThrow('did you mean "threads"');
  });
});
