import { announce, element, note } from '../elements.js';
import { orderTable } from '../order-table.js';

const PAGE = 25;

/** Renders the orders that match, newest first, with further pages on request and live changes. */
export async function orderList(book, prefix, filters, caption, signal) {
  const { table, add, put, size } = orderTable(prefix, caption);
  const empty = note('No orders yet.');
  const more = element('button', { type: 'button', class: 'more', hidden: true }, 'Older orders');
  const live = element('span', { class: 'live', role: 'status' });
  let cursor;

  async function load() {
    more.disabled = true;
    const page = await book.list({ ...filters, cursor, limit: PAGE }, signal);
    add(page.orders);
    cursor = page.next;
    more.hidden = cursor === undefined;
    more.disabled = false;
    show();
  }
  function show() {
    empty.hidden = size() > 0;
    table.hidden = size() === 0;
  }
  function update(order) {
    if (put(order)) announce('New order');
    show();
  }
  /** Reads the newest page after changes may have been missed. */
  async function refresh() {
    const { orders } = await book.list({ ...filters, limit: PAGE }, signal).catch(() => ({ orders: [] }));
    for (const order of orders.reverse()) update(order);
  }

  more.addEventListener('click', load);
  await load();
  const state = (text) => {
    live.textContent = text;
    live.classList.toggle('on', text === 'live');
  };
  book.subscribe(filters, { order: update, missed: refresh, state }, signal);
  return { live, content: element('div', {}, empty, table, more) };
}

/** Renders the start page with the newest orders. */
export async function newest(book, prefix, signal) {
  const { live, content } = await orderList(book, prefix, {}, 'Newest orders', signal);
  return [element('h1', {}, 'Newest orders ', live), content];
}
