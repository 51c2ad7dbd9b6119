import * as z from 'zod';
import { affiliateRegistration } from '../../affiliates/index.ts';
import { poolAddresses, simulationBundle } from '../../market/index.ts';
import { NOTIFICATION_TYPES } from '../../ports/notification-store.ts';
import { orderSchema, tradeSchema } from './order-schemas.ts';
import { address, callData, decimal, hexBytes, moment } from './primitives.ts';

export const ACCOUNT_SCHEMAS = {
  AccountOrder: z.object({
    chainId: z.int(),
    env: z.string().describe('The environment of its book.'),
    order: orderSchema,
  }),
  AccountTrade: z.object({
    chainId: z.int(),
    env: z.string().describe('The environment of its book.'),
    timestamp: moment('Time of the block. Null if the node has not reported it.').nullable(),
    trade: tradeSchema,
  }),
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
};
