import { z } from 'zod';

/**
 * The types that clients, drivers and engines of the production services parse, in the strictest form that any of them
 * needs. Written from the data types of the services: members without a default are required, amounts for drivers are
 * decimal texts of at most 256 bits, and no object has other members.
 */

const hex = (bytes?: number) =>
  z.string().regex(new RegExp(`^0x[0-9a-f]${bytes === undefined ? '*' : `{${2 * bytes}}`}$`));
const MAX_UINT256 = 2n ** 256n;
const integer = z.string().regex(/^(?:0|[1-9][0-9]*)$/);
const amount = integer.refine((text) => BigInt(text) < MAX_UINT256, 'has more than 256 bits');
/** A decimal number as text, without an exponent. */
const decimal = z.string().regex(/^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/);
const uint32 = z.int().min(0).max(0xffff_ffff);
const count = z.int().min(0);
const address = hex(20);
const hash = hex(32);
const uid = hex(56);
const date = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
const factor = z.number().min(0).lt(1);

const kind = z.enum(['sell', 'buy']);
const sellTokenBalance = z.enum(['erc20', 'internal', 'external']);
const buyTokenBalance = z.enum(['erc20', 'internal']);
const signingScheme = z.enum(['eip712', 'ethsign', 'presign', 'eip1271']);
const interaction = z.strictObject({ target: address, value: amount, callData: hex() });
const prices = z.record(address, amount);

const tradeQuote = z.strictObject({ sellAmount: amount, buyAmount: amount, fee: amount });
const auctionQuote = tradeQuote.extend({ solver: address });

/** One of three objects with a single member, the name of the policy. */
const feePolicy = (quote: z.ZodType) =>
  z.union([
    z.strictObject({ surplus: z.strictObject({ factor, maxVolumeFactor: factor }) }),
    z.strictObject({ volume: z.strictObject({ factor }) }),
    z.strictObject({ priceImprovement: z.strictObject({ factor, maxVolumeFactor: factor, quote }) }),
  ]);

/** An order of `GET /api/v1/auction`, of `POST /solve` and of a settlement outside of a competition. */
export const auctionOrder = z.strictObject({
  uid,
  sellToken: address,
  buyToken: address,
  sellAmount: amount,
  buyAmount: amount,
  protocolFees: z.array(feePolicy(auctionQuote)),
  created: uint32,
  validTo: uint32,
  kind,
  receiver: address.nullable(),
  owner: address,
  partiallyFillable: z.boolean(),
  executed: amount,
  preInteractions: z.array(interaction),
  postInteractions: z.array(interaction),
  sellTokenBalance,
  buyTokenBalance,
  class: z.enum(['market', 'limit']),
  appData: hash,
  signingScheme,
  signature: hex(),
  quote: auctionQuote,
});

/** `GET /api/v1/auction`. */
export const auction = z.strictObject({
  id: count,
  block: count,
  orders: z.array(auctionOrder),
  prices,
  surplusCapturingJitOrderOwners: z.array(address),
});

/** `POST /solve` of a driver. */
export const solveRequest = z.strictObject({
  kind: z.literal('full'),
  id: integer,
  tokens: z.array(z.strictObject({ address, price: amount.nullable(), trusted: z.boolean() })),
  orders: z.array(auctionOrder),
  deadline: date,
  surplusCapturingJitOrderOwners: z.array(address),
});

/** `POST /solve` of a driver that accepts differences. The orders are next to the other members. */
export const deltaRequest = solveRequest.omit({ orders: true }).extend({
  kind: z.literal('delta'),
  updatedOrders: z.array(auctionOrder),
  removedOrders: z.array(uid),
});

/** `POST /reveal` of a driver. */
export const revealRequest = z.strictObject({ solutionId: count, auctionId: integer });

/** `POST /settle` of a driver. */
export const settleRequest = revealRequest.extend({ submissionDeadlineLatestBlock: count });

/** The query of `GET /quote` of a driver. */
export const driverQuoteQuery = z.strictObject({
  sellToken: address,
  buyToken: address,
  amount,
  kind,
  deadline: date,
});

/** `POST /solve` of an engine. */
export const engineRequest = z.strictObject({
  id: integer.nullable(),
  tokens: z.record(
    address,
    z.strictObject({
      decimals: z.int().min(0).max(255).nullish(),
      symbol: z.string().nullish(),
      referencePrice: amount.nullable(),
      availableBalance: amount,
      trusted: z.boolean(),
    }),
  ),
  orders: z.array(
    z.strictObject({
      uid,
      sellToken: address,
      buyToken: address,
      sellAmount: amount,
      fullSellAmount: amount,
      buyAmount: amount,
      fullBuyAmount: amount,
      feePolicies: z.array(feePolicy(tradeQuote)),
      validTo: uint32,
      kind,
      receiver: address.nullable(),
      owner: address,
      partiallyFillable: z.boolean(),
      preInteractions: z.array(interaction),
      postInteractions: z.array(interaction),
      sellTokenSource: sellTokenBalance,
      buyTokenDestination: buyTokenBalance,
      class: z.enum(['market', 'limit']),
      appData: hash,
      flashloanHint: z
        .strictObject({
          liquidityProvider: address,
          protocolAdapter: address,
          receiver: address,
          token: address,
          amount,
        })
        .optional(),
      wrappers: z.array(z.strictObject({ address, data: hex(), isOmittable: z.boolean() })).optional(),
      signingScheme,
      signature: hex(),
    }),
  ),
  liquidity: z.array(z.unknown()).max(0),
  effectiveGasPrice: amount,
  deadline: date,
  surplusCapturingJitOrderOwners: z.array(address),
});

// The specification has these names, the services have others. Without an error, the services have null.
const placementError = z.enum(['QuoteNotFound', 'ValidToTooFarInFuture', 'PreValidationError']);

const storedQuote = z.strictObject({
  gasAmount: decimal,
  gasPrice: decimal,
  sellTokenPrice: decimal,
  sellAmount: amount,
  buyAmount: amount,
  feeAmount: amount,
  solver: address,
  verified: z.boolean(),
  // The services have null while the order can be filled. The specification has no such member then.
  metadata: z.record(z.string(), z.unknown()).optional(),
});

/** An order of the routes for clients. */
export const order = z.strictObject({
  creationDate: date,
  owner: address,
  uid,
  availableBalance: z.null(),
  executedBuyAmount: integer,
  executedSellAmount: integer,
  executedSellAmountBeforeFees: amount,
  executedFeeAmount: amount,
  executedFee: amount,
  executedFeeToken: address,
  invalidated: z.boolean(),
  status: z.enum(['presignaturePending', 'open', 'fulfilled', 'cancelled', 'expired']),
  class: z.enum(['market', 'limit', 'liquidity']),
  settlementContract: address,
  ethflowData: z
    .strictObject({ userValidTo: z.int(), refundTxHash: hash.nullable(), isRefunded: z.boolean() })
    .optional(),
  onchainOrderData: z.strictObject({ sender: address, placementError: placementError.nullish() }).optional(),
  onchainUser: address.optional(),
  isLiquidityOrder: z.boolean(),
  fullAppData: z.string().nullable(),
  validFrom: uint32.optional(),
  quote: storedQuote.optional(),
  sellToken: address,
  buyToken: address,
  receiver: address.nullable(),
  sellAmount: amount,
  buyAmount: amount,
  validTo: uint32,
  appData: hash,
  feeAmount: amount,
  kind,
  partiallyFillable: z.boolean(),
  sellTokenBalance,
  buyTokenBalance,
  signingScheme,
  signature: hex(),
  interactions: z.strictObject({ pre: z.array(interaction), post: z.array(interaction) }),
});

/** A trade. */
export const trade = z.strictObject({
  blockNumber: count,
  logIndex: count,
  orderUid: uid,
  buyAmount: integer,
  sellAmount: integer,
  sellAmountBeforeFees: integer,
  owner: address,
  buyToken: address,
  sellToken: address,
  txHash: hash.nullable(),
  executedProtocolFees: z.array(z.strictObject({ policy: feePolicy(tradeQuote), amount, token: address })),
});

/** The response of `POST /api/v1/quote`. */
export const quoteResponse = z.strictObject({
  quote: z.strictObject({
    sellToken: address,
    buyToken: address,
    receiver: address.nullable(),
    sellAmount: amount,
    buyAmount: amount,
    validTo: uint32,
    appData: z.string(),
    appDataHash: hash.optional(),
    feeAmount: amount,
    gasAmount: decimal,
    gasPrice: decimal,
    sellTokenPrice: decimal,
    kind,
    partiallyFillable: z.boolean(),
    sellTokenBalance,
    buyTokenBalance,
    signingScheme,
  }),
  from: address,
  expiration: date,
  id: count.nullable(),
  verified: z.boolean(),
  protocolFeeBps: decimal.optional(),
});

/** The competition of an auction. */
export const competition = z.strictObject({
  auctionId: count,
  auctionStartBlock: count,
  auctionDeadlineBlock: count,
  transactionHashes: z.array(hash),
  referenceScores: prices,
  auction: z.strictObject({ orders: z.array(uid), prices }),
  solutions: z.array(
    z.strictObject({
      solverAddress: address,
      score: amount,
      ranking: count,
      clearingPrices: prices,
      orders: z.array(
        z.strictObject({ id: uid, sellAmount: amount, buyAmount: amount, buyToken: address, sellToken: address }),
      ),
      isWinner: z.boolean(),
      filteredOut: z.boolean(),
      txHash: hash.nullable(),
      referenceScore: amount.nullable(),
    }),
  ),
});

const execution = z.strictObject({
  solver: address,
  executedAmounts: z.strictObject({ sell: amount, buy: amount }).nullable(),
});

/** `GET /api/v1/orders/{uid}/status`. */
export const competitionStatus = z.union([
  z.strictObject({ type: z.enum(['open', 'scheduled', 'active', 'cancelled']) }),
  z.strictObject({ type: z.enum(['solved', 'executing', 'traded']), value: z.array(execution) }),
]);

/** The simulation of an order. The request has the names of Tenderly. */
const simulation = z.strictObject({
  tenderly_request: z.strictObject({
    network_id: integer,
    block_number: count,
    transaction_index: count,
    from: address,
    to: address,
    input: hex(),
    gas: count,
    simulation_type: z.literal('full'),
    save: z.boolean(),
    save_if_fails: z.boolean(),
    state_objects: z.record(
      address,
      z.strictObject({
        balance: z.string().optional(),
        code: hex().optional(),
        storage: z.record(hash, hash).optional(),
      }),
    ),
  }),
  error: z.string().nullable(),
});

const decimalMap = z.record(address, integer);
const label = z.enum(['created', 'ready', 'filtered', 'invalid', 'executing', 'considered', 'traded', 'cancelled']);

/** The members of production in `GET /restricted/api/v1/debug/order/{uid}`. The report has others besides. */
export const debugReport = z.looseObject({
  orderUid: uid,
  order,
  events: z.array(z.looseObject({ label, timestamp: date, reason: z.string().optional() })),
  auctions: z.array(
    z.strictObject({
      id: count,
      block: count,
      deadline: count,
      nativePrices: decimalMap,
      proposedSolutions: z.array(
        z.strictObject({
          solutionUid: count,
          ranking: count,
          solver: address,
          isWinner: z.boolean(),
          filteredOut: z.boolean(),
          score: integer,
          executedSell: integer,
          executedBuy: integer,
        }),
      ),
      executions: z.array(
        z.strictObject({
          executedFee: integer,
          executedFeeToken: address,
          blockNumber: count,
          protocolFees: z.array(z.strictObject({ token: address, amount: integer })),
        }),
      ),
      settlementAttempts: z.array(
        z.strictObject({
          solver: address,
          solutionUid: count,
          startTimestamp: z.iso.datetime(),
          startBlock: count,
          deadlineBlock: count,
          endTimestamp: z.iso.datetime().optional(),
          endBlock: count.optional(),
          outcome: z.string().optional(),
        }),
      ),
      feePolicies: z.array(
        z.strictObject({
          kind: z.enum(['surplus', 'volume', 'priceImprovement']),
          surplusFactor: factor.optional(),
          surplusMaxVolumeFactor: factor.optional(),
          volumeFactor: factor.optional(),
          priceImprovementFactor: factor.optional(),
          priceImprovementMaxVolumeFactor: factor.optional(),
        }),
      ),
    }),
  ),
  trades: z.array(
    z.looseObject({
      blockNumber: count,
      logIndex: count,
      buyAmount: integer,
      sellAmount: integer,
      sellAmountBeforeFees: integer,
      txHash: hash.optional(),
      auctionId: count.optional(),
    }),
  ),
});

/** An error of the routes below. The specification defines `data`. */
const error = z.strictObject({ errorType: z.string(), description: z.string(), data: z.looseObject({}).optional() });

const API = '^/api/v[12]';
const DEBUG = '^/restricted/api/v1/debug';
const uidPath = '/0x[0-9a-f]{112}';

/** The responses of the routes that production has, by method and path. */
const RESPONSES: readonly (readonly [method: string, path: string, schema: z.ZodType])[] = [
  ['POST', `${API}/orders$`, uid],
  ['DELETE', `${API}/orders`, z.literal('Cancelled')],
  ['GET', `${API}/orders${uidPath}$`, order],
  ['GET', `${API}/orders${uidPath}/status$`, competitionStatus],
  ['POST', `${API}/orders/by_uids$`, z.array(z.strictObject({ order }))],
  ['GET', `${API}/account/[^/]+/orders$`, z.array(order)],
  ['GET', `${API}/transactions/[^/]+/orders$`, z.array(order)],
  ['GET', `${API}/trades$`, z.array(trade)],
  ['GET', `${API}/auction$`, auction],
  ['GET', `${API}/solver_competition/`, competition],
  ['POST', `${API}/quote$`, quoteResponse],
  ['GET', `${API}/token/[^/]+/native_price$`, z.strictObject({ price: z.number().positive() })],
  [
    'GET',
    `${API}/token/[^/]+/metadata$`,
    z.strictObject({ firstTradeBlock: count.nullable(), nativePrice: amount.nullable() }),
  ],
  ['GET', `${API}/users/[^/]+/total_surplus$`, z.strictObject({ totalSurplus: integer })],
  ['PUT', `${API}/app_data`, hash],
  ['GET', `${API}/app_data/`, z.strictObject({ fullAppData: z.string() })],
  ['GET', `${API}/version$`, z.string()],
  ['GET', `${DEBUG}/order/`, debugReport],
  ['GET', `${DEBUG}/simulation/`, simulation],
  ['POST', `${DEBUG}/simulation$`, simulation],
];

/**
 * Parses a response as a client of production does. Routes that only this package has are not checked.
 *
 * @param path - The path with its query.
 * @throws Error if the body has another type than in production.
 */
export function checkResponse(method: string, path: string, status: number, body: unknown): void {
  const [plain = ''] = path.split('?');
  const found = RESPONSES.find(([verb, pattern]) => verb === method && new RegExp(pattern).test(plain));
  if (found === undefined) return;
  const [, , schema] = found;
  const parsed = (status >= 400 ? error : schema).safeParse(body);
  if (!parsed.success) throw new Error(`${method} ${path}: ${parsed.error.message}\n${JSON.stringify(body)}`);
}
