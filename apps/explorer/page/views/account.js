import { checksummed } from '../checksum.js';
import { copyable, dateElement, element, external, nameOf, note, section, table } from '../elements.js';
import { pushControl } from '../push.js';
import { fragment } from '../router.js';
import { orderList } from './order-list.js';

/** Pages of an account, by the last segment of their fragment. */
const TABS = [
  [undefined, 'This book'],
  ['orders', 'Orders of all books'],
  ['trades', 'Trades of all books'],
  ['affiliate', 'Affiliate'],
];

/** Renders the title of an account and the links to its pages. */
export function accountHead({ book, prefix }, address, current, live) {
  const links = TABS.map(([name, label]) => {
    const href = fragment(prefix, `/accounts/${address}${name === undefined ? '' : `/${name}`}`);
    return element('a', { href, class: 'tab', 'aria-current': name === current && 'page' }, label);
  });
  return [
    element('h1', {}, 'Account ', live),
    nameOf(address) && element('p', {}, nameOf(address)),
    element('p', {}, copyable(address), ' ', external(book, `address/${address}`, 'Block explorer')),
    element('nav', { class: 'tabs', 'aria-label': 'Account pages' }, ...links),
  ].filter(Boolean);
}

function notification({ type, message, timestamp, metadata = {} }, prefix) {
  const text = metadata.orderUid ? element('a', { href: `${prefix}/orders/${metadata.orderUid}` }, message) : message;
  return element(
    'li',
    {},
    element('span', { class: 'kind' }, type.replaceAll('_', ' ')),
    element('span', {}, text),
    dateElement(Date.parse(timestamp)),
  );
}

/** Renders an account: its orders in the book, with live changes, and its notifications. */
export async function account(view, address) {
  const { book, tokens, prefix, signal, site } = view;
  const empty = note('This account has no order in this book.');
  const [orders, notifications, push, balances] = await Promise.all([
    orderList(view, { owner: address }, `Orders of ${checksummed(address)}`, empty),
    book.notifications(address, signal),
    pushControl(site, address),
    book.data(`balances/${address}`, signal).catch(() => null),
  ]);
  await tokens.load(balances?.map(({ token }) => token.address) ?? [], signal);
  const held = balances?.map(({ token: { address: token }, balance }) => [
    tokens.amount(balance, token),
    tokens.value(balance, token),
  ]);
  const list =
    notifications === undefined
      ? note('This server does not serve notifications at present. An operator enables them.')
      : notifications.length === 0
        ? note('No notifications yet. They are created when orders of this account are filled, cancelled or expire.')
        : element('ul', { class: 'notifications' }, ...notifications.map((each) => notification(each, prefix)));
  return [
    ...accountHead(view, address, undefined, orders.live),
    element('p', {}, element('a', { href: fragment(prefix, '/orders', { owner: address }) }, 'Filter these orders')),
    ...(held?.length > 0 ? [section('Balances', table('Balances', ['Balance', 'Value'], held))] : []),
    section('Orders', orders.content),
    section('Notifications', ...(push === undefined ? [] : [push]), list),
  ];
}
