import { accountLink, descriptionList, element, hexLink, section, tableOrNote } from '../elements.js';
import { orderLink, tokensOf } from '../order-table.js';
import { exact, rounded } from '../units.js';
import { auctionLink, orderItem } from './settlement.js';

/** Decimals of scores, which are in wei. */
const WEI = 18;

/** The address of native currency. */
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Columns of the solutions of an auction. */
const HEADS = ['Rank', 'Solver', 'Score', 'Result', 'Orders', 'Transaction'];

/** Orders that are listed by their UID. */
const MAX_ORDERS = 100;

export const transactionLink = (hash, prefix, ends) => hexLink(`${prefix}/transactions/${hash}`, hash, ends);

/** Renders the current auction and the recorded competitions, newest first. */
export async function auctions({ book, prefix, signal }) {
  const { current, competitions } = await book.data('competitions', signal);
  const rows = competitions.map((each) => [
    auctionLink(each.auctionId, prefix),
    String(each.auctionStartBlock),
    String(each.orders),
    String(each.solutions),
    each.winners.map((solver) => accountLink(solver, prefix)),
    each.transactionHashes.map((hash) => element('div', {}, transactionLink(hash, prefix))),
  ]);
  return [
    element('h1', {}, 'Auctions'),
    section(
      'Current auction',
      descriptionList([
        ['Id', `#${current.id}`],
        ['Block', String(current.block)],
        ['Orders', String(current.orders)],
      ]),
    ),
    section(
      'Competitions',
      tableOrNote(
        'No competition was recorded yet. A solver or an operator records the solutions of each auction.',
        'Competitions',
        ['Auction', 'Block', 'Orders', 'Solutions', 'Winners', 'Settlements'],
        rows,
      ),
    ),
  ];
}

/** Renders the competition of an auction: its solutions, best first, with prices and orders. */
export async function auction({ book, tokens, prefix, signal, NotFound }, id) {
  const found = await book.data(`competitions/${id}`, signal);
  if (found === null) throw new NotFound(`No competition was recorded for auction ${id}.`);
  const { auctionId, auctionStartBlock, auctionDeadlineBlock, auction: content, solutions, transactionHashes } = found;
  const { previous, next } = found;
  const traded = solutions.flatMap(({ orders }) => tokensOf(orders));
  await tokens.load([...traded, ...Object.keys(content.prices), NATIVE], signal);
  const native = tokens.symbolOf(NATIVE);
  const rows = [...solutions]
    .reverse()
    .map((solution) => [
      String(solution.ranking),
      accountLink(solution.solverAddress, prefix),
      element('span', { class: 'digits', title: `${solution.score} wei` }, `${exact(solution.score, WEI)} ${native}`),
      result(solution),
      solution.orders.map((order) => trade(order, tokens, prefix)),
      solution.txHash === null ? '–' : transactionLink(solution.txHash, prefix),
    ]);
  const prices = Object.entries(content.prices).map(([token, price]) => [
    tokens.symbol(token),
    element('span', { class: 'digits' }, `${nativePrice(price, tokens.decimalsOf(token))} ${native}`),
  ]);
  const neighbours = [
    ['Previous: ', previous],
    ['Next: ', next],
  ].filter(([, each]) => each !== undefined);
  return [
    element('h1', {}, `Auction #${auctionId}`),
    element('p', {}, ...neighbours.flatMap(([label, each]) => [label, auctionLink(each, prefix), ' '])),
    section(
      'Auction',
      descriptionList([
        ['Block', String(auctionStartBlock)],
        ['Deadline block', String(auctionDeadlineBlock)],
        [
          'Settlements',
          transactionHashes.length === 0 ? 'none' : transactionHashes.map((each) => transactionLink(each, prefix)),
        ],
      ]),
    ),
    section('Solutions', tableOrNote('No solver found a solution.', 'Solutions', HEADS, rows)),
    section('Prices', tableOrNote('None recorded.', 'Native prices', ['Token', 'Price of one'], prices)),
    section(
      `Orders (${content.orders.length})`,
      element('ul', { class: 'chips' }, ...content.orders.slice(0, MAX_ORDERS).map((uid) => orderItem(uid, prefix))),
    ),
  ];
}

/** Formats a price in wei for 10^18 atoms as native currency for one whole token. */
function nativePrice(price, decimals) {
  if (decimals === undefined) return '–';
  return decimals <= 2 * WEI ? rounded(price, 2 * WEI - decimals) : '–';
}

function result({ isWinner, filteredOut }) {
  const [label, state] = isWinner
    ? ['winner', 'fulfilled']
    : filteredOut
      ? ['filtered', 'expired']
      : ['lost', 'cancelled'];
  return element('span', { class: `status ${state}` }, label);
}

function trade({ id, sellToken, buyToken, sellAmount, buyAmount }, tokens, prefix) {
  return element(
    'div',
    {},
    orderLink(id, prefix),
    ' ',
    tokens.amount(sellAmount, sellToken),
    ' for ',
    tokens.amount(buyAmount, buyToken),
  );
}
