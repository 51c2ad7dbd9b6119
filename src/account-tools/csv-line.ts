/**
 * Formats values as a line of CSV (RFC 4180), with CRLF. A missing value is empty. A text that a spreadsheet would
 * evaluate as a formula is preceded by an apostrophe: also behind blanks and invisible characters, which some remove,
 * in full-width and small form, and behind a semicolon, at which the spreadsheets of many countries split.
 */
export function toCsvLine(values: readonly (string | number | boolean | null | undefined)[]): string {
  return `${values.map(toCsvField).join(',')}\r\n`;
}

/** Texts that need no inspection, and negative numbers. */
const PLAIN = /^(-?\d+(\.\d+)?|[A-Za-z0-9][A-Za-z0-9 .:_-]*)$/;

const FORMULA = /(^|;)[\s\p{C}\p{Z}]*[=+@＝＋＠－﹦﹢﹫﹣-]|^[\t\r\n]/u;

function toCsvField(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  // Nearly all fields are hex texts and numbers.
  if (PLAIN.test(value)) return value;
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
