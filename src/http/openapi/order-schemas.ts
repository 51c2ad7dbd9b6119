import * as z from 'zod';
import { extend, omit } from 'zod/mini';
import { cancellation, cancellations } from '../../admission/cancellation-schema.ts';
import { orderCreation } from '../../admission/creation-schema.ts';
import { purchase, sale } from '../../admission/quote-request-schema.ts';
import { MAX_UIDS } from '../../orders/index.ts';
import { PLACEMENT_ERRORS } from '../../ports/chain-store.ts';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../../protocol/order.ts';
import { SIGNING_SCHEMES } from '../../protocol/signature.ts';
import { ORDER_STATUSES } from '../../records/wire-order.ts';
import { address, callData, decimal, hexBytes, moment, tokenAtoms, unixSeconds } from './primitives.ts';

export const uidSchema = hexBytes(56, 'The digest of an order, its owner and its expiry.');

export const appDataHashSchema = hexBytes(32, 'The hash of an app-data document.');

export const interactionSchema = z.object({
  target: address('The contract to call.'),
  value: tokenAtoms('Native currency that is sent along.'),
  callData: callData(),
});

const storedQuoteSchema = z.object({
  gasAmount: decimal('Units of gas that the trade was expected to take.'),
  gasPrice: decimal('Wei for a unit of gas.'),
  sellTokenPrice: decimal('Wei for one atom of the sell token.'),
  sellAmount: tokenAtoms('Amount that was to be sold.'),
  buyAmount: tokenAtoms('Amount that was to be bought.'),
  feeAmount: tokenAtoms('ceil(gasAmount × gasPrice / sellTokenPrice).'),
  solver: address('Source of the quote.'),
  verified: z.boolean().describe('Whether a simulation of the trade succeeded.'),
  metadata: z
    .record(z.string(), z.unknown())
    .describe('Settlement interactions. Present once the order can no longer be filled.')
    .optional(),
});

// The check of a quote id accepts integers of any size, for which zod has no type.
export const creationSchema = extend(orderCreation, { quoteId: z.int().nullish() });

export const orderSchema = z.object({
  uid: uidSchema,
  sellToken: address(),
  buyToken: address(),
  receiver: address('Receiver of the buy token; null for the owner.').nullable(),
  sellAmount: tokenAtoms('Maximum amount that is sold.'),
  buyAmount: tokenAtoms('Minimum amount that is bought.'),
  validTo: unixSeconds('The last moment in which it can be filled.'),
  appData: appDataHashSchema,
  feeAmount: tokenAtoms('The signed fee: 0 for every new order.'),
  kind: z.enum(ORDER_KINDS),
  partiallyFillable: z.boolean(),
  sellTokenBalance: z.enum(SELL_TOKEN_SOURCES),
  buyTokenBalance: z.enum(BUY_TOKEN_DESTINATIONS),
  signingScheme: z.enum(SIGNING_SCHEMES),
  signature: callData().describe('ECDSA: r, s and v in 65 bytes. presign: 0x.'),
  owner: address('The signer, or the signing contract.'),
  creationDate: moment('Time of the acceptance.'),
  class: z.enum(['market', 'limit', 'liquidity']),
  isLiquidityOrder: z.boolean(),
  settlementContract: address('The contract that it was signed for.'),
  interactions: z.object({ pre: z.array(interactionSchema), post: z.array(interactionSchema) }),
  validFrom: unixSeconds('Before this it is not settled.').optional(),
  availableBalance: z.null().meta({ description: 'Always null.', deprecated: true }),
  fullAppData: z.string().nullable().describe('The document behind appData; null if unknown.'),
  status: z.enum(ORDER_STATUSES),
  invalidated: z.boolean().describe('Whether it was cancelled or replaced.'),
  executedSellAmount: tokenAtoms('Amount that was taken from the owner so far.'),
  executedSellAmountBeforeFees: tokenAtoms('The same without the signed fee.'),
  executedBuyAmount: tokenAtoms('Amount that was bought so far.'),
  executedFeeAmount: tokenAtoms('The signed fee that was executed.').meta({ deprecated: true }),
  executedFee: tokenAtoms('Network and protocol fees, the signed one included.'),
  executedFeeToken: address('The token of executedFee.'),
  quote: storedQuoteSchema.optional(),
  onchainUser: address('Of orders placed on chain: the account that has placed it.').optional(),
  onchainOrderData: z
    .object({
      sender: address(),
      placementError: z.enum(PLACEMENT_ERRORS).optional(),
    })
    .optional(),
  ethflowData: z
    .object({
      userValidTo: unixSeconds('The validity that the user chose.'),
      refundTxHash: hexBytes(32, 'Transaction of the refund.').nullable(),
      isRefunded: z.boolean(),
    })
    .optional(),
});

const quotedOrderSchema = z.object({
  sellToken: address(),
  buyToken: address(),
  receiver: address().nullable(),
  sellAmount: tokenAtoms('Amount that is traded.'),
  buyAmount: tokenAtoms('Amount that is bought.'),
  validTo: unixSeconds('Until when the order would be valid.'),
  appData: z.string().describe('As in the request.'),
  appDataHash: appDataHashSchema.optional(),
  feeAmount: tokenAtoms('Cost of gas, in the sell token.'),
  gasAmount: decimal('Units of gas that the trade takes.'),
  gasPrice: decimal('Wei for a unit of gas.'),
  sellTokenPrice: decimal('Wei for one atom of the sell token.'),
  kind: z.enum(ORDER_KINDS),
  partiallyFillable: z.boolean(),
  sellTokenBalance: z.enum(SELL_TOKEN_SOURCES),
  buyTokenBalance: z.enum(BUY_TOKEN_DESTINATIONS),
  signingScheme: z.enum(SIGNING_SCHEMES),
});

const quoteResponseSchema = z.object({
  quote: quotedOrderSchema,
  from: address(),
  expiration: moment('Until when an order can be linked to it.'),
  id: z.int().nullable().describe('The quoteId for an order; null if the quote is not stored.'),
  verified: z.boolean(),
  protocolFeeBps: decimal('The fee on the volume that the amounts contain, in basis points.').optional(),
});

export const tradeSchema = z.object({
  blockNumber: z.int(),
  logIndex: z.int(),
  orderUid: uidSchema,
  buyAmount: tokenAtoms('Amount that was bought.'),
  sellAmount: tokenAtoms('Amount that was sold.'),
  sellAmountBeforeFees: tokenAtoms('The same without the signed fee.'),
  owner: address(),
  buyToken: address(),
  sellToken: address(),
  txHash: hexBytes(32, 'The transaction that has settled it.'),
  executedProtocolFees: z.array(
    z.object({ policy: z.record(z.string(), z.unknown()), amount: tokenAtoms('The fee.'), token: address() }),
  ),
});

/** The schemas of orders, quotes and trades. */
export const ORDER_SCHEMAS = {
  Address: address(),
  UID: uidSchema,
  AppDataHash: appDataHashSchema,
  OrderCreation: creationSchema,
  OrderCancellations: cancellations,
  Cancelled: z.literal('Cancelled'),
  OrderCancellation: omit(cancellation, { orderUid: true }),
  UIDs: z.array(z.string().regex(/^0x[0-9a-fA-F]{112}$/)).max(MAX_UIDS),
  Order: orderSchema,
  OrderResult: z.union([
    z.object({ order: orderSchema }),
    z.object({ error: z.object({ uid: uidSchema, description: z.string() }) }),
  ]),
  StoredOrderQuote: storedQuoteSchema,
  InteractionData: interactionSchema,
  QuoteRequest: z.union([sale, purchase]),
  QuotedOrder: quotedOrderSchema,
  QuoteResponse: quoteResponseSchema,
  Trade: tradeSchema,
  UpstreamOrderState: z.object({
    uid: uidSchema,
    relay: z
      .object({
        state: z.enum(['queued', 'sending', 'unknown', 'rejected']),
        sent: z.int().describe('Number of times it was sent.'),
        reason: z.string().describe('The last reason for the state.').optional(),
        code: z.string().describe('The code of the upstream, if there is one.').optional(),
      })
      .describe('Absent once the upstream has the order, and for orders that were not submitted here.')
      .optional(),
    readAt: z.int().describe('Time of the newest read, in milliseconds since 1970.').optional(),
    status: z.enum(ORDER_STATUSES).describe('The status in that read.').optional(),
    final: z.boolean().describe('Whether nothing can change any more.'),
  }),
  AppDataDocument: z.object({ fullAppData: z.string() }),
  Surplus: z.object({ totalSurplus: tokenAtoms('In wei.') }),
};
