import { keccak256, keccak256Text } from '../crypto/keccak.ts';
import { typedDataDigest } from './eip712.ts';
import { type Address, writeHex } from './hex.ts';
import { writeUint256 } from './uint256.ts';

/** The EIP-712 type that authorises changes to an account's subscriptions, in the affiliate domain. */
export const SUBSCRIPTION_TYPE =
  'Subscription(address account,string channel,string target,string[] types,uint256 nonce,uint256 deadline)';

export interface SignedSubscription {
  readonly account: Address;
  /** Empty for listing and removing. */
  readonly channel: string;
  /** The subscription's id for removing; the audience for listing. */
  readonly target: string;
  readonly types: readonly string[];
  readonly nonce: bigint;
  /** Seconds since 1970. */
  readonly deadline: bigint;
}

/** Returns the digest that an account signs, 32 bytes. */
export function subscriptionDigest(separator: Uint8Array, signed: SignedSubscription): Uint8Array {
  const words = new Uint8Array(224);
  const view = new DataView(words.buffer);
  words.set(keccak256Text(SUBSCRIPTION_TYPE), 0);
  writeHex(words, 44, signed.account, 0, 20);
  words.set(keccak256Text(signed.channel), 64);
  words.set(keccak256Text(signed.target), 96);
  const types = new Uint8Array(32 * signed.types.length);
  signed.types.forEach((type, i) => void types.set(keccak256Text(type), 32 * i));
  words.set(keccak256(types), 128);
  writeUint256(view, 160, signed.nonce);
  writeUint256(view, 192, signed.deadline);
  return typedDataDigest(separator, keccak256(words));
}
