import fc from 'fast-check';
import { hashTypedData, domainSeparator as viemDomainSeparator } from 'viem';
import { expect, test } from 'vitest';
import {
  AFFILIATE_CHAIN_ID,
  AFFILIATE_CODE_TYPE,
  AFFILIATE_DOMAIN_NAME,
  affiliateDigest,
  affiliateDomainSeparator,
} from '../../../src/protocol/affiliate.ts';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { affiliateTypedData } from '../../support/affiliates.ts';
import { address } from './arbitraries.ts';

const code = fc.string({
  unit: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-'),
  minLength: 5,
  maxLength: 20,
});

test('affiliate EIP-712 type is that of the contract', () => {
  expect(AFFILIATE_CODE_TYPE).toBe('AffiliateCode(address walletAddress,string code,uint256 chainId)');
  expect(AFFILIATE_DOMAIN_NAME).toBe('Service Affiliate');
  expect(AFFILIATE_CHAIN_ID).toBe(1);
});

test('affiliate domain separator contains only name and version', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      expect(bytesToHex(affiliateDomainSeparator(name))).toBe(viemDomainSeparator({ domain: { name, version: '1' } }));
    }),
    { numRuns: 200 },
  );
  expect(affiliateDomainSeparator()).toEqual(affiliateDomainSeparator(AFFILIATE_DOMAIN_NAME));
});

test('affiliate digest of any wallet and code equals viem', () => {
  fc.assert(
    fc.property(fc.constantFrom(AFFILIATE_DOMAIN_NAME, 'Another'), address, code, (name, walletAddress, value) => {
      expect(bytesToHex(affiliateDigest(affiliateDomainSeparator(name), { walletAddress, code: value }))).toBe(
        hashTypedData(affiliateTypedData(walletAddress, value, { name, version: '1' })),
      );
    }),
    { numRuns: 300 },
  );
});
