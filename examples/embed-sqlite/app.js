import { realpathSync } from 'node:fs';
import { createOrderBook } from 'intentbook';
import { limitOrder } from 'intentbook/sign';
import { sqliteStore } from 'intentbook/sqlite';

/** Opens a book whose orders are in a file. */
export async function openBook(path) {
  const book = createOrderBook({ chainId: 11155111, store: sqliteStore({ path }) });
  await book.start();
  return book;
}

/** Submits an order that its owner signs by a transaction. */
export async function submitOrder(book) {
  const order = limitOrder({
    sellToken: '0xfff9976782d46cc05630d1f6ebab18b2324d6b14', // WETH
    buyToken: '0x0625afb445c3b6b7b929342a04a22599fd5dbb59', // COW
    sellAmount: 10n ** 18n, // atoms
    buyAmount: 9000n * 10n ** 18n,
    validTo: Math.floor(Date.now() / 1000) + 1200, // seconds since 1970
  });
  const from = '0x00000000000000000000000000000000000a11ce';
  const result = await book.orders.submit({ ...order, from, signingScheme: 'presign', signature: '0x' });
  if (result.status !== 'accepted') throw result.error;
  return result.uid;
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const book = await openBook('orders.sqlite');
  const uid = await submitOrder(book);
  console.log(uid, (await book.orders.get(uid)).status);
  await book.close();
}
