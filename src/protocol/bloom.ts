import { keccak256 } from '../crypto/keccak.ts';
import { type Hex, hexToBytes } from './hex.ts';

/**
 * Whether a block's bloom filter indicates that the block may have a log with this address or topic. There are no false
 * negatives if the node sets the filter.
 *
 * @param bloom - 256 bytes (Yellow Paper, 4.3.1): each value sets three bits, selected by the first three byte pairs of
 * its hash.
 */
export function mayContain(bloom: Hex, value: Hex): boolean {
  const hash = keccak256(hexToBytes(value));
  const view = new DataView(hash.buffer, hash.byteOffset);
  for (const at of [0, 2, 4]) {
    const bit = view.getUint16(at) & 0x7ff;
    const digit = bloom.length - 1 - (bit >> 2);
    if ((Number.parseInt(bloom.charAt(digit), 16) & (1 << (bit & 3))) === 0) return false;
  }
  return true;
}
