/**
 * Returns the number of entries at the start of a log that are older than a time. It ends at the first that is not, so
 * that the remaining log has no holes.
 *
 * @param times - Times of the first entries, in the order of the log.
 */
export function countOldEntries(times: readonly number[], before: number): number {
  const first = times.findIndex((at) => at >= before);
  return first < 0 ? times.length : first;
}
