/**
 * Parses a date and a time of RFC 3339 from another service. Without a zone, it is in UTC, not in the zone of the host.
 *
 * @returns Milliseconds since 1970. `undefined` for another value.
 */
export function parseDateTime(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d[T ]/.test(value)) return undefined;
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, does not read the clock
  const time = Date.parse(addZone(value));
  return Number.isNaN(time) ? undefined : time;
}

/** Adds the zone UTC to a date and a time without a zone. */
export const addZone = (text: string) => (/(?:Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`);
