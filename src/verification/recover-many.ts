import { yieldToEventLoop } from '../concurrency/yield.ts';
import { PACKED_SIGNATURE, PACKED_SIGNER, packSignature, type RecoveryPool } from '../crypto/packed.ts';
import { OrderBookError } from '../errors.ts';
import { personalDigest } from '../protocol/eip712.ts';
import { type Address, bytesToHex } from '../protocol/hex.ts';
import type { EcdsaScheme, EcdsaSignature } from '../protocol/signature.ts';

/** A digest with its signature. */
export interface SignedDigest {
  /** 32 bytes. */
  readonly digest: Uint8Array;
  readonly scheme: EcdsaScheme;
  readonly signature: EcdsaSignature;
}

/** Maximum number of signatures per message to a pool. It bounds the time for packing on this thread. */
const MAX_SLICE_SIZE = 256;

/** Number of signatures that this thread recovers per event-loop tick. */
const SIGNATURES_PER_TICK = 8;

/**
 * Recovers the signers of many items. `read` converts an item into a signed digest; its error becomes the result of the
 * item. Yields to the event loop regularly.
 */
export async function recoverEach<T, E extends OrderBookError>(
  items: readonly T[],
  read: (item: T) => SignedDigest | E,
  recoverDigest: (digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature) => Address | undefined,
  pool: RecoveryPool | undefined,
): Promise<(Address | E | undefined)[]> {
  if (pool !== undefined && items.length >= pool.smallest) return recoverInPool(items, read, pool);
  const results: (Address | E | undefined)[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % SIGNATURES_PER_TICK === 0) await yieldToEventLoop();
    const signed = read(item);
    results.push(
      signed instanceof OrderBookError ? signed : recoverDigest(signed.digest, signed.scheme, signed.signature),
    );
  }
  return results;
}

async function recoverInPool<T, E extends OrderBookError>(
  items: readonly T[],
  read: (item: T) => SignedDigest | E,
  pool: RecoveryPool,
): Promise<(Address | E | undefined)[]> {
  // Several slices per thread, so that all threads finish at about the same time.
  const size = Math.min(MAX_SLICE_SIZE, Math.ceil(items.length / (4 * pool.threads)));
  const slices: Promise<(Address | E | undefined)[]>[] = [];
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await yieldToEventLoop();
    const results = recoverSlice(items.slice(start, start + size).map(read), pool);
    results.catch(() => {}); // handled by `Promise.all` below
    slices.push(results);
  }
  return (await Promise.all(slices)).flat();
}

async function recoverSlice<E extends OrderBookError>(
  slice: readonly (SignedDigest | E)[],
  pool: RecoveryPool,
): Promise<(Address | E | undefined)[]> {
  const packed = new Uint8Array(slice.length * PACKED_SIGNATURE);
  let count = 0;
  for (const signed of slice) {
    if (signed instanceof OrderBookError) continue;
    const { digest, scheme, signature } = signed;
    const message = scheme === 'ethsign' ? personalDigest(digest) : digest;
    packSignature(packed, count++, message, signature.rs, signature.recoveryId);
  }
  const signers = await pool.recover(packed.slice(0, count * PACKED_SIGNATURE));
  let index = 0;
  return slice.map((signed) => {
    if (signed instanceof OrderBookError) return signed;
    const at = index++ * PACKED_SIGNER;
    return signers[at] === 1 ? bytesToHex(signers.subarray(at + 1, at + PACKED_SIGNER)) : undefined;
  });
}
