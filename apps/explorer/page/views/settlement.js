import { accountLink, copyable, descriptionList, element, external, note, section, tableOrNote } from '../elements.js';
import { orderLink, orderTable, priceElement, priceOf, tokensOf } from '../order-table.js';
import { fragment } from '../router.js';

/** Renders a settlement: its block and solver, its trades with prices, its orders, and its auction. */
export async function settlement(view, hash) {
  const { book, tokens, prefix, signal, NotFound } = view;
  const found = await book.data(`settlements/${hash}`, signal);
  if (found === null) throw new NotFound('This transaction settled no order of this book.');
  const { orders, trades, competition } = found;
  await tokens.load(tokensOf([...orders, ...trades]), signal);
  const solutions = competition?.solutions.filter(({ txHash }) => txHash === hash) ?? [];
  const winners = [...new Set(solutions.map(({ solverAddress }) => solverAddress))];
  const settled = new Set(trades.map(({ orderUid }) => orderUid));
  const others = competition?.auction.orders.filter((uid) => !settled.has(uid)) ?? [];
  const list = orderTable(view, `Orders settled by ${hash}`);
  for (const order of orders) list.add(order);
  return [
    element('h1', {}, 'Settlement'),
    element('p', {}, copyable(hash), ' ', external(book, `tx/${hash}`, 'Block explorer')),
    section(
      'Transaction',
      descriptionList([
        ['Block', block(trades[0]?.blockNumber, book)],
        ['Solver', winners.length === 0 ? 'not recorded' : winners.map((each) => accountLink(each, prefix, each))],
        ['Trades', String(trades.length)],
        ['Tokens', [...new Set(tokensOf(trades))].map((each) => element('div', {}, tokens.symbol(each)))],
        ['Auction', competition && auctionLink(competition.auctionId, prefix)],
        ['Other orders of the auction', competition && String(others.length)],
      ]),
    ),
    section('Trades', tradeTable(trades, view)),
    section('Orders', orders.length === 0 ? note('No order of this book.') : list.table),
    others.length > 0 &&
      section(
        'Other orders of the auction',
        element('ul', { class: 'chips' }, ...others.slice(0, 50).map((uid) => orderItem(uid, prefix))),
      ),
  ].filter(Boolean);
}

function block(number, book) {
  if (number === undefined) return 'not indexed';
  return [String(number), ' ', external(book, `block/${number}`, 'Block explorer')].filter(Boolean);
}

export function auctionLink(id, prefix) {
  return element('a', { href: fragment(prefix, `/auctions/${id}`) }, `#${id}`);
}

export function orderItem(uid, prefix) {
  return element('li', {}, orderLink(uid, prefix));
}

/** Renders the order, the amounts and the price of a trade. */
export function tradeCells(trade, { tokens, prefix }) {
  return [
    orderLink(trade.orderUid, prefix),
    tokens.amount(trade.sellAmount, trade.sellToken),
    tokens.amount(trade.buyAmount, trade.buyToken),
    priceElement(priceOf(trade, trade.sellAmount, trade.buyAmount, tokens), trade, tokens),
  ];
}

function tradeTable(trades, view) {
  const rows = trades.map((trade) => [...tradeCells(trade, view), accountLink(trade.owner, view.prefix)]);
  return tableOrNote('No trade is indexed.', 'Trades', ['Order', 'Sold', 'Bought', 'Price', 'Account'], rows);
}
