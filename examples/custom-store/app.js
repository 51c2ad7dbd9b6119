import { createOrderBook } from 'intentbook';
import { fileStore } from './file-store.js';

const book = createOrderBook({ chainId: 11155111, store: fileStore('orders.log') });
await book.start();
console.log((await book.orders.list()).orders.length, 'orders');
await book.close();
