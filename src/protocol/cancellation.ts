import { keccak256, keccak256Text } from '../crypto/keccak.ts';
import { typedDataDigest } from './eip712.ts';
import { type Hex, hexToBytes } from './hex.ts';

/** The EIP-712 type that cancels one order. */
export const CANCELLATION_TYPE = 'OrderCancellation(bytes orderUid)';

/** The EIP-712 type that cancels several orders with one signature. */
export const CANCELLATIONS_TYPE = 'OrderCancellations(bytes[] orderUids)';

/** Returns the digest that cancels one order, 32 bytes. */
export function cancellationDigest(separator: Uint8Array, orderUid: Hex): Uint8Array {
  const struct = new Uint8Array(64);
  struct.set(keccak256Text(CANCELLATION_TYPE), 0);
  struct.set(keccak256(hexToBytes(orderUid)), 32);
  return typedDataDigest(separator, keccak256(struct));
}

/** Returns the digest that cancels a list of orders, 32 bytes. It depends on the order of the list. */
export function cancellationsDigest(separator: Uint8Array, orderUids: readonly Hex[]): Uint8Array {
  const hashes = new Uint8Array(32 * orderUids.length);
  orderUids.forEach((uid, i) => {
    hashes.set(keccak256(hexToBytes(uid)), 32 * i);
  });
  const struct = new Uint8Array(64);
  struct.set(keccak256Text(CANCELLATIONS_TYPE), 0);
  struct.set(keccak256(hashes), 32);
  return typedDataDigest(separator, keccak256(struct));
}
