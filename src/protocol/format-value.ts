/** Formats a value for an error message. Objects are not rendered, because their text may be long, or fail. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 64));
  if (typeof value === 'bigint') return `${value}n`;
  if (value !== Object(value)) return String(value);
  if (typeof value === 'function') return 'a function';
  return Array.isArray(value) ? 'an array' : 'an object';
}

/** Formats a value that may contain a secret, such as the URL of a node with its key: the text is left out. */
export function formatSecret(value: unknown): string {
  return typeof value === 'string' ? 'a string' : formatValue(value);
}
