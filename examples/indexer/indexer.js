import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { orderBookUpstream } from 'intentbook/upstream';

const CHANGES = {
  orderCreated: 'created',
  orderCancelled: 'cancelled',
  orderTraded: 'traded',
  orderExpired: 'expired',
  orderReverted: 'reverted',
};

/**
 * Follows owners at another order book, and continues after a restart. `onChange` is called for each change, also for
 * those of the history.
 */
export async function startIndexer({ chainId, path, owners, onChange, ...access }) {
  const book = createOrderBook({ chainId, store: sqliteStore({ path }), upstream: orderBookUpstream(access) });
  for (const [event, change] of Object.entries(CHANGES)) {
    book.on(event, async ({ uid, at }) => onChange({ change, at, order: await book.orders.get(uid) }));
  }
  book.on('failure', (failure) => console.error(failure));
  await book.start();
  await book.upstream.follow({ owners });
  return book;
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await startIndexer({
    chainId: 1,
    path: 'orders.sqlite',
    url: 'https://api.cow.fi/mainnet',
    contact: 'https://example.org/contact', // the operator of the order book wants to know who asks
    owners: process.argv.slice(2),
    onChange: ({ change, at, order }) => console.log(new Date(at).toISOString(), change, order.uid, order.status),
  });
}
