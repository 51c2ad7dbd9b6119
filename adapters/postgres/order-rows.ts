import { crc32 } from 'node:zlib';
import type { Hex, OrderState, StoredOrder } from 'intentbook';
import { isSoundBody } from 'intentbook/store-kit';
import { PHASES, SEPARATOR, toUid, UNFILLABLE } from './rows.ts';

/** A row of an order, or of a document if `short` is empty: the document is then in `body`. */
export type PgOrderRow = readonly [
  short: string,
  body: string,
  placement: string | null,
  appData: Hex,
  quote?: string | null,
];

/**
 * Returns the query of orders and their documents.
 *
 * Short values are combined in one text: each value costs server and driver a microsecond, and a page has thousands. An
 * order of version 1 has not changed since its insert, so that its totals are 0 and omitted.
 *
 * Many orders of a page refer to the same document. Each document is one row after the orders.
 *
 * @param from - Source with the orders `o` and their fills `f`. The order of the rows is lost.
 */
export function selectOrders(schema: string, from: string, { quotes }: { readonly quotes: boolean }): string {
  const quote = quotes ? ', o.quote' : '';
  return (
    `WITH o AS MATERIALIZED (SELECT ${SHORT_COLUMNS} AS short, o.body, o.placement, o.app_data${quote} FROM ${from}) ` +
    `SELECT * FROM o UNION ALL SELECT '', d.document, NULL, d.hash${quotes ? ', NULL' : ''} ` +
    'FROM (SELECT DISTINCT app_data FROM o) a CROSS JOIN LATERAL ' +
    `(SELECT d.hash, d.document FROM ${schema}.documents d WHERE d.hash = a.app_data OFFSET 0) d`
  );
}

const getTotals = (source: 'o' | 'f') =>
  `, ${source}.executed_sell_amount, ${source}.executed_buy_amount, ${source}.executed_fee_amount, ` +
  // The fee token comes last, because concat_ws omits it if it is null.
  `${source}.executed_fee, ${source}.executed_fee_token`;

const getShort = (source: 'o' | 'f', totals: string) =>
  `concat_ws(' ', o.key, coalesce(o.checksum::text, '-'), ${source}.version, o.created, o.valid_to, o.phase, o.invalidated${totals})`;

const SHORT_COLUMNS =
  `CASE WHEN f.key IS NOT NULL THEN ${getShort('f', getTotals('f'))} WHEN o.version = 1 THEN ${getShort('o', '')} ` +
  `ELSE ${getShort('o', getTotals('o'))} END`;

/** Returns the join of a partially filled order with its totals. Other orders cause no lookup. */
export const joinFills = (schema: string) =>
  `LEFT JOIN LATERAL (SELECT * FROM ${schema}.fills f WHERE f.key = o.key AND o.phase < ${UNFILLABLE} OFFSET 0) f ON true`;

/**
 * Returns the source of orders by an array of keys without duplicates. The server looks all keys up in one scan of each
 * index, which is faster than a scan for each key.
 */
export function ordersWithKeys(schema: string, keys: string): string {
  const fills = `(SELECT * FROM ${schema}.fills f WHERE f.key = ANY(${keys}) OFFSET 0)`;
  return `(SELECT * FROM ${schema}.orders o WHERE o.key = ANY(${keys})) o LEFT JOIN ${fills} f ON f.key = o.key AND o.phase < ${UNFILLABLE}`;
}

/**
 * Converts rows to orders. A body that differs from its checksum becomes empty; the caller detects other damage when it
 * renders the order.
 */
export function parseOrderRows(rows: readonly PgOrderRow[]): StoredOrder[] {
  const documents = new Map<Hex, string>();
  // Documents follow the orders.
  let count = rows.length;
  for (; count > 0; count--) {
    const row = rows[count - 1];
    if (row === undefined || row[0] !== '') break;
    documents.set(row[3], row[1]);
  }
  return rows
    .slice(0, count)
    .map(([short, body, placement, appData, quote]) =>
      toOrder(short, body, placement, documents.get(appData) ?? null, quote ?? null),
    );
}

function toOrder(
  short: string,
  body: string,
  placement: string | null,
  document: string | null,
  quote: string | null,
): StoredOrder {
  const [key = '', checksum, version, created, validTo, phase, invalidated, ...totals] = short.split(' ');
  const [sold, bought, signedFee, fee, feeToken] = totals;
  const uid = toUid(key);
  const isIntact = checksum === '-' ? isSoundBody(body, uid) : Number(checksum) === getBodyChecksum(body);
  // Without object spread, which would be slower.
  return {
    uid,
    body: isIntact ? body : '',
    version: Number(version),
    creationDate: Number(created),
    validTo: Number(validTo),
    state: PHASES[Number(phase)]?.state as OrderState, // the table checks the range
    invalidated: invalidated === 't',
    executedSellAmount: sold ?? '0',
    executedBuyAmount: bought ?? '0',
    executedFeeAmount: signedFee ?? '0',
    executedFee: fee ?? '0',
    executedFeeToken: feeToken === undefined ? null : `0x${feeToken.slice(2)}`,
    placement,
    fullAppData: document,
    quote: quote ? parseQuote(quote) : null,
  };
}

/** Returns the checksum of a body, as the integer of the server with the same bits. */
export const getBodyChecksum = (body: string) => crc32(body) | 0;

function parseQuote(text: string) {
  const [body = '', metadata = '{}'] = text.split(SEPARATOR);
  return { body, metadata };
}
