import { code, copied, element, facts, quiet, section } from '../elements.js';
import { ago, atoms, filled, percent, time } from '../format.js';
import { status } from '../order-table.js';

const at = (milliseconds) =>
  element('time', { datetime: new Date(milliseconds).toISOString() }, `${time(milliseconds)} (${ago(milliseconds)})`);

const amountOf = (text, token) => [element('span', { class: 'digits' }, atoms(text)), ' atoms of ', code(token)];

function progress(order) {
  const done = filled(order);
  const bar = element('progress', { max: 10_000, value: done, 'aria-label': 'Filled' });
  const [part, whole] =
    order.kind === 'sell'
      ? [order.executedSellAmountBeforeFees, order.sellAmount]
      : [order.executedBuyAmount, order.buyAmount];
  const words = `${percent(done)}: ${atoms(part)} of ${atoms(whole)} ${order.kind === 'sell' ? 'sold' : 'bought'}`;
  return element('div', { class: 'progress' }, bar, element('p', {}, words));
}

/** What has happened to an order so far, and what is still to come, in the order of time as far as it is known. */
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
  if (order.status === 'presignaturePending') items.push(entry('next', 'Waits for its owner’s signature on chain'));
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

/** What was quoted, what was signed, and what came of it. */
function bargain(order) {
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
  return element('table', { class: 'bargain' }, caption, element('thead', {}, head), element('tbody', {}, ...rows));
}

function appData(order) {
  const { fullAppData } = order;
  if (fullAppData === undefined || fullAppData === null)
    return [quiet('Its document is not known.'), copied(order.appData)];
  let document;
  try {
    document = JSON.parse(fullAppData);
  } catch {
    document = undefined;
  }
  const about = facts([
    ['Hash', copied(order.appData)],
    ['App', document?.appCode],
    ['Environment', document?.environment],
    ['Class', document?.metadata?.orderClass?.orderClass],
    [
      'Slippage',
      document?.metadata?.quote?.slippageBips === undefined ? undefined : `${document.metadata.quote.slippageBips} bps`,
    ],
    ['Replaces', document?.metadata?.replacedOrder?.uid],
    ['Hooks', hooksOf(document?.metadata?.hooks)],
  ]);
  const text = document === undefined ? fullAppData : JSON.stringify(document, null, 2);
  return [about, element('details', {}, element('summary', {}, 'The document'), element('pre', { tabindex: 0 }, text))];
}

function hooksOf(hooks) {
  if (hooks === undefined) return undefined;
  return `${hooks.pre?.length ?? 0} before, ${hooks.post?.length ?? 0} after`;
}

function signature(order, prefix) {
  const { uid } = order;
  const person = (address) => element('a', { href: `${prefix}/accounts/${address}` }, code(address));
  return facts([
    ['Scheme', order.signingScheme],
    ['Signature', copied(order.signature, element('code', { class: 'long' }, order.signature))],
    ['Owner', person(order.owner)],
    ['User', order.onchainUser && person(order.onchainUser)],
    ['Receiver', order.receiver ? person(order.receiver) : 'the owner'],
    ['Order digest', code(uid.slice(0, 66))],
    ['Valid to, as signed', [code(String(order.validTo)), ' seconds since 1970']],
    ['Settlement contract', order.settlementContract && code(order.settlementContract)],
    ['Balances', `sells from ${order.sellTokenBalance}, receives to ${order.buyTokenBalance}`],
    ['Placement error', order.onchainOrderData?.placementError],
  ]);
}

/** An order, redrawn whenever it changes. */
export async function order(book, prefix, uid, signal) {
  const body = element('div');
  const live = element('span', { class: 'live', role: 'status' });
  let drawing = 0;

  async function draw(known) {
    const turn = ++drawing;
    const [shown, trades] = await Promise.all([
      known ?? book.order(uid, signal),
      // A book that follows no chain has no trades to tell of.
      book.trades(uid, signal).catch((error) => (error.status === undefined ? Promise.reject(error) : [])),
    ]);
    if (turn !== drawing) return;
    body.replaceChildren(
      element(
        'p',
        { class: 'headline' },
        status(shown),
        ` A ${shown.kind} order, ${shown.partiallyFillable ? 'in parts or whole' : 'fill or kill'}, of class ${shown.class}`,
      ),
      progress(shown),
      facts([
        [shown.kind === 'sell' ? 'Sells' : 'Sells at most', amountOf(shown.sellAmount, shown.sellToken)],
        [shown.kind === 'sell' ? 'Buys at least' : 'Buys', amountOf(shown.buyAmount, shown.buyToken)],
      ]),
      section('What has happened', timeline(shown, trades, prefix)),
      section('Quote and execution', bargain(shown)),
      section('App data', ...appData(shown)),
      section('Signature', signature(shown, prefix)),
    );
  }

  await draw();
  const state = (text) => {
    live.textContent = text;
    live.classList.toggle('on', text === 'live');
  };
  const redraw = (known) => draw(known).catch(() => state('out of date'));
  book.follow({ uid }, { order: redraw, missed: () => redraw(), state }, signal);
  return [
    element('h1', {}, 'Order ', live),
    element('p', {}, copied(uid, element('code', { class: 'long' }, uid))),
    body,
  ];
}
