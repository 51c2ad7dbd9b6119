import { element, quiet, say } from '../elements.js';
import { orderTable } from '../order-table.js';

const PAGE = 25;

/** Orders that match, newest first, further pages on request, changes as they happen. */
export async function orderList(book, prefix, filters, caption, signal) {
  const { table, add, put, size } = orderTable(prefix, caption);
  const nothing = quiet('No orders yet.');
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
    nothing.hidden = size() > 0;
    table.hidden = size() === 0;
  }
  function take(order) {
    if (put(order)) say('A new order has come in');
    show();
  }
  /** Something may have been missed: the newest page says what there is. */
  async function look() {
    const { orders } = await book.list({ ...filters, limit: PAGE }, signal).catch(() => ({ orders: [] }));
    for (const order of orders.reverse()) take(order);
  }

  more.addEventListener('click', load);
  await load();
  const state = (text) => {
    live.textContent = text;
    live.classList.toggle('on', text === 'live');
  };
  book.follow(filters, { order: take, missed: look, state }, signal);
  return { live, content: element('div', {}, nothing, table, more) };
}

/** The first page: what comes in, as it comes in. */
export async function newest(book, prefix, signal) {
  const { live, content } = await orderList(book, prefix, {}, 'Newest orders', signal);
  return [element('h1', {}, 'Newest orders ', live), content];
}
