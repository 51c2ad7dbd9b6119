import { historyFile, readHistory } from '../api.js';
import { element, moreButton, note, section, table, tableRow, timeElement } from '../elements.js';
import { limitAmounts, orderLink, status, tokensOf } from '../order-table.js';
import { accountHead } from './account.js';
import { tradeCells } from './settlement.js';

const PAGE = 25;

const WITHOUT_ACCOUNTS =
  'This server has no account interface, which lists the history of an account across books. ' +
  'The orders of this book are on the first page of the account.';

/** Renders the orders of an account in all books, newest first. */
export function accountOrders(view, address) {
  return history(view, address, {
    kind: 'orders',
    title: 'Orders of all books',
    heads: ['Book', 'Order', 'Sells', 'Buys', 'Status', 'Created'],
    empty: 'This account has no order in the books of this server.',
    tokensIn: ({ order }) => tokensOf([order]),
    cells: ({ order }, { prefix, tokens }) => [
      orderLink(order.uid, prefix),
      ...limitAmounts(order, tokens),
      status(order),
      timeElement(Date.parse(order.creationDate)),
    ],
  });
}

/** Renders the trades of an account in all books, newest first. */
export function accountTrades(view, address) {
  return history(view, address, {
    kind: 'trades',
    title: 'Trades of all books',
    heads: ['Book', 'Order', 'Sold', 'Bought', 'Price', 'Time'],
    empty: 'No order of this account was filled in the books of this server.',
    tokensIn: ({ trade }) => tokensOf([trade]),
    cells({ trade, timestamp }, client) {
      const time = timestamp === null ? `block ${trade.blockNumber}` : timeElement(Date.parse(timestamp));
      return [...tradeCells(trade, client), time];
    },
  });
}

/** Renders a history with a link to its file and further pages on request. */
async function history(view, address, { kind, title, heads, empty, tokensIn, cells }) {
  const { site, signal, clients } = view;
  const head = accountHead(view, address, kind);
  if (!site.accounts) return [...head, note(WITHOUT_ACCOUNTS)];
  const list = table(title, heads, []);
  const [body] = list.tBodies;
  const nothing = note(empty);
  let cursor;

  const { more, load } = moreButton(`Older ${kind}`, async () => {
    const page = await readHistory(address, kind, { cursor, limit: PAGE }, signal);
    const rows = page.rows.map((row) => ({ row, client: clientOf(row, clients) }));
    for (const client of new Set(rows.map((each) => each.client))) {
      const own = rows.filter((each) => each.client === client);
      const named = own.flatMap(({ row }) => tokensIn(row));
      await client.tokens.load(named, signal);
    }
    for (const { row, client } of rows) body.append(tableRow(heads, [client.book.chain, ...cells(row, client)]));
    cursor = page.next;
    nothing.hidden = body.rows.length > 0;
    list.hidden = body.rows.length === 0;
    return cursor !== undefined;
  });
  await load();
  const file = element('a', { href: historyFile(address, kind), download: `${kind}-${address}.csv` }, 'Download CSV');
  return [...head, section(title, element('p', {}, file), nothing, list, more)];
}

/** Returns the client of a row's book. Several books of one chain differ in their environment. */
function clientOf({ chainId, env }, clients) {
  const candidates = clients.filter(({ book }) => book.chainId === chainId);
  return candidates.find(({ book }) => book.environment === env) ?? candidates[0] ?? clients[0];
}
