import { keccak256, keccak256Text } from '../crypto/keccak.ts';
import { typedDataDigest } from './eip712.ts';
import { type Address, writeHex } from './hex.ts';
import { writeUint256 } from './uint256.ts';

/** The EIP-712 type that binds an affiliate code to a wallet. */
export const AFFILIATE_CODE_TYPE = 'AffiliateCode(address walletAddress,string code,uint256 chainId)';

/** The default `name` of the affiliate domain. Its `version` is "1". */
export const AFFILIATE_DOMAIN_NAME = 'Service Affiliate';

/** The `name` for which the front ends of production sign. */
export const PRODUCTION_DOMAIN_NAME = 'CoW Swap Affiliate';

/** Returns the end of a message about an invalid signature. Most of them are made for the domain of another service. */
export const formatExpectedDomain = (name: string = AFFILIATE_DOMAIN_NAME) =>
  `for the domain "${name}" (\`domainName\` of \`client.account\`), version "1"`;

/** Every affiliate code is registered for Ethereum mainnet, independent of the chain of the trades. */
export const AFFILIATE_CHAIN_ID = 1;

/**
 * Returns the separator of the affiliate domain, 32 bytes. The domain has a name and a version only: no chain, no
 * contract.
 */
export function affiliateDomainSeparator(name: string = AFFILIATE_DOMAIN_NAME): Uint8Array {
  const words = new Uint8Array(96);
  words.set(keccak256Text('EIP712Domain(string name,string version)'), 0);
  words.set(keccak256Text(name), 32);
  words.set(keccak256Text('1'), 64);
  return keccak256(words);
}

/** The message that a wallet signs to register a code. */
export interface AffiliateCode {
  readonly walletAddress: Address;
  /** In normal form: trimmed, upper case. */
  readonly code: string;
}

/** Returns the digest that binds a code to a wallet, 32 bytes. */
export function affiliateDigest(separator: Uint8Array, { walletAddress, code }: AffiliateCode): Uint8Array {
  const words = new Uint8Array(128);
  words.set(keccak256Text(AFFILIATE_CODE_TYPE), 0);
  writeHex(words, 44, walletAddress, 0, 20);
  words.set(keccak256Text(code), 64);
  writeUint256(new DataView(words.buffer), 96, BigInt(AFFILIATE_CHAIN_ID));
  return typedDataDigest(separator, keccak256(words));
}
