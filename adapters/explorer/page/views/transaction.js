import { copied, element, quiet } from '../elements.js';
import { orderTable } from '../order-table.js';

/** The orders that a transaction has settled. */
export async function transaction(book, prefix, hash, signal) {
  const orders = await book.listByTransaction(hash, signal);
  const { table, add } = orderTable(prefix, `Orders settled by ${hash}`);
  add(orders);
  return [
    element('h1', {}, 'Transaction'),
    element('p', {}, copied(hash)),
    orders.length === 0 ? quiet('It has settled no order of this book.') : table,
  ];
}
