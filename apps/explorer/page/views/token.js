import { accountLink, copyable, descriptionList, element, external, note, section, table } from '../elements.js';
import { pairLink, tokensOf } from '../order-table.js';
import { dollars } from '../units.js';
import { orderList } from './order-list.js';

/** Open orders whose pairs are listed. */
const SAMPLE = 200;

/** Renders a token: its pairs with open orders, and the orders that sell or buy it. */
export async function token(view, address) {
  const { book, tokens, signal } = view;
  const open = (filter) => book.list({ ...filter, status: 'open', limit: SAMPLE }, signal);
  const [selling, buying] = await Promise.all([open({ sellToken: address }), open({ buyToken: address })]);
  const orders = [...selling.orders, ...buying.orders];
  await tokens.load([address, ...tokensOf(orders)], signal);
  const symbol = tokens.symbolOf(address);
  const sold = await orderList(view, { sellToken: address }, `Orders that sell ${symbol}`, note('No order sells it.'));
  const bought = await orderList(view, { buyToken: address }, `Orders that buy ${symbol}`, note('No order buys it.'));
  const prices = await book.prices([address], signal).catch(() => ({}));
  const price = prices[address];
  const holders = await book.data(`holders/${address}`, signal).catch(() => null);
  return [
    element('h1', {}, `Token ${symbol}`),
    element('p', {}, copyable(address), ' ', external(book, `token/${address}`, 'Block explorer')),
    descriptionList([
      ['Decimals', tokens.decimalsOf(address) ?? 'not known'],
      ['Price', price === undefined ? undefined : dollars(price)],
      ['Open orders', `${selling.orders.length} sell it, ${buying.orders.length} buy it`],
    ]),
    section('Pairs with open orders', pairs(orders, address, view)),
    section('Sold', sold.content),
    section('Bought', bought.content),
    holders !== null && section('Largest holders', holderTable(holders, address, view)),
  ].filter(Boolean);
}

function holderTable(holders, token, { tokens, prefix }) {
  const rows = holders.map(({ address, balance }) => [accountLink(address, prefix), tokens.amount(balance, token)]);
  return table('Largest holders', ['Account', 'Balance'], rows);
}

function pairs(orders, address, view) {
  const counts = new Map();
  for (const { sellToken, buyToken } of orders) {
    const other = sellToken === address ? buyToken : sellToken;
    counts.set(other, (counts.get(other) ?? 0) + 1);
  }
  if (counts.size === 0) return note('No pair has open orders.');
  const link = ([other, count]) => element('li', {}, pairLink(address, other, view), ` ${count}`);
  return element('ul', { class: 'chips' }, ...[...counts].sort(([, a], [, b]) => b - a).map(link));
}
