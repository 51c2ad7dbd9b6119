/** Shortens a hexadecimal text: `0x1234abcd…89abcdef`. */
export function short(hex, ends = 6) {
  return hex.length <= 2 * ends + 5 ? hex : `${hex.slice(0, ends + 2)}…${hex.slice(-ends)}`;
}

/** Formats an amount of atoms with all digits, in groups of three without line breaks. */
export function atoms(text) {
  return String(text).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Formats an amount of atoms in little space: exact up to seven digits, otherwise with the first five digits. */
export function about(text) {
  const digits = String(text);
  if (digits.length <= 7) return atoms(digits);
  const exponent = [...String(digits.length - 1)].map((digit) => SUPERSCRIPTS[Number(digit)]).join('');
  const fraction = digits.slice(1, 5).replace(/0+$/, '');
  const exact = /^0*$/.test(digits.slice(5));
  return `${exact ? '' : '≈ '}${digits[0]}${fraction === '' ? '' : `.${fraction}`} × 10${exponent}`;
}

/**
 * Returns the filled part of an order in hundredths of a percent: of the sell amount or, for a buy order, buy amount.
 */
export function filled(order) {
  const [done, whole] =
    order.kind === 'sell'
      ? [order.executedSellAmountBeforeFees, order.sellAmount]
      : [order.executedBuyAmount, order.buyAmount];
  return BigInt(whole) === 0n ? 0 : Number((BigInt(done) * 10_000n) / BigInt(whole));
}

export function percent(hundredths) {
  return `${(hundredths / 100).toLocaleString(undefined, { maximumFractionDigits: 2 })} %`;
}

/** @param {number} milliseconds - Milliseconds since 1970. */
export function time(milliseconds) {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime())
    ? 'never'
    : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** Formats a relative time: `3 minutes ago`, `in 2 hours`. */
export function ago(milliseconds, now = Date.now()) {
  const seconds = Math.round((milliseconds - now) / 1000);
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
}

export const STATUSES = {
  presignaturePending: 'waiting for the owner’s signature on chain',
  open: 'open',
  fulfilled: 'fulfilled',
  cancelled: 'cancelled',
  expired: 'expired',
};
