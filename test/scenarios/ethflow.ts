import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { encodeFunctionData, parseAbi, stringToHex, toFunctionSelector } from 'viem';
import type { Book, WireOrder } from './support/book.ts';
import { contract } from './support/contracts.ts';
import { placeNative } from './support/native-flow.ts';
import type { Scenario } from './support/scenario.ts';
import { NATIVE } from './support/world.ts';

const ETHER = 10n ** 18n;
const EIP1271 = parseAbi(['function isValidSignature(bytes32, bytes) view returns (bytes4)']);

interface WireTrade {
  readonly orderUid: Hex;
  readonly owner: Hex;
  readonly sellToken: Hex;
}

/** Waits until an account has a number of orders, and returns the one that is not known. */
async function newest(book: Book, account: Hex, count: number, ...known: readonly Hex[]): Promise<WireOrder> {
  const orders = await book.until(`/account/${account}/orders`, (list) => list.length === count);
  // Orders of one second have no fixed order.
  return orders.find(({ uid }: WireOrder) => !known.includes(uid));
}

/**
 * Assertions of the original:
 * - a quote for the contract has an id, and amounts near the price of the pool: held
 * - the order is listed for the user and for the contract, in orders and in trades: held
 * - it has the contract as its owner, wrapped native currency, the longest validity, the class `limit`, the validity of
 *   the user, no refund, its sender, no placement error, a call that wraps, and a signature that the contract accepts:
 *   held
 * - it is traded, and its fee is charged: held
 * - its hooks run in the trampoline, and cannot set allowances of the settlement contract: held in `hooks`
 * - a bridge from wrapped to native currency runs its hook once and pays the receiver: held
 * - the quote of the bridge is verified: held
 * - neither its quote nor its trade has a volume fee: held
 * - an order without a quote is traded: held
 * - orders are indexed after a cancellation, whose events are created first and cancelled last: held
 * - a buy amount of zero does not stop auctions: held
 */
export const scenario: Scenario = {
  shows: 'orders that sell native currency are quoted, placed on chain, listed, filled, cancelled and bridged',
  async run(world) {
    const { nativeFlow } = world.contracts;
    // As the original does, for the bridge.
    const driver = await world.startDriver({ fee: 1000n });
    const sources = ['--drivers', driver, '--quote-drivers', driver, '--verify-quotes'];
    const book = await world.serve(...sources, '--wrapped-to-native', 'accept', '--volume-fee', '10000');
    const trader = await world.createTrader();
    const user = trader.address.toLowerCase() as Hex; // hex in lower case
    const buyToken = world.token('USDC');
    const terms = { buyToken, receiver: user, sellAmount: ETHER, buyAmount: 2000n * 10n ** 18n };

    const request = {
      sellToken: world.token('WETH'),
      from: nativeFlow,
      receiver: user,
      kind: 'sell',
      sellAmountBeforeFee: String(ETHER),
      signingScheme: 'eip1271',
      onchainOrder: true,
      validFor: 1800,
    };
    const quote = await book.post('/quote', { ...request, buyToken });
    assert.equal(quote.status, 200, JSON.stringify(quote.body));
    // The pool has 2500 USDC for one WETH.
    const expected = BigInt(world.atoms('2500', 'USDC'));
    const quoted = BigInt(quote.body.quote.buyAmount);
    assert.ok(quoted > (expected * 9n) / 10n && quoted < (expected * 11n) / 10n, String(quoted));

    // With a quote. The order belongs to the contract, and to the user.
    const placed = await placeNative(world, user, { ...terms, quoteId: quote.body.id });
    const first = await newest(book, user, 1);
    assert.equal(first.owner, nativeFlow);
    const full = (await book.get(`/orders/${first.uid}`)).body;
    assert.deepEqual([full.onchainUser, full.onchainOrderData], [user, { sender: user }]);
    assert.deepEqual([full.sellToken, full.validTo, full.class], [request.sellToken, 0xffff_ffff, 'limit']);
    assert.deepEqual(full.ethflowData, { userValidTo: placed.validTo, refundTxHash: null, isRefunded: false });
    assert.deepEqual(full.interactions.pre[0], {
      target: nativeFlow,
      value: '0',
      callData: toFunctionSelector('wrapAll()'),
    });
    const args1271 = [full.uid.slice(0, 66), full.signature] as const;
    const accepted = { address: nativeFlow, abi: EIP1271, functionName: 'isValidSignature', args: args1271 } as const;
    assert.equal(await world.client.readContract(accepted), '0x1626ba7e');
    assert.equal((await book.get(`/account/${nativeFlow}/orders`)).body.length, 1);
    await book.untilStatus(first.uid, 'fulfilled');
    assert.ok(BigInt((await book.get(`/orders/${first.uid}`)).body.executedFee) > 0n);
    assert.ok((await world.balance(user, 'USDC')) >= terms.buyAmount);
    for (const owner of [user, nativeFlow]) {
      const trades = (await book.get(`/trades?owner=${owner}`)).body;
      assert.deepEqual(
        trades.map((trade: WireTrade) => [trade.orderUid, trade.owner, trade.sellToken]),
        [[first.uid, nativeFlow, request.sellToken]],
      );
    }

    // Without a quote, through a contract, after an order with a buy amount of zero.
    const relay = await world.deploy(contract('Relay'));
    await world.fund(relay, { ETH: '5' });
    await placeNative(world, (await world.createTrader()).address, { ...terms, sellAmount: 3n * ETHER, buyAmount: 0n });
    await placeNative(world, relay, { ...terms, sellAmount: 2n * ETHER, buyAmount: 1n });
    const second = await newest(book, relay, 1);
    await book.untilStatus(second.uid, 'fulfilled');

    // Hooks of the document run through the trampoline. The limit is out of reach, so the user cancels.
    const far = await placeNative(world, user, { ...terms, buyAmount: 10_000n * 10n ** 18n });
    const open = await newest(book, user, 2, first.uid);
    assert.equal(open.status, 'open');
    await world.send(user, nativeFlow, far.invalidation);
    await book.untilStatus(open.uid, 'cancelled');
    const { events } = (await book.operator('GET', `/debug/order/${open.uid}`)).body;
    assert.deepEqual([events[0].label, events.at(-1).label], ['created', 'cancelled']);

    // From native to native currency with a hook, as a bridge does. The order is no placement error.
    const bridge = await book.post('/quote', { ...request, buyToken: NATIVE, priceQuality: 'verified' });
    assert.ok(Number.isInteger(bridge.body.id) && bridge.body.verified, JSON.stringify(bridge.body));
    assert.deepEqual([quote.body.protocolFeeBps, bridge.body.protocolFeeBps], ['100', undefined]);
    const counter = await world.deploy(contract('Counter'));
    const args = [stringToHex('bridge', { size: 32 })];
    const callData = encodeFunctionData({ abi: contract('Counter').abi, functionName: 'increment', args });
    const hooks = { post: [{ target: counter, callData, gasLimit: '100000' }] };
    const appData = JSON.stringify({ appCode: 'scenario', metadata: { hooks } });
    await book.put('/app_data', { fullAppData: appData });
    await placeNative(world, user, { ...terms, buyToken: NATIVE, buyAmount: (ETHER * 99n) / 100n, appData });
    const bridged = await newest(book, user, 3, first.uid, open.uid);
    const { onchainOrderData } = (await book.get(`/orders/${bridged.uid}`)).body;
    assert.notEqual(onchainOrderData.placementError, 'PreValidationError');
    await book.untilStatus(bridged.uid, 'fulfilled');
    const [bridgeTrade] = (await book.get(`/trades?orderUid=${bridged.uid}`)).body;
    assert.deepEqual(bridgeTrade.executedProtocolFees, []);
    const { abi } = contract('Counter');
    assert.equal(await world.client.readContract({ address: counter, abi, functionName: 'counts', args }), 1n);
  },
};
