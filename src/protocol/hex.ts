/** Bytes as text: `0x`, then two hex digits per byte. Always in lower case inside the engine. */
export type Hex = `0x${string}`;

/** 20 bytes. */
export type Address = Hex;

/** The zero address. A null receiver hashes as this address (GPv2Order.sol, `RECEIVER_SAME_AS_OWNER`). */
export const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000';

/** The hash of a block, or of a transaction, that is not known. It contradicts no other. */
export const UNKNOWN_HASH: Hex = `0x${'0'.repeat(64)}`;

/**
 * Lookup table of hex digits by character code. Twice as fast as a regular expression, which matters for long lists.
 */
const IS_DIGIT = Uint8Array.from({ length: 128 }, (_, code) => (/[0-9a-fA-F]/.test(String.fromCharCode(code)) ? 1 : 0));

/**
 * Parses hex text: `0x` is required, either case, whole bytes, exactly `size` bytes if given. Address checksums are not
 * verified.
 *
 * @returns The text in lower case, or `undefined` if it is not valid.
 */
export function parseHex(text: unknown, size?: number): Hex | undefined {
  if (typeof text !== 'string') return undefined;
  if (size !== undefined && text.length !== 2 + 2 * size) return undefined;
  return isHex(text) ? (text.toLowerCase() as Hex) : undefined; // its format is checked
}

function isHex(text: string): boolean {
  if (text.length % 2 !== 0 || !text.startsWith('0x')) return false;
  for (let i = 2; i < text.length; i++) if (IS_DIGIT[text.charCodeAt(i)] !== 1) return false;
  return true;
}

/** Returns the number of bytes of a hex text. */
export function hexSize(hex: Hex): number {
  return (hex.length - 2) / 2;
}

/** Decodes parsed hex text. */
export function hexToBytes(hex: Hex): Uint8Array {
  const bytes = new Uint8Array(hexSize(hex));
  writeHex(bytes, 0, hex, 0, bytes.length);
  return bytes;
}

/** Decodes `size` bytes of parsed hex text, starting at byte `from`, into `target` at `offset`, without allocation. */
export function writeHex(target: Uint8Array, offset: number, hex: Hex, from: number, size: number): void {
  let position = 2 + 2 * from;
  for (let i = offset; i < offset + size; i++) {
    target[i] = (digit(hex.charCodeAt(position)) << 4) | digit(hex.charCodeAt(position + 1));
    position += 2;
  }
}

/** Encodes bytes as lower-case hex text. */
export function bytesToHex(bytes: Uint8Array): Hex {
  let text = '0x';
  for (const byte of bytes) text += PAIRS[byte];
  return text as Hex; // built from pairs of digits
}

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Returns the value of a hex digit. In letters bit 6 is set and the lowest bits are the value minus nine. */
function digit(code: number): number {
  return (code & 15) + (code >> 6) * 9;
}

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
