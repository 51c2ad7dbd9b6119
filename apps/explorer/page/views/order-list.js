import { announce, element, liveLabel, moreButton, note } from '../elements.js';
import { orderTable, tokensOf } from '../order-table.js';
import { createVersions } from '../versions.js';

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
  const { table, add, put, remove, has, uids, size } = orderTable(view, caption);
  const live = liveLabel();
  const versions = createVersions();
  let cursor;

  /** Reads the next page. The server has no filter by kind, so several pages may have to be read. */
  async function readPage() {
    const found = [];
    let next = cursor;
    for (let reads = 0; reads < MAX_READS && found.length < PAGE; reads++) {
      const limit = kind === undefined ? PAGE : 4 * PAGE;
      const page = await book.list({ ...queried, cursor: next, limit }, signal);
      found.push(...page.orders.filter((order) => matches(order, { kind })));
      next = page.next;
      if (next === undefined || kind === undefined) break;
    }
    return { found, next };
  }

  const { more, load } = moreButton('Older orders', async () => {
    await versions.run(async (version) => {
      const { found, next } = await readPage();
      await show(found, version, add);
      cursor = next; // a page that could not be shown is read again
    });
    return cursor !== undefined;
  });

  /** Calls `render` with each order that is the newest version that has arrived. */
  async function show(orders, version, render) {
    const isNewest = ({ uid }) => versions.arrive(uid, version);
    const arrived = orders.filter(isNewest);
    // A row that is shown stays, so that its change is visible.
    const isShown = (order) => has(order.uid) || matches(order, filters);
    await tokens.load(tokensOf(arrived.filter(isShown)), signal);
    for (const order of arrived) if (isNewest(order) && isShown(order)) render(order);
    empty.hidden = size() > 0;
    table.hidden = size() === 0;
  }

  function change(order) {
    if (put(order)) announce('New order');
  }

  /** Reads the newest page and the other rows, after changes may have been missed. */
  async function readAgain(version) {
    const { orders: newest } = await book.list({ ...queried, limit: PAGE }, signal);
    const read = new Set(newest.map(({ uid }) => uid));
    const unread = uids().filter((uid) => !read.has(uid));
    const others = await book.orders(unread, signal);
    const found = new Set(others.map(({ uid }) => uid));
    // A reorganisation or the retention has removed the order.
    for (const uid of unread) if (!found.has(uid) && versions.arrive(uid, version)) remove(uid);
    await show([...others, ...newest.reverse()], version, change);
  }

  await load();
  const { owner } = filters;
  const unlessAborted = (error) => signal.aborted || Promise.reject(error);
  const order = (changed) => versions.run((version) => show([changed], version, change)).catch(unlessAborted);
  book.subscribe({ owner }, { order, missed: () => versions.run(readAgain), state: live.state }, signal);
  return { live: live.node, content: element('div', {}, empty, table, more) };
}
