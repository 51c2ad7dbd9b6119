import type { Hex, OrderState, StoredOrder } from 'intentbook';

/**
 * Returns SQL that reads a column of bytes as hexadecimal text. Reads of many rows use it because every `Buffer` of the
 * driver has a garbage collection callback: those of a hundred batches would block the process for 15 ms.
 */
export const toHexText = (column: string) => `'0x' || lower(hex(${column}))`;
/** Returns the same SQL for a nullable column. */
export const hexOrNull = (column: string) => `CASE WHEN ${column} IS NOT NULL THEN ${toHexText(column)} END`;

/** Returns the columns of an order, in the order of {@link OrderRow}. `o` is the table of orders. */
export const orderColumns = (prefix: string) =>
  `${toHexText('o.uid')}, o.body, o.version, o.created, o.valid_to, o.state, o.invalidated, o.executed_sell_amount, ` +
  'o.executed_buy_amount, o.executed_fee_amount, o.executed_fee, ' +
  `${hexOrNull('o.executed_fee_token')}, ` +
  'o.placement, ' +
  // A subquery instead of a join: a listing then reads the documents of the page only, not of the skipped rows.
  `(SELECT d.document FROM ${prefix}documents d WHERE d.hash = o.app_data)`;

export type OrderRow = readonly [
  uid: Hex,
  body: string,
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

/** Columns that a read by UID appends; `q` is the table of their quotes. Listings omit them. */
export const quoteColumns = 'q.body, q.metadata';

/**
 * Converts a row to an order. Nothing is parsed, so that a damaged row does not fail a whole batch. The caller detects
 * damage when it renders the order. See docs/internals/decisions.md#d2-27.
 */
export function readOrder(row: OrderRow): StoredOrder {
  return {
    uid: row[0],
    body: row[1],
    version: row[2],
    creationDate: row[3],
    validTo: row[4],
    state: STATES[row[5]] as OrderState, // the table checks the range
    invalidated: row[6] === 1,
    executedSellAmount: row[7],
    executedBuyAmount: row[8],
    executedFeeAmount: row[9],
    executedFee: row[10],
    executedFeeToken: row[11],
    placement: row[12],
    fullAppData: row[13],
    quote: typeof row[14] === 'string' ? { body: row[14], metadata: row[15] ?? '{}' } : null,
  };
}

/** SQL condition for a recorded expiry: the order is not live, and neither cancelled nor fulfilled. */
export const isExpiryRecorded = '(live = 0 AND state < 2)';

/** Codes are indexes in these lists. They are stored in files: append only. */
export const STATES = ['open', 'presignaturePending', 'cancelled', 'fulfilled'] as const;
export const SCHEMES = ['eip712', 'ethsign', 'presign', 'eip1271'] as const;
export const BUDGETS = ['open', 'pending'] as const;
export const KINDS = ['sell', 'buy'] as const;
export const QUOTE_KINDS = ['standard', 'onchainPresign', 'onchainEip1271'] as const;

export function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

export function toHex(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`;
}
