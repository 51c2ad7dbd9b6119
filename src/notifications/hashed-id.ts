import { keccak256Text } from '../crypto/keccak.ts';
import { bytesToHex } from '../protocol/hex.ts';

/** Returns 128 bits of a hash as 32 hex digits. */
export function createHashedId(parts: readonly (string | number)[]): string {
  return bytesToHex(keccak256Text(parts.join(' '))).slice(2, 34);
}
