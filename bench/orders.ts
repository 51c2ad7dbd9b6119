import { createHash } from 'node:crypto';
import type { Address, Hex, SignedOrder, Verifier } from 'intentbook';
import { createVerifier } from 'intentbook';
import bindings from 'secp256k1/bindings.js';

export const CHAIN_ID = 11155111;
export const DOMAIN = { chainId: CHAIN_ID, settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41' } as const;

export const WETH: Address = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
export const COW: Address = '0x0625afb445c3b6b7b929342a04a22599fd5dbb59';
/** keccak of `{}`. */
const EMPTY_DOCUMENT = '0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d';

/** Signed order in the forms for submission and for a verifier. */
export interface Signed {
  readonly order: SignedOrder & { readonly appData: '{}'; readonly from: Address };
  /** The order with the hash of its document. */
  readonly hashed: SignedOrder;
  readonly owner: Address;
  readonly digest: Uint8Array;
  readonly rs: Uint8Array;
  readonly recoveryId: number;
}

interface Signer {
  ecdsaSign(digest: Uint8Array, key: Uint8Array): { signature: Uint8Array; recid: number };
  publicKeyCreate(key: Uint8Array, compressed: false): Uint8Array;
}

/** The bindings can also sign, which their type declaration in this package omits. */
const signer = bindings as unknown as Signer;

/** Recovers the public key of a signature, and does nothing else. */
export function recoverKey({ rs, recoveryId, digest }: Signed): Uint8Array {
  return bindings.ecdsaRecover(rs, recoveryId, digest, false);
}

/** Hashes a text to bytes that are the same in every process. */
export function hashText(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Signs different orders of many owners. The result is the same for the same `seed`, `first` and `validTo`.
 *
 * @param validTo - In seconds. Default: midnight in a week.
 */
export async function signOrders(seed: string, first: number, count: number, validTo = NEXT_WEEK): Promise<Signed[]> {
  const verifier = await createVerifier(DOMAIN);
  return Array.from({ length: count }, (_, i) => signOrder(verifier, seed, first + i, validTo));
}

/** Number of owners whose orders are signed. */
export const OWNERS = 64;
const NEXT_WEEK = Math.floor(Date.now() / 1000 / 86_400 + 7) * 86_400;

function signOrder(verifier: Verifier, seed: string, index: number, validTo: number): Signed {
  const key = hashText(`intentbook bench owner ${index % OWNERS}`);
  const salt = hashText(`${seed} ${index}`);
  const data: Parameters<Verifier['hasher']['digest']>[0] = {
    sellToken: WETH,
    buyToken: COW,
    receiver: null,
    validTo,
    // Typical amounts with 18 decimals: one fits 64 bits and the other does not.
    sellAmount: 10n ** 18n + salt.readBigUInt64BE(0) / 4n,
    buyAmount: 10n ** 21n + salt.readBigUInt64BE(8),
    appData: EMPTY_DOCUMENT,
    feeAmount: 0n,
    kind: 'sell',
    partiallyFillable: index % 2 === 0,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
  };
  const digest = verifier.hasher.digest(data);
  const { signature: rs, recid } = signer.ecdsaSign(digest, key);
  const signature: Hex = `0x${Buffer.from(rs).toString('hex')}${(27 + recid).toString(16)}`;
  const amounts = { sellAmount: String(data.sellAmount), buyAmount: String(data.buyAmount), feeAmount: '0' };
  const wire: SignedOrder = { ...data, ...amounts, signingScheme: 'eip712', signature };
  const owner = verifier.recover(wire);
  return { order: { ...wire, appData: '{}', from: owner }, hashed: wire, owner, digest, rs, recoveryId: recid };
}
