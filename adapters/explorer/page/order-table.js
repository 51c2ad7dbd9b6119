import { element } from './elements.js';
import { about, ago, atoms, filled, percent, STATUSES, short, time } from './format.js';

export function status(order) {
  return element('span', { class: `status ${order.status}` }, STATUSES[order.status] ?? order.status);
}

export function amount(atomsText, token, prefix) {
  return element(
    'span',
    { class: 'amount', title: `${atoms(atomsText)} atoms of ${token}` },
    `${prefix}${about(atomsText)} `,
    element('span', { class: 'token' }, short(token, 3)),
  );
}

function row(order, prefix) {
  const created = Date.parse(order.creationDate);
  const cells = [
    ['Order', element('a', { href: `${prefix}/orders/${order.uid}` }, short(order.uid))],
    ['Status', status(order)],
    ['Sells', amount(order.sellAmount, order.sellToken, order.kind === 'buy' ? 'at most ' : '')],
    ['Buys', amount(order.buyAmount, order.buyToken, order.kind === 'sell' ? 'at least ' : '')],
    ['Filled', percent(filled(order))],
    [
      'Account',
      element(
        'a',
        { href: `${prefix}/accounts/${order.onchainUser ?? order.owner}` },
        short(order.onchainUser ?? order.owner, 4),
      ),
    ],
    ['Created', element('time', { datetime: order.creationDate, title: time(created) }, ago(created))],
  ];
  const tr = element('tr', { 'data-uid': order.uid });
  tr.append(...cells.map(([label, content]) => element('td', { 'data-label': label }, content)));
  return tr;
}

/**
 * Creates a table of orders that is updated in place: `put` replaces the row of an order that is shown, or adds a new
 * row at the top. On a narrow screen, rows are shown as cards.
 */
export function orderTable(prefix, caption) {
  const body = element('tbody');
  const heads = ['Order', 'Status', 'Sells', 'Buys', 'Filled', 'Account', 'Created'];
  const table = element(
    'table',
    { class: 'orders' },
    element('caption', { class: 'hidden' }, caption),
    element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))),
    body,
  );
  const rows = new Map();
  return {
    table,
    size: () => rows.size,
    add(orders) {
      for (const order of orders) {
        if (rows.has(order.uid)) continue;
        rows.set(order.uid, row(order, prefix));
        body.append(rows.get(order.uid));
      }
    },
    /** Returns whether the order is new. */
    put(order) {
      const [before, after] = [rows.get(order.uid), row(order, prefix)];
      after.classList.add('changed');
      rows.set(order.uid, after);
      if (before === undefined) body.prepend(after);
      else before.replaceWith(after);
      return before === undefined;
    },
  };
}
