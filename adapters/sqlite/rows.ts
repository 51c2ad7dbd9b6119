import type { Hex, OrderState, StoredOrder } from 'intentbook';

/**
 * A column of bytes as a text of hex. Reads of many rows take it so: for each buffer that the driver makes, the collector
 * of garbage has a callback to call, and those of a hundred batches would hold up the process for 15 ms.
 */
export const toHexText = (column: string) => `'0x' || lower(hex(${column}))`;
/** The same of a column that may be null. */
export const hexOrNull = (column: string) => `CASE WHEN ${column} IS NOT NULL THEN ${toHexText(column)} END`;

/** The columns of an order as a read takes them, in the order of {@link OrderRow}. `o` is the table of orders. */
export const orderColumns = (prefix: string) =>
  `${toHexText('o.uid')}, o.body, o.version, o.created, o.valid_to, o.state, o.invalidated, o.executed_sell_amount, ` +
  'o.executed_buy_amount, o.executed_fee_amount, o.executed_fee, ' +
  `${hexOrNull('o.executed_fee_token')}, ` +
  'o.placement, ' +
  // Not a join: a listing asks for the documents of the page only, not of what its offset skips.
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

/** What a read of single orders takes at the end, `q` being the table of their quotes. Listings do without. */
export const quoteColumns = 'q.body, q.metadata';

/**
 * Makes an order of its row. Nothing is parsed, so that a row which somebody has spoilt by hand comes back as it is
 * instead of failing a whole batch (decision 2.27); whoever renders it will see.
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

/** Whether a row was swept up as expired: it is not live, and yet neither cancelled nor fulfilled. */
export const isExpiryRecorded = '(live = 0 AND state < 2)';

/** Codes are places in these lists. They are in files: add at the end only. */
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
