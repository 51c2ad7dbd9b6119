import { announce, element, liveLabel, note } from '../elements.js';
import { orderTable, tokensOf } from '../order-table.js';

const PAGE = 25;

/** Pages that are read at most for one page of a filter that the server does not have. */
const MAX_READS = 8;

/** Returns whether an order matches the filters of a list. */
export function matches(order, { status, sellToken, buyToken, owner, kind }) {
  return (
    (status === undefined || order.status === status) &&
    (sellToken === undefined || order.sellToken === sellToken) &&
    (buyToken === undefined || order.buyToken === buyToken) &&
    (owner === undefined || order.owner === owner || order.onchainUser === owner) &&
    (kind === undefined || order.kind === kind)
  );
}

/**
 * Renders the orders that match, newest first, with further pages on request and live changes.
 *
 * @param {Node} empty - Content without orders.
 */
export async function orderList(view, filters, caption, empty = note('No order matches.')) {
  const { book, tokens, signal } = view;
  const { kind, ...queried } = filters;
  const { table, add, put, has, size } = orderTable(view, caption);
  const more = element('button', { type: 'button', class: 'more', hidden: true }, 'Older orders');
  const live = liveLabel();
  /** Numbers of the newest versions of orders, in the sequence of their arrival. */
  const versions = new Map();
  let arrived = 0;
  let cursor;

  /** Reads the next page. The server has no filter by kind, so several pages may have to be read. */
  async function readPage() {
    const found = [];
    for (let reads = 0; reads < MAX_READS && found.length < PAGE; reads++) {
      const page = await book.list({ ...queried, cursor, limit: kind === undefined ? PAGE : 4 * PAGE }, signal);
      found.push(...page.orders.filter((order) => matches(order, { kind })));
      cursor = page.next;
      if (cursor === undefined || kind === undefined) break;
    }
    return found;
  }

  async function load() {
    more.disabled = true;
    try {
      const orders = await readPage();
      await tokens.load(tokensOf(orders), signal);
      add(orders);
      more.hidden = cursor === undefined;
      more.textContent = 'Older orders';
    } catch (error) {
      if (size() === 0) throw error;
      more.textContent = 'The request failed. Try again';
    } finally {
      more.disabled = false;
    }
    show();
  }

  function show() {
    empty.hidden = size() > 0;
    table.hidden = size() === 0;
  }

  async function update(order) {
    // A row that is shown stays, so that its change is visible.
    if (!has(order.uid) && !matches(order, filters)) return;
    const version = ++arrived;
    versions.set(order.uid, version);
    await tokens.load(tokensOf([order]), signal);
    if (versions.get(order.uid) !== version) return;
    if (put(order)) announce('New order');
    show();
  }

  /** Reads the newest page after changes may have been missed. A version that arrived meanwhile is newer. */
  async function refresh() {
    const start = arrived;
    const { orders } = await book.list({ ...queried, limit: PAGE }, signal).catch(() => ({ orders: [] }));
    for (const order of orders.reverse()) {
      if ((versions.get(order.uid) ?? 0) <= start) await update(order);
    }
  }

  more.addEventListener('click', load);
  await load();
  const { owner } = filters;
  book.subscribe({ owner }, { order: update, missed: refresh, state: live.state }, signal);
  return { live: live.node, content: element('div', {}, empty, table, more) };
}
