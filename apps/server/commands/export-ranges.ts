import type { StoredOrder } from 'intentbook';

/** The position of an order in a listing, newest first. */
export type OrderKey = Pick<StoredOrder, 'creationDate' | 'uid'>;

/** Orders that follow each other in a listing, without a gap. */
export interface OrderRange {
  readonly first: OrderKey;
  last: OrderKey;
}

/** Orders between two ranges. Without `after`, from the newest order; without `until`, to the oldest. */
export interface OrderGap {
  readonly after: OrderKey | undefined;
  readonly until: OrderKey | undefined;
}

/** Returns whether the second order follows the first one in a listing. */
export function isOlder(newer: OrderKey, order: OrderKey): boolean {
  return compareKeys(newer, order) < 0;
}

/** Adds the next order of a file: to the last range, or as a new range if it does not follow it. */
export function addToRanges(ranges: OrderRange[], key: OrderKey): void {
  const current = ranges.at(-1);
  if (current !== undefined && isOlder(current.last, key)) current.last = key;
  else ranges.push({ first: key, last: key });
}

/** Returns the orders that no range contains: the oldest ones first, then the newer ones. */
export function getGaps(ranges: readonly OrderRange[]): readonly OrderGap[] {
  const merged: OrderRange[] = [];
  for (const range of ranges.toSorted((a, b) => compareKeys(a.first, b.first))) {
    const previous = merged.at(-1);
    if (previous === undefined || isOlder(previous.last, range.first)) merged.push({ ...range });
    else if (isOlder(previous.last, range.last)) previous.last = range.last;
  }
  const bounds = [undefined, ...merged, undefined];
  return bounds
    .slice(1)
    .map((next, i) => ({ after: bounds[i]?.last, until: next?.first }))
    .reverse();
}

/** Compares positions: by creation date, then by UID, both descending. */
function compareKeys(a: OrderKey, b: OrderKey): number {
  if (a.creationDate !== b.creationDate) return b.creationDate - a.creationDate;
  return a.uid === b.uid ? 0 : a.uid > b.uid ? -1 : 1;
}
