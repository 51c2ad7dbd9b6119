import { code, copyable, descriptionList, element, note, section } from '../elements.js';
import { ago, atoms, filled, percent, time } from '../format.js';
import { status } from '../order-table.js';

const at = (milliseconds) =>
  element('time', { datetime: new Date(milliseconds).toISOString() }, `${time(milliseconds)} (${ago(milliseconds)})`);

const formatAmount = (text, token) => [element('span', { class: 'digits' }, atoms(text)), ' atoms of ', code(token)];

function progress(order) {
  const done = filled(order);
  const bar = element('progress', { max: 10_000, value: done, 'aria-label': 'Filled' });
  const [part, whole] =
    order.kind === 'sell'
      ? [order.executedSellAmountBeforeFees, order.sellAmount]
      : [order.executedBuyAmount, order.buyAmount];
  const text = `${percent(done)}: ${atoms(part)} of ${atoms(whole)} ${order.kind === 'sell' ? 'sold' : 'bought'}`;
  return element('div', { class: 'progress' }, bar, element('p', {}, text));
}

/** Renders the past and expected events of an order, by time where it is known. */
function timeline(order, trades, prefix) {
  const validTo = (order.ethflowData?.userValidTo ?? order.validTo) * 1000;
  const entry = (kind, text, ...rest) => element('li', { class: kind }, element('strong', {}, text), ' ', ...rest);
  const link = (hash) => element('a', { href: `${prefix}/transactions/${hash}` }, hash);
  const items = [
    entry(
      'done',
      order.onchainOrderData ? 'Placed on chain' : 'Signed and accepted',
      at(Date.parse(order.creationDate)),
    ),
  ];
  if (order.status === 'presignaturePending') items.push(entry('next', 'Waiting for the owner’s signature on chain'));
  for (const trade of trades) {
    items.push(
      entry(
        'done',
        `Sold ${atoms(trade.sellAmount)}, bought ${atoms(trade.buyAmount)}`,
        `in block ${trade.blockNumber} by `,
        link(trade.txHash),
      ),
    );
  }
  if (order.ethflowData?.refundTxHash)
    items.push(entry('done', 'Refunded', 'by ', link(order.ethflowData.refundTxHash)));
  const ends = { fulfilled: 'Fulfilled', cancelled: 'Cancelled' }[order.status];
  if (ends !== undefined) items.push(entry('end', ends));
  else
    items.push(
      entry(
        order.status === 'expired' ? 'end' : 'next',
        order.status === 'expired' ? 'Expired' : 'Expires',
        at(validTo),
      ),
    );
  return element('ol', { class: 'timeline' }, ...items);
}

/** Renders the quoted, signed and executed amounts. */
function amountTable(order) {
  const { quote } = order;
  const head = element(
    'tr',
    {},
    ...['', 'Quoted', 'Signed', 'Executed'].map((text) => element('th', { scope: 'col' }, text)),
  );
  const cell = (label, text) =>
    element('td', { 'data-label': label, class: 'digits' }, text === undefined ? '–' : atoms(text));
  const line = (name, quoted, signed, executed) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, name),
      cell('Quoted', quoted),
      cell('Signed', signed),
      cell('Executed', executed),
    );
  const rows = [
    line('Sell atoms', quote?.sellAmount, order.sellAmount, order.executedSellAmount),
    line('Buy atoms', quote?.buyAmount, order.buyAmount, order.executedBuyAmount),
    line('Fee atoms', quote?.feeAmount, order.feeAmount, order.executedFee),
  ];
  const caption = element('caption', { class: 'hidden' }, 'Quoted, signed and executed amounts');
  return element('table', { class: 'amounts' }, caption, element('thead', {}, head), element('tbody', {}, ...rows));
}

function appData(order) {
  const { fullAppData } = order;
  if (fullAppData === undefined || fullAppData === null)
    return [note('The document is not available.'), copyable(order.appData)];
  let document;
  try {
    document = JSON.parse(fullAppData);
  } catch {
    document = undefined;
  }
  const about = descriptionList([
    ['Hash', copyable(order.appData)],
    ['App', document?.appCode],
    ['Environment', document?.environment],
    ['Class', document?.metadata?.orderClass?.orderClass],
    [
      'Slippage',
      document?.metadata?.quote?.slippageBips === undefined ? undefined : `${document.metadata.quote.slippageBips} bps`,
    ],
    ['Replaces', document?.metadata?.replacedOrder?.uid],
    ['Hooks', formatHooks(document?.metadata?.hooks)],
  ]);
  const text = document === undefined ? fullAppData : JSON.stringify(document, null, 2);
  return [about, element('details', {}, element('summary', {}, 'The document'), element('pre', { tabindex: 0 }, text))];
}

function formatHooks(hooks) {
  if (hooks === undefined) return undefined;
  return `${hooks.pre?.length ?? 0} before, ${hooks.post?.length ?? 0} after`;
}

function signature(order, prefix) {
  const { uid } = order;
  const account = (address) => element('a', { href: `${prefix}/accounts/${address}` }, code(address));
  return descriptionList([
    ['Scheme', order.signingScheme],
    ['Signature', copyable(order.signature, element('code', { class: 'long' }, order.signature))],
    ['Owner', account(order.owner)],
    ['User', order.onchainUser && account(order.onchainUser)],
    ['Receiver', order.receiver ? account(order.receiver) : 'the owner'],
    ['Order digest', code(uid.slice(0, 66))],
    ['Valid to, as signed', [code(String(order.validTo)), ' seconds since 1970']],
    ['Settlement contract', order.settlementContract && code(order.settlementContract)],
    ['Balances', `sells from ${order.sellTokenBalance}, receives to ${order.buyTokenBalance}`],
    ['Placement error', order.onchainOrderData?.placementError],
  ]);
}

/** Renders an order, and again after each change. */
export async function order(book, prefix, uid, signal) {
  const body = element('div');
  const live = element('span', { class: 'live', role: 'status' });
  let drawing = 0;

  async function draw(changed) {
    const number = ++drawing;
    const [shown, trades] = await Promise.all([
      changed ?? book.order(uid, signal),
      // A book without an indexer rejects requests for trades.
      book.trades(uid, signal).catch((error) => (error.status === undefined ? Promise.reject(error) : [])),
    ]);
    if (number !== drawing) return;
    body.replaceChildren(
      element(
        'p',
        { class: 'headline' },
        status(shown),
        ` A ${shown.kind} order, ${shown.partiallyFillable ? 'in parts or whole' : 'fill or kill'}, of class ${shown.class}`,
      ),
      progress(shown),
      descriptionList([
        [shown.kind === 'sell' ? 'Sells' : 'Sells at most', formatAmount(shown.sellAmount, shown.sellToken)],
        [shown.kind === 'sell' ? 'Buys at least' : 'Buys', formatAmount(shown.buyAmount, shown.buyToken)],
      ]),
      section('History', timeline(shown, trades, prefix)),
      section('Quote and execution', amountTable(shown)),
      section('App data', ...appData(shown)),
      section('Signature', signature(shown, prefix)),
    );
  }

  await draw();
  const state = (text) => {
    live.textContent = text;
    live.classList.toggle('on', text === 'live');
  };
  const redraw = (changed) => draw(changed).catch(() => state('out of date'));
  book.subscribe({ uid }, { order: redraw, missed: () => redraw(), state }, signal);
  return [
    element('h1', {}, 'Order ', live),
    element('p', {}, copyable(uid, element('code', { class: 'long' }, uid))),
    body,
  ];
}
