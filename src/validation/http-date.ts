/** Parses a date of HTTP (RFC 9110, 5.6.7). Its oldest format has no zone, and is in UTC. NaN for another text. */
export function parseHttpDate(text: string): number {
  // A date begins with the day of the week. `Date.parse` accepts many other texts, and assumes local time.
  if (!/^[A-Za-z]/.test(text)) return Number.NaN;
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, does not read the clock
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
