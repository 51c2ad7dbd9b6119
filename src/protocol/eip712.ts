import { keccak256, keccak256Text } from '../crypto/keccak.ts';
import { type Address, parseHex, writeHex } from './hex.ts';
import { writeUint256 } from './uint256.ts';

/** The domain of orders: one settlement contract on one chain. */
export interface Domain {
  readonly chainId: number;
  readonly settlementContract: Address;
}

/**
 * Parses a domain. The address may be in either case.
 *
 * @throws TypeError naming the invalid member.
 */
export function parseDomain({ chainId, settlementContract }: Domain): Domain {
  if (!Number.isSafeInteger(chainId) || chainId < 1) {
    throw new TypeError(`chainId must be a positive integer, got ${String(chainId)}`);
  }
  const address = parseHex(settlementContract, 20);
  if (address === undefined) {
    throw new TypeError(`settlementContract must be 20 bytes of hex text, got ${String(settlementContract)}`);
  }
  return { chainId, settlementContract: address };
}

/** The name and version of the settlement contract's domain (GPv2Signing.sol). */
export const DOMAIN_NAME = 'Gnosis Protocol';
export const DOMAIN_VERSION = 'v2';

/**
 * Returns the EIP-712 domain separator of a settlement contract, 32 bytes: name, version, chainId and
 * verifyingContract, no salt (GPv2Signing.sol, constructor).
 */
export function domainSeparator({ chainId, settlementContract }: Domain): Uint8Array {
  const words = new Uint8Array(160);
  words.set(keccak256Text('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'), 0);
  words.set(keccak256Text(DOMAIN_NAME), 32);
  words.set(keccak256Text(DOMAIN_VERSION), 64);
  writeUint256(new DataView(words.buffer), 96, BigInt(chainId));
  writeHex(words, 140, settlementContract, 0, 20);
  return keccak256(words);
}

/**
 * Returns the digest that a wallet signs for a struct, 32 bytes: keccak-256 of `0x1901`, the domain separator and the
 * struct hash (EIP-712).
 */
export function typedDataDigest(separator: Uint8Array, structHash: Uint8Array): Uint8Array {
  const message = new Uint8Array(66);
  message[0] = 0x19;
  message[1] = 0x01;
  message.set(separator, 2);
  message.set(structHash, 34);
  return keccak256(message);
}

/** `"\x19Ethereum Signed Message:\n32"`, the prefix of a signed 32-byte message (EIP-191). */
const PERSONAL_PREFIX = /* @__PURE__ */ new TextEncoder().encode('\x19Ethereum Signed Message:\n32');

/**
 * Returns the digest that `eth_sign` and `personal_sign` sign for a 32-byte digest (EIP-191, version 0x45). 32 bytes.
 */
export function personalDigest(digest: Uint8Array): Uint8Array {
  const message = new Uint8Array(PERSONAL_PREFIX.length + 32);
  message.set(PERSONAL_PREFIX);
  message.set(digest, PERSONAL_PREFIX.length);
  return keccak256(message);
}

/** The EIP-712 domain as shown in a rejection. */
export interface SigningDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Address;
}
