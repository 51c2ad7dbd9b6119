import { copyable, element, note } from '../elements.js';
import { orderTable } from '../order-table.js';

/** Renders the orders that a transaction settled. */
export async function transaction(book, prefix, hash, signal) {
  const orders = await book.listByTransaction(hash, signal);
  const { table, add } = orderTable(prefix, `Orders settled by ${hash}`);
  add(orders);
  return [
    element('h1', {}, 'Transaction'),
    element('p', {}, copyable(hash)),
    orders.length === 0 ? note('This transaction settled no order of this book.') : table,
  ];
}
