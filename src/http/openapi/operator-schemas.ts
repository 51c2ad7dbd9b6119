import * as z from 'zod';
import { omit } from 'zod/mini';
import { FILTER_REASONS } from '../../auctions/index.ts';
import { ORDER_EVENTS } from '../../ports/order-events.ts';
import { competitionStatusSchema } from './auction-schemas.ts';
import { creationSchema, orderSchema, tradeSchema, uidSchema } from './order-schemas.ts';
import { address, callData, hexBytes } from './primitives.ts';

const simulationError = z.string().nullable().describe('The reason of the revert; null if the settlement succeeds.');
const amount = z.string().describe('Decimal.');
const debugAuction = z.object({
  id: z.int(),
  block: z.int(),
  deadline: z.int(),
  nativePrices: z.record(z.string(), amount).describe('Of the sell token and the buy token.'),
  proposedSolutions: z.array(
    z.object({
      solutionUid: z.int(),
      ranking: z.int(),
      solver: address(),
      isWinner: z.boolean(),
      filteredOut: z.boolean(),
      score: amount,
      executedSell: amount,
      executedBuy: amount,
    }),
  ),
  executions: z
    .array(
      z.object({
        executedFee: amount.describe('Total fee of the order.'),
        executedFeeToken: address(),
        blockNumber: z.int(),
        protocolFees: z.array(z.object({ token: address(), amount })),
      }),
    )
    .describe('The trades of the auction.'),
  settlementAttempts: z
    .array(
      z.object({
        solver: address(),
        solutionUid: z.int(),
        startTimestamp: z.string(),
        startBlock: z.int(),
        deadlineBlock: z.int(),
        endTimestamp: z.string().optional(),
        endBlock: z.int().optional(),
        outcome: z.string().describe('`success`, `timeout`, or `driver failed: ` and the reason.').optional(),
      }),
    )
    .describe('The attempts of winners that this process has started.'),
  feePolicies: z
    .array(z.looseObject({ kind: z.enum(['surplus', 'volume', 'priceImprovement']) }))
    .describe('The policies of the trades. A factor has the kind in its name, such as `surplusFactor`.'),
});

/** The schemas of the routes that explain orders to operators. */
export const OPERATOR_SCHEMAS = {
  OrderDebug: z.object({
    orderUid: uidSchema,
    order: orderSchema,
    competitionStatus: competitionStatusSchema,
    auction: z
      .object({
        id: z.int(),
        block: z.int(),
        listed: z.boolean().describe('Whether the order is in the current auction.'),
        filterReason: z.enum(FILTER_REASONS).nullable().describe('Reason for the absence of an open order.'),
      })
      .optional()
      .describe('The last auction. Absent before the first.'),
    trades: z
      .array(tradeSchema.extend({ auctionId: z.int().optional().describe('Number of a recent competition.') }))
      .describe('The newest, at most 100.'),
    events: z
      .array(
        z.object({
          label: z.enum([...ORDER_EVENTS, 'ready', 'executing', 'invalid', 'filtered']),
          timestamp: z.string(),
          reason: z.string().describe('The reason for which the last auction leaves the order out.').optional(),
          txHash: hexBytes(32, 'Transaction that caused it.').optional(),
        }),
      )
      .describe('The entries of the log, oldest first, and the result of the last auction.'),
    searchedEntries: z.int().describe('Number of the newest log entries that were searched, at most 20,000.'),
    isComplete: z.boolean().describe('Whether the entries begin with the creation of the order.'),
    auctions: z.array(debugAuction).describe('The recent auctions with a solution of the order, oldest first.'),
    simulation: z
      .nullable(z.object({ blockNumber: z.int(), error: simulationError }))
      .describe('The simulation of an open order. null for other orders, and without a simulator.'),
  }),
  OrderSimulationRequest: z.looseObject({
    owner: address(),
    blockNumber: z.int().min(0).nullish().describe('The block after which the order is settled. Default: the newest.'),
    ...omit(creationSchema, { from: true }).shape,
  }),
  OrderSimulation: z.object({
    tenderly_request: z
      .object({
        network_id: z.string(),
        block_number: z.int(),
        transaction_index: z.int(),
        from: address(),
        to: address(),
        input: callData(),
        gas: z.int(),
        simulation_type: z.literal('full'),
        save: z.boolean(),
        save_if_fails: z.boolean(),
        state_objects: z.record(z.string(), z.looseObject({})),
      })
      .describe('The simulated transaction, as a request of the Tenderly API.'),
    error: simulationError,
  }),
};
