import type { ErrorCode, OrderCreation } from 'intentbook';
import { ERRORS, OrderBookError, tokenBuckets } from 'intentbook';
import type { Sandbox, SandboxOptions, Trader } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { appDataDocument } from 'intentbook/sign';
import { describe, expect, it } from 'vitest';

/** Codes that a sandbox cannot return, with the reason. */
const PRODUCTION = 'the sandbox has the rules of the specification';

const IMPOSSIBLE: Partial<Record<ErrorCode, string>> = {
  UpstreamUnavailable: 'a sandbox has no order book behind it',
  InvalidEip1271Signature: PRODUCTION,
  AppDataInvalid: PRODUCTION,
  LIMIT_OUT_OF_BOUNDS: PRODUCTION,
  UnsupportedSellTokenSource: PRODUCTION,
  UnsupportedBuyTokenDestination: PRODUCTION,
  CustomSolverError: PRODUCTION,
  InsufficientLiquidity: PRODUCTION,
  TokenTemporarilySuspended: PRODUCTION,
  TradingOutsideAllowedWindow: PRODUCTION,
  OnChainOrder:
    'orders that are placed on chain belong to a contract, so that a cancellation is signed by another owner',
  OutcomeUnknown: 'the store of a sandbox is in its process, so that every commit is confirmed',
  UnsupportedSigningScheme: 'the sandbox has a chain, which checks contract signatures',
};

interface World {
  readonly sandbox: Sandbox;
  readonly trader: Trader;
}

type Case = (world: World) => Promise<unknown>;

const TERMS = { sell: ['1', 'WETH'], for: ['2000', 'USDC'] } as const;
const OPTIONS: SandboxOptions = { solver: 'manual' };

/** Submits an order of valid terms with some members replaced. */
const changed = ({ sandbox, trader }: World, change: object, terms: Parameters<Trader['createOrder']>[0] = TERMS) =>
  sandbox.book.orders.submit({ ...trader.createOrder(terms), ...change } as OrderCreation);

const post = ({ sandbox }: World, path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(sandbox.url + path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

/** Each code in at most three statements after the world is there. */
const CASES: Partial<Record<ErrorCode, Case>> = {
  InvalidJson: (world) => post(world, '/api/v1/orders', '{'),
  InvalidBody: (world) => post(world, '/api/v1/orders', '{}'),
  InvalidParameter: ({ sandbox }) => fetch(`${sandbox.url}/api/v1/orders/0x12`),
  PayloadTooLarge: (world) => post(world, '/api/v1/orders', `"${'a'.repeat(1_000_000)}"`),
  UnsupportedMediaType: (world) => post(world, '/api/v1/orders', 'a', { 'content-type': 'text/plain' }),
  NotFound: ({ sandbox }) => fetch(`${sandbox.url}/api/v1/nothing`),
  MethodNotAllowed: ({ sandbox }) => fetch(`${sandbox.url}/api/v1/orders`, { method: 'PUT' }),
  TooManyOrderUids: (world) => {
    return post(world, '/api/v1/orders/by_uids', JSON.stringify(Array(129).fill(`0x${'00'.repeat(56)}`)));
  },
  async RateLimited() {
    await using sandbox = await createSandbox({ limiter: tokenBuckets({ reads: { perSecond: 1, burst: 1 } }) });
    await fetch(`${sandbox.url}/api/v1/version`);
    return await fetch(`${sandbox.url}/api/v1/version`);
  },
  InternalServerError: (world) => {
    const body = JSON.stringify(world.trader.createOrder(TERMS));
    world.sandbox.fail('commit');
    return post(world, '/api/v1/orders', body);
  },
  ChainUnavailable: ({ sandbox, trader }) => {
    sandbox.stopNode();
    return trader.placeOrder(TERMS).finally(() => sandbox.restore());
  },
  async Forbidden() {
    await using sandbox = await createSandbox({ policy: { isDenied: () => true } });
    const trader = await sandbox.createTrader({ WETH: '1' });
    return await trader.placeOrder(TERMS).catch((error: unknown) => error);
  },

  InvalidSignature: (world) => changed(world, { buyAmount: '1' }),
  MissingFrom: (world) => changed(world, { signingScheme: 'presign', signature: '0x', from: undefined }),
  AppdataFromMismatch: ({ sandbox, trader }) => {
    return trader.placeOrder(TERMS, { appData: appDataDocument({ signer: sandbox.settlementContract }) });
  },
  async DuplicatedOrder({ sandbox, trader }) {
    const order = trader.createOrder(TERMS);
    await sandbox.book.orders.submit(order);
    return sandbox.book.orders.submit(order);
  },
  NonZeroFee: ({ trader }) => trader.placeOrder({ ...TERMS, fee: ['0.1', 'WETH'] }),
  ZeroAmount: ({ trader }) => trader.placeOrder({ sell: ['1', 'WETH'], for: ['0', 'USDC'] }),
  SellAmountOverflow: (world) => changed(world, { sellAmount: String(2n ** 256n) }),
  BuyAmountOverflow: (world) => changed(world, { buyAmount: String(2n ** 256n) }),
  OrderExpired: ({ trader }) => trader.placeOrder(TERMS, { validFor: -60 }),
  InsufficientValidTo: ({ trader }) => trader.placeOrder(TERMS, { validFor: 10 }),
  ExcessiveValidTo: ({ trader }) => trader.placeOrder(TERMS, { validFor: 400 * 86_400 }),
  InvalidValidFrom: ({ trader }) => {
    return trader.placeOrder(TERMS, { appData: appDataDocument({ metadata: { validFrom: 4_000_000_000 } }) });
  },
  SameBuyAndSellToken: ({ trader }) => trader.placeOrder({ sell: ['1', 'WETH'], for: ['1', 'WETH'] }),
  InvalidNativeSellToken: ({ trader }) => trader.placeOrder({ sell: ['1', 'ETH'], for: ['2000', 'USDC'] }),
  async UnsupportedToken() {
    await using sandbox = await createSandbox({ policy: { deniedTokens: ['USDC'] } });
    const trader = await sandbox.createTrader({ WETH: '1' });
    return await trader.placeOrder(TERMS).catch((error: unknown) => error);
  },
  InvalidAppData: ({ trader }) => trader.placeOrder(TERMS, { appData: JSON.stringify('a'.repeat(8191)) }),
  AppDataHashMismatch: (world) => changed(world, { appDataHash: `0x${'11'.repeat(32)}` }),
  InsufficientBalance: ({ trader }) => trader.placeOrder({ sell: ['11', 'WETH'], for: ['1', 'USDC'] }),
  async InsufficientAllowance({ trader }) {
    await trader.approve('WETH', '0.5');
    return trader.placeOrder(TERMS);
  },
  TooMuchGas({ trader }) {
    const hook = { target: trader.address, callData: '0x', gasLimit: 8_000_001 };
    return trader.placeOrder(TERMS, { appData: appDataDocument({ hooks: { post: [hook] } }) });
  },
  async TransferSimulationFailed({ sandbox, trader }) {
    await sandbox.freeze('DAI');
    const hook = { target: trader.address, callData: '0x', gasLimit: 50_000 };
    return trader.placeOrder(
      { sell: ['1', 'DAI'], for: ['0.1', 'USDC'] },
      { appData: appDataDocument({ hooks: { pre: [hook] } }) },
    );
  },
  async TooManyLimitOrders() {
    await using sandbox = await createSandbox({ solver: 'manual', policy: { limits: { maxOpenOrders: 0 } } });
    const trader = await sandbox.createTrader({ WETH: '1' });
    return await trader.placeOrder(TERMS).catch((error: unknown) => error);
  },
  async OldOrderActivelyBidOn({ sandbox, trader }) {
    const uid = await trader.placeOrder(TERMS, { partiallyFillable: true });
    await sandbox.settle(uid, { fill: 0.5 });
    return trader.placeOrder(TERMS, { appData: appDataDocument({ replaces: uid }) });
  },

  OrderNotFound: ({ trader }) => trader.cancel(`0x${'00'.repeat(32)}${trader.address.slice(2)}ffffffff`),
  async WrongOwner({ sandbox, trader }) {
    const uid = await trader.placeOrder(TERMS);
    return (await sandbox.createTrader()).cancel(uid);
  },
  async OrderFullyExecuted({ sandbox, trader }) {
    const uid = await trader.placeOrder(TERMS);
    await sandbox.settle(uid);
    return trader.cancel(uid);
  },
  async AlreadyCancelled({ trader }) {
    const uid = await trader.placeOrder(TERMS);
    await trader.cancel(uid);
    return trader.cancel(uid);
  },

  NoLiquidity: ({ sandbox, trader }) => {
    sandbox.fail('quote', { times: 10 });
    return sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
  },
  async QuoteNotVerified({ sandbox, trader }) {
    await sandbox.freeze('USDC');
    const [sellToken, buyToken] = [sandbox.token('WETH').address, sandbox.token('USDC').address];
    const trade = { sellToken, buyToken, kind: 'sell', sellAmountBeforeFee: '1000000000000000000' } as const;
    return sandbox.book.quotes.request({ ...trade, from: trader.address, priceQuality: 'verified' });
  },
  InvalidLimit: ({ sandbox, trader }) => sandbox.book.trades.list({ owner: trader.address, limit: 1001 }),
  InvalidTradeFilter: ({ sandbox }) => sandbox.book.trades.list({}),
  SellAmountDoesNotCoverFee: ({ sandbox, trader }) =>
    sandbox.quote(trader, { sell: ['0.000001', 'WETH'], for: 'USDC' }),
};

/** Reads the code of a rejection: thrown, returned, or sent in a response. */
async function codeOf(result: Promise<unknown>): Promise<string | undefined> {
  const value = await result.catch((error: unknown) => error);
  if (value instanceof OrderBookError) return value.code;
  if (value instanceof Response) return ((await value.json()) as { errorType?: string }).errorType;
  const { error } = value as { error?: { code?: string } };
  return error?.code;
}

describe('every error code of a book', () => {
  it('is reached, or listed as impossible', () => {
    const listed = [...Object.keys(CASES), ...Object.keys(IMPOSSIBLE)].sort();
    expect(listed).toEqual(Object.keys(ERRORS).sort());
  });

  it.each(Object.entries(CASES))('is reached in at most three statements: %s', async (code, reach) => {
    await using sandbox = await createSandbox(OPTIONS);
    const trader = await sandbox.createTrader({ WETH: '10', DAI: '10' });
    expect(await codeOf(reach({ sandbox, trader }))).toBe(code);
  });
});
