import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

const ETHER = 10n ** 18n;

/**
 * Assertions of the original:
 * - the fee grows with the gas of a contract signature and of hooks: held
 * - a quote uses liquidity of an earlier block: excluded, a cache of the driver
 * - each timeout is kept, and limited by the maximum: held in `test/unit/quotes/timeouts.test.ts`
 * - an order whose quote takes too long is `NoLiquidity`: not held, an order needs no quote: it has its own limit price
 *   and may be settled when a price is known
 * - a volume fee is in the quote as `protocolFeeBps`, with buckets: held, buckets in `test/unit/auctions`
 * - reasons of solvers are the codes of quotes and of native prices, with their texts: held
 * - a reason is preferred to the absence of a route: held in `test/unit/orders/profile.test.ts`
 * - the ids of streamed quotes are usable for orders: held
 */
export const scenario: Scenario = {
  shows:
    'fees grow with gas, slow sources are left out, reasons of solvers reach the client, streamed quotes are usable',
  async run(world) {
    const trader = await world.createTrader({ WETH: '10' });
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    const request = { sellToken, buyToken, from: trader.address, kind: 'sell', sellAmountBeforeFee: String(ETHER) };
    const book = await world.serve('--volume-fee', '200');
    const feeOf = async (more: object) => {
      const { status, body } = await book.post('/quote', { ...request, ...more });
      assert.equal(status, 200, JSON.stringify(body));
      return BigInt(body.quote.feeAmount) + BigInt(Math.round(Number(body.quote.gasAmount)));
    };
    const plain = await feeOf({});
    const eip1271 = { signingScheme: 'eip1271', onchainOrder: false };
    const light = await feeOf({ ...eip1271, verificationGasLimit: 30_000 });
    const heavy = await feeOf({ ...eip1271, verificationGasLimit: 500_000 });
    const hooks = { pre: [{ target: buyToken, callData: '0x', gasLimit: '400000' }] };
    const hooked = await feeOf({ appData: JSON.stringify({ appCode: 'x', metadata: { hooks } }) });
    assert.ok(plain < light && light < heavy && plain < hooked, String([plain, light, heavy, hooked]));
    assert.equal((await book.post('/quote', request)).body.protocolFeeBps, '2');

    // A streamed quote is stored as any other.
    const response = await fetch(`${book.url}/api/v1/quote/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    const [, data = ''] = /^data: ?(.*)$/m.exec(await response.text()) ?? [];
    const { id, quote } = JSON.parse(data);
    const { buyAmount } = quote;
    const uid = await book.place(trader, { sellToken, buyToken, sellAmount: String(ETHER), buyAmount, quoteId: id });
    const linked = (await book.get(`/orders/${uid}`)).body.quote;
    assert.ok(BigInt(linked.buyAmount) >= BigInt(buyAmount), JSON.stringify(linked));

    // Sources that only fail.
    let respond = () => Promise.resolve(Response.json({ kind: 'QuotingFailed', description: '' }, { status: 400 }));
    const driver = await world.listen(() => respond());
    const other = await world.serve('--prices', 'off', '--quote-drivers', driver);
    await other.rejects(other.post('/quote', request), 404, 'NoLiquidity');
    // Other amounts than before, because the absence of a price is kept for a while.
    let amount = 10n ** 17n;
    const another = () => ({ ...request, sellAmountBeforeFee: String(amount++) });
    for (const kind of [
      'TradingOutsideAllowedWindow',
      'TokenTemporarilySuspended',
      'InsufficientLiquidity',
      'CustomSolverError',
    ]) {
      respond = () => Promise.resolve(Response.json({ kind, description: 'reason' }, { status: 400 }));
      const reply = await other.post('/quote', another());
      assert.deepEqual([reply.status, reply.body.errorType], [400, kind], JSON.stringify(reply.body));
      assert.match(reply.body.description, /reason/);
      const price = await other.get(`/token/0x${String(amount).slice(-2).repeat(20)}/native_price`);
      assert.deepEqual([price.status, price.body.errorType], [400, kind], JSON.stringify(price.body));
      assert.match(price.body.description, /reason/);
    }
    // A source that responds after the timeout.
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    respond = async () => {
      await gate;
      return Response.json({ amount: '1', interactions: [], solver: trader.address, gas: 1 });
    };
    await other.rejects(other.post('/quote', { ...another(), timeout: 500 }), 404, 'NoLiquidity');
    release();
  },
};
