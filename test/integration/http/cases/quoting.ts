import assert from 'node:assert/strict';
import { fixedPrices } from 'intentbook/estimators';
import { COW, signOrder, WETH } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { newOwner, ORDERS, place, rejected } from '../case.ts';

const QUOTE = '/api/v1/quote';
const ETHER = 10n ** 18n;
/** A token without a price. */
const UNKNOWN = '0x00000000000000000000000000000000000000f1';

/** Prices of every book of the suite: one ether for ten thousand COW. */
export const SUITE_QUOTES = {
  estimators: [fixedPrices({ [WETH]: { price: '1', decimals: 18 }, [COW]: { price: '0.0001', decimals: 18 } })],
  gasPrice: '1000000000',
};

const sale = (from: string, more: object = {}) => ({
  sellToken: WETH,
  buyToken: COW,
  from,
  receiver: null,
  kind: 'sell',
  priceQuality: 'optimal',
  sellAmountBeforeFee: String(ETHER),
  validFor: 600,
  signingScheme: 'eip712',
  timeout: 5000,
  ...more,
});

interface Quoted {
  readonly id: number;
  readonly expiration: string;
  readonly quote: Readonly<Record<'sellAmount' | 'buyAmount' | 'feeAmount' | 'validTo', string>>;
}

export const QUOTING: readonly HttpCase[] = [
  {
    name: 'a quote adds up to the requested amount, and an order signed with it is linked to it',
    async run(fixture) {
      const owner = newOwner();
      const answer = await fixture.send('POST', QUOTE, { body: sale(owner.address) });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.header('cache-control'), 'no-store');
      const { id, quote, expiration } = answer.json() as Quoted;
      assert.equal(BigInt(quote.sellAmount) + BigInt(quote.feeAmount), ETHER);
      assert.equal(BigInt(quote.buyAmount), BigInt(quote.sellAmount) * 10_000n);
      assert.ok(Date.parse(expiration) > fixture.now() * 1000);

      const { validTo, buyAmount } = quote;
      const bargain = {
        sellToken: WETH,
        buyToken: COW,
        sellAmount: String(ETHER),
        buyAmount,
        validTo: Number(validTo),
      };
      const uid = await place(fixture, Object.assign(await signOrder(owner, bargain), { quoteId: id }));
      const order = (await fixture.send('GET', `${ORDERS}/${uid}`)).json() as { quote: Record<string, unknown> };
      // The response has the estimated trade; the fee is listed separately.
      assert.equal(order.quote['sellAmount'], String(ETHER));
      assert.equal(order.quote['buyAmount'], String(ETHER * 10_000n));
      assert.equal('metadata' in order.quote, false, 'how it was found out stays hidden while the order can be filled');
    },
  },
  {
    name: 'a rejected quote states the reason',
    async run(fixture) {
      const from = newOwner().address;
      const requestQuote = (more: object) => fixture.send('POST', QUOTE, { body: sale(from, more) });
      rejected(await requestQuote({ buyToken: UNKNOWN }), 400, 'NoLiquidity');
      rejected(await requestQuote({ sellAmountBeforeFee: '0' }), 400, 'InvalidParameter');
      rejected(await requestQuote({ buyToken: WETH.toLowerCase() }), 400, 'SameBuyAndSellToken');
      const { data } = rejected(await requestQuote({ sellAmountBeforeFee: '1000' }), 400, 'SellAmountDoesNotCoverFee');
      assert.match(String(data?.['fee_amount']), /^[1-9]\d*$/);
      rejected(await requestQuote({ sellAmountBeforeFee: undefined }), 400, 'InvalidParameter');
      rejected(await fixture.send('POST', QUOTE, { body: [] }), 400, 'InvalidParameter');
      rejected(await fixture.send('GET', QUOTE), 405, 'MethodNotAllowed');
    },
  },
  {
    name: 'a quote stream is server-sent events, each one quote',
    async run(fixture) {
      const answer = await fixture.send('POST', `${QUOTE}/stream`, { body: sale(newOwner().address) });
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.header('content-type') ?? '', /^text\/event-stream/);
      assert.match(answer.text, /^data: \{"quote":\{.*\}\n\n$/);
      const nothing = await fixture.send('POST', `${QUOTE}/stream`, {
        body: sale(newOwner().address, { buyToken: UNKNOWN }),
      });
      assert.match(nothing.text, /^event: error\ndata: \{"errorType":"NoLiquidity",.*\}\n\n$/);
    },
  },
  {
    name: 'a token has a price and metadata if a source provides them',
    async run(fixture) {
      const read = async (token: string, path: string) => fixture.send('GET', `/api/v1/token/${token}/${path}`);
      assert.deepEqual((await read(COW, 'native_price')).json(), { price: 0.0001 });
      rejected(await read(UNKNOWN, 'native_price'), 400, 'NoLiquidity');
      rejected(await read('0x12', 'native_price'), 400, 'InvalidParameter');
      assert.deepEqual((await read(COW, 'metadata')).json(), { firstTradeBlock: null, nativePrice: '100000000000000' });
      assert.deepEqual((await read(UNKNOWN, 'metadata')).json(), { firstTradeBlock: null, nativePrice: null });
    },
  },
];
