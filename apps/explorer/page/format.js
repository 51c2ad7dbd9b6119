import { checksummed } from './checksum.js';

/** Shortens a hexadecimal text: `0x1234…cdef`. An address has its checksum. */
export function short(text, ends = 4) {
  const hex = checksummed(text);
  return hex.length <= 2 * ends + 5 ? hex : `${hex.slice(0, ends + 2)}…${hex.slice(-ends)}`;
}

/** Formats a whole number with all digits, in groups of three without line breaks. */
export function atoms(text) {
  return String(text).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** Returns the part of an order that is filled and the whole: of the sell amount or, for a buy order, buy amount. */
export function filledParts(order) {
  return order.kind === 'sell'
    ? [order.executedSellAmountBeforeFees, order.sellAmount]
    : [order.executedBuyAmount, order.buyAmount];
}

/** Returns the filled part of an order in hundredths of a percent. */
export function filled(order) {
  const [done, whole] = filledParts(order);
  return BigInt(whole) === 0n ? 0 : Number((BigInt(done) * 10_000n) / BigInt(whole));
}

export function percent(hundredths) {
  return `${(hundredths / 100).toLocaleString('en-US', { maximumFractionDigits: 2 })}\u00a0%`;
}

/** Formats a price with six significant digits. */
export const formatPrice = (value) => value.toLocaleString('en-US', { maximumSignificantDigits: 6 });

/** @param {number} milliseconds - Milliseconds since 1970. */
export function time(milliseconds) {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime())
    ? 'never'
    : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

const UNITS = [
  ['year', 31_536_000, 'y'],
  ['month', 2_592_000, 'mo'],
  ['day', 86_400, 'd'],
  ['hour', 3600, 'h'],
  ['minute', 60, 'min'],
  ['second', 1, 's'],
];

/** Seconds by which the time of a block may be ahead of the reader's clock. */
const AHEAD = 5;

/** Formats a relative time: `3 minutes ago`, `now`, `in 2 hours`. */
export function ago(milliseconds, now = Date.now()) {
  const difference = Math.round((milliseconds - now) / 1000);
  const seconds = difference > 0 && difference <= AHEAD ? 0 : difference;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
}

/** Formats a number with its noun: `1 fill`, `2 fills`. */
export function plural(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Formats a duration: `1.2 s`, `3 min`. */
export function duration(milliseconds) {
  const seconds = milliseconds / 1000;
  if (milliseconds > 0 && milliseconds < 100) return '< 0.1 s';
  if (seconds < 60) return `${seconds.toLocaleString('en-US', { maximumFractionDigits: 1 })} s`;
  const [, size, unit] = UNITS.find(([, size]) => seconds >= size);
  return `${(seconds / size).toLocaleString('en-US', { maximumFractionDigits: 1 })} ${unit}`;
}

/** Label and meaning of each status. */
export const STATUSES = {
  presignaturePending: ['signing', 'The owner must sign this order on chain.'],
  open: ['open', 'The order can be filled.'],
  fulfilled: ['fulfilled', 'The order is filled completely.'],
  cancelled: ['cancelled', 'The owner cancelled the order, or replaced it.'],
  expired: ['expired', 'The validity of the order has ended.'],
};
