import * as z from 'zod';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../../protocol/order.ts';
import { SIGNING_SCHEMES } from '../../protocol/signature.ts';
import { competition } from '../../records/competition-schema.ts';
import { appDataHashSchema, interactionSchema, uidSchema } from './order-schemas.ts';
import { address, hexBytes, tokenAtoms, unixSeconds } from './primitives.ts';

const execution = z.object({
  solver: address(),
  executedAmounts: z.object({ sell: tokenAtoms('Sold.'), buy: tokenAtoms('Bought.') }).nullable(),
});

const prices = z.record(z.string(), tokenAtoms('Wei for 10^18 atoms.'));

const auctionOrder = z.object({
  uid: uidSchema,
  sellToken: address(),
  buyToken: address(),
  receiver: address().nullable(),
  owner: address(),
  sellAmount: tokenAtoms('The signed one.'),
  buyAmount: tokenAtoms('The signed one.'),
  protocolFees: z.array(z.record(z.string(), z.unknown())),
  created: unixSeconds('Time of the creation.'),
  validTo: unixSeconds('The signed one.'),
  kind: z.enum(ORDER_KINDS),
  partiallyFillable: z.boolean(),
  executed: tokenAtoms('So far, of the fixed amount.'),
  preInteractions: z.array(interactionSchema).describe('Interactions that run once, before the first fill.'),
  postInteractions: z.array(interactionSchema),
  sellTokenBalance: z.enum(SELL_TOKEN_SOURCES),
  buyTokenBalance: z.enum(BUY_TOKEN_DESTINATIONS),
  class: z.enum(['market', 'limit', 'liquidity']),
  appData: appDataHashSchema,
  signingScheme: z.enum(SIGNING_SCHEMES),
  signature: z.string(),
  quote: z.object({
    sellAmount: tokenAtoms('Sold.'),
    buyAmount: tokenAtoms('Amount that is bought; 0 if the order has no quote.'),
    fee: tokenAtoms('Cost of gas, in the sell token.'),
    solver: address(),
  }),
});

const recordedCompetitionSchema = z.object({
  auctionId: z.int(),
  auctionStartBlock: z.int(),
  auctionDeadlineBlock: z.int(),
  transactionHashes: z.array(hexBytes(32, 'Transaction of the settlement.')),
  referenceScores: z.record(z.string(), tokenAtoms('By solver.')),
  auction: z.object({ orders: z.array(uidSchema), prices }),
  solutions: z.array(
    z.object({
      solverAddress: address(),
      score: tokenAtoms('In wei.'),
      ranking: z.int().describe('1 is the best.'),
      clearingPrices: prices,
      orders: z.array(
        z.object({
          id: uidSchema,
          sellAmount: tokenAtoms('Sold.'),
          buyAmount: tokenAtoms('Bought.'),
          buyToken: address(),
          sellToken: address(),
        }),
      ),
      isWinner: z.boolean(),
      filteredOut: z.boolean(),
      txHash: hexBytes(32, 'Transaction of the settlement.').nullable(),
      referenceScore: tokenAtoms('In wei.').nullable(),
    }),
  ),
});

export const competitionStatusSchema = z.object({
  type: z.enum(['open', 'scheduled', 'active', 'cancelled', 'solved', 'executing', 'traded']),
  value: z.array(execution).describe('Each solution, worst first.').optional(),
});

export const AUCTION_SCHEMAS = {
  Auction: z.object({
    id: z.int().describe('Greater than the id of every earlier auction.'),
    block: z.int().describe('The newest indexed block.'),
    orders: z.array(auctionOrder),
    prices,
    surplusCapturingJitOrderOwners: z.array(address()),
  }),
  Competition: recordedCompetitionSchema,
  CompetitionRecord: competition,
  Recorded: z.object({ status: z.enum(['recorded', 'replaced']) }),
  CompetitionStatus: competitionStatusSchema,
};
