import type { Order, OrderCreation } from 'intentbook';
import { concatHex, encodeDeployData, encodeFunctionData, keccak256, numberToHex, toHex } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allowSolver, deploy, SETTLEMENT, SETTLEMENT_ABI, SOLVER, send } from '../../support/evm.ts';
import { signOrder } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';
import { contract } from './contracts.ts';
import type { Fixture, FixtureBook } from './evm-fixture.ts';
import { fund, fundedTrader, startBook, startFixture, submit } from './evm-fixture.ts';
import { settle } from './settle.ts';

let fixture: Fixture;
let running: FixtureBook;

beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

beforeEach(async () => {
  running = await startBook(fixture);
  return async () => {
    await running[Symbol.asyncDispose]();
    expect(running.failures).toEqual([]);
  };
});

/** Clearing prices: one sold token is worth 0.6 bought ones. */
const prices = () => ({ [fixture.sellToken]: 60n, [fixture.buyToken]: 100n });
/** Prices of a trade that pays for its gas: one sold token brings 0.59. */
const custom = [59n, 100n] as const;

async function read(uid: string): Promise<Order> {
  await running.caughtUp();
  const order = await running.book.orders.get(uid);
  if (order === undefined) throw new Error('the order is not there');
  return order;
}

const validTo = () => Math.floor(Date.now() / 1000) + 3600;

describe('settlement on a real EVM', () => {
  test.each(['eip712', 'ethsign'] as const)(
    'fulfils an order with exact amounts and fee, signed by %s',
    async (scheme) => {
      const trader = await fundedTrader(fixture);
      const uid = await submit(running, fixture, trader, {}, scheme);
      const { transactionHash } = await settle(fixture.client, [{ order: await read(uid), custom }], prices(), 7);
      const order = await read(uid);
      // 1000 sold bring 590 instead of 600: the missing 10 are worth 10 × 100 / 60 of the sell token.
      expect(order).toMatchObject({
        status: 'fulfilled',
        executedSellAmount: '1000',
        executedBuyAmount: '590',
        executedFee: '16',
        executedFeeToken: fixture.sellToken,
        invalidated: false,
      });
      expect(await running.book.trades.list({ orderUid: uid })).toMatchObject([
        {
          orderUid: uid,
          txHash: transactionHash,
          sellAmount: '1000',
          buyAmount: '590',
          owner: trader.address.toLowerCase(),
        },
      ]);
      expect((await running.book.orders.listByTransaction(transactionHash)).map((each) => each.uid)).toEqual([uid]);
      expect(await running.book.orders.competitionStatus(uid)).toEqual({
        type: 'traded',
        value: [{ solver: SOLVER.toLowerCase(), executedAmounts: { sell: '1000', buy: '590' } }],
      });
    },
  );

  test('fulfils a buy order, with the fee in the sell token', async () => {
    const trader = await fundedTrader(fixture);
    const uid = await submit(running, fixture, trader, { kind: 'buy', sellAmount: '1100', buyAmount: '600' });
    await settle(fixture.client, [{ order: await read(uid), custom }], prices());
    // 600 cost floor(600 × 100 / 59) = 1016 instead of 1000.
    expect(await read(uid)).toMatchObject({ status: 'fulfilled', executedSellAmount: '1016', executedFee: '16' });
  });

  test('fulfils an order signed on chain after a revoked presignature', async () => {
    const trader = await fundedTrader(fixture);
    const body = await signOrder(trader, { ...fixture, sellAmount: '1000', buyAmount: '400', validTo: validTo() });
    const result = await running.book.orders.submit({ ...pick(body), signature: '0x', signingScheme: 'presign' });
    if (result.status !== 'accepted') throw result.error;
    const { uid } = result;
    expect((await read(uid)).status).toBe('presignaturePending');
    for (const [signed, status] of [
      [true, 'open'],
      [false, 'presignaturePending'],
      [true, 'open'],
    ] as const) {
      const data = encodeFunctionData({ abi: SETTLEMENT_ABI, functionName: 'setPreSignature', args: [uid, signed] });
      await send(fixture.client, { to: SETTLEMENT, data, from: trader.address });
      expect((await read(uid)).status).toBe(status);
    }
    await settle(fixture.client, [{ order: await read(uid) }], prices());
    expect(await read(uid)).toMatchObject({ status: 'fulfilled', executedBuyAmount: '600', executedFee: '0' });
  });

  test('fulfils an order signed by a contract that was queried on admission', async () => {
    const key = await fundedTrader(fixture);
    const { abi, bytecode } = contract('Wallet');
    const wallet = await deploy(fixture.client, encodeDeployData({ abi, bytecode, args: [key.address] }));
    await fund(fixture, wallet);
    const signed = await signOrder(key, {
      ...fixture,
      receiver: wallet,
      sellAmount: '1000',
      buyAmount: '400',
      validTo: validTo(),
    });
    const body: OrderCreation = { ...pick(signed), from: wallet, signingScheme: 'eip1271' };
    const forged = await running.book.orders.submit({ ...body, sellAmount: '1001' });
    expect(forged).toMatchObject({ status: 'rejected', error: { code: 'InvalidSignature' } });
    const result = await running.book.orders.submit(body);
    if (result.status !== 'accepted') throw result.error;
    await settle(fixture.client, [{ order: await read(result.uid) }], prices());
    expect(await read(result.uid)).toMatchObject({ status: 'fulfilled', owner: wallet, executedBuyAmount: '600' });
  });

  test('fulfils an order in three fills', async () => {
    const trader = await fundedTrader(fixture);
    const uid = await submit(running, fixture, trader, { partiallyFillable: true });
    const seen = [];
    for (const executed of [100n, 250n, 650n]) {
      await settle(fixture.client, [{ order: await read(uid), executed, custom }], prices());
      const { status, executedSellAmount, executedBuyAmount, executedFee } = await read(uid);
      seen.push([status, executedSellAmount, executedBuyAmount, executedFee]);
    }
    // 59 of 60: 1 × 100 / 60 = 1; 148 of 150: 2 → 3; 384 of 390: 6 → 10.
    expect(seen).toEqual([
      ['open', '100', '59', '1'],
      ['open', '350', '207', '4'],
      ['fulfilled', '1000', '591', '14'],
    ]);
    const trades = await running.book.trades.list({ orderUid: uid });
    expect(trades.map(({ sellAmount }) => sellAmount)).toEqual(['650', '250', '100']);
  });

  test('fulfils several orders through an intermediate contract', async () => {
    const [one, other] = [await fundedTrader(fixture), await fundedTrader(fixture)];
    const uids = [await submit(running, fixture, one), await submit(running, fixture, other, { sellAmount: '2000' })];
    const orders = await Promise.all(uids.map(read));
    const { abi, bytecode } = contract('Relay');
    const relay = await deploy(fixture.client, bytecode);
    await allowSolver(fixture.client, relay);
    const inner = settleData(
      orders.map((order) => ({ order, custom })),
      prices(),
      9,
    );
    const data = encodeFunctionData({ abi, functionName: 'relay', args: [SETTLEMENT, inner] });
    const { transactionHash } = await send(fixture.client, { to: relay, data });
    expect(await Promise.all(uids.map(read))).toMatchObject([
      { status: 'fulfilled', executedFee: '16' },
      { status: 'fulfilled', executedFee: '33' },
    ]);
    expect((await running.book.orders.listByTransaction(transactionHash)).map(({ uid }) => uid)).toEqual(uids);
  });
});

test('order invalidated on chain by its owner is cancelled', async () => {
  const trader = await fundedTrader(fixture);
  const uid = await submit(running, fixture, trader);
  const data = encodeFunctionData({ abi: SETTLEMENT_ABI, functionName: 'invalidateOrder', args: [uid] });
  await send(fixture.client, { to: SETTLEMENT, data, from: trader.address });
  expect(await read(uid)).toMatchObject({ status: 'cancelled', invalidated: true });
});

test('order for native currency is placed, settled, invalidated and refunded by events alone', async () => {
  const { abi, bytecode } = contract('Flow');
  const flow = await deploy(fixture.client, bytecode);
  await running[Symbol.asyncDispose]();
  running = await startBook(fixture, { follow: { onchainOrderContracts: [flow] } });
  await fund(fixture, flow);
  const hash = (name: string) => keccak256(toHex(name));
  const order = (sellAmount: bigint) => ({
    sellToken: fixture.sellToken,
    buyToken: fixture.buyToken,
    receiver: SOLVER,
    sellAmount,
    buyAmount: 400n,
    validTo: 0xffff_ffff,
    appData: hash('{}'),
    feeAmount: 0n,
    kind: hash('sell'),
    partiallyFillable: false,
    sellTokenBalance: hash('erc20'),
    buyTokenBalance: hash('erc20'),
  });
  const until = validTo();
  const place = (sellAmount: bigint, userValidTo = until) =>
    send(fixture.client, {
      to: flow,
      data: encodeFunctionData({
        abi,
        functionName: 'place',
        args: [order(sellAmount), concatHex([numberToHex(42, { size: 8 }), numberToHex(userValidTo, { size: 4 })])],
      }),
    });
  for (const amount of [1000n, 1001n, 1002n]) await place(amount);
  await place(1003n, until + 2 * 365 * 24 * 3600);
  await running.caughtUp();
  const { orders } = await running.book.orders.list({ owner: SOLVER });
  const bySize = Object.fromEntries(orders.map((each) => [each.sellAmount, each]));
  const user = SOLVER.toLowerCase();
  expect(bySize['1000']).toMatchObject({
    status: 'open',
    owner: flow,
    onchainUser: user,
    signingScheme: 'eip1271',
    validTo: 0xffff_ffff,
    onchainOrderData: { sender: user },
    ethflowData: { userValidTo: until, refundTxHash: null, isRefunded: false },
    interactions: { pre: [{ target: flow, value: '0', callData: '0x4c84c1c8' }], post: [] },
  });
  expect(bySize['1003']).toMatchObject({ onchainOrderData: { sender: user, placementError: 'ValidToTooFarInFuture' } });

  // Checked above.
  const [filled, invalidated, refunded] = ['1000', '1001', '1002'].map((size) => bySize[size] as Order);
  if (filled === undefined || invalidated === undefined || refunded === undefined) throw new Error('not placed');
  await settle(fixture.client, [{ order: filled }], prices());
  const call = (functionName: string, uid: string) =>
    send(fixture.client, { to: flow, data: encodeFunctionData({ abi, functionName, args: [uid] }) });
  await call('invalidate', invalidated.uid);
  const { transactionHash } = await call('refund', refunded.uid);
  expect(await read(filled.uid)).toMatchObject({ status: 'fulfilled', executedBuyAmount: '600' });
  expect(await read(invalidated.uid)).toMatchObject({ status: 'cancelled', invalidated: true });
  expect((await read(refunded.uid)).ethflowData).toEqual({
    userValidTo: until,
    refundTxHash: transactionHash,
    isRefunded: true,
  });
  expect((await running.book.trades.list({ owner: SOLVER })).map(({ orderUid }) => orderUid)).toContain(filled.uid);
});

test('chain events before their order are applied when it is submitted', async () => {
  const trader = await fundedTrader(fixture);
  const uid = await submit(running, fixture, trader);
  const order = await read(uid);
  await settle(fixture.client, [{ order }], prices());
  await using late = await startBook(fixture);
  await late.caughtUp();
  const { sellToken, buyToken, receiver, sellAmount, buyAmount, feeAmount, kind, partiallyFillable } = order;
  const body = { sellToken, buyToken, receiver, sellAmount, buyAmount, feeAmount, kind, partiallyFillable };
  const { signature, validTo: expiry } = order;
  const result = await late.book.orders.submit({
    ...body,
    signature,
    validTo: expiry,
    appData: '{}',
    signingScheme: 'eip712',
  });
  expect(result).toMatchObject({ status: 'accepted', uid });
  expect(await late.book.orders.get(uid)).toMatchObject({ status: 'fulfilled', executedSellAmount: '1000' });
});

/** Fields of a submitted order without the signer. */
function pick({ from: _, ...body }: Awaited<ReturnType<typeof signOrder>>): OrderCreation & { from: string } {
  return { ...body, from: _ ?? '' };
}
