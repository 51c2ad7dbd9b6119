import type { Address, Hex, Store, StoredEvent } from 'intentbook';
import type { Column, Row, Table } from './columns.ts';
import { assertCursor, readLog } from './log.ts';

const COLUMNS: readonly Column[] = [
  { name: 'log_id', type: 'integer' },
  { name: 'event', type: 'text' },
  { name: 'time', type: 'time' },
  { name: 'block_number', type: 'integer' },
  { name: 'log_index', type: 'integer' },
  { name: 'block_hash', type: 'text' },
  { name: 'transaction_hash', type: 'text' },
  { name: 'order_uid', type: 'text' },
  { name: 'owner', type: 'text' },
  { name: 'sell_token', type: 'text' },
  { name: 'buy_token', type: 'text' },
  { name: 'sell_amount', type: 'amount' },
  { name: 'buy_amount', type: 'amount' },
  { name: 'fee_amount', type: 'amount' },
];

interface Tokens {
  readonly sellToken: Address;
  readonly buyToken: Address;
}

/**
 * Creates the table of trades: the entries `traded` of the log, and `reverted` for each trade whose block was rolled
 * back. A reverted trade has negative amounts, so sums over all rows are those of the book.
 *
 * @param after - Position in the log. Default: from the first entry on.
 */
export async function exportTrades(store: Store, after = 0): Promise<Table> {
  const cursor = await store.events.last();
  if (after > 0) await assertCursor(store, store.events.after, after, cursor);
  return { columns: COLUMNS, batches: readTrades(store, after, cursor), cursor };
}

async function* readTrades(store: Store, after: number, through: number): AsyncGenerator<readonly Row[]> {
  for await (const events of readLog(store, after, through)) {
    const trades = events.filter(({ cause }) => cause?.trade !== undefined);
    if (trades.length === 0) continue;
    const tokens = await readTokens(store, [...new Set(trades.map(({ uid }) => uid))]);
    yield trades.flatMap((event) => toRow(event, tokens.get(event.uid)) ?? []);
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

function toRow({ id, type, at, uid, owner, cause }: StoredEvent, tokens: Tokens | undefined): Row[] | undefined {
  if (cause?.trade === undefined) return undefined;
  const { position, trade } = cause;
  const sign = type === 'reverted' ? '-' : '';
  const signed = (amount: string) => (amount === '0' ? amount : `${sign}${amount}`);
  return [
    [
      id,
      type,
      at,
      position.blockNumber,
      position.logIndex,
      position.blockHash,
      position.transactionHash,
      uid,
      owner,
      tokens?.sellToken ?? null,
      tokens?.buyToken ?? null,
      signed(trade.sellAmount),
      signed(trade.buyAmount),
      signed(trade.feeAmount),
    ],
  ];
}
