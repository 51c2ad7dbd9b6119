/**
 * Returns whether entries between a position and a page of a log are missing, because retention has deleted them or the
 * log has begun a new log epoch. Ids have no holes otherwise.
 *
 * @param after - The position from which the page was read.
 */
export function isAfterGap(after: number, page: readonly { readonly id: number }[]): boolean {
  const [first] = page;
  return first !== undefined && first.id > after + 1;
}
