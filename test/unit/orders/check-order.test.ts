import type { OrderBookOptions, Store, StoredOrder } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import type { OrderChoice, WireOrder } from '../../support/orders.ts';
import { COW, WETH } from '../../support/orders.ts';
import {
  ALICE,
  admissionFixture,
  BOB,
  byContract,
  documentOf,
  NOW,
  orderOf,
  outcome,
  outcomeOf,
} from './admission-fixture.ts';

/** One error: in the signed data, in the request, or in the state of the book. */
interface Mistake {
  readonly code: string;
  readonly signed?: OrderChoice;
  readonly metadata?: object;
  readonly sent?: Partial<Record<keyof WireOrder, unknown>>;
  readonly options?: () => Partial<OrderBookOptions>;
}

const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const OLD = `0x${'ab'.repeat(32)}${ALICE.address.slice(2)}ffffffff`;

/** A store that reports every order as existing. */
function full(): Store {
  const store = memoryStore();
  return { ...store, orders: { ...store.orders, get: async (uids) => uids.map((uid) => ({ uid }) as StoredOrder) } };
}

/** In the order in which they are reported. */
const MISTAKES: readonly Mistake[] = [
  { code: 'InvalidBody', sent: { kind: 'Sell' } },
  { code: 'SellAmountOverflow', sent: { sellAmount: '1'.repeat(79) } },
  { code: 'BuyAmountOverflow', sent: { buyAmount: '1'.repeat(79) } },
  { code: 'NonZeroFee', sent: { feeAmount: '1' } },
  { code: 'InvalidAppData', metadata: { hooks: null } },
  { code: 'AppdataFromMismatch', metadata: { signer: BOB.address } },
  { code: 'InvalidSignature', sent: { signature: `0x${'11'.repeat(64)}1b` } },
  { code: 'DuplicatedOrder', options: () => ({ store: full() }) },
  { code: 'ZeroAmount', signed: { buyAmount: '0' } },
  { code: 'SameBuyAndSellToken', signed: { sellToken: COW, buyToken: COW } },
  { code: 'UnsupportedToken', options: () => ({ deniedTokens: [WETH, COW] }) },
  { code: 'InsufficientValidTo', signed: { validTo: NOW + 59 } },
  { code: 'InvalidValidFrom', metadata: { validFrom: NOW + 600 } },
  { code: 'Forbidden', options: () => ({ isDenied: () => true }) },
  { code: 'OrderNotFound', metadata: { replacedOrder: { uid: OLD } } },
  {
    code: 'InsufficientBalance',
    options: () => ({ chain: scriptedChain({ balanceAndAllowance: { balance: 0n, allowance: 0n } }) }),
  },
  { code: 'TooManyLimitOrders', options: () => ({ limits: { maxOpenOrders: 0 } }) },
];

const index = (code: string) => MISTAKES.findIndex((failure) => failure.code === code);

/** Submits one order with several errors. */
async function attempt(failures: readonly Mistake[]) {
  const given: Partial<OrderBookOptions> = Object.assign({}, ...failures.map((failure) => failure.options?.()));
  const { chain = scriptedChain({ balanceAndAllowance: FUNDED }), isDenied = () => false } = given;
  let denials = 0;
  await using fixture = await admissionFixture({
    ...given,
    chain,
    isDenied(address, call) {
      denials++;
      return isDenied(address, call);
    },
  });
  const metadata = Object.assign({}, ...failures.map((failure) => failure.metadata));
  const choice: OrderChoice = Object.assign({}, ...failures.map((failure) => failure.signed));
  const order = await orderOf({ receiver: null, appData: documentOf(metadata), ...choice });
  const code = await outcome(fixture.book, Object.assign(order, ...failures.map((failure) => failure.sent)));
  return { code, denials: denials > 0, chainCalls: (chain as ReturnType<typeof scriptedChain>).recordedCalls.length };
}

describe('order checks report the first error in the documented order', () => {
  test('with one code for each error alone', async () => {
    for (const failure of MISTAKES) expect(await attempt([failure])).toMatchObject({ code: failure.code });
    expect(await attempt([])).toMatchObject({ code: 'accepted', chainCalls: 1, denials: true });
  });

  const pairs = MISTAKES.flatMap((first, i) =>
    MISTAKES.slice(i + 1).map((second) => [first.code, second.code] as const),
  );
  test.each(pairs)('%s before %s', async (first, second) => {
    const failures = MISTAKES.filter(({ code }) => code === first || code === second);
    expect((await attempt(failures)).code).toBe(first);
    expect((await attempt([...failures].reverse())).code).toBe(first);
  });

  test.each(MISTAKES.map(({ code }) => code))('%s before everything after it', async (code) => {
    expect((await attempt(MISTAKES.slice(index(code)))).code).toBe(code);
  });

  test('and run no remote check before every local check passes', async () => {
    for (const [i, failure] of MISTAKES.entries()) {
      const { denials, chainCalls } = await attempt([failure]);
      expect(denials, failure.code).toBe(i >= index('Forbidden'));
      expect(chainCalls > 0, failure.code).toBe(i >= index('InsufficientBalance'));
    }
  });
});

test('order checks make no chain call for an ECDSA order with a wrong signature', async () => {
  const chain = scriptedChain({
    balanceAndAllowance: FUNDED,
    isValidSignature: { valid: true },
    simulate: { ...FUNDED, transferRevert: undefined },
  });
  await using fixture = await admissionFixture({ chain });
  const order = await orderOf();
  const other = await orderOf();
  for (const wrong of [
    { ...order, from: BOB.address },
    { ...order, signature: other.signature },
    { ...order, signingScheme: 'ethsign' as const },
    { ...order, signature: `0x${'00'.repeat(65)}` as const },
    { ...order, signature: '0x12' as const },
  ]) {
    expect(await outcome(fixture.book, wrong)).toBe('InvalidSignature');
  }
  const batch = await fixture.book.orders.submitMany([
    { ...order, from: BOB.address },
    { ...other, from: BOB.address },
  ]);
  expect(batch.map(outcomeOf)).toEqual(['InvalidSignature', 'InvalidSignature']);
  expect(chain.recordedCalls).toEqual([]);
});

describe('order checks without a chain', () => {
  test('reject a contract signature after the local checks and before remote ones', async () => {
    let recordedCalls = 0;
    const isDenied = () => {
      recordedCalls++;
      return true;
    };
    await using fixture = await admissionFixture({ isDenied });
    expect(await outcome(fixture.book, byContract(await orderOf({ validTo: NOW + 1 })))).toBe('InsufficientValidTo');
    expect(await outcome(fixture.book, byContract(await orderOf()))).toBe('UnsupportedSigningScheme');
    expect(recordedCalls).toBe(0);
  });

  test('read nothing from the store for an acceptable order', async () => {
    await using fixture = await admissionFixture();
    expect(await outcome(fixture.book, await orderOf())).toBe('accepted');
    expect(fixture.calls).toEqual({ get: 0, insert: 1 });
  });
});

test('order checks report a buy token equal to the sell token before native currency', async () => {
  await using fixture = await admissionFixture({ deniedTokens: [NATIVE] });
  expect(await outcome(fixture.book, await orderOf({ sellToken: NATIVE, buyToken: NATIVE }))).toBe(
    'SameBuyAndSellToken',
  );
  expect(await outcome(fixture.book, await orderOf({ sellToken: NATIVE, buyToken: COW }))).toBe(
    'InvalidNativeSellToken',
  );
});
