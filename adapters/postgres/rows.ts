import type { Address, Budget, Hex, OrderState, StoredOrder } from 'intentbook';

/**
 * The columns of an order as a read takes them, in the order of {@link PgOrderRow}. `o` is the table of orders. What is
 * short comes as one text: a value costs the server and the driver a microsecond each, and a page has thousands.
 */
export const orderColumns = (schema: string) =>
  "o.uid, o.body, concat_ws(' ', o.version, o.created, o.valid_to, o.state, o.invalidated, o.executed_sell_amount, " +
  // Last, as it leaves no place when there is none.
  'o.executed_buy_amount, o.executed_fee_amount, o.executed_fee, o.executed_fee_token), o.placement, ' +
  // Not a join: whatever the planner believes of the tables, it is one look at an index for each row of the page.
  `(SELECT d.document FROM ${schema}.documents d WHERE d.hash = o.app_data)`;

/**
 * What a read of single orders takes at the end. Listings do without. The quote stands on the order's own row, so that it
 * takes no second look; only rows of older releases have it elsewhere.
 */
export const quoteColumns = (schema: string) =>
  ['quote', 'quote_metadata']
    .map((column, i) => {
      const there = `SELECT q.${['body', 'metadata'][i]} FROM ${schema}.order_quotes q WHERE q.uid = o.uid`;
      return `CASE WHEN o.quote IS NULL THEN (${there}) ELSE o.${column} END`;
    })
    .join(', ');

/** Says on a row that its order has no quote, where NULL says that an older release has written it. */
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

/** Makes an order of its row. Nothing is parsed: whoever renders it will see whether somebody has spoilt it. */
export function readOrder([uid, body, short, placement, document, quote, quoteMetadata]: PgOrderRow): StoredOrder {
  const [version, created, validTo, state, invalidated, sold, bought, signedFee, fee, feeToken] = short.split(' ');
  // Without spreading, which would make of each of its members a step of its own.
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

/** What judging and changing an order takes, without its text. */
export interface Found {
  readonly uid: Hex;
  readonly owner: Address;
  readonly state: OrderState;
  readonly validTo: number;
  readonly signingScheme: (typeof SCHEMES)[number];
  readonly budget: Budget;
  readonly expiryRecorded?: boolean;
}

export type FoundRow = readonly [
  uid: Hex,
  owner: Address,
  state: number,
  validTo: number,
  scheme: number,
  budget: number,
  expiryRecorded: boolean,
];

export function readFound([uid, owner, state, validTo, scheme, budget, expiryRecorded]: FoundRow): Found {
  return {
    uid,
    owner,
    validTo,
    expiryRecorded,
    // The table checks the ranges.
    state: STATES[state] as OrderState,
    signingScheme: SCHEMES[scheme] as Found['signingScheme'],
    budget: BUDGETS[budget] as Budget,
  };
}

/** Whether a row was swept up as expired: it is not live, and yet neither cancelled nor fulfilled. */
export const isExpiryRecorded = '(NOT live AND state < 2)';

/** Codes are places in these lists. They are in databases: add at the end only. */
export const STATES = ['open', 'presignaturePending', 'cancelled', 'fulfilled'] as const;
export const SCHEMES = ['eip712', 'ethsign', 'presign', 'eip1271'] as const;
export const BUDGETS = ['open', 'pending'] as const;
export const KINDS = ['sell', 'buy'] as const;
export const QUOTE_KINDS = ['standard', 'onchainPresign', 'onchainEip1271'] as const;

/** Bytes as the server reads and writes them in text: no copy through a buffer on either way. */
export function toBytes(hex: Hex): string {
  return `\\x${hex.slice(2)}`;
}

const asText = (text: string) => text;

/** By the numbers of the server's types: how their text is read. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't', // boolean
  17: (text): Hex => `0x${text.slice(2)}`, // bytea, in the hex form that every session of the store asks for
  20: Number, // bigint: ids, counts and times, all below 2^53
  21: Number, // smallint
  23: Number, // integer
};

/** Reads values in this store's own way, whatever the host has made of the driver's. Numerics stay text. */
export const TYPES = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText };
