import { depthChart, priceChart } from '../charts.js';
import { element, note, section } from '../elements.js';
import { formatPrice, percent, plural, time } from '../format.js';
import { limitPrice, orderTable } from '../order-table.js';
import { fragment } from '../router.js';
import { ratio, toNumber } from '../units.js';

/** Open orders of each side that are shown. */
const MAX_ORDERS = 500;

/** Decimals of a price as `limitPrice` returns it. */
const PRICE_DECIMALS = 36;

/** Renders the open orders of a pair as depth. Prices are quote tokens for one base token. */
export async function pair(view, base, quote) {
  const { book, tokens, prefix, signal } = view;
  const open = (sellToken, buyToken) => book.list({ sellToken, buyToken, status: 'open', limit: MAX_ORDERS }, signal);
  const [selling, buying, tolerance, fills] = await Promise.all([
    open(base, quote),
    open(quote, base),
    book.data(`slippage/${base}/${quote}`, signal).catch(() => null),
    book.data(`fills/${base}/${quote}`, signal),
  ]);
  await tokens.load([base, quote], signal);
  const name = `${tokens.symbolOf(base)} / ${tokens.symbolOf(quote)}`;
  const offers = levels(selling.orders, view, false).sort((a, b) => a.price - b.price);
  const bids = levels(buying.orders, view, true).sort((a, b) => b.price - a.price);
  const known = tokens.decimalsOf(base) !== undefined && tokens.decimalsOf(quote) !== undefined;
  return [
    element('h1', {}, name),
    element(
      'p',
      {},
      tokens.symbol(base),
      ' priced in ',
      tokens.symbol(quote),
      ' · ',
      element('a', { href: fragment(prefix, `/pairs/${quote}/${base}`) }, 'Swap'),
    ),
    slippage(tolerance),
    section('Prices of recent fills', ...prices(name, fills, known && { base, tokens, quote })),
    section('Depth of open orders', ...depth(name, bids, offers, known)),
    section(`Orders that buy ${tokens.symbolOf(base)}`, list(view, buying.orders, 'Bids')),
    section(`Orders that sell ${tokens.symbolOf(base)}`, list(view, selling.orders, 'Offers')),
  ].filter(Boolean);
}

/** Renders the tolerance that the account interface suggests for quotes of the pair. */
function slippage(tolerance) {
  if (tolerance === null) return undefined;
  const { slippageBps, known } = tolerance;
  const reason = known ? 'from the volatility of the last day' : 'the default, since the volatility is not known';
  return note(`Suggested slippage tolerance: ${percent(slippageBps)} (${reason})`);
}

/** Renders the prices of fills over time. */
function prices(name, fills, known) {
  if (!known) return [note(UNKNOWN_DECIMALS)];
  if (fills.length === 0) return [note('No order of this pair was filled yet.')];
  const { base, quote, tokens } = known;
  const [baseDecimals, quoteDecimals] = [tokens.decimalsOf(base), tokens.decimalsOf(quote)];
  const points = fills.flatMap(({ sellToken, sellAmount, buyAmount, timestamp }) => {
    const [sold, bought] = sellToken === base ? [sellAmount, buyAmount] : [buyAmount, sellAmount];
    const price = ratio(bought, quoteDecimals, sold, baseDecimals);
    return price === undefined ? [] : [{ time: timestamp * 1000, price: toNumber(price, PRICE_DECIMALS) }];
  });
  if (points.length === 0) return [note('The amounts of the fills are zero.')];
  const last = formatPrice(points.at(-1).price);
  const label = `Prices of ${name}: ${plural(points.length, 'fill')}, last ${last}`;
  return [priceChart(label, points, time), element('p', { class: 'legend' }, element('span', {}, `last: ${last}`))];
}

const UNKNOWN_DECIMALS = 'The decimals of a token are not known, so prices cannot be compared.';

function depth(name, bids, offers, known) {
  if (!known) return [note(UNKNOWN_DECIMALS)];
  if (bids.length + offers.length === 0) return [note('This pair has no open order.')];
  const best = [bids[0], offers[0]].map((level) => (level === undefined ? 'none' : formatPrice(level.price)));
  const label = `Depth of ${name}: ${bids.length} bids, best ${best[0]}; ${offers.length} offers, best ${best[1]}`;
  return [
    depthChart(label, bids, offers),
    element(
      'p',
      { class: 'legend' },
      element('span', { class: 'bids' }, `best bid: ${best[0]}`),
      element('span', { class: 'offers' }, `best offer: ${best[1]}`),
    ),
  ];
}

/** Returns price and remaining size of orders, in base tokens. A bid sells the quote token. */
function levels(orders, { tokens }, isBid) {
  return orders.flatMap((order) => {
    const price = limitPrice(order, tokens);
    if (price === undefined || price === 0n) return [];
    const [baseAmount, executed, token] = isBid
      ? [order.buyAmount, order.executedBuyAmount, order.buyToken]
      : [order.sellAmount, order.executedSellAmountBeforeFees, order.sellToken];
    const quotePerBase = toNumber(price, PRICE_DECIMALS);
    const left = BigInt(baseAmount) - BigInt(executed);
    const size = toNumber(left < 0n ? 0n : left, tokens.decimalsOf(token));
    return [{ price: isBid ? 1 / quotePerBase : quotePerBase, size }];
  });
}

function list(view, orders, caption) {
  if (orders.length === 0) return note('No open order.');
  const { table, add } = orderTable(view, caption);
  for (const order of orders) add(order);
  return table;
}
