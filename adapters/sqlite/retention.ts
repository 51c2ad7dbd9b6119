import type { ChainEventPruneOutcome, ChainEventPruneRequest, DocumentPruneRequest, LogPruneRequest } from 'intentbook';
import { countOldEntries, unpackUid } from 'intentbook/store-kit';
import { bufferToHex, PLACEMENT, SETTLEMENT, TRADE } from './rows.ts';
import type { SqliteSession } from './session.ts';

type EntryRow = readonly [id: number, at: number];
type ChainEventRow = readonly [
  block: number,
  log: number,
  type: number,
  timestamp: number | null,
  uid: Buffer | null,
  transaction: Buffer,
];

/** Creates the deletion of old data besides orders. */
export function createRetention(session: SqliteSession) {
  const { prefix: p, prepare, read, write } = session;
  const prunedThrough = prepare(`SELECT pruned_through FROM ${p}log_retention`).pluck();
  const oldest = prepare(
    `SELECT id, at FROM ${p}events WHERE id <= ? AND id < (SELECT max(id) FROM ${p}events) ORDER BY id LIMIT ?`,
  ).raw();
  const removeEvents = prepare(`DELETE FROM ${p}events WHERE id <= ?`);
  const recordPruned = prepare(`UPDATE ${p}log_retention SET pruned_through = ?`);
  const removeDocuments = prepare(
    `DELETE FROM ${p}documents WHERE id IN (SELECT id FROM ${p}documents INDEXED BY ${p}documents_used ` +
      'WHERE referenced = 1 AND used_until < ? ORDER BY used_until LIMIT ?)',
  );

  return {
    prunedThrough: () => read('read events', () => prunedThrough.get() as number), // an integer, and the only row
    pruneEvents: ({ before, through, limit }: LogPruneRequest): number =>
      write('remove old events', () => {
        const rows = oldest.all(through, limit) as EntryRow[]; // the columns selected
        const count = countOldEntries(
          rows.map(([, at]) => at),
          before,
        );
        const last = rows[count - 1];
        if (last !== undefined) {
          removeEvents.run(last[0]);
          recordPruned.run(last[0]);
        }
        return count;
      }),
    pruneChainEvents: createChainEventPruner(session),
    pruneDocuments: ({ before, limit }: DocumentPruneRequest): number =>
      write('remove old documents', () => Number(removeDocuments.run(before, limit).changes)),
  };
}

function createChainEventPruner({ prefix: p, prepare, write }: SqliteSession) {
  const examined = prepare(
    `SELECT block, log, type, timestamp, uid, transaction_hash FROM ${p}chain_events WHERE (block, log) > (?, ?) ` +
      `AND block < coalesce((SELECT min(number) FROM ${p}blocks), (SELECT number FROM ${p}progress WHERE hash IS NOT NULL), 0) ` +
      'ORDER BY block, log LIMIT ?',
  ).raw();
  const isStored = prepare(`SELECT 1 FROM ${p}orders WHERE uid = ?`).pluck();
  const hasTrade = prepare(
    `SELECT 1 FROM ${p}chain_events WHERE transaction_hash = ? AND type = ${TRADE} LIMIT 1`,
  ).pluck();
  const remove = prepare(`DELETE FROM ${p}chain_events WHERE block = ? AND log = ?`);
  const hasEndedPlacement = prepare(
    `SELECT 1 FROM ${p}chain_events WHERE uid = ? AND type = ${PLACEMENT} ` +
      "AND json_extract(detail, '$.userValidTo') < ? LIMIT 1",
  ).pluck();
  const hasOtherEvent = prepare(
    `SELECT 1 FROM ${p}chain_events WHERE uid = ? AND type <> ${PLACEMENT} LIMIT 1`,
  ).pluck();

  /** Returns whether the order has ended. A placement is needed until the other events of its order are deleted. */
  function hasEnded(uid: Buffer, type: number, before: number): boolean {
    if (unpackUid(bufferToHex(uid)).validTo < before) return true;
    if (hasEndedPlacement.get(uid, before) === undefined) return false;
    return type !== PLACEMENT || hasOtherEvent.get(uid) === undefined;
  }

  function isDue([, , type, timestamp, uid, transaction]: ChainEventRow, before: number): boolean {
    if (uid !== null) return isStored.get(uid) === undefined && hasEnded(uid, type, before);
    // A settlement follows its trades in the log.
    return type === SETTLEMENT && timestamp !== null && hasTrade.get(transaction) === undefined;
  }

  return ({ before, after, limit }: ChainEventPruneRequest): ChainEventPruneOutcome =>
    write('remove old chain events', () => {
      const rows = examined.all(after?.blockNumber ?? -1, after?.logIndex ?? -1, limit) as ChainEventRow[]; // selected
      let removed = 0;
      for (const row of rows) {
        const [block, log, , timestamp] = row;
        if (timestamp !== null && timestamp >= before) return { removed };
        if (!isDue(row, before)) continue;
        remove.run(block, log);
        removed++;
      }
      const last = rows.at(-1);
      if (rows.length < limit || last === undefined) return { removed };
      return { removed, next: { blockNumber: last[0], logIndex: last[1] } };
    });
}
