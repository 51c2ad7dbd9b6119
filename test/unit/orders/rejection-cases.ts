import type { ErrorCode, OrderBookOptions, OrderCancellations, QuoteRequest, Store } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect } from 'vitest';
import type { Answer, Sent } from '../../integration/http/http-fixture.ts';
import { scriptedChain } from '../../support/chain.ts';
import type { WireOrder } from '../../support/orders.ts';
import { COW, signCancellation, WETH } from '../../support/orders.ts';
import type { AdmissionFixture } from './admission-fixture.ts';
import {
  ALICE,
  accepted,
  alice,
  BOB,
  bob,
  byContract,
  documentOf,
  NOW,
  orderOf,
  presigned,
} from './admission-fixture.ts';

/** A call of the book; the same call is made in process and over HTTP. */
export type Call =
  | { readonly submit: unknown }
  | { readonly cancel: OrderCancellations }
  | { readonly put: string; readonly hash?: string }
  | { readonly quote: unknown }
  | { readonly get: string }
  /** A request that is possible over HTTP only. */
  | { readonly http: readonly [method: string, path: string, sent?: Sent] };

/** The smallest call that is rejected with a code. */
export interface Rejection {
  readonly code: ErrorCode;
  readonly options?: () => Partial<OrderBookOptions>;
  /** Prepares the book. */
  readonly call: (fixture: AdmissionFixture) => Promise<Call> | Call;
  /** The exact `data`; `undefined` for none. */
  readonly data: unknown;
  /** Expected part of the description. Default: the meaning of the code. */
  readonly texts?: readonly string[];
  /** Reason if the code exists over HTTP only. */
  readonly onlyHttp?: string;
}

/**
 * Codes that the package cannot return yet, each with the future source. A code is listed here or has a row, never
 * both.
 */
export const NOT_YET: Partial<Record<ErrorCode, string>> = {
  UpstreamUnavailable: 'a book with an upstream is tested separately',
  RateLimited: 'comes with the limiter of the HTTP interface (decision 5.5)',
};

const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const weth = WETH.toLowerCase();
const cow = COW.toLowerCase();
const MISSING = `0x${'ab'.repeat(32)}${alice.slice(2)}ffffffff`;
const HASH = `0x${'12'.repeat(32)}`;
const DOMAIN = {
  name: 'Gnosis Protocol',
  version: 'v2',
  chainId: 11155111,
  verifyingContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
};
const digest = expect.stringMatching(/^0x[0-9a-f]{64}$/);
const uid = expect.stringMatching(/^0x[0-9a-f]{112}$/);
const MAX = (2n ** 256n - 1n).toString();

const submit = async (order: Promise<WireOrder>, change: object = {}): Promise<Call> => ({
  submit: { ...(await order), ...change },
});
const cancel = async (orderUid: string, signer = ALICE): Promise<Call> => {
  const orderUids = [orderUid];
  return { cancel: { orderUids, ...(await signCancellation(signer, { orderUids })) } };
};
const owns = (balance: bigint, allowance: bigint) => () => ({
  chain: scriptedChain({ balanceAndAllowance: { balance, allowance } }),
});
const hook = { target: COW, callData: '0x', gasLimit: '1' };

/** A store that reports an order as filled. */
function filled(): Store {
  const store = memoryStore();
  const cancelOrders: Store['orders']['cancel'] = async ({ uids: [first = MISSING as never] }) => {
    return { status: 'rejected', uid: first, reason: 'fulfilled' };
  };
  return { ...store, orders: { ...store.orders, cancel: cancelOrders } };
}

const quoting = (amount: bigint) => () => ({
  quotes: {
    gasPrice: '1000000000',
    estimators: [{ name: 'fixed', estimate: () => ({ amount, gas: 100_000 }), nativePrice: () => '1' }],
  },
});
const SOLVER_CODES = [
  'CustomSolverError',
  'InsufficientLiquidity',
  'TokenTemporarilySuspended',
  'TradingOutsideAllowedWindow',
] as const;

/** A book with the codes of production whose estimator rejects every trade. */
const rejecting = (rejection: (typeof SOLVER_CODES)[number]) => () => ({
  profile: 'production' as const,
  quotes: {
    gasPrice: '1000000000',
    estimators: [
      { name: 'closed', estimate: () => ({ rejection, reason: 'closed until Monday' }), nativePrice: () => '1' },
    ],
  },
});
const request = (sellAmountBeforeFee: string): QuoteRequest => ({
  sellToken: COW,
  buyToken: WETH,
  from: alice,
  kind: 'sell',
  sellAmountBeforeFee,
});

export const REJECTION_CASES: readonly Rejection[] = [
  {
    code: 'InvalidJson',
    texts: ['nested deeper than 64'],
    call: () => ({ http: ['POST', '/api/v1/orders', { body: '['.repeat(65) }] }),
    data: { maxDepth: 64 },
    onlyHttp: 'in process nothing is parsed',
  },
  {
    code: 'InvalidBody',
    texts: ['kind', 'one of buy, sell'],
    call: () => submit(orderOf(), { kind: 'Sell' }),
    data: { path: 'kind' },
  },
  {
    code: 'InvalidParameter',
    texts: ['uid', '0x', '112 hex digits'],
    call: () => ({ get: '0x12' }),
    data: { parameter: 'uid' },
  },
  {
    code: 'PayloadTooLarge',
    texts: ['65536 bytes'],
    call: () => ({ http: ['POST', '/api/v1/orders', { body: ' '.repeat(65_537) }] }),
    data: { limit: 65_536 },
    onlyHttp: 'in process nothing is parsed',
  },
  {
    code: 'UnsupportedMediaType',
    call: () => ({ http: ['POST', '/api/v1/orders', { body: '{}', headers: { 'content-type': 'text/plain' } }] }),
    data: { contentType: 'text/plain', expected: 'application/json' },
    onlyHttp: 'in process nothing is parsed',
  },
  {
    code: 'NotFound',
    texts: ['order', 'UID'],
    call: () => ({ http: ['GET', `/api/v1/orders/${MISSING}`] }),
    data: { uid: MISSING },
    onlyHttp: 'in process it is undefined',
  },
  {
    code: 'MethodNotAllowed',
    call: () => ({ http: ['PUT', '/api/v1/orders'] }),
    data: { method: 'PUT', allow: ['POST', 'GET', 'HEAD', 'DELETE'] },
    onlyHttp: 'in process there are no methods',
  },
  {
    code: 'TooManyOrderUids',
    texts: ['129', 'at most 128'],
    call: () => ({ cancel: { orderUids: Array(129).fill(MISSING), signature: '0x', signingScheme: 'eip712' } }),
    data: { limit: 128, count: 129 },
  },
  {
    code: 'InternalServerError',
    options: () => ({
      isDenied: () => {
        throw new Error('down');
      },
    }),
    call: () => submit(orderOf()),
    data: undefined,
  },
  {
    code: 'ChainUnavailable',
    texts: ['the chain check failed', 'nothing was stored'],
    options: () => ({ chain: scriptedChain({ balanceAndAllowance: new Error('down') }) }),
    call: () => submit(orderOf()),
    data: { check: 'balanceAndAllowance', reason: 'failure' },
  },
  {
    code: 'OutcomeUnknown',
    options: () => ({ store: withoutOutcome() }),
    call: () => submit(orderOf()),
    data: { uid },
  },
  {
    code: 'Forbidden',
    texts: ['receiver', 'deny-listed'],
    options: () => ({ isDenied: (address) => address === bob }),
    call: () => submit(orderOf({ receiver: BOB.address })),
    data: { field: 'receiver', address: bob },
  },

  {
    code: 'InvalidSignature',
    texts: [`by ${alice}`, `not by ${bob}`],
    call: () => submit(orderOf(), { from: BOB.address }),
    data: { recovered: alice, expected: bob, scheme: 'eip712', digest, domain: DOMAIN },
  },
  {
    code: 'InvalidEip1271Signature',
    texts: [alice, 'returned 0x00000000'],
    options: () => ({
      profile: 'production',
      chain: scriptedChain({ isValidSignature: { valid: false, reason: 'returned 0x00000000' } }),
    }),
    call: async () => ({ submit: byContract(await orderOf()) }),
    data: { scheme: 'eip1271', expected: alice, digest, reason: 'returned 0x00000000' },
  },
  {
    code: 'MissingFrom',
    texts: ['presign', '`from`'],
    call: async () => submit(orderOf(), { signingScheme: 'presign', signature: '0x', from: null }),
    data: { scheme: 'presign' },
  },
  {
    code: 'AppdataFromMismatch',
    texts: [`from is ${alice}`, `metadata.signer is ${bob}`],
    call: () => submit(orderOf({ appData: documentOf({ signer: BOB.address }) })),
    data: { from: alice, signer: bob },
  },
  {
    code: 'UnsupportedSigningScheme',
    call: async () => ({ submit: byContract(await orderOf()) }),
    data: { scheme: 'eip1271' },
  },
  {
    code: 'DuplicatedOrder',
    async call({ book }) {
      const order = await orderOf();
      await accepted(book, order);
      return { submit: order };
    },
    data: { uid },
  },
  { code: 'NonZeroFee', call: () => submit(orderOf(), { feeAmount: '1' }), data: { field: 'feeAmount', allowed: '0' } },
  {
    code: 'ZeroAmount',
    texts: ['sellAmount is 0'],
    call: () => submit(orderOf({ sellAmount: '0' })),
    data: { field: 'sellAmount' },
  },
  {
    code: 'SellAmountOverflow',
    call: () => submit(orderOf(), { sellAmount: (2n ** 256n).toString() }),
    data: { field: 'sellAmount', max: MAX },
  },
  {
    code: 'BuyAmountOverflow',
    call: () => submit(orderOf(), { buyAmount: (2n ** 256n).toString() }),
    data: { field: 'buyAmount', max: MAX },
  },
  {
    code: 'OrderExpired',
    texts: [`got ${NOW - 1}`, `must be ${NOW + 60} to ${NOW + 31_536_000}`, `now is ${NOW}`],
    call: () => submit(orderOf({ validTo: NOW - 1 })),
    data: { validTo: NOW - 1, now: NOW, earliest: NOW + 60, latest: NOW + 31_536_000 },
  },
  {
    code: 'InsufficientValidTo',
    texts: [`got ${NOW + 59}`, `${NOW + 60} to ${NOW + 31_536_000}`],
    call: () => submit(orderOf({ validTo: NOW + 59 })),
    data: { validTo: NOW + 59, now: NOW, earliest: NOW + 60, latest: NOW + 31_536_000 },
  },
  {
    code: 'ExcessiveValidTo',
    texts: [`got ${NOW + 31_536_001}`, `${NOW + 60} to ${NOW + 31_536_000}`],
    call: () => submit(orderOf({ validTo: NOW + 31_536_001 })),
    data: { validTo: NOW + 31_536_001, now: NOW, earliest: NOW + 60, latest: NOW + 31_536_000 },
  },
  {
    code: 'InvalidValidFrom',
    texts: [`got ${NOW + 540}`, `at most ${NOW + 539}`],
    call: () => submit(orderOf({ appData: documentOf({ validFrom: NOW + 540 }) })),
    data: { validFrom: NOW + 540, validTo: NOW + 600, latest: NOW + 539 },
  },
  {
    code: 'SameBuyAndSellToken',
    call: () => submit(orderOf({ buyToken: WETH })),
    data: { sellToken: weth, buyToken: weth },
  },
  {
    code: 'InvalidNativeSellToken',
    texts: ['wrapped native token'],
    call: () => submit(orderOf({ sellToken: NATIVE })),
    data: { wrappedNative: weth },
  },
  {
    code: 'UnsupportedToken',
    texts: [cow, 'deny-listed'],
    options: () => ({ deniedTokens: [COW] }),
    call: () => submit(orderOf()),
    data: { token: cow },
  },
  {
    code: 'InvalidAppData',
    texts: ['got 1001', 'at most 1000 bytes'],
    call: () => submit(orderOf({ appData: `"${'x'.repeat(999)}"` })),
    data: { size: 1001, limit: 1000 },
  },
  {
    code: 'AppDataInvalid',
    texts: ['got 8193', 'at most 8192 bytes'],
    options: () => ({ profile: 'production' }),
    call: () => ({ put: `"${'x'.repeat(8191)}"` }),
    data: { size: 8193, limit: 8192 },
  },
  {
    code: 'AppDataHashMismatch',
    texts: ['0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d', `must be ${HASH}`],
    call: () => ({ put: '{}', hash: HASH }),
    data: { actual: '0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d', expected: HASH },
  },
  {
    code: 'InsufficientBalance',
    texts: ['has 6', '7 are required'],
    options: owns(6n, 0n),
    call: () => submit(orderOf({ sellAmount: '7' })),
    data: { token: weth, owner: alice, required: '7', available: '6' },
  },
  {
    code: 'InsufficientAllowance',
    texts: ['0xc92e8bdf79f0507f65a392b0ab4667716bfe0110', 'to move 6', '7 are required'],
    options: owns(7n, 6n),
    call: () => submit(orderOf({ sellAmount: '7' })),
    data: {
      token: weth,
      owner: alice,
      spender: '0xc92e8bdf79f0507f65a392b0ab4667716bfe0110',
      required: '7',
      available: '6',
    },
  },
  {
    code: 'UnsupportedSellTokenSource',
    options: () => ({ rules: { vaultBalances: 'reject' } }),
    call: () => submit(orderOf({ sellTokenBalance: 'external' })),
    data: { sellTokenBalance: 'external' },
  },
  {
    code: 'UnsupportedBuyTokenDestination',
    options: () => ({ rules: { vaultBalances: 'reject' } }),
    call: () => submit(orderOf({ buyTokenBalance: 'internal' })),
    data: { buyTokenBalance: 'internal' },
  },
  {
    code: 'TooMuchGas',
    texts: ['at most 8000000', 'got 8000001'],
    call: () => submit(orderOf({ appData: documentOf({ hooks: { post: [{ ...hook, gasLimit: '8000001' }] } }) })),
    data: { gas: '8000001', limit: 8_000_000 },
  },
  {
    code: 'TransferSimulationFailed',
    options: () => ({ chain: scriptedChain({ simulate: { balance: 7n, allowance: 7n, transferRevert: '0xdead' } }) }),
    call: () => submit(orderOf({ sellAmount: '7', appData: documentOf({ hooks: { pre: [hook] } }) })),
    data: { token: weth, owner: alice, revertData: '0xdead' },
  },
  {
    code: 'TooManyLimitOrders',
    texts: ['0 open orders', 'the quota is 0'],
    options: () => ({ limits: { maxOpenOrders: 0 } }),
    call: () => submit(orderOf()),
    data: { limit: 0, count: 0, quotaClass: 'open', owner: alice },
  },
  {
    code: 'OldOrderActivelyBidOn',
    options: () => ({ isActivelyBidOn: () => true }),
    async call({ book }) {
      const replacedOrder = { uid: await accepted(book, await orderOf()) };
      return submit(orderOf({ appData: documentOf({ replacedOrder }) }));
    },
    data: { uid },
  },

  { code: 'OrderNotFound', call: () => cancel(MISSING), data: { uid: MISSING } },
  {
    code: 'WrongOwner',
    texts: [`by ${bob}`, MISSING, `belongs to ${alice}`],
    call: () => cancel(MISSING, BOB),
    data: { recovered: bob, expected: alice, uid: MISSING, scheme: 'eip712', digest, domain: DOMAIN },
  },
  {
    code: 'OnChainOrder',
    call: async ({ book }) => cancel(await accepted(book, presigned(await orderOf()))),
    data: { uid },
  },
  {
    code: 'OrderFullyExecuted',
    options: () => ({ store: filled() }),
    call: () => cancel(MISSING),
    data: { uid: MISSING },
  },
  {
    code: 'AlreadyCancelled',
    async call({ book }) {
      const again = await cancel(await accepted(book, await orderOf()));
      if ('cancel' in again) await book.orders.cancel(again.cancel);
      return again;
    },
    data: { uid },
  },

  {
    code: 'InvalidTradeFilter',
    texts: ['exactly one of owner and orderUid'],
    call: () => ({ http: ['GET', '/api/v2/trades'] }),
    data: { parameter: 'owner' },
    onlyHttp: 'tested with the trades',
  },
  {
    code: 'InvalidLimit',
    texts: ['limit', 'from 1 to 1000'],
    call: () => ({ http: ['GET', `/api/v2/trades?owner=${alice}&limit=1001`] }),
    data: { parameter: 'limit' },
    onlyHttp: 'tested with the trades',
  },
  {
    code: 'LIMIT_OUT_OF_BOUNDS',
    texts: ['limit', 'from 1 to 1000'],
    options: () => ({ profile: 'production' }),
    call: () => ({ http: ['GET', `/api/v1/account/${alice}/orders?limit=1001`] }),
    data: { parameter: 'limit' },
    onlyHttp: 'tested with the profile',
  },
  ...SOLVER_CODES.map(
    (code): Rejection => ({
      code,
      texts: ['closed until Monday'],
      options: rejecting(code),
      call: () => ({ quote: request('1000') }),
      data: { reason: code },
    }),
  ),
  {
    code: 'NoLiquidity',
    texts: ['price', cow],
    options: () => ({ quotes: { gasPrice: '1000000000', estimators: [async () => undefined] } }),
    call: () => ({ quote: request('1000') }),
    data: { token: cow },
  },
  {
    code: 'QuoteNotVerified',
    texts: ['simulation'],
    options: () => {
      const { quotes } = quoting(5n)();
      return { quotes: { ...quotes, verifier: { verify: () => Promise.reject(new Error('not called')) } } };
    },
    call: () => ({ quote: { ...request('1000000000000000000'), priceQuality: 'verified' } }),
    data: undefined,
  },
  {
    code: 'SellAmountDoesNotCoverFee',
    texts: ['100000000000000'],
    options: quoting(5n),
    call: () => ({ quote: request('1000') }),
    data: { fee_amount: '100000000000000' },
  },
];

/** Makes a call in process. @returns the rejection, or `undefined` if it was not rejected. */
/** A store whose connection breaks during each insert. */
function withoutOutcome(): Store {
  const store = memoryStore();
  return {
    ...store,
    orders: { ...store.orders, insert: async (inserts) => inserts.map(() => ({ status: 'unknown' })) },
  };
}

export async function inProcess({ book }: AdmissionFixture, call: Call): Promise<unknown> {
  if ('submit' in call) return errorOf(await book.orders.submit(call.submit as never)); // can be anything
  if ('cancel' in call) return errorOf(await book.orders.cancel(call.cancel));
  if ('put' in call) return errorOf(await book.appData.put(call.put, { hash: call.hash }));
  if ('quote' in call) return errorOf(await book.quotes.request(call.quote as never)); // can be anything
  if ('get' in call)
    return book.orders.get(call.get).then(
      () => undefined,
      (error: unknown) => error,
    );
  throw new Error('this deed is for the wire only');
}

function errorOf(result: { readonly error?: unknown } | object): unknown {
  return 'error' in result ? result.error : undefined;
}

/** Makes a call over HTTP. */
export function overHttp({ http }: AdmissionFixture, call: Call): Promise<Answer> {
  if ('submit' in call) return http.send('POST', '/api/v1/orders', { body: call.submit });
  if ('cancel' in call) return http.send('DELETE', '/api/v1/orders', { body: call.cancel });
  if ('put' in call)
    return http.send('PUT', `/api/v1/app_data/${call.hash ?? ''}`, { body: { fullAppData: call.put } });
  if ('quote' in call) return http.send('POST', '/api/v1/quote', { body: call.quote });
  if ('get' in call) return http.send('GET', `/api/v1/orders/${call.get}`);
  return http.send(...call.http);
}
