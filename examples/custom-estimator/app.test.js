import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COW, createBook, WETH } from './app.js';

const from = '0x00000000000000000000000000000000000a11ce';

test('quotes have the price of the pool, after its fee and impact', async () => {
  const book = createBook();
  await book.start();
  const sell = { sellToken: WETH, buyToken: COW, from, kind: 'sell', sellAmountBeforeFee: String(10n ** 18n) };
  const { status, quote } = await book.quotes.request(sell);
  assert.equal(status, 'quoted');
  const bought = Number(quote.quote.buyAmount) / 1e18;
  assert.ok(bought > 9900 && bought < 9970, String(bought));
  const other = { ...sell, buyToken: '0x00000000000000000000000000000000000000aa' };
  assert.equal((await book.quotes.request(other)).error.code, 'NoLiquidity');
  await book.close();
});
