import { appData } from '../app-data.js';
import {
  accountLink,
  code,
  copyable,
  descriptionList,
  element,
  external,
  liveLabel,
  section,
  timeElement,
} from '../elements.js';
import { filled, filledParts, percent, short } from '../format.js';
import { limitPrice, namesOf, status } from '../order-table.js';
import { fragment } from '../router.js';
import { formatRatio, ratio } from '../units.js';

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
    element('span', { class: 'quiet digits' }, ` 1 ${buy} = ${formatRatio(inverse)} ${sell}`),
  ];
}

function executionPrice(order, { tokens }) {
  const [sell, buy] = [tokens.decimalsOf(order.sellToken), tokens.decimalsOf(order.buyToken)];
  if (sell === undefined || buy === undefined) return undefined;
  return ratio(order.executedBuyAmount, buy, order.executedSellAmount, sell);
}

/** Returns the advantage over the limit price in atoms, its token, and its part of the limit in 1/100 %. */
function surplus(order) {
  const [sell, buy] = [BigInt(order.sellAmount), BigInt(order.buyAmount)];
  const [sold, bought] = [BigInt(order.executedSellAmountBeforeFees), BigInt(order.executedBuyAmount)];
  if (bought === 0n || sell === 0n || buy === 0n) return undefined;
  const isSell = order.kind === 'sell';
  const limit = isSell ? (buy * sold) / sell : (sell * bought) / buy;
  const gained = isSell ? bought - limit : limit - BigInt(order.executedSellAmount);
  const part = limit === 0n ? 0 : Number((gained * 10_000n) / limit);
  return {
    gained: gained < 0n ? 0n : gained,
    part: Math.max(0, part),
    token: isSell ? order.buyToken : order.sellToken,
  };
}

/** Renders the main facts: amounts, prices, surplus, fee, accounts and times. */
function facts(order, competition, view) {
  const { tokens, prefix, book } = view;
  const amount = (value, token) => [tokens.amount(value, token), tokens.value(value, token)];
  const extra = surplus(order);
  const isSell = order.kind === 'sell';
  const owner = order.onchainUser ?? order.owner;
  const validTo = (order.ethflowData?.userValidTo ?? order.validTo) * 1000;
  return descriptionList([
    [isSell ? 'Sells' : 'Sells at most', amount(order.sellAmount, order.sellToken)],
    [isSell ? 'Buys at least' : 'Buys', amount(order.buyAmount, order.buyToken)],
    ['Limit price', price(limitPrice(order, tokens), order, view)],
    ['Execution price', price(executionPrice(order, view), order, view)],
    ['Surplus', extra && [...amount(String(extra.gained), extra.token), ` (${percent(extra.part)})`]],
    ['Fee', order.executedFee === '0' ? undefined : amount(order.executedFee, order.executedFeeToken)],
    [
      'Pair',
      element(
        'a',
        { href: fragment(prefix, `/pairs/${order.sellToken}/${order.buyToken}`) },
        `${tokens.symbolOf(order.sellToken)} / ${tokens.symbolOf(order.buyToken)}`,
      ),
    ],
    ['Account', [accountLink(owner, prefix, owner), ' ', external(book, `address/${owner}`, 'Block explorer')]],
    ['Receiver', order.receiver && order.receiver !== owner ? accountLink(order.receiver, prefix) : 'the account'],
    ['Created', timeElement(Date.parse(order.creationDate))],
    [order.status === 'expired' ? 'Expired' : 'Expires', timeElement(validTo)],
    ['Not before', order.validFrom === undefined ? undefined : timeElement(order.validFrom * 1000)],
    ['In the competition', competition?.type],
  ]);
}

/** Renders the past and expected events of an order. */
function timeline(order, trades, { tokens, prefix }) {
  const validTo = (order.ethflowData?.userValidTo ?? order.validTo) * 1000;
  const entry = (kind, text, ...rest) => element('li', { class: kind }, element('strong', {}, text), ' ', ...rest);
  const link = (hash) =>
    element('a', { href: `${prefix}/transactions/${hash}`, title: hash, class: 'hex' }, short(hash, 8));
  const placed = order.onchainOrderData ? 'Placed on chain' : 'Signed and accepted';
  const items = [entry('done', placed, timeElement(Date.parse(order.creationDate)))];
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
      ),
    );
  }
  if (order.ethflowData?.refundTxHash) items.push(entry('done', 'Refunded', link(order.ethflowData.refundTxHash)));
  const ends = { fulfilled: 'Fulfilled', cancelled: 'Cancelled' }[order.status];
  if (ends !== undefined) items.push(entry('end', ends));
  else if (order.status === 'expired') items.push(entry('end', 'Expired', timeElement(validTo)));
  else items.push(entry('next', 'Expires', timeElement(validTo)));
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
    const found = await book.order(uid, signal);
    if (found === null) throw new NotFound(`This book has no order ${uid}.`);
    const { order: shown, trades, competition } = found;
    await tokens.load([shown.sellToken, shown.buyToken, shown.executedFeeToken], signal);
    const text = JSON.stringify([found, namesOf(shown, view)]);
    if (number !== drawing || text === drawn) return;
    drawn = text;
    const fills = shown.partiallyFillable ? 'partially fillable' : 'fill or kill';
    body.replaceChildren(
      element('p', { class: 'headline' }, status(shown), ` ${shown.kind} order, ${fills}, ${shown.class}`),
      progress(shown, view),
      section('Order', facts(shown, competition, view)),
      section('History', timeline(shown, trades, view)),
      section('Quote and execution', amountTable(shown, view)),
      section('App data', ...appData(shown, prefix)),
      section('Signature', signature(shown, prefix)),
    );
    void tokens.loadPrices(signal);
  }

  await draw();
  book.subscribe({ uid }, { missed: draw, state: live.state }, signal);
  return [
    element('h1', {}, 'Order ', live.node),
    element('p', {}, copyable(uid, element('code', { class: 'long' }, uid))),
    body,
  ];
}
