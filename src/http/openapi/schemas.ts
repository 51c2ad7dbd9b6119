import * as z from 'zod';
import { extend, omit } from 'zod/mini';
import { cancellation, cancellations } from '../../admission/cancellation-schema.ts';
import { orderCreation } from '../../admission/creation-schema.ts';
import { purchase, sale } from '../../admission/quote-request-schema.ts';
import { affiliateRegistration } from '../../affiliates/index.ts';
import { poolAddresses, simulationBundle } from '../../market/index.ts';
import { MAX_UIDS } from '../../orders/index.ts';
import { PLACEMENT_ERRORS } from '../../ports/chain-store.ts';
import { NOTIFICATION_TYPES } from '../../ports/notification-store.ts';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../../protocol/order.ts';
import { SIGNING_SCHEMES } from '../../protocol/signature.ts';
import { competition } from '../../records/competition-schema.ts';
import { ORDER_STATUSES } from '../../records/status.ts';
import { createOperatorSchemas } from './operator-schemas.ts';
import { address, callData, decimal, hexBytes, moment, tokenAtoms, unixSeconds } from './primitives.ts';
import { createTokenSchemas } from './token-schemas.ts';

/** The data of the interface, by the names of the contract ("Resources and their fields"). */
export function createSchemas() {
  const uid = hexBytes(56, 'The digest of an order, its owner and its expiry.');
  const appDataHash = hexBytes(32, 'The hash of an app-data document.');
  const interaction = z.object({
    target: address('The contract to call.'),
    value: tokenAtoms('Native currency that is sent along.'),
    callData: callData(),
  });
  const storedQuote = z.object({
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
  const creation = extend(orderCreation, { quoteId: z.int().nullish() });
  const order = z.object({
    uid,
    sellToken: address(),
    buyToken: address(),
    receiver: address('Receiver of the buy token; null for the owner.').nullable(),
    sellAmount: tokenAtoms('Maximum amount that is sold.'),
    buyAmount: tokenAtoms('Minimum amount that is bought.'),
    validTo: unixSeconds('The last moment in which it can be filled.'),
    appData: appDataHash,
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
    interactions: z.object({ pre: z.array(interaction), post: z.array(interaction) }),
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
    quote: storedQuote.optional(),
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
  const quotedOrder = z.object({
    sellToken: address(),
    buyToken: address(),
    receiver: address().nullable(),
    sellAmount: tokenAtoms('Amount that is traded.'),
    buyAmount: tokenAtoms('Amount that is bought.'),
    validTo: unixSeconds('Until when the order would be valid.'),
    appData: z.string().describe('As in the request.'),
    appDataHash: appDataHash.optional(),
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
  const quoteResponse = z.object({
    quote: quotedOrder,
    from: address(),
    expiration: moment('Until when an order can be linked to it.'),
    id: z.int().nullable().describe('The quoteId for an order; null if the quote is not stored.'),
    verified: z.boolean(),
    protocolFeeBps: decimal('The fee on the volume that the amounts contain, in basis points.').optional(),
  });
  const trade = z.object({
    blockNumber: z.int(),
    logIndex: z.int(),
    orderUid: uid,
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
  const execution = z.object({
    solver: address(),
    executedAmounts: z.object({ sell: tokenAtoms('Sold.'), buy: tokenAtoms('Bought.') }).nullable(),
  });
  const prices = z.record(z.string(), tokenAtoms('Wei for 10^18 atoms.'));
  const auctionOrder = z.object({
    uid,
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
    preInteractions: z.array(interaction).describe('Interactions that run once, before the first fill.'),
    postInteractions: z.array(interaction),
    sellTokenBalance: z.enum(SELL_TOKEN_SOURCES),
    buyTokenBalance: z.enum(BUY_TOKEN_DESTINATIONS),
    class: z.enum(['market', 'limit', 'liquidity']),
    appData: appDataHash,
    signingScheme: z.enum(SIGNING_SCHEMES),
    signature: z.string(),
    quote: z.object({
      sellAmount: tokenAtoms('Sold.'),
      buyAmount: tokenAtoms('Amount that is bought; 0 if the order has no quote.'),
      fee: tokenAtoms('Cost of gas, in the sell token.'),
      solver: address(),
    }),
  });
  const competitionSchema = z.object({
    auctionId: z.int(),
    auctionStartBlock: z.int(),
    auctionDeadlineBlock: z.int(),
    transactionHashes: z.array(hexBytes(32, 'Transaction of the settlement.')),
    referenceScores: z.record(z.string(), tokenAtoms('By solver.')),
    auction: z.object({ orders: z.array(uid), prices }),
    solutions: z.array(
      z.object({
        solverAddress: address(),
        score: tokenAtoms('In wei.'),
        ranking: z.int().describe('1 is the best.'),
        clearingPrices: prices,
        orders: z.array(
          z.object({
            id: uid,
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
  const competitionStatus = z.object({
    type: z.enum(['open', 'scheduled', 'active', 'cancelled', 'solved', 'executing', 'traded']),
    value: z.array(execution).describe('Each solution, worst first.').optional(),
  });
  return {
    Auction: z.object({
      id: z.int().describe('Greater than the id of every earlier auction.'),
      block: z.int().describe('The newest indexed block.'),
      orders: z.array(auctionOrder),
      prices,
      surplusCapturingJitOrderOwners: z.array(address()),
    }),
    Competition: competitionSchema,
    CompetitionRecord: competition,
    Recorded: z.object({ status: z.enum(['recorded', 'replaced']) }),
    Address: address(),
    UID: uid,
    AppDataHash: appDataHash,
    OrderCreation: creation,
    OrderCancellations: cancellations,
    Cancelled: z.literal('Cancelled'),
    OrderCancellation: omit(cancellation, { orderUid: true }),
    UIDs: z.array(z.string().regex(/^0x[0-9a-fA-F]{112}$/)).max(MAX_UIDS),
    Order: order,
    OrderResult: z.union([z.object({ order }), z.object({ error: z.object({ uid, description: z.string() }) })]),
    StoredOrderQuote: storedQuote,
    InteractionData: interaction,
    QuoteRequest: z.union([sale, purchase]),
    QuotedOrder: quotedOrder,
    QuoteResponse: quoteResponse,
    Trade: trade,
    AccountOrder: z.object({ chainId: z.int(), env: z.string().describe('The environment of its book.'), order }),
    AccountTrade: z.object({
      chainId: z.int(),
      env: z.string().describe('The environment of its book.'),
      timestamp: moment('Time of the block. Null if the node has not reported it.').nullable(),
      trade,
    }),
    CompetitionStatus: competitionStatus,
    UpstreamOrderState: z.object({
      uid,
      relay: z
        .object({
          state: z.enum(['queued', 'sending', 'unknown', 'accepted', 'rejected']),
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
    ...createOperatorSchemas({ uid, creation, order, trade, competitionStatus }),
    AppDataDocument: z.object({ fullAppData: z.string() }),
    Surplus: z.object({ totalSurplus: tokenAtoms('In wei.') }),
    NativePrice: z.object({ price: z.number().describe('Wei for one atom of the token.') }),
    TokenMetadata: z.object({
      firstTradeBlock: z.int().nullable(),
      nativePrice: tokenAtoms('For 10^18 atoms.').nullable(),
    }),
    Readiness: z.object({ ready: z.boolean(), checks: z.record(z.string(), z.string()) }),
    Liveness: z.object({ live: z.boolean() }),
    Overview: z.looseObject({ name: z.string(), version: z.string() }),
    Notification: z.object({
      id: z.string(),
      account: address(),
      type: z.string(),
      message: z.string(),
      timestamp: moment('Time of its cause.'),
      metadata: z.record(z.string(), z.unknown()),
    }),
    ContentNotification: z.object({
      id: z.int().describe('Unique and stable.'),
      account: address(),
      title: z.string().describe('The type in words, such as `Order filled`.'),
      description: z.string(),
      createdAt: moment('Time of its cause.'),
      url: z.null(),
      thumbnail: z.null(),
    }),
    SubscriptionRequest: z.object({
      channel: z.string().describe('`webhook`, `telegram`, `email` or `webpush`, if the channel is configured.'),
      target: z
        .string()
        .describe('The target of the channel: a URL, an address, nothing, or a PushSubscription as JSON.'),
      types: z.array(z.enum(NOTIFICATION_TYPES)).min(1),
      nonce: z.string().describe('Decimal, any number that the account has not used before.'),
      deadline: z.int().describe('Seconds since 1970; a day ahead at most.'),
      signature: z.string().describe('Over `Subscription`, in the affiliate domain.'),
    }),
    Subscription: z.object({
      id: z.string(),
      account: address(),
      channel: z.string(),
      target: z.string(),
      types: z.array(z.enum(NOTIFICATION_TYPES)),
      state: z.enum(['pending', 'active', 'suspended']),
      createdAt: moment('Time of the creation.'),
      failingSince: moment('Time of the first failed attempt since the last successful one.').optional(),
      secret: z.string().optional().describe('The signing secret of webhooks. Returned by this request only.'),
      confirm: z.string().optional().describe('Address that confirms the subscription. Returned once.'),
    }),
    RemovedSubscription: z.object({ removed: z.literal(true) }),
    Delivery: z.object({
      seq: z.int().describe('Identifies the delivery.'),
      subscription: z.string(),
      notification: z.string(),
      account: address(),
      channel: z.string(),
      state: z.enum(['pending', 'delivered', 'dead', 'dropped']),
      attempts: z.int().describe('Number of attempts.'),
      error: z.string().nullable().describe('The last error.'),
    }),
    ReplayedDeliveries: z.object({ replayed: z.int().describe('Number of deliveries that are pending again.') }),
    AffiliateRegistration: affiliateRegistration,
    AffiliateCode: z.object({ code: z.string(), createdAt: moment('Time of the binding.') }),
    AffiliateTerms: z
      .looseObject({ code: z.string() })
      .describe('The code with the terms of the program, if configured.'),
    AffiliateStatistics: z.looseObject({}).describe('Statistics of the configured source.'),
    PoolAddresses: poolAddresses,
    Pool: z.object({
      contract_address: address(),
      chain_id: z.int(),
      project: z.string(),
      apr: z.number().describe('Yield of liquidity providers, in percent per year.'),
      fee: z.number().describe('Fee of a trade, in percent.'),
      tvl: z.number().describe('Value of the reserves, in US dollars.'),
      volume: z.number().describe('Traded volume of a day, in US dollars.'),
    }),
    AverageApr: z.record(z.string(), z.number()),
    SimulationBundle: simulationBundle,
    SimulatedTransaction: z.object({
      status: z.boolean().describe('Whether the transaction succeeded.'),
      id: z.string(),
      link: z.string().describe('Page of the simulation. Empty if there is none.'),
      gasUsed: decimal('Units of gas.').optional(),
      logs: z.array(z.object({ address: address(), topics: z.array(hexBytes(32, 'A topic.')), data: callData() })),
      cumulativeBalancesDiff: z
        .record(z.string(), z.record(z.string(), z.string().regex(/^-?[0-9]+$/)))
        .describe('Signed atoms by account and token, of this transaction and all before it.'),
      stateDiff: z.array(
        z.object({
          address: address(),
          soltype: z.record(z.string(), z.unknown()).nullable(),
          original: z.unknown(),
          dirty: z.unknown(),
          raw: z.array(z.object({ address: address(), key: callData(), original: callData(), dirty: callData() })),
        }),
      ),
    }),
    ...createTokenSchemas(),
    Error: z.looseObject({
      errorType: z.string().describe('The code. Each response of a route lists its codes.'),
      description: z.string().describe('A message for developers.'),
      data: z.record(z.string(), z.unknown()).describe('Details that help to correct the request.').optional(),
    }),
    Message: z.object({ message: z.string() }),
  };
}

export type SchemaName = keyof ReturnType<typeof createSchemas>;

/** A schema by its name, as a document refers to it. */
export const ref = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

/** The components of the document. */
export function componentSchemas(): Readonly<Record<string, object>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(createSchemas())) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    unrepresentable: 'any',
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]));
}
