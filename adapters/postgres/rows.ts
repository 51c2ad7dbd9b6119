import type { Address, Budget, Hex, OrderState, StoredOrder } from 'intentbook';

/** The columns of an order as a read takes them, in the order of {@link OrderRow}. `o` is the table of orders. */
export const orderColumns = (schema: string) =>
  'o.uid, o.body, o.version, o.created, o.valid_to, o.state, o.invalidated, o.executed_sell_amount, ' +
  'o.executed_buy_amount, o.executed_fee_amount, o.executed_fee, o.executed_fee_token, ' +
  'o.placement, ' +
  // Not a join: whatever the planner believes of the tables, it is one look at an index for each row of the page.
  `(SELECT d.document FROM ${schema}.documents d WHERE d.hash = o.app_data)`;

export type OrderRow = readonly [
  uid: Hex,
  body: string,
  version: number,
  created: number,
  validTo: number,
  state: number,
  invalidated: boolean,
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

/** Makes an order of its row. Nothing is parsed: whoever renders it will see whether somebody has spoilt it. */
export function readOrder(row: OrderRow): StoredOrder {
  return {
    uid: row[0],
    body: row[1],
    version: row[2],
    creationDate: row[3],
    validTo: row[4],
    state: STATES[row[5]] as OrderState, // the table checks the range
    invalidated: row[6],
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

/** What judging and changing an order takes, without its text. */
export interface Found {
  readonly uid: Hex;
  readonly owner: Address;
  readonly state: OrderState;
  readonly validTo: number;
  readonly signingScheme: (typeof SCHEMES)[number];
  readonly budget: Budget;
  readonly swept?: boolean;
}

export type FoundRow = readonly [
  uid: Hex,
  owner: Address,
  state: number,
  validTo: number,
  scheme: number,
  budget: number,
  swept: boolean,
];

export function readFound([uid, owner, state, validTo, scheme, budget, swept]: FoundRow): Found {
  return {
    ...{ uid, owner, validTo, swept },
    // The table checks the ranges.
    state: STATES[state] as OrderState,
    signingScheme: SCHEMES[scheme] as Found['signingScheme'],
    budget: BUDGETS[budget] as Budget,
  };
}

/** Whether a row was swept up as expired: it is not live, and yet neither cancelled nor fulfilled. */
export const isSwept = '(NOT live AND state < 2)';

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
