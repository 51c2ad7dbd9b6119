import { type Hex, hexSize, writeHex } from './hex.ts';

/** The signing schemes (GPv2Signing.sol, `Scheme`). */
export const SIGNING_SCHEMES = ['eip712', 'ethsign', 'presign', 'eip1271'] as const;
/** How an order is signed. */
export type SigningScheme = (typeof SIGNING_SCHEMES)[number];

/** The schemes whose signature contains its signer. */
export const ECDSA_SCHEMES = ['eip712', 'ethsign'] as const;
export type EcdsaScheme = (typeof ECDSA_SCHEMES)[number];

export function isEcdsa(scheme: SigningScheme): scheme is EcdsaScheme {
  return scheme === 'eip712' || scheme === 'ethsign';
}

/** The order of the secp256k1 group (SEC 2, section 2.4.1). */
export const SECP256K1_N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Limits as 64 hex digits. Numbers with equally many digits are compared as text, which avoids their conversion. */
const ZERO_TEXT = /* @__PURE__ */ digits(0n);
const HALF_N_TEXT = /* @__PURE__ */ digits(SECP256K1_N >> 1n);
const N_TEXT = /* @__PURE__ */ digits(SECP256K1_N);

function digits(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

/** A parsed ECDSA signature in normal form. */
export interface EcdsaSignature {
  /** r and s, 32 bytes each, with s in the lower half of the group. */
  readonly rs: Uint8Array;
  /** The parity of the point from which r is taken. */
  readonly recoveryId: 0 | 1;
  /** `r || s || v`, 65 bytes with v as 27 or 28. */
  readonly hex: Hex;
}

/**
 * Parses the 65 bytes `r || s || v` of an ECDSA signature. v may be 0, 1, 27 or 28. A high s is accepted, as by the
 * settlement contract, and converted to its low equivalent. So the stored signature of an order is unique.
 *
 * @returns The signature, or the reason why it is not valid.
 */
export function parseEcdsaSignature(signature: Hex): EcdsaSignature | string {
  if (hexSize(signature) !== 65) return `an ECDSA signature must have 65 bytes, got ${hexSize(signature)}`;
  const v = Number.parseInt(signature.slice(130), 16);
  if (v !== 0 && v !== 1 && v !== 27 && v !== 28) return `v must be 0, 1, 27 or 28, got ${v}`;

  const r = signature.slice(2, 66);
  const s = signature.slice(66, 130);
  if (r === ZERO_TEXT || r >= N_TEXT) return 'r is out of range';
  if (s === ZERO_TEXT || s >= N_TEXT) return 's is out of range';

  const low = s <= HALF_N_TEXT;
  const parity = (v % 27) ^ (low ? 0 : 1);
  // Most signatures are already in normal form.
  const hex: Hex =
    low && v >= 27
      ? signature
      : `0x${r}${low ? s : digits(SECP256K1_N - BigInt(`0x${s}`))}${(27 + parity).toString(16)}`;
  const rs = new Uint8Array(64);
  writeHex(rs, 0, hex, 0, 64);
  return { rs, recoveryId: parity === 0 ? 0 : 1, hex };
}

/** A signature in normal form. `hex` is the stored value. */
export type Signature =
  | ({ readonly scheme: EcdsaScheme } & EcdsaSignature)
  | { readonly scheme: 'presign'; readonly hex: '0x' }
  | { readonly scheme: 'eip1271'; readonly hex: Hex };

/**
 * Parses a signature by its scheme: 65 bytes for ECDSA; 0 or 20 bytes, which are ignored, for `presign`; any bytes for
 * `eip1271`, because only the owner's contract can verify them.
 *
 * @returns The signature, or the reason why it is not valid.
 */
export function parseSignature(scheme: SigningScheme, signature: Hex): Signature | string {
  switch (scheme) {
    case 'eip712':
    case 'ethsign': {
      const parsed = parseEcdsaSignature(signature);
      return typeof parsed === 'string' ? parsed : { scheme, ...parsed };
    }
    case 'presign': {
      const size = hexSize(signature); // some clients send the owner's address, which `from` already contains
      if (size !== 0 && size !== 20) return `a presign signature must have 0 or 20 bytes, got ${size}`;
      return { scheme, hex: '0x' };
    }
    case 'eip1271':
      return { scheme, hex: signature };
  }
}
