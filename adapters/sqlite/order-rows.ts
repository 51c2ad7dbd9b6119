import { crc32 } from 'node:zlib';
import type { EncodedOrder, Hex, StoredOrder } from 'intentbook';
import { type OrderRow, orderColumns, parseOrderRow, quoteColumns, toBytes, toStoredOrder } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** A query of order rows. */
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
