import { type Address, type Hex, parseHex } from './hex.ts';

/** Size of an order UID in bytes: digest (32), owner (20), expiry (4). */
export const UID_SIZE = 56;

/** The parts of an order UID. */
export interface UidParts {
  /** The EIP-712 digest of the order, for every signing scheme. */
  readonly digest: Hex;
  readonly owner: Address;
  /** Seconds since 1970, `uint32`. */
  readonly validTo: number;
}

/** Parses a UID in either case. */
export function parseUid(text: unknown): Hex | undefined {
  return parseHex(text, UID_SIZE);
}

/** Builds a UID: digest, owner, then the expiry as four bytes, big endian (GPv2Order.sol, `packOrderUidParams`). */
export function packUid({ digest, owner, validTo }: UidParts): Hex {
  return `${digest}${owner.slice(2)}${validTo.toString(16).padStart(8, '0')}` as Hex; // three hex texts joined
}

/** Splits a parsed UID into its parts (GPv2Order.sol, `extractOrderUidParams`). */
export function unpackUid(uid: Hex): UidParts {
  return {
    digest: uid.slice(0, 66) as Hex, // the first 32 bytes of a hex text
    owner: `0x${uid.slice(66, 106)}`,
    validTo: Number.parseInt(uid.slice(106), 16),
  };
}
