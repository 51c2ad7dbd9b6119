import * as z from 'zod';
import { tokenAddresses } from '../../market/index.ts';
import { address, moment, tokenAtoms } from './primitives.ts';

const volatility = z
  .object({
    tokenAddress: address(),
    prices: z.array(z.object({ date: moment('Time of the price.'), price: z.number() })).describe('Oldest first.'),
    usdPrice: z.number().describe('Dollars for one whole token.'),
    volatilityInUsd: z.number().describe('Dollars, over 5 minutes.'),
    volatilityInTokens: z.number().describe('The same relative to the price.'),
  })
  .nullable()
  .describe('null: the volatility is unknown.');

export const TOKEN_SCHEMAS = {
  TokenAddresses: tokenAddresses,
  TokenDetails: z.object({
    address: address('The token.'),
    decimals: z.int().min(0).max(255).optional(),
    symbol: z.string().optional(),
    name: z.string().optional(),
  }),
  TokenHolder: z.object({ address: address('The holder.'), balance: tokenAtoms('The balance.') }),
  TokenBalances: z.object({
    balances: z
      .record(z.string(), z.string().regex(/^[0-9]+$/))
      .describe('Atoms by token. Native currency has the address 0xeeee…ee.'),
  }),
  VolatilityDetails: z.object({ baseToken: volatility, quoteToken: volatility }),
  About: z.object({ name: z.string(), version: z.string() }),
  SlippageTolerance: z.object({ slippageBps: z.int().min(0).max(10_000).describe('Basis points: 0.01 %.') }),
  UsdPrice: z.object({ price: z.number().describe('Dollars for one whole token.') }),
  TokenBalance: z.object({
    balance: tokenAtoms('Balance of the account.'),
    allowance: tokenAtoms('Amount that the vault relayer may move.'),
    token: z.object({
      address: address(),
      decimals: z.int().min(0).max(255).optional(),
      symbol: z.string().optional(),
      name: z.string().optional(),
    }),
  }),
};
