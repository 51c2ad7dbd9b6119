import type { Address, Budget, Hex, OrderState, StoredOrder } from 'intentbook';

/**
 * Returns the columns of an order, in the order of {@link PgOrderRow}. `o` is the table of orders. Short values are
 * combined in one text: each value costs server and driver a microsecond, and a page has thousands.
 */
export const orderColumns = (schema: string) =>
  "o.uid, o.body, concat_ws(' ', o.version, o.created, o.valid_to, o.state, o.invalidated, o.executed_sell_amount, " +
  // The fee token comes last, because concat_ws omits it if it is null.
  'o.executed_buy_amount, o.executed_fee_amount, o.executed_fee, o.executed_fee_token), o.placement, ' +
  // A subquery instead of a join: independent of the planner, it is one index lookup for each row of the page.
  `(SELECT d.document FROM ${schema}.documents d WHERE d.hash = o.app_data)`;

/**
 * Returns the columns that a read by UID appends; listings omit them. The quote is in the order row, which avoids a
 * second lookup; only rows of older releases have it in `order_quotes`.
 */
export const quoteColumns = (schema: string) =>
  ['quote', 'quote_metadata']
    .map((column, i) => {
      const stored = `SELECT q.${['body', 'metadata'][i]} FROM ${schema}.order_quotes q WHERE q.uid = o.uid`;
      return `CASE WHEN o.quote IS NULL THEN (${stored}) ELSE o.${column} END`;
    })
    .join(', ');

/** Value of a row without a quote. NULL means that an older release wrote the row. */
export const NO_QUOTE = '';

export type PgOrderRow = readonly [
  uid: Hex,
  body: string,
  short: string,
  placement: string | null,
  document: string | null,
  quote?: string | null,
  quoteMetadata?: string | null,
];

/** Converts a row to an order. Nothing is parsed; the caller detects a damaged row when it renders the order. */
export function readOrder([uid, body, short, placement, document, quote, quoteMetadata]: PgOrderRow): StoredOrder {
  const [version, created, validTo, state, invalidated, sold, bought, signedFee, fee, feeToken] = short.split(' ');
  // Without object spread, which would be slower.
  return {
    uid,
    body,
    version: Number(version),
    creationDate: Number(created),
    validTo: Number(validTo),
    state: STATES[Number(state)] as OrderState, // the table checks the range
    invalidated: invalidated === 't',
    executedSellAmount: sold ?? '',
    executedBuyAmount: bought ?? '',
    executedFeeAmount: signedFee ?? '',
    executedFee: fee ?? '',
    executedFeeToken: feeToken === undefined ? null : `0x${feeToken.slice(2)}`,
    placement,
    fullAppData: document,
    quote: quote ? { body: quote, metadata: quoteMetadata ?? '{}' } : null,
  };
}

/** Columns that are needed to check and cancel an order. */
export interface OrderRecord {
  readonly uid: Hex;
  readonly owner: Address;
  readonly state: OrderState;
  readonly validTo: number;
  readonly signingScheme: (typeof SCHEMES)[number];
  readonly budget: Budget;
  readonly expiryRecorded?: boolean;
}

export type OrderRecordRow = readonly [
  uid: Hex,
  owner: Address,
  state: number,
  validTo: number,
  scheme: number,
  budget: number,
  expiryRecorded: boolean,
];

export function readOrderRecord([
  uid,
  owner,
  state,
  validTo,
  scheme,
  budget,
  expiryRecorded,
]: OrderRecordRow): OrderRecord {
  return {
    uid,
    owner,
    validTo,
    expiryRecorded,
    // The table checks the ranges.
    state: STATES[state] as OrderState,
    signingScheme: SCHEMES[scheme] as OrderRecord['signingScheme'],
    budget: BUDGETS[budget] as Budget,
  };
}

/** SQL condition for a recorded expiry: the order is not live, and neither cancelled nor fulfilled. */
export const isExpiryRecorded = '(NOT live AND state < 2)';

/** Codes are indexes in these lists. They are stored in databases: append only. */
export const STATES = ['open', 'presignaturePending', 'cancelled', 'fulfilled'] as const;
export const SCHEMES = ['eip712', 'ethsign', 'presign', 'eip1271'] as const;
export const BUDGETS = ['open', 'pending'] as const;
export const KINDS = ['sell', 'buy'] as const;
export const QUOTE_KINDS = ['standard', 'onchainPresign', 'onchainEip1271'] as const;

/** Converts to the server's text format of bytes, without an intermediate buffer. */
export function toBytes(hex: Hex): string {
  return `\\x${hex.slice(2)}`;
}

const asText = (text: string) => text;

/** Parsers of the text format by the server's type id. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't', // boolean
  17: (text): Hex => `0x${text.slice(2)}`, // bytea, in hex: assertServer checks bytea_output
  20: Number, // bigint: ids, counts and times, all below 2^53
  21: Number, // smallint
  23: Number, // integer
};

/** Type parsers of this store, independent of the host's driver configuration. Numerics remain text. */
export const TYPES = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText };
