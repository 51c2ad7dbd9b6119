import type { Order } from 'intentbook';
import type { Hex } from 'viem';
import { concatHex, encodeFunctionData, keccak256, numberToHex, toHex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deploy, SETTLEMENT, SETTLEMENT_ABI, SOLVER, send } from '../../support/evm.ts';
import { contract } from './contracts.ts';
import type { Fixture, FixtureBook } from './evm-fixture.ts';
import { fund, fundedTrader, startBook, startFixture, submit } from './evm-fixture.ts';
import { settle } from './settle.ts';

const LONG = process.env['TEST_LONG'] !== undefined;
const SEQUENCES = LONG ? 200 : 24;

let fixture: Fixture;
let flow: Hex;
beforeAll(async () => {
  fixture = await startFixture();
  flow = await deploy(fixture.client, contract('Flow').bytecode);
  await fund(fixture, flow);
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Returns the same pseudo-random numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >> 8) % below;
  };
}

const hash = (name: string) => keccak256(toHex(name));

/** Chain operations on an order. */
function happenings(order: Order, from: Hex) {
  const onSettlement = (functionName: string, ...args: unknown[]) =>
    send(fixture.client, {
      to: SETTLEMENT,
      data: encodeFunctionData({ abi: SETTLEMENT_ABI, functionName, args }),
      from,
    });
  const onFlow = (functionName: string, ...args: unknown[]) =>
    send(fixture.client, { to: flow, data: encodeFunctionData({ abi: contract('Flow').abi, functionName, args }) });
  const placed = {
    sellToken: fixture.sellToken,
    buyToken: fixture.buyToken,
    receiver: SOLVER,
    buyAmount: 400n,
    feeAmount: 0n,
    sellAmount: BigInt(order.validTo),
    validTo: 0xffff_ffff,
    appData: hash('{}'),
    kind: hash('sell'),
    partiallyFillable: false,
    sellTokenBalance: hash('erc20'),
    buyTokenBalance: hash('erc20'),
  };
  const data = concatHex([numberToHex(1, { size: 8 }), numberToHex(order.validTo, { size: 4 })]);
  const prices = { [fixture.sellToken]: 60n, [fixture.buyToken]: 100n };
  return [
    () => settle(fixture.client, [{ order, executed: 10n }], prices),
    () => settle(fixture.client, [{ order, executed: 25n, custom: [59n, 100n] }], prices),
    () => onSettlement('setPreSignature', order.uid, true),
    () => onSettlement('setPreSignature', order.uid, false),
    () => onSettlement('invalidateOrder', order.uid),
    () => onFlow('place', placed, data),
    () => onFlow('invalidate', order.uid),
    () => onFlow('refund', order.uid),
  ];
}

/** Reads all chain state of a book. */
async function known({ book }: FixtureBook, orders: readonly Order[]): Promise<unknown> {
  const placed = (await book.orders.list({ owner: SOLVER, limit: 1000 })).orders;
  const shown = await book.orders.getMany([...orders, ...placed].map(({ uid }) => uid));
  const trades = await Promise.all(orders.map(({ uid }) => book.trades.list({ orderUid: uid, limit: 1000 })));
  const byUid = (a: { uid?: Hex }, b: { uid?: Hex }) => ((a.uid ?? '') < (b.uid ?? '') ? -1 : 1);
  return { orders: shown.map(({ order }) => ({ ...order, creationDate: null })).sort(byUid), trades };
}

test(`book with ${SEQUENCES} random sequences of reorganisations equals a book that starts late`, async () => {
  const follow = { onchainOrderContracts: [flow] };
  await using simulated = await startBook(fixture, { follow });
  const orders: Order[] = [];
  const bodies: Parameters<typeof simulated.book.orders.submit>[0][] = [];
  for (let sequence = 0; sequence < SEQUENCES; sequence++) {
    const next = numbers(sequence + 1);
    const trader = await fundedTrader(fixture);
    const uid = await submit(simulated, fixture, trader, { partiallyFillable: true, sellAmount: '1000000' });
    const order = await simulated.book.orders.get(uid);
    if (order === undefined) throw new Error('the order is not there');
    orders.push(order);
    const { sellToken, buyToken, receiver, sellAmount, buyAmount, feeAmount, kind, validTo, signature } = order;
    bodies.push({
      sellToken,
      buyToken,
      receiver,
      sellAmount,
      buyAmount,
      feeAmount,
      kind,
      validTo,
      signature,
      partiallyFillable: true,
      appData: '{}',
      signingScheme: 'eip712',
    });
    const can = happenings(order, trader.address);
    const { number: start } = await fixture.client.getBlock();
    for (let step = 3 + next(4); step > 0; step--) {
      // The settlement of an invalidated order fails, and so does the transaction.
      await can[next(can.length)]?.().catch(() => {});
      if (next(3) === 0) await simulated.caughtUp();
      if (next(3) > 0) continue;
      // The state before this sequence stays: funds and allowances of its trader.
      const { number } = await fixture.client.getBlock();
      const depth = Math.min(1 + next(4), Number(number - start));
      // Method of anvil only.
      if (depth > 0) await fixture.client.request({ method: 'anvil_reorg', params: [depth, []] } as never);
    }
  }
  await simulated.caughtUp();
  // Responses during a reorganisation can be failures, which are retried: only the final state counts.

  await using late = await startBook(fixture, { follow });
  await late.caughtUp();
  const results = await late.book.orders.submitMany(bodies);
  expect(results.filter(({ status }) => status !== 'accepted')).toEqual([]);
  expect(await known(simulated, orders)).toEqual(await known(late, orders));
}, 180_000);
