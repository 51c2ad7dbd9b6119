/** Log entries per step. */
const BATCH = 500;

/** Reads the entries of a log above an id. */
type ReadAfter<Entry> = (id: number, limit: number) => Promise<readonly Entry[]>;

/** Iterates over the entries of a log above `after`, up to `through`. */
export async function* readLog<Entry extends { readonly id: number }>(
  readAfter: ReadAfter<Entry>,
  after: number,
  through: number,
): AsyncGenerator<readonly Entry[]> {
  for (let last = after; last < through; ) {
    const batch = (await readAfter(last, BATCH)).filter(({ id }) => id <= through);
    const end = batch.at(-1);
    if (end === undefined) return;
    yield batch;
    last = end.id;
  }
}

/**
 * @throws Error if a position is not one of the log, for example after a restore from a backup, or if entries after it
 * have been deleted.
 */
export async function assertCursor(
  { retention }: { readonly retention: { prunedThrough(): Promise<number> } },
  readAfter: ReadAfter<{ readonly id: number }>,
  after: number,
  last: number,
): Promise<void> {
  if (after > last) throw new Error(`after must be a position of the log, at most ${last}, got ${after}`);
  const [next] = await readAfter(after, 1);
  const pruned = await retention.prunedThrough();
  if (after > 0 && after < pruned)
    throw new Error(
      `after must be a position from ${pruned} up, which the log still has, got ${after}; export all rows`,
    );
  // The log has begun a new epoch, and the position may be that of an entry that was lost.
  if (after > 0 && next !== undefined && next.id > Math.max(after, pruned) + 1)
    throw new Error(`after must be a position of the current log, got ${after}; export all rows`);
}
