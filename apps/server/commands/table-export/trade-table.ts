import { type Hex, type Order, type Store, type StoredEvent, UNKNOWN_HASH } from 'intentbook';
import { defineColumns, type Row, type Table } from './columns.ts';
import { assertCursor, readLog } from './log.ts';

type Tokens = Pick<Order, 'sellToken' | 'buyToken'>;

type Cause = NonNullable<StoredEvent['cause']>;

/** The amounts of a reverted trade are negative. */
const signed = ({ type }: StoredEvent, amount: string | undefined = '0') =>
  type === 'reverted' && amount !== '0' ? `-${amount}` : amount;

const { columns, toRow } = defineColumns<[event: StoredEvent, cause: Cause, tokens: Tokens | undefined]>({
  log_id: ['integer', (event) => event.id],
  event: ['text', (event) => event.type],
  time: ['time', (event) => event.at],
  block_number: ['integer', (_, cause) => cause.position.blockNumber],
  log_index: ['integer', (_, cause) => cause.position.logIndex],
  block_hash: ['text', (_, { position }) => (position.blockHash === UNKNOWN_HASH ? null : position.blockHash)],
  transaction_hash: ['text', (_, cause) => cause.position.transactionHash],
  order_uid: ['text', (event) => event.uid],
  owner: ['text', (event) => event.owner],
  sell_token: ['text', (_event, _cause, tokens) => tokens?.sellToken ?? null],
  buy_token: ['text', (_event, _cause, tokens) => tokens?.buyToken ?? null],
  sell_amount: ['amount', (event, { trade }) => signed(event, trade?.sellAmount)],
  buy_amount: ['amount', (event, { trade }) => signed(event, trade?.buyAmount)],
  fee_amount: ['amount', (event, { trade }) => signed(event, trade?.feeAmount)],
});

/**
 * Creates the table of trades: the entries `traded` of the log, and `reverted` for each trade whose block was rolled
 * back. A reverted trade has negative amounts, so sums over all rows are those of the book.
 *
 * @param after - Position in the log. Default: from the first entry on.
 */
export async function exportTrades(store: Store, after = 0): Promise<Table> {
  const cursor = await store.events.last();
  if (after > 0) await assertCursor(store, store.events.after, after, cursor);
  return { columns, batches: readTrades(store, after, cursor), cursor };
}

async function* readTrades(store: Store, after: number, through: number): AsyncGenerator<readonly Row[]> {
  for await (const events of readLog(store.events.after, after, through)) {
    const trades = events.filter(({ cause }) => cause?.trade !== undefined);
    if (trades.length === 0) continue;
    const tokens = await readTokens(store, [...new Set(trades.map(({ uid }) => uid))]);
    yield trades.flatMap((event) => (event.cause ? [toRow(event, event.cause, tokens.get(event.uid))] : []));
  }
}

/** Reads the tokens of orders. Those of deleted orders follow from the stored chain events. */
async function readTokens({ orders, chain }: Store, uids: readonly Hex[]): Promise<ReadonlyMap<Hex, Tokens>> {
  const stored = await orders.get(uids);
  const tokens = new Map(stored.map(({ uid, body }) => [uid, JSON.parse(body) as Tokens])); // the body of an order
  for (const uid of uids) {
    if (tokens.has(uid)) continue;
    const [trade] = await chain.trades({ filter: { uid }, limit: 1 });
    if (trade !== undefined) tokens.set(uid, trade);
  }
  return tokens;
}
