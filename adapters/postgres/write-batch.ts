import type { Hex } from 'intentbook';
import type { PlannedChanges } from './plan-inserts.ts';
import type { Query } from './query.ts';
import { BUDGETS, NO_QUOTE, SCHEMES, STATES, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/**
 * Creates a function that writes the changes of a transaction in one statement and one round trip.
 *
 * @returns A function that returns the inserted orders, without duplicates, and whether each has stored chain events.
 */
export function createBatchWriter({
  schema: s,
  prepare,
}: PostgresSession): (
  run: Query,
  changes: PlannedChanges,
) => Promise<ReadonlyMap<Hex, { readonly hasChainEvents: boolean }>> {
  const cancelled = STATES.indexOf('cancelled');
  const statement = prepare<readonly [uid: Hex, hasChainEvents: boolean]>(`
    WITH inserted AS (
      INSERT INTO ${s}.orders (created, valid_to, version, signing_scheme, state, budget, live, invalidated,
        cancelled_off_chain, uid, owner, sell_token, buy_token, app_data, body, quote, quote_metadata)
      SELECT created, valid_to, CASE WHEN ended THEN 2 ELSE 1 END, scheme,
        CASE WHEN ended THEN ${cancelled} ELSE state END,
        budget, NOT ended, ended, ended, uid, owner, sell_token, buy_token, app_data, body, quote, metadata
      FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::boolean[], $7::bytea[],
        $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::text[], $21::text[], $22::text[]) WITH ORDINALITY
        o (created, valid_to, scheme, state, budget, ended, uid, owner, sell_token, buy_token, app_data, body, quote,
        metadata, ordinal)
      WHERE NOT EXISTS (SELECT FROM ${s}.tombstones t WHERE t.uid = o.uid)
      ORDER BY ordinal
      ON CONFLICT (uid) DO NOTHING
      RETURNING uid, owner, budget, live, app_data
    ), documented AS (
      INSERT INTO ${s}.documents AS k (hash, document, referenced)
      SELECT DISTINCT ON (d.hash) d.hash, d.document, true
      FROM unnest($13::bytea[], $14::text[], $15::bytea[]) WITH ORDINALITY d (hash, document, uid, ordinal)
      JOIN inserted USING (uid)
      WHERE NOT EXISTS (SELECT 1 FROM ${s}.documents r WHERE r.hash = d.hash AND r.referenced)
      ORDER BY d.hash, d.ordinal
      ON CONFLICT (hash) DO UPDATE SET referenced = true WHERE NOT k.referenced
    ), referred AS (
      UPDATE ${s}.documents SET referenced = true
      WHERE NOT referenced AND hash IN (SELECT app_data FROM inserted) AND hash <> ALL ($13::bytea[])
    ), cancelled AS (
      UPDATE ${s}.orders SET state = ${cancelled}, live = false, invalidated = true, cancelled_off_chain = true,
        version = version + 1
      WHERE uid = ANY($16::bytea[])
      RETURNING owner, budget
    ), recorded AS (
      INSERT INTO ${s}.event_queue (type, uid, owner, at)
      SELECT e.type, e.uid, e.owner, e.at
      FROM unnest($17::text[], $18::bytea[], $19::bytea[], $20::bigint[]) WITH ORDINALITY e (type, uid, owner, at, ordinal)
      WHERE e.type <> 'created' OR e.uid IN (SELECT uid FROM inserted)
      ORDER BY e.ordinal
    ), counted AS (
      UPDATE ${s}.owners w SET live_open = w.live_open + d.open, live_pending = w.live_pending + d.pending
      FROM (
        SELECT owner, sum(CASE budget WHEN 0 THEN n ELSE 0 END) AS open,
          sum(CASE budget WHEN 1 THEN n ELSE 0 END) AS pending
        FROM (SELECT owner, budget, 1 AS n FROM inserted WHERE live UNION ALL SELECT owner, budget, -1 FROM cancelled) c
        GROUP BY owner
      ) d WHERE w.owner = d.owner
    )
    SELECT i.uid, EXISTS (SELECT 1 FROM ${s}.chain_events f WHERE f.uid = i.uid) FROM inserted i`);

  return async (run, { insert, documents, cancel, events }) => {
    const orders = insert.map(({ order }) => order);
    const rows = await run(
      statement,
      orders.map(({ creationDate }) => creationDate),
      orders.map(({ validTo }) => validTo),
      orders.map(({ signingScheme }) => SCHEMES.indexOf(signingScheme)),
      orders.map(({ state }) => STATES.indexOf(state)),
      orders.map(({ budget }) => BUDGETS.indexOf(budget)),
      insert.map((each) => each.cancelled),
      orders.map(({ uid }) => toBytes(uid)),
      orders.map(({ owner }) => toBytes(owner)),
      orders.map(({ sellToken }) => toBytes(sellToken)),
      orders.map(({ buyToken }) => toBytes(buyToken)),
      orders.map(({ appData }) => toBytes(appData)),
      orders.map(({ body }) => body),
      documents.map(({ hash }) => toBytes(hash)),
      documents.map(({ document }) => document),
      documents.map(({ uid }) => toBytes(uid)),
      cancel.map(({ uid }) => toBytes(uid)),
      events.map(({ type }) => type),
      events.map(({ uid }) => toBytes(uid)),
      events.map(({ owner }) => toBytes(owner)),
      events.map(({ at }) => at),
      orders.map(({ quote }) => quote?.body ?? NO_QUOTE),
      orders.map(({ quote }) => quote?.metadata ?? null),
    );
    return new Map(rows.map(([uid, hasChainEvents]) => [uid, { hasChainEvents }]));
  };
}
