import type { Address } from 'viem';

const TYPES = {
  AffiliateCode: [
    { name: 'walletAddress', type: 'address' },
    { name: 'code', type: 'string' },
    { name: 'chainId', type: 'uint256' },
  ],
} as const;

/** Signature of a wallet for its code, implemented independently of the code under test. */
export function affiliateTypedData(
  walletAddress: Address,
  code: string,
  domain: { readonly name: string; readonly version: string } = { name: 'Service Affiliate', version: '1' },
  chainId = 1n,
) {
  return { domain, types: TYPES, primaryType: 'AffiliateCode' as const, message: { walletAddress, code, chainId } };
}
