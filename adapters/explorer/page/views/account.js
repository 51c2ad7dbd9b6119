import { copied, element, quiet, section } from '../elements.js';
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

/** An account: its orders, as they change, and what it was told. */
export async function account(book, prefix, address, signal) {
  const [orders, told] = await Promise.all([
    orderList(book, prefix, { owner: address }, `Orders of ${address}`, signal),
    book.notifications(address, signal),
  ]);
  const list =
    told === undefined
      ? quiet('This server keeps no notifications.')
      : told.length === 0
        ? quiet('None so far.')
        : element('ul', { class: 'told' }, ...told.map((each) => notification(each, prefix)));
  return [
    element('h1', {}, 'Account ', orders.live),
    element('p', {}, copied(address)),
    section('Orders', orders.content),
    section('Notifications', list),
  ];
}
