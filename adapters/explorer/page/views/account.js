import { copyable, element, external, note, section, timeElement } from '../elements.js';
import { fragment } from '../router.js';
import { orderList } from './order-list.js';

function notification({ type, message, timestamp, metadata = {} }, prefix) {
  const text = metadata.orderUid ? element('a', { href: `${prefix}/orders/${metadata.orderUid}` }, message) : message;
  return element(
    'li',
    {},
    element('span', { class: 'kind' }, type.replaceAll('_', ' ')),
    element('span', {}, text),
    timeElement(Date.parse(timestamp)),
  );
}

/** Renders an account: its orders, with live changes, and its notifications. */
export async function account(view, address) {
  const { book, prefix, signal } = view;
  const empty = note('This account has no order in this book.');
  const [orders, notifications] = await Promise.all([
    orderList(view, { owner: address }, `Orders of ${address}`, empty),
    book.notifications(address, signal),
  ]);
  const list =
    notifications === undefined
      ? note('This server does not store notifications. An operator enables them with accounts.')
      : notifications.length === 0
        ? note('No notifications yet. They are created when orders of this account are filled, cancelled or expire.')
        : element('ul', { class: 'notifications' }, ...notifications.map((each) => notification(each, prefix)));
  return [
    element('h1', {}, 'Account ', orders.live),
    element('p', {}, copyable(address), ' ', external(book, `address/${address}`, 'Block explorer')),
    element('p', {}, element('a', { href: fragment(prefix, '/orders', { owner: address }) }, 'Filter these orders')),
    section('Orders', orders.content),
    section('Notifications', list),
  ];
}
