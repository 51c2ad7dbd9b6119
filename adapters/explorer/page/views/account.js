import { copyable, element, note, section } from '../elements.js';
import { ago, time } from '../format.js';
import { orderList } from './orders.js';

function notification({ type, message, timestamp, metadata = {} }, prefix) {
  const at = Date.parse(timestamp);
  const text = metadata.orderUid ? element('a', { href: `${prefix}/orders/${metadata.orderUid}` }, message) : message;
  return element(
    'li',
    {},
    element('span', { class: 'kind' }, type.replaceAll('_', ' ')),
    element('span', {}, text),
    element('time', { datetime: timestamp, title: time(at) }, ago(at)),
  );
}

/** Renders an account: its orders, with live changes, and its notifications. */
export async function account(book, prefix, address, signal) {
  const [orders, notifications] = await Promise.all([
    orderList(book, prefix, { owner: address }, `Orders of ${address}`, signal),
    book.notifications(address, signal),
  ]);
  const list =
    notifications === undefined
      ? note('This server does not store notifications.')
      : notifications.length === 0
        ? note('No notifications yet.')
        : element('ul', { class: 'notifications' }, ...notifications.map((each) => notification(each, prefix)));
  return [
    element('h1', {}, 'Account ', orders.live),
    element('p', {}, copyable(address)),
    section('Orders', orders.content),
    section('Notifications', list),
  ];
}
