import { appData } from '../app-data.js';
import {
  accountLink,
  code,
  copyable,
  dateElement,
  descriptionList,
  element,
  external,
  liveLabel,
  section,
  table,
} from '../elements.js';
import { filled, filledParts, formatPrice, percent } from '../format.js';
import { limitPrice, namesOf, pairLink, priceOf, status } from '../order-table.js';
import { formatRatio, ratio, toNumber } from '../units.js';
import { transactionLink } from './auctions.js';

const RATIO = 36;

function progress(order, { tokens }) {
  const done = filled(order);
  const bar = element('progress', { max: 10_000, value: done, 'aria-label': 'Filled' });
  const [part, whole] = filledParts(order);
  const token = order.kind === 'sell' ? order.sellToken : order.buyToken;
  const verb = order.kind === 'sell' ? ' sold' : ' bought';
  const text = [`${percent(done)}: `, tokens.amount(part, token), ' of ', tokens.amount(whole, token), verb];
  return element('div', { class: 'progress' }, bar, element('p', {}, ...text));
}

/** Renders a price in both directions: buy tokens for one sell token, and the inverse. */
function price(value, order, { tokens }) {
  if (value === undefined || value === 0n) return undefined;
  const [sell, buy] = [tokens.symbolOf(order.sellToken), tokens.symbolOf(order.buyToken)];
  const inverse = ratio(10n ** BigInt(RATIO), RATIO, value, RATIO);
  return [
    element('span', { class: 'digits' }, `1 ${sell} = ${formatRatio(value)} ${buy}`),
    element('span', { class: 'quiet digits' }, ` · 1 ${buy} = ${formatRatio(inverse)} ${sell}`),
  ];
}

/**
 * Returns the advantage over the limit price in atoms, its token, and its part of the limit in 1/100 %.
 *
 * @param fill - The amounts of one fill. Default: those of all fills.
 */
function surplus(order, fill) {
  const [sell, buy] = [BigInt(order.sellAmount), BigInt(order.buyAmount)];
  const sold = BigInt(fill?.sellAmountBeforeFees ?? order.executedSellAmountBeforeFees);
  const bought = BigInt(fill?.buyAmount ?? order.executedBuyAmount);
  if (bought === 0n || sell === 0n || buy === 0n) return undefined;
  const isSell = order.kind === 'sell';
  const limit = isSell ? (buy * sold) / sell : (sell * bought) / buy;
  const gained = isSell ? bought - limit : limit - BigInt(fill?.sellAmount ?? order.executedSellAmount);
  const part = limit === 0n ? 0 : Number((gained * 10_000n) / limit);
  return {
    gained: gained < 0n ? 0n : gained,
    part: Math.max(0, part),
    token: isSell ? order.buyToken : order.sellToken,
  };
}

/** Renders the main facts: amounts, prices, surplus, fee, accounts and times. */
function facts(order, found, view) {
  const { tokens, prefix, book } = view;
  const amount = (value, token) => [tokens.amount(value, token), tokens.value(value, token)];
  const extra = surplus(order);
  const executed = priceOf(order, order.executedSellAmount, order.executedBuyAmount, tokens);
  const isSell = order.kind === 'sell';
  const owner = order.onchainUser ?? order.owner;
  const validTo = (order.ethflowData?.userValidTo ?? order.validTo) * 1000;
  return descriptionList([
    [isSell ? 'Sells' : 'Sells at most', amount(order.sellAmount, order.sellToken)],
    [isSell ? 'Buys at least' : 'Buys', amount(order.buyAmount, order.buyToken)],
    ['Limit price', price(limitPrice(order, tokens), order, view)],
    ['Execution price', price(executed, order, view)],
    ['Market price', marketPrice(order, view)],
    ['Surplus', extra && [...amount(String(extra.gained), extra.token), ` (${percent(extra.part)} of the limit)`]],
    ['Fee', order.executedFee === '0' ? undefined : amount(order.executedFee, order.executedFeeToken)],
    ['Pair', pairLink(order.sellToken, order.buyToken, view)],
    ['Account', [accountLink(owner, prefix, owner), ' ', external(book, `address/${owner}`, 'Block explorer')]],
    ['Receiver', order.receiver && order.receiver !== owner ? accountLink(order.receiver, prefix) : 'the account'],
    ['Created', dateElement(Date.parse(order.creationDate))],
    [order.status === 'expired' ? 'Expired' : 'Expires', dateElement(validTo)],
    ['Not before', order.validFrom === undefined ? undefined : dateElement(order.validFrom * 1000)],
    ['In the competition', describeCompetition(order, found)],
  ]);
}

/** Reasons for which an auction leaves out an open order. */
const REASONS = {
  notYetValid: 'it is not valid yet',
  shortLived: 'it expires before it can be settled',
  inFlight: 'a settlement with it may be on its way',
  invalidSignature: 'its contract does not accept its signature any more',
  unfunded: 'the balance or the allowance of the owner is too low',
  dust: 'the part that can be filled is too small',
  unpriced: 'the price of one of its tokens is not known',
  excluded: 'this book excludes it',
};

/** Describes why an order is still open, or how its competition ended. */
function describeCompetition(order, { competition, auction }) {
  if (order.status !== 'open' || auction === undefined) return competition?.type;
  if (auction.reason !== undefined) return `not in auction ${auction.id}: ${REASONS[auction.reason]}`;
  const missing = BigInt(order.executedBuyAmount) === 0n ? 'no solver has filled it' : 'the rest was not filled';
  return auction.listed ? `in auction ${auction.id}; ${missing}` : competition?.type;
}

/** Renders the price of the market from dollar prices, and its distance from the limit, for an open order. */
function marketPrice(order, view) {
  const { tokens } = view;
  const limit = limitPrice(order, tokens);
  if (order.status !== 'open' || limit === undefined || limit === 0n) return undefined;
  const node = element('span', { class: 'digits' }, '–');
  view.onPrices.push(() => {
    const [sell, buy] = [tokens.priceOf(order.sellToken), tokens.priceOf(order.buyToken)];
    if (sell === undefined || buy === undefined || !(buy > 0)) return;
    const market = sell / buy;
    const distance = market / toNumber(limit, RATIO) - 1;
    const side = distance < 0 ? 'worse' : 'better';
    const away = percent(Math.round(Math.abs(distance) * 10_000));
    const price = formatPrice(market);
    node.textContent = `1 ${tokens.symbolOf(order.sellToken)} ≈ ${price} ${tokens.symbolOf(order.buyToken)} by dollar prices, ${away} ${side} than the limit`;
  });
  return node;
}

/** Renders a table of the fills: time, amounts, price, surplus, solver and transaction. */
function fillTable(order, { trades, solvers }, view) {
  const { tokens, prefix } = view;
  const rows = trades.map((trade) => {
    const price = priceOf(order, trade.sellAmount, trade.buyAmount, tokens);
    const extra = surplus(order, trade);
    const solver = solvers[trade.txHash];
    return [
      trade.timestamp === null ? `block ${trade.blockNumber}` : dateElement(trade.timestamp * 1000),
      tokens.amount(trade.sellAmount, trade.sellToken),
      tokens.amount(trade.buyAmount, trade.buyToken),
      price === undefined ? '–' : `${formatRatio(price)} ${tokens.symbolOf(order.buyToken)}`,
      extra === undefined ? '–' : [tokens.amount(String(extra.gained), extra.token), ` (${percent(extra.part)})`],
      solver === undefined ? '–' : accountLink(solver, prefix),
      transactionLink(trade.txHash, prefix, 6),
    ];
  });
  return table('Fills', ['Time', 'Sold', 'Bought', 'Price', 'Surplus', 'Solver', 'Transaction'], rows);
}

/** Returns the type that traders know: of the app data, otherwise of the book. */
function typeOf(order) {
  try {
    const type = JSON.parse(order.fullAppData)?.metadata?.orderClass?.orderClass;
    if (['market', 'limit', 'liquidity', 'twap'].includes(type)) return type;
  } catch {
    // A document may be missing or malformed.
  }
  return order.class;
}

/** Renders the past and expected events of an order. */
function timeline(order, trades, { tokens, prefix }) {
  const validTo = (order.ethflowData?.userValidTo ?? order.validTo) * 1000;
  const entry = (kind, text, ...rest) => element('li', { class: kind }, element('strong', {}, text), ' ', ...rest);
  const link = (hash) => transactionLink(hash, prefix, 8);
  const isPresigned = order.signingScheme === 'presign';
  const placed = order.onchainOrderData ? 'Placed on chain' : isPresigned ? 'Accepted' : 'Signed and accepted';
  const items = [entry('done', placed, dateElement(Date.parse(order.creationDate)))];
  if (order.status === 'presignaturePending') items.push(entry('next', 'Waiting for the owner’s signature on chain'));
  for (const trade of [...trades].reverse()) {
    items.push(
      entry(
        'done',
        'Filled',
        tokens.amount(trade.sellAmount, trade.sellToken),
        ' for ',
        tokens.amount(trade.buyAmount, trade.buyToken),
        ` in block ${trade.blockNumber} by `,
        link(trade.txHash),
        ...(trade.timestamp === null ? [] : [' ', dateElement(trade.timestamp * 1000)]),
      ),
    );
  }
  if (order.ethflowData?.refundTxHash) items.push(entry('done', 'Refunded', link(order.ethflowData.refundTxHash)));
  const ends = { fulfilled: 'Fulfilled', cancelled: 'Cancelled' }[order.status];
  if (ends !== undefined) items.push(entry('end', ends));
  else if (order.status === 'expired') items.push(entry('end', 'Expired', dateElement(validTo)));
  else items.push(entry('next', 'Expires', dateElement(validTo)));
  return element('ol', { class: 'timeline' }, ...items);
}

/** Renders the quoted, signed and executed amounts. Columns and rows without a value are left out. */
function amountTable(order, { tokens }) {
  const { quote } = order;
  const rows = [
    ['Sell', order.sellToken, quote?.sellAmount, order.sellAmount, order.executedSellAmount],
    ['Buy', order.buyToken, quote?.buyAmount, order.buyAmount, order.executedBuyAmount],
    ['Fee', order.sellToken, quote?.feeAmount, order.feeAmount, order.executedFee],
  ];
  const names = ['Quoted', 'Signed', 'Executed'].slice(quote === undefined ? 1 : 0);
  const head = element('tr', {}, ...['Amount', ...names].map((name) => element('th', { scope: 'col' }, name)));
  const body = rows.map(([name, token, ...values]) => {
    const shown = values.slice(quote === undefined ? 1 : 0);
    const cells = shown.map((value, i) => element('td', { 'data-label': names[i] }, tokens.amount(value, token)));
    return element('tr', {}, element('th', { scope: 'row' }, name), ...cells);
  });
  const caption = element('caption', { class: 'hidden' }, 'Quoted, signed and executed amounts');
  return element('table', { class: 'amounts' }, caption, element('thead', {}, head), element('tbody', {}, ...body));
}

function signature(order, prefix) {
  return descriptionList([
    ['Scheme', order.signingScheme],
    ['Signature', copyable(order.signature, element('code', { class: 'long' }, order.signature))],
    ['Owner', accountLink(order.owner, prefix, order.owner)],
    ['Order digest', code(order.uid.slice(0, 66))],
    ['Settlement contract', order.settlementContract && code(order.settlementContract)],
    ['Balances', `sells from ${order.sellTokenBalance}, receives to ${order.buyTokenBalance}`],
    ['Placement error', order.onchainOrderData?.placementError],
  ]);
}

/** Renders an order, and again after each change. */
export async function order(view, uid) {
  const { book, tokens, prefix, signal, NotFound } = view;
  const body = element('div');
  const live = liveLabel();
  let drawing = 0;
  let drawn;

  async function draw() {
    const number = ++drawing;
    const found = await book.data(`orders/${uid}`, signal);
    if (found === null) throw new NotFound(`This book has no order ${uid}.`);
    const { order: shown, trades } = found;
    const onPrices = [];
    const current = { ...view, onPrices };
    await tokens.load([shown.sellToken, shown.buyToken, shown.executedFeeToken], signal);
    const text = JSON.stringify([found, namesOf(shown, view)]);
    if (number !== drawing || text === drawn) return;
    drawn = text;
    const fills = shown.partiallyFillable ? 'partially fillable' : 'fill or kill';
    body.replaceChildren(
      element('p', { class: 'headline' }, status(shown), ` ${shown.kind} ${typeOf(shown)} order, ${fills}`),
      progress(shown, view),
      section('Order', facts(shown, found, current)),
      ...(trades.length === 0 ? [] : [section('Fills', fillTable(shown, found, view))]),
      section('History', timeline(shown, trades, view)),
      section('Quote and execution', amountTable(shown, view)),
      section('App data', ...appData(shown, prefix)),
      section('Signature', signature(shown, prefix)),
    );
    void tokens.loadPrices(signal).then(() => {
      for (const show of onPrices) show();
    });
  }

  await draw();
  book.subscribe({ uid }, { missed: draw, state: live.state }, signal);
  return [
    element('h1', {}, 'Order ', live.node),
    element('p', {}, copyable(uid, element('code', { class: 'long' }, uid))),
    body,
  ];
}
