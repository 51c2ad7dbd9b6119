/**
 * Formats values as a line of CSV (RFC 4180), with CRLF. A missing value is empty. A text that a spreadsheet would
 * evaluate as a formula is preceded by an apostrophe.
 */
export function toCsvLine(values: readonly (string | number | boolean | null | undefined)[]): string {
  return `${values.map(toCsvField).join(',')}\r\n`;
}

function toCsvField(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  // Nearly all fields are hex texts and numbers.
  if (!/^[=+@\t\r-]|[",\r\n]/.test(value)) return value;
  const text = /^[=+@\t\r]|^-(?!\d+(\.\d+)?$)/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
