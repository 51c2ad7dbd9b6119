import { crc32 } from 'node:zlib';
import type { EncodedOrder, Hex, OrderState, StoredOrder } from 'intentbook';
import { CHAIN_EVENT_TYPES, isSoundBody } from 'intentbook/store-kit';
import type { SqliteSession } from './session.ts';

/**
 * Returns SQL that reads a column of bytes as hexadecimal text. Reads of many rows use it because every `Buffer` of the
 * driver has a garbage collection callback: those of a hundred batches would block the process for 15 ms.
 */
export const toHexText = (column: string) => `'0x' || lower(hex(${column}))`;
/** Returns the same SQL for a nullable column. */
export const hexOrNull = (column: string) => `CASE WHEN ${column} IS NOT NULL THEN ${toHexText(column)} END`;

/** The first two columns of an order: its UID and its body. */
const FIRST_COLUMNS = {
  full: `${toHexText('o.uid')}, o.body`,
  /** The body is read apart: its column is its length, and the UID has upper-case digits only. */
  aggregated: 'hex(o.uid), octet_length(o.body)',
  /** The caller has the UID. */
  known: 'NULL, o.body',
} as const;

/** Returns the columns of an order, in the order of {@link OrderRow}. `o` is the table of orders. */
export const orderColumns = (prefix: string, form: keyof typeof FIRST_COLUMNS) =>
  `${FIRST_COLUMNS[form]}, o.checksum, o.version, o.created, o.valid_to, o.state, o.invalidated, ` +
  'o.executed_sell_amount, o.executed_buy_amount, o.executed_fee_amount, o.executed_fee, ' +
  `${hexOrNull('o.executed_fee_token')}, ` +
  'o.placement, ' +
  // A subquery instead of a join: a listing then reads the documents of the page only, not of the skipped rows.
  `(SELECT d.document FROM ${prefix}documents d WHERE d.hash = o.app_data)`;

export type OrderRow = readonly [
  uid: Hex,
  body: string,
  checksum: number | null,
  version: number,
  created: number,
  validTo: number,
  state: number,
  invalidated: number,
  executedSellAmount: string,
  executedBuyAmount: string,
  executedFeeAmount: string,
  executedFee: string,
  executedFeeToken: Hex | null,
  placement: string | null,
  document: string | null,
  quote?: string | null,
  quoteMetadata?: string | null,
];

/** Columns that reads with quotes append; `q` is the table of the quotes. */
export const quoteColumns = 'q.body, q.metadata';

/**
 * Converts a row to an order. A damaged row does not fail a whole batch: a body that differs from its checksum becomes
 * empty, and the caller detects other damage when it renders the order. See docs/internals/decisions.md#d2-27.
 */
export function parseOrderRow(row: OrderRow, uid = row[0]): StoredOrder {
  const body = typeof row[1] === 'string' ? row[1] : ''; // a damaged column can have another type
  return toStoredOrder(row, uid, body, crc32(body));
}

/** Converts a row whose UID and body were read apart. @param checksum - The checksum of the body as it was read. */
export function toStoredOrder(row: OrderRow, uid: Hex, body: string, checksum: number): StoredOrder {
  const isIntact = row[2] === null ? isSoundBody(body, uid) : row[2] === checksum;
  return {
    uid,
    body: isIntact ? body : '',
    version: row[3],
    creationDate: row[4],
    validTo: row[5],
    state: STATES[row[6]] as OrderState, // the table checks the range
    invalidated: (row[7] === 1 ? true : row[7] === 0 ? false : row[7]) as boolean, // another value is found as damage
    executedSellAmount: row[8],
    executedBuyAmount: row[9],
    executedFeeAmount: row[10],
    executedFee: row[11],
    executedFeeToken: row[12],
    placement: row[13],
    fullAppData: row[14],
    quote: typeof row[15] === 'string' ? { body: row[15], metadata: row[16] ?? '{}' } : null,
  };
}

/** SQL condition for a recorded expiry: the order is not live, and neither cancelled nor fulfilled. */
export const isExpiryRecorded = '(live = 0 AND state < 2)';

/** Codes are indexes in this list. They are stored in files: append only. */
export const STATES = ['open', 'presignaturePending', 'cancelled', 'fulfilled'] as const;

/** Codes of types of chain events. */
export const TRADE = CHAIN_EVENT_TYPES.indexOf('trade');
export const SETTLEMENT = CHAIN_EVENT_TYPES.indexOf('settlement');
export const PLACEMENT = CHAIN_EVENT_TYPES.indexOf('placement');

export function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

export function bufferToHex(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`;
}

export interface OrderRowsQuery {
  all(...parameters: unknown[]): EncodedOrder[];
}

/**
 * Prepares a query of order rows.
 *
 * @param from - The SQL from `FROM` on. `o` is the table of orders, in the order of the result.
 * @param quotes - Whether to read the quotes; `q` is then their table.
 */
export function prepareRowQuery({ prefix, prepare }: SqliteSession, from: string, quotes: boolean): OrderRowsQuery {
  const select = prepare(`SELECT ${getColumns(prefix, quotes, 'full')} ${from}`).raw();
  const toOrder = (row: OrderRow): EncodedOrder => ({ order: parseOrderRow(row), encodedBody: undefined });
  return { all: (...parameters) => (select.all(...parameters) as OrderRow[]).map(toOrder) }; // the columns selected
}

/** Returns the SQL from `FROM` on for orders with their quotes. `uid` is an SQL condition of the UID. */
export const fromOrders = (prefix: string, uid: string) =>
  `FROM ${prefix}orders o LEFT JOIN ${prefix}order_quotes q ON q.order_id = o.id WHERE o.uid ${uid}`;

const toLowerHex = (uid: Hex) => uid.toLowerCase() as Hex; // the digits stay the same

/**
 * Prepares a query of one order by UID. It does not read the UID, which SQLite has compared. Rendering compares it with
 * that in the body.
 */
export function prepareOrderByUid({ prefix, prepare }: SqliteSession): (uid: Hex) => StoredOrder | undefined {
  const select = prepare(`SELECT ${orderColumns(prefix, 'known')}, ${quoteColumns} ${fromOrders(prefix, '= ?')}`).raw();
  return (uid) => {
    const row = select.get(toBytes(uid)) as OrderRow | undefined; // the columns selected
    return row && parseOrderRow(row, toLowerHex(uid));
  };
}

/**
 * Prepares a query like `prepareRowQuery` for many rows. SQLite returns the bodies as one block of bytes and the other
 * columns as one JSON text. The driver then converts two values instead of 15 for each order, which takes two thirds of
 * the time.
 */
export function prepareAggregateQuery(session: SqliteSession, from: string, quotes: boolean): OrderRowsQuery {
  const { prefix, prepare } = session;
  const select = prepare(
    `SELECT CAST(group_concat(o.body, '') AS BLOB), ` +
      `json_group_array(json_array(${getColumns(prefix, quotes, 'aggregated')})) ${from}`,
  ).raw();
  let single: OrderRowsQuery | undefined;
  return {
    all(...parameters) {
      try {
        return readAggregate(select.get(...parameters) as Aggregate); // the columns selected
      } catch {
        // A damaged row can make the aggregate fail. The other rows are read one by one.
        single ??= prepareRowQuery(session, from, quotes);
        return single.all(...parameters);
      }
    },
  };
}

const getColumns = (prefix: string, quotes: boolean, form: 'full' | 'aggregated') =>
  `${orderColumns(prefix, form)}${quotes ? `, ${quoteColumns}` : ''}`;

type Aggregate = readonly [bodies: Buffer | null, rows: string];

/** A row whose body is in the block of bodies. The UID is upper case. */
type AggregatedRow = readonly [uid: string, length: number, ...rest: unknown[]];

/** @throws if a damaged row has changed the form of the result. */
function readAggregate([bodies, json]: Aggregate): EncodedOrder[] {
  const rows = JSON.parse(json) as AggregatedRow[]; // made by SQLite from the columns
  if (bodies === null) return [];
  let start = 0;
  const orders = rows.map((row) => {
    const end = start + row[1];
    const encodedBody = bodies.subarray(start, end);
    start = end;
    const body = encodedBody.toString('latin1'); // a body consists of ASCII characters
    const columns = row as unknown as OrderRow; // differs in the first two columns only, which are not used
    const order = toStoredOrder(columns, `0x${row[0].toLowerCase()}`, body, crc32(encodedBody));
    return { order, encodedBody: order.body === '' ? undefined : encodedBody };
  });
  if (start !== bodies.length) throw new Error('a body in the result of SQLite has another length');
  return orders;
}
