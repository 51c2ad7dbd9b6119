import type { ChainEventPruneOutcome, RetentionStore } from 'intentbook';
import { countOldEntries } from 'intentbook/store-kit';
import { firstKey, toValidTo } from './pruning.ts';
import type { Query } from './query.ts';
import { PLACEMENT, SETTLEMENT, TRADE, toNumberArray } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** An event, and the last id of its transaction. */
type EntryRow = readonly [xid: number, ordinal: number, id: number, at: number, last: number];
type ChainEventRow = readonly [block: number, log: number, time: number | null, type: number, due: boolean];

/** Without statistics of the tables, the planner would scan them. */
const NO_SCANS = "set_config('enable_seqscan', 'off', true)";

/** Creates the deletion of old data besides orders. */
export function createRetention(session: PostgresSession): RetentionStore {
  const { schema: s, prepare, read, write } = session;
  const prunedThrough = prepare<readonly [number]>(`SELECT pruned_through FROM ${s}.log_lock WHERE id = 1`);
  const removeDocuments = prepare(
    `DELETE FROM ${s}.documents WHERE hash = ANY(ARRAY(SELECT hash FROM ${s}.documents ` +
      'WHERE referenced AND used_until < $1 ORDER BY used_until LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1',
  );
  return {
    prunedThrough: () => read('read events', async (run) => (await run(prunedThrough))[0]?.[0] ?? 0),
    pruneEvents: createLogPruner(session),
    pruneChainEvents: createChainEventPruner(session),
    pruneDocuments: ({ before, limit }) =>
      write('remove old documents', async (run) => (await run(removeDocuments, before, limit)).length),
  };
}

/**
 * Creates the deletion of log entries. A transaction whose events are deleted in part keeps its row in `log`, with the
 * number of the remaining events. So the ids of these events do not change.
 */
function createLogPruner({ schema: s, prepare, write }: PostgresSession): RetentionStore['pruneEvents'] {
  const lock = prepare(`SELECT ${NO_SCANS} FROM ${s}.log_lock WHERE id = 1 FOR UPDATE`);
  const oldest = prepare<EntryRow>(
    'SELECT l.xid, e.ordinal, l.last - l.size + e.n, e.at, l.last FROM ' +
      '(SELECT * FROM (SELECT p.*, sum(p.size) OVER (ORDER BY p.last) - p.size AS earlier FROM ' +
      `(SELECT last, size, xid FROM ${s}.log ORDER BY last LIMIT $2) p) q WHERE q.earlier < $2) l CROSS JOIN LATERAL ` +
      `(SELECT row_number() OVER (ORDER BY x.ordinal) AS n, x.ordinal, x.at FROM ${s}.events x WHERE x.xid = l.xid) e ` +
      `WHERE l.last - l.size + e.n <= $1 AND l.last - l.size + e.n < (SELECT max(last) FROM ${s}.log) ORDER BY 3 LIMIT $2`,
  );
  // An ordinal identifies an event; the transaction is the first column of the index. Before version 17, two arrays
  // that an index is compared with cost a lookup for each pair.
  const remove = prepare(
    `DELETE FROM ${s}.events WHERE xid = ANY($1::bigint[]) AND ordinal IN (SELECT unnest($2::bigint[]))`,
  );
  const shorten = prepare(
    `UPDATE ${s}.log SET size = last - $1 WHERE last = (SELECT min(last) FROM ${s}.log WHERE last > $1) AND last - size < $1`,
  );
  const removeRows = prepare(`DELETE FROM ${s}.log WHERE last = ANY($1::bigint[])`);
  const recordPruned = prepare(`UPDATE ${s}.log_lock SET pruned_through = $1 WHERE id = 1`);

  return ({ before, through, limit }) =>
    write('remove old events', async (run) => {
      await run(lock);
      const rows = await run(oldest, through, limit);
      const due = rows.slice(
        0,
        countOldEntries(
          rows.map(([, , , at]) => at),
          before,
        ),
      );
      const end = due.at(-1)?.[2];
      if (end === undefined) return 0;
      const completed = new Set(due.map(([, , , , last]) => last).filter((last) => last <= end));
      await run(
        remove,
        [...new Set(due.map(([xid]) => xid))],
        due.map(([, ordinal]) => ordinal),
      );
      await run(removeRows, [...completed]);
      await run(shorten, end);
      await run(recordPruned, end);
      return due.length;
    });
}

/**
 * Returns SQL for whether the order of a chain event `f` has ended before `$4`; null if it has no order. A placement is
 * needed until the other events of its order are deleted. `OFFSET 0` keeps lookups by key: the planner would hash the
 * table.
 */
const hasEnded = (s: string) =>
  `CASE WHEN f.key IS NULL THEN NULL WHEN f.key < ${firstKey('$4')} THEN true ELSE EXISTS (SELECT FROM ${s}.chain_events p WHERE p.key = f.key ` +
  `AND p.type = ${PLACEMENT} AND (p.detail::json ->> 'userValidTo')::bigint < $4 OFFSET 0) AND (f.type <> ${PLACEMENT} OR ` +
  `NOT EXISTS (SELECT FROM ${s}.chain_events x WHERE x.key = f.key AND x.type <> ${PLACEMENT} OFFSET 0)) END`;

function createChainEventPruner({ schema: s, prepare, write }: PostgresSession): RetentionStore['pruneChainEvents'] {
  // Locked by every transaction that changes chain events.
  const lock = prepare(`SELECT ${NO_SCANS} FROM ${s}.progress WHERE id = 1 FOR UPDATE`);
  const examined = prepare<ChainEventRow>(
    `SELECT f.block, f.log, f."timestamp", f.type, coalesce((${hasEnded(s)}) AND ` +
      `(SELECT true FROM ${s}.orders o WHERE o.key = f.key OFFSET 0) IS NULL, f."timestamp" IS NOT NULL) ` +
      `FROM ${s}.chain_events f WHERE (f.block, f.log) > ($1, $2) AND ` +
      `f.block < coalesce((SELECT min(number) FROM ${s}.blocks), (SELECT number FROM ${s}.progress WHERE id = 1 AND hash IS NOT NULL), 0) ` +
      'ORDER BY f.block, f.log LIMIT $3',
  );
  // The first condition reads the index, whatever the planner expects of the second one.
  const listed =
    'f.block = ANY($1::bigint[]) AND (f.block, f.log) IN (SELECT * FROM unnest($1::bigint[], $2::integer[]))';
  const remove = prepare(`DELETE FROM ${s}.chain_events f WHERE ${listed}`);
  const removeSettlements = prepare(
    `DELETE FROM ${s}.chain_events f WHERE ${listed} AND NOT EXISTS (SELECT FROM ${s}.chain_events t ` +
      `WHERE t.transaction_hash = f.transaction_hash AND t.type = ${TRADE}) RETURNING 1`,
  );
  const select = (rows: readonly ChainEventRow[], areSettlements: boolean) =>
    rows.filter(([, , , type, due]) => due && (type === SETTLEMENT) === areSettlements);
  const toPositions = (rows: readonly ChainEventRow[]) => [
    toNumberArray(rows.map(([block]) => block)),
    toNumberArray(rows.map(([, log]) => log)),
  ];

  async function removeDue(run: Query, rows: readonly ChainEventRow[]): Promise<number> {
    const [events, settlements] = [select(rows, false), select(rows, true)];
    if (events.length > 0) await run(remove, ...toPositions(events));
    // A settlement follows its trades in the log.
    const removed = settlements.length === 0 ? [] : await run(removeSettlements, ...toPositions(settlements));
    return events.length + removed.length;
  }

  return ({ before, after, limit }) =>
    write('remove old chain events', async (run): Promise<ChainEventPruneOutcome> => {
      await run(lock);
      const position = [after?.blockNumber ?? -1, after?.logIndex ?? -1];
      const rows = await run(examined, ...position, limit, toValidTo(before));
      const end = rows.findIndex(([, , time]) => time !== null && time >= before);
      const removed = await removeDue(run, end < 0 ? rows : rows.slice(0, end));
      const last = rows.at(-1);
      if (end >= 0 || rows.length < limit || last === undefined) return { removed };
      return { removed, next: { blockNumber: last[0], logIndex: last[1] } };
    });
}
