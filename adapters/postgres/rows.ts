import type { Address, Hex, OrderEventType, OrderQuote, OrderState } from 'intentbook';
import { CHAIN_EVENT_TYPES } from 'intentbook/store-kit';

/** Separates texts that are JSON, in which this character can only occur as an escape sequence. */
export const SEPARATOR = '\x1e';

/** Renders the two texts of a quote as one. */
export const joinQuoteTexts = ({ body, metadata }: OrderQuote) => `${body}${SEPARATOR}${metadata}`;

/** Codes are indexes in this list. They are stored in databases: append only. */
export const EVENT_TYPES = [
  'created',
  'cancelled',
  'placed',
  'presigned',
  'presignatureRevoked',
  'traded',
  'refunded',
  'expired',
  'reinstated',
  'reverted',
] as const satisfies readonly OrderEventType[];

/** Codes of types of chain events. */
export const TRADE = CHAIN_EVENT_TYPES.indexOf('trade');
export const SETTLEMENT = CHAIN_EVENT_TYPES.indexOf('settlement');
export const PLACEMENT = CHAIN_EVENT_TYPES.indexOf('placement');

/**
 * Phases of an order: its state, and whether its expiry is recorded. The code is the index, which listings and the
 * sweep use as an index column: below 2, an order is live; below 4, it may be filled in part.
 */
export const PHASES = [
  { state: 'open', expiryRecorded: false },
  { state: 'presignaturePending', expiryRecorded: false },
  { state: 'open', expiryRecorded: true },
  { state: 'presignaturePending', expiryRecorded: true },
  { state: 'cancelled', expiryRecorded: false },
  { state: 'fulfilled', expiryRecorded: false },
] as const satisfies readonly { readonly state: OrderState; readonly expiryRecorded: boolean }[];

/** The first phase of orders that are not live. */
export const ENDED = 2;
/** The first phase of orders without a separate row for their fills. */
export const UNFILLABLE = 4;

/** SQL conditions of the index of expiry, for live orders and for orders whose expiry is recorded. */
export const LIVE = 'phase / 2 = 0 AND phase < 4';
export const EXPIRED = 'phase / 2 = 1 AND phase < 4';

export function getPhase(state: OrderState, expiryRecorded = false): number {
  return PHASES.findIndex(
    (phase) =>
      phase.state === state &&
      (phase.expiryRecorded === expiryRecorded || phase.state === 'cancelled' || phase.state === 'fulfilled'),
  );
}

/** Converts to the server's text format of bytes, without an intermediate buffer. */
export function toBytes(hex: Hex): string {
  return `\\x${hex.slice(2)}`;
}

/** Length of a UID and of its parts, in characters of the text `0x…`. */
const [VALID_TO_AT, UID_END] = [106, 114];

/**
 * Converts a UID to the key of its row, in the server's text format. The last part of a UID, `validTo`, comes first in
 * the key. UIDs are random, so an index of them would write a different page for each order. Keys of recent orders are
 * close together.
 */
export function toKey(uid: Hex): string {
  return `\\x${uid.slice(VALID_TO_AT, UID_END)}${uid.slice(2, VALID_TO_AT)}`;
}

/** Converts a key to the UID. The key has a prefix of two characters. */
export function toUid(key: string): Hex {
  return `0x${key.slice(10)}${key.slice(2, 10)}`;
}

/** Returns SQL for the UID of a key, for sorting. */
export const sqlUid = (key: string) => `(substr(${key}, 5) || substr(${key}, 1, 4))`;

export const getOwner = (uid: Hex): Address => `0x${uid.slice(66, VALID_TO_AT)}`;

/** Formats bytes as an array of the server. The driver's own format escapes each character. */
export function toByteArray(values: readonly string[]): string {
  return values.length === 0 ? '{}' : `{"\\${values.join('","\\')}"}`;
}

/** Formats numbers as an array of the server. */
export function toNumberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join()}}`;
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
