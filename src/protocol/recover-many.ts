import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { RecoveryPool } from '../crypto/packed.ts';
import { PACKED_SIGNATURE, PACKED_SIGNER, packSignature } from '../crypto/packed.ts';
import { OrderBookError } from '../errors.ts';
import { personalDigest } from './eip712.ts';
import type { Address } from './hex.ts';
import { bytesToHex } from './hex.ts';
import type { EcdsaScheme, EcdsaSignature } from './signature.ts';

/** A digest and how it was signed. */
export interface SignedDigest {
  /** 32 bytes. */
  readonly digest: Uint8Array;
  readonly scheme: EcdsaScheme;
  readonly signature: EcdsaSignature;
}

export interface RecoveryMeans {
  readonly recoverDigest: (digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature) => Address | undefined;
  readonly pool: RecoveryPool | undefined;
}

/** What is handed to a pool at once, at most: enough to make messages few, and little enough to be packed unnoticed. */
const LARGEST_SLICE = 256;

/** What one thread recovers between two turns of the event loop. */
const SIGNATURES_A_TURN = 8;

/**
 * Recovers the signers of many things, each read as a signed digest first. Those that cannot be read have their error
 * for an answer. Whatever else the process does has its turn meanwhile.
 */
export async function recoverEach<T>(
  items: readonly T[],
  read: (item: T) => SignedDigest | OrderBookError,
  { recoverDigest, pool }: RecoveryMeans,
): Promise<(Address | OrderBookError | undefined)[]> {
  if (pool !== undefined && items.length >= pool.smallest) return recoverElsewhere(items, read, pool);
  const answers: (Address | OrderBookError | undefined)[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % SIGNATURES_A_TURN === 0) await yieldToEventLoop();
    const signed = read(item);
    answers.push(
      signed instanceof OrderBookError ? signed : recoverDigest(signed.digest, signed.scheme, signed.signature),
    );
  }
  return answers;
}

async function recoverElsewhere<T>(
  items: readonly T[],
  read: (item: T) => SignedDigest | OrderBookError,
  pool: RecoveryPool,
): Promise<(Address | OrderBookError | undefined)[]> {
  // Several slices a thread, so that all of them are done at about the same time.
  const size = Math.min(LARGEST_SLICE, Math.ceil(items.length / (4 * pool.threads)));
  const slices: Promise<(Address | OrderBookError | undefined)[]>[] = [];
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await yieldToEventLoop();
    const answers = recoverSlice(items.slice(start, start + size).map(read), pool);
    answers.catch(() => {}); // it is told below, when its place in the list comes
    slices.push(answers);
  }
  return (await Promise.all(slices)).flat();
}

async function recoverSlice(
  slice: readonly (SignedDigest | OrderBookError)[],
  pool: RecoveryPool,
): Promise<(Address | OrderBookError | undefined)[]> {
  const packed = new Uint8Array(slice.length * PACKED_SIGNATURE);
  let count = 0;
  for (const signed of slice) {
    if (signed instanceof OrderBookError) continue;
    const { digest, scheme, signature } = signed;
    const message = scheme === 'ethsign' ? personalDigest(digest) : digest;
    packSignature(packed, count++, message, signature.rs, signature.recoveryId);
  }
  const signers = await pool.recover(packed.slice(0, count * PACKED_SIGNATURE));
  let place = 0;
  return slice.map((signed) => {
    if (signed instanceof OrderBookError) return signed;
    const at = place++ * PACKED_SIGNER;
    return signers[at] === 1 ? bytesToHex(signers.subarray(at + 1, at + PACKED_SIGNER)) : undefined;
  });
}
