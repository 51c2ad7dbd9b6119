import { accountLink, element, hexLink, table, timeElement } from './elements.js';
import { filled, percent, STATUSES } from './format.js';
import { fragment } from './router.js';
import { formatRatio, ratio } from './units.js';

export const orderLink = (uid, prefix) => hexLink(`${prefix}/orders/${uid}`, uid);

/** Renders the status of an order as a coloured label, with the filled part of an order that is partially filled. */
export function status(order) {
  const [label, meaning] = STATUSES[order.status] ?? [order.status, ''];
  const part = filled(order);
  const partial = part > 0 && order.status !== 'fulfilled' ? ` · ${percent(part)}` : '';
  return element('span', { class: `status ${order.status}`, title: meaning }, label + partial);
}

export function pairLink(first, second, { tokens, prefix }) {
  const name = `${tokens.symbolOf(first)} / ${tokens.symbolOf(second)}`;
  return element('a', { href: fragment(prefix, `/pairs/${first}/${second}`) }, name);
}

/** Returns the buy tokens for one sell token of two amounts, as a ratio. Undefined without decimals. */
export function priceOf({ sellToken, buyToken }, sellAmount, buyAmount, tokens) {
  const [sell, buy] = [tokens.decimalsOf(sellToken), tokens.decimalsOf(buyToken)];
  return sell === undefined || buy === undefined ? undefined : ratio(buyAmount, buy, sellAmount, sell);
}

/** Returns the price that an order requires. */
export const limitPrice = (order, tokens) => priceOf(order, order.sellAmount, order.buyAmount, tokens);

/** Renders a price, with its unit on hover. */
export function priceElement(price, { sellToken, buyToken }, tokens) {
  const unit = `${tokens.symbolOf(buyToken)} per ${tokens.symbolOf(sellToken)}`;
  return element('span', { class: 'digits', title: unit }, formatRatio(price));
}

/** Renders the amounts of an order: the exact one, and the limit of the other. */
export function limitAmounts({ kind, sellAmount, sellToken, buyAmount, buyToken }, tokens) {
  return [
    tokens.amount(sellAmount, sellToken, { before: kind === 'buy' ? '≤ ' : '' }),
    tokens.amount(buyAmount, buyToken, { before: kind === 'sell' ? '≥ ' : '' }),
  ];
}

/** The tokens that a list of orders shows. */
export function tokensOf(orders) {
  return orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken]);
}

/** The names of an order's tokens. They change when the tokens become known. */
export function namesOf(order, { tokens }) {
  return tokensOf([order]).map(tokens.symbolOf).join();
}

const HEADS = ['Order', 'Sells', 'Buys', 'Limit price', 'Status', 'Account', 'Created'];

function row(order, { prefix, tokens }) {
  const created = Date.parse(order.creationDate);
  const owner = order.onchainUser ?? order.owner;
  const [sells, buys] = limitAmounts(order, tokens);
  const cells = [
    ['uid', orderLink(order.uid, prefix)],
    ['sells', sells],
    ['buys', buys],
    ['price', priceElement(limitPrice(order, tokens), order, tokens)],
    ['state', status(order)],
    ['owner', accountLink(owner, prefix)],
    ['created', timeElement(created)],
  ];
  const tr = element('tr', { 'data-uid': order.uid });
  tr.append(...cells.map(([name, content]) => element('td', { class: name }, content)));
  return tr;
}

/**
 * Creates a table of orders that is updated in place: `put` replaces the row of an order that has changed, or adds a
 * new row at the top. On a narrow screen, rows are shown as cards of two lines.
 */
export function orderTable(view, caption) {
  const node = table(caption, HEADS, []);
  node.className = 'orders';
  const [body] = node.tBodies;
  const rows = new Map();
  const create = (order) => ({ text: JSON.stringify(order), names: namesOf(order, view), node: row(order, view) });
  return {
    table: node,
    has: (uid) => rows.has(uid),
    uids: () => [...rows.keys()],
    size: () => rows.size,
    /** Adds an order at the bottom. */
    add(order) {
      if (rows.has(order.uid)) return;
      const added = create(order);
      rows.set(order.uid, added);
      body.append(added.node);
    },
    remove(uid) {
      rows.get(uid)?.node.remove();
      rows.delete(uid);
    },
    /** Returns whether the order is new. */
    put(order) {
      const [before, after] = [rows.get(order.uid), create(order)];
      const isChanged = before?.text !== after.text;
      if (!isChanged && before.names === after.names) return false;
      if (isChanged) after.node.classList.add('changed');
      rows.set(order.uid, after);
      if (before === undefined) body.prepend(after.node);
      else before.node.replaceWith(after.node);
      return before === undefined;
    },
  };
}
