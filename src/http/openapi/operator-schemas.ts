import * as z from 'zod';
import { omit } from 'zod/mini';
import type { orderCreation } from '../../admission/creation-schema.ts';
import { FILTER_REASONS } from '../../auctions/index.ts';
import { ORDER_EVENTS } from '../../ports/order-events.ts';
import { address, bytes, callData } from './primitives.ts';

/** The schemas that the routes for operators share with the others. */
interface ReportParts {
  readonly creation: typeof orderCreation;
  readonly order: z.ZodType;
  readonly trade: z.ZodType;
  readonly competitionStatus: z.ZodType;
}

/** Creates the schemas of the routes that explain orders to operators. */
export function createOperatorSchemas({ creation, order, trade, competitionStatus }: ReportParts) {
  const simulationError = z.string().nullable().describe('The reason of the revert; null if the settlement succeeds.');
  return {
    OrderDebug: z.object({
      order,
      competitionStatus,
      auction: z
        .object({
          id: z.int(),
          block: z.int(),
          listed: z.boolean().describe('Whether the order is in the current auction.'),
          filterReason: z.enum(FILTER_REASONS).nullable().describe('Reason for the absence of an open order.'),
        })
        .optional()
        .describe('The last auction. Absent before the first.'),
      trades: z.array(trade).describe('The newest, at most 100.'),
      events: z
        .array(
          z.object({
            type: z.enum(ORDER_EVENTS),
            timestamp: z.string(),
            txHash: bytes(32, 'Transaction that caused it.').optional(),
          }),
        )
        .describe('The entries of the log, oldest first.'),
      searchedEntries: z.int().describe('Number of the newest log entries that were searched, at most 20,000.'),
      isComplete: z.boolean().describe('Whether the entries begin with the creation of the order.'),
      competitions: z
        .array(z.object({ auctionId: z.int(), solutions: z.array(z.looseObject({})) }))
        .describe('The recent competitions with the order, newest first.'),
      simulation: z
        .nullable(z.object({ blockNumber: z.int(), error: simulationError }))
        .describe('The simulation of an open order. null for other orders, and without a simulator.'),
    }),
    OrderSimulationRequest: z.looseObject({ owner: address(), ...omit(creation, { from: true }).shape }),
    OrderSimulation: z.object({
      request: z.object({
        chainId: z.int(),
        blockNumber: z.int(),
        from: address(),
        to: address(),
        input: callData(),
        gas: z.int(),
        stateOverrides: z.record(z.string(), z.looseObject({})),
      }),
      error: simulationError,
    }),
  };
}
