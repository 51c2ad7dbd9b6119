/** Adds a comma after every three digits before the decimal point. */
function group(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** Formats atoms as whole tokens with all digits: `1,083.4`. */
export function exact(atoms, decimals) {
  const digits = String(atoms).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${group(whole)}${fraction === '' ? '' : `.${fraction}`}`;
}

const SIGNIFICANT = 6;

/** Formats atoms as whole tokens in little space: six significant digits, rounded, and all digits before the point. */
export function rounded(atoms, decimals) {
  const { length } = String(atoms);
  if (BigInt(atoms) !== 0n && length <= decimals - 8) return '< 0.00000001';
  const dropped = Math.min(decimals, Math.max(0, length - SIGNIFICANT));
  const unit = 10n ** BigInt(dropped);
  const text = exact((BigInt(atoms) + unit / 2n) / unit, decimals - dropped);
  const [whole] = text.split('.');
  return whole.length > 15 ? compact(whole.replaceAll(',', '')) : text;
}

/** Formats the digits of a very large whole number with an exponent. */
export function compact(digits) {
  return `≈ ${digits[0]}.${digits.slice(1, 4)}e${digits.length - 1}`;
}

const RATIO_DECIMALS = 36;

/** Returns atoms of `a` per atom of `b` in whole tokens, as atoms of 36 decimals. Undefined if `b` is zero. */
export function ratio(a, aDecimals, b, bDecimals) {
  if (BigInt(b) === 0n) return undefined;
  return (BigInt(a) * 10n ** BigInt(RATIO_DECIMALS + bDecimals)) / (BigInt(b) * 10n ** BigInt(aDecimals));
}

/** Formats a ratio in little space. */
export function formatRatio(value) {
  return value === undefined ? '–' : rounded(value, RATIO_DECIMALS);
}

/** Converts atoms to a number for charts and dollar values, which need no exact digits. */
export function toNumber(atoms, decimals) {
  return Number(BigInt(atoms)) / 10 ** decimals;
}

/** Formats US dollars: `$1,234.50`, `$1,234`. */
export function dollars(value) {
  if (Math.abs(value) >= 1e15) return `$${value.toExponential(2)}`;
  const isSmall = value !== 0 && Math.abs(value) < 0.01;
  const cents = { maximumFractionDigits: 2, minimumFractionDigits: 2, trailingZeroDisplay: 'stripIfInteger' };
  const digits = isSmall ? { maximumSignificantDigits: 2 } : cents;
  return `$${value.toLocaleString('en-US', digits)}`;
}
