import { realpathSync } from 'node:fs';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';

export const WETH = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
export const COW = '0x0625afb445c3b6b7b929342a04a22599fd5dbb59';

/** Reserves of a pool of a constant product, in atoms. */
const RESERVES = { [WETH]: 1_000n * 10n ** 18n, [COW]: 10_000_000n * 10n ** 18n };

/** Estimates trades on the pool. The fee of the pool is 0.3 %. */
export const pool = {
  name: 'pool',
  async estimate({ sellToken, buyToken, kind, amount }) {
    const [sell, buy] = [RESERVES[sellToken], RESERVES[buyToken]];
    if (sell === undefined || buy === undefined) return undefined; // no route
    if (kind === 'sell') {
      const paid = amount * 997n;
      return { amount: (paid * buy) / (sell * 1000n + paid), gas: 110_000 };
    }
    if (amount >= buy) return undefined;
    return { amount: (sell * amount * 1000n) / ((buy - amount) * 997n) + 1n, gas: 110_000 };
  },
};

export function createBook() {
  const quotes = { gasPrice: '1000000000', estimators: [pool] };
  return createOrderBook({ chainId: 11155111, store: memoryStore(), quotes });
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const book = createBook();
  await book.start();
  const from = '0x00000000000000000000000000000000000a11ce';
  const terms = { sellToken: WETH, buyToken: COW, from, kind: 'sell', sellAmountBeforeFee: String(10n ** 18n) };
  console.log(await book.quotes.request(terms));
  await book.close();
}
