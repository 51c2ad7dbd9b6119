import type { Hex } from './hex.ts';
import { bytesToHex, hexSize, hexToBytes } from './hex.ts';

/** How an order is authorised (GPv2Signing.sol, `Scheme`). */
export const SIGNING_SCHEMES = ['eip712', 'ethsign', 'presign', 'eip1271'] as const;
export type SigningScheme = (typeof SIGNING_SCHEMES)[number];

/** The schemes whose signature names its signer. */
export const ECDSA_SCHEMES = ['eip712', 'ethsign'] as const;
export type EcdsaScheme = (typeof ECDSA_SCHEMES)[number];

export function isEcdsa(scheme: SigningScheme): scheme is EcdsaScheme {
  return scheme === 'eip712' || scheme === 'ethsign';
}

/** The order of the secp256k1 group (SEC 2, section 2.4.1). */
export const SECP256K1_N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const HALF_N = SECP256K1_N >> 1n;

/** An ECDSA signature taken apart, in its one stored form. */
export interface EcdsaSignature {
  /** r and s, 32 bytes each, with s in the lower half of the group. */
  readonly rs: Uint8Array;
  /** The parity of the point that r is taken from. */
  readonly recoveryId: 0 | 1;
  /** `r || s || v`, 65 bytes with v as 27 or 28. */
  readonly hex: Hex;
}

/**
 * Reads the 65 bytes `r || s || v` of an ECDSA signature. v may be 0, 1, 27 or 28. A high s is accepted, as the
 * settlement contract accepts it, and turned into its low twin, so that one order has one stored signature.
 *
 * @returns the signature, or why it cannot be one.
 */
export function parseEcdsaSignature(signature: Hex): EcdsaSignature | string {
  if (hexSize(signature) !== 65) return `an ECDSA signature has 65 bytes, this one has ${hexSize(signature)}`;
  const bytes = hexToBytes(signature);
  const v = bytes[64] as number; // the length is known
  if (v !== 0 && v !== 1 && v !== 27 && v !== 28) return `v is ${v}, it must be 0, 1, 27 or 28`;

  const r = BigInt(signature.slice(0, 66));
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  if (r === 0n || r >= SECP256K1_N) return 'r is out of range';
  if (s === 0n || s >= SECP256K1_N) return 's is out of range';

  let parity = v % 27;
  if (s > HALF_N) {
    bytes.set(hexToBytes(`0x${(SECP256K1_N - s).toString(16).padStart(64, '0')}`), 32);
    parity ^= 1;
  }
  bytes[64] = 27 + parity;
  return { rs: bytes.subarray(0, 64), recoveryId: parity === 0 ? 0 : 1, hex: bytesToHex(bytes) };
}
