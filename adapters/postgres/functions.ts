import { isEntry, isOrder, ownerPrefix } from './conditions.ts';
import { getEpochStart, isOriginal, TIMELINE, XID } from './log-epoch.ts';
import { EVENT_TYPES, LIVE } from './rows.ts';
import { PARTITION_SETTINGS } from './tables.ts';

const CREATED = EVENT_TYPES.indexOf('created');
const CANCELLED = EVENT_TYPES.indexOf('cancelled');
const REINSTATED = EVENT_TYPES.indexOf('reinstated');

/**
 * Returns SQL for the functions that write orders. Each is one statement of the client, so a write takes one round
 * trip, and a client that freezes or dies between two statements cannot keep a lock.
 *
 * `lock_timeout` limits the wait for the lock of an owner. Sequential scans are disabled, because a plan that is cached
 * while a table is nearly empty would be used until the next `ANALYZE`.
 */
export function createFunctions(s: string, partitions: number): string {
  const options = getOptions(partitions);
  return `
CREATE FUNCTION ${s}.cancel_rejection(phase smallint, valid_to bigint, scheme smallint, now bigint)
RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN phase IS NULL THEN 1
    WHEN phase = 5 THEN 2
    WHEN phase = 4 THEN 3
    WHEN valid_to < now THEN 4
    WHEN phase IN (1, 3) OR scheme > 1 THEN 5
    ELSE 0
  END
$$;

CREATE FUNCTION ${s}.live_count(p_owner bytea, p_quota_class integer, p_now bigint)
RETURNS bigint LANGUAGE plpgsql STABLE ${options} AS $$
DECLARE
  live bigint;
  expired bigint;
  own bigint;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE e.owner = p_owner AND e.quota_class = p_quota_class) INTO expired, own
  FROM (SELECT owner, quota_class FROM ${s}.orders WHERE ${LIVE} AND valid_to < p_now LIMIT ${MAX_EXPIRED_SCAN}) e;
  IF expired < ${MAX_EXPIRED_SCAN} THEN
    SELECT CASE p_quota_class WHEN 0 THEN w.live_open ELSE w.live_pending END INTO live
    FROM ${s}.owners w WHERE w.owner = p_owner;
    RETURN coalesce(live, 0) - own;
  END IF;
  SELECT count(*) INTO live FROM ${s}.orders o
  WHERE ${ownerPrefix('o.owner')} = ${ownerPrefix('p_owner')} AND o.owner = p_owner AND o.phase IN (0, 1) AND o.quota_class = p_quota_class AND o.valid_to >= p_now;
  RETURN live;
END $$;

CREATE FUNCTION ${s}.lock_owners(p_owners bytea[], p_skip boolean)
RETURNS bytea[] LANGUAGE plpgsql ${options} AS $$
DECLARE
  held bytea[];
  missing bytea[];
  added bytea;
BEGIN
  missing := ARRAY(
    SELECT o FROM unnest(p_owners) o WHERE NOT EXISTS (SELECT FROM ${s}.owners w WHERE w.owner = o) ORDER BY o
  );
  IF p_skip AND cardinality(missing) > 0 THEN
    -- A new owner of an uncommitted transaction cannot be skipped, so the wait for it is short.
    PERFORM set_config('lock_timeout', '${SKIP_TIMEOUT}', true);
    FOREACH added IN ARRAY missing LOOP
      BEGIN
        INSERT INTO ${s}.owners (owner, live_open, live_pending) VALUES (added, 0, 0) ON CONFLICT DO NOTHING;
      EXCEPTION WHEN lock_not_available THEN
        NULL; -- left out below
      END;
    END LOOP;
  ELSIF cardinality(missing) > 0 THEN
    INSERT INTO ${s}.owners (owner, live_open, live_pending)
    SELECT o, 0, 0 FROM unnest(missing) o ORDER BY o ON CONFLICT DO NOTHING;
  END IF;
  IF p_skip THEN
    SELECT array_agg(l.owner) INTO held FROM (
      SELECT w.owner FROM (SELECT o FROM unnest(p_owners) o ORDER BY o) p CROSS JOIN LATERAL
        (SELECT x.owner FROM ${s}.owners x WHERE x.owner = p.o FOR NO KEY UPDATE SKIP LOCKED) w
    ) l;
  ELSE
    SELECT array_agg(l.owner) INTO held FROM (
      SELECT w.owner FROM (SELECT o FROM unnest(p_owners) o ORDER BY o) p CROSS JOIN LATERAL
        (SELECT x.owner FROM ${s}.owners x WHERE x.owner = p.o FOR NO KEY UPDATE) w
    ) l;
  END IF;
  RETURN coalesce(held, '{}');
END $$;

CREATE FUNCTION ${s}.cancel_stored(p_keys bytea[], p_at bigint)
RETURNS void LANGUAGE sql AS $$
  WITH found AS (
    SELECT k.key, k.ordinal, o.phase FROM unnest(p_keys) WITH ORDINALITY k (key, ordinal)
    JOIN ${s}.orders o ON ${isOrder('o', 'k.key')}
  ), cancelled AS (
    UPDATE ${s}.orders o SET phase = 4, invalidated = true, cancelled_off_chain = true,
      version = coalesce(f.version, o.version) + 1,
      executed_sell_amount = coalesce(f.executed_sell_amount, o.executed_sell_amount),
      executed_buy_amount = coalesce(f.executed_buy_amount, o.executed_buy_amount),
      executed_fee_amount = coalesce(f.executed_fee_amount, o.executed_fee_amount),
      executed_fee = coalesce(f.executed_fee, o.executed_fee),
      executed_fee_token = coalesce(f.executed_fee_token, o.executed_fee_token)
    FROM found k LEFT JOIN ${s}.fills f ON ${isEntry('f', 'k.key')}
    WHERE ${isOrder('o', 'k.key')} RETURNING o.owner, o.quota_class, k.phase
  ), filled AS (
    DELETE FROM ${s}.fills f USING unnest(p_keys) k WHERE ${isEntry('f', 'k')}
  ), logged AS (
    -- A recorded expiry is reverted first. Only orders with an ECDSA signature are cancelled, whose expiry is logged.
    INSERT INTO ${s}.events (xid, at, type, key)
    SELECT ${XID}, p_at, t.type, k.key FROM found k
    CROSS JOIN (VALUES (0, ${REINSTATED}), (1, ${CANCELLED})) t (n, type)
    WHERE t.n = 1 OR k.phase IN (2, 3) ORDER BY k.ordinal, t.n
  )
  UPDATE ${s}.owners w SET live_open = w.live_open - c.open, live_pending = w.live_pending - c.pending
  FROM (
    SELECT owner, count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending
    FROM cancelled WHERE phase < 2 GROUP BY owner
  ) c WHERE w.owner = c.owner
$$;

CREATE FUNCTION ${s}.cancel_orders(p_keys bytea[], p_now bigint, p_at bigint)
RETURNS bigint LANGUAGE plpgsql ${options} AS $$
DECLARE
  rejection bigint;
BEGIN
  -- The first check takes no lock: a rejection was correct at the time of the read.
  FOR attempt IN 1..2 LOOP
    SELECT c.ordinal * 10 + c.reason INTO rejection FROM (
      SELECT k.ordinal, ${s}.cancel_rejection(o.phase, o.valid_to, o.signing_scheme, p_now) AS reason
      FROM unnest(p_keys) WITH ORDINALITY k (key, ordinal) LEFT JOIN ${s}.orders o ON ${isOrder('o', 'k.key')}
    ) c WHERE c.reason > 0 ORDER BY c.reason <> 1, c.ordinal LIMIT 1;
    IF FOUND THEN
      RETURN rejection;
    END IF;
    IF attempt = 1 THEN
      PERFORM ${s}.lock_owners(ARRAY(SELECT DISTINCT substr(k, 37) FROM unnest(p_keys) k), false);
    END IF;
  END LOOP;
  PERFORM ${s}.cancel_stored(p_keys, p_at);
  RETURN 0;
END $$;

CREATE FUNCTION ${s}.insert_orders(
  p_skip boolean, p_split boolean, p_attempt integer, p_created bigint[], p_valid_to bigint[], p_scheme smallint[], p_phase smallint[],
  p_quota_class smallint[], p_key bytea[], p_sell bytea[], p_buy bytea[], p_app bytea[], p_bodies text, p_checksum integer[], p_quotes text[],
  p_quota bigint[], p_replaces bytea[], p_hash bytea[], p_document text[])
RETURNS bigint[] LANGUAGE plpgsql ${options} AS $$
DECLARE
  bodies text[] := string_to_array(p_bodies, chr(30));
  held bytea[];
  outcomes bigint[];
  stored bigint[];
  r record;
  old record;
  reason integer;
  used bigint;
BEGIN
  IF cardinality(bodies) <> cardinality(p_key) THEN
    RAISE EXCEPTION 'a body contains a control character' USING ERRCODE = 'invalid_json_text';
  END IF;
  held := ${s}.lock_owners(ARRAY(SELECT DISTINCT substr(k, 37) FROM unnest(p_key) k), p_skip);
  -- Chain events that are already stored are applied by the caller, one order at a time.
  IF NOT p_split AND EXISTS (
    SELECT FROM ${s}.chain_events e WHERE e.key = ANY(p_key)
      AND NOT EXISTS (SELECT FROM ${s}.orders o WHERE ${isOrder('o', 'e.key')})
  ) THEN
    RETURN ARRAY[${OUTCOMES.split}];
  END IF;

  IF EXISTS (SELECT FROM unnest(p_replaces) x WHERE x IS NOT NULL)
    OR (SELECT count(DISTINCT k) < count(*) FROM unnest(p_key) k)
    OR EXISTS (
      SELECT FROM (
        SELECT substr(q.key, 37) AS owner, min(q.quota) AS quota, count(*) AS n, max(q.quota_class) AS quota_class
        FROM unnest(p_key, p_quota, p_quota_class) q (key, quota, quota_class) GROUP BY 1
      ) i JOIN ${s}.owners w ON w.owner = i.owner
      WHERE i.quota < i.n + CASE i.quota_class WHEN 0 THEN w.live_open ELSE greatest(w.live_open, w.live_pending) END
    )
  THEN
    -- One order after the other, as if each were inserted before the next is checked.
    outcomes := '{}';
    FOR r IN SELECT * FROM ${INPUT} ORDER BY i.ordinal LOOP
      IF NOT substr(r.key, 37) = ANY(held) THEN
        outcomes := outcomes || ${OUTCOMES.busy}::bigint;
        CONTINUE;
      END IF;
      IF EXISTS (SELECT FROM ${s}.orders o WHERE ${isOrder('o', 'r.key')})
        OR EXISTS (SELECT FROM ${s}.tombstones t WHERE ${isEntry('t', 'r.key')})
      THEN
        outcomes := outcomes || ${OUTCOMES.duplicate}::bigint;
        CONTINUE;
      END IF;
      used := 0;
      IF r.replaces IS NOT NULL THEN
        SELECT o.phase, o.valid_to, o.signing_scheme, o.quota_class INTO old FROM ${s}.orders o
        WHERE ${isOrder('o', 'r.replaces')};
        reason := ${s}.cancel_rejection(old.phase, old.valid_to, old.signing_scheme, r.created / 1000);
        IF reason > 0 THEN
          outcomes := outcomes || (${OUTCOMES.notReplaceable} + reason)::bigint;
          CONTINUE;
        END IF;
        used := CASE WHEN old.quota_class = r.quota_class AND old.phase < 2 THEN -1 ELSE 0 END;
      END IF;
      IF r.quota IS NOT NULL THEN
        used := used + ${s}.live_count(substr(r.key, 37), r.quota_class, r.created / 1000);
        IF used >= r.quota THEN
          outcomes := outcomes || (${OUTCOMES.quotaExceeded} + used);
          CONTINUE;
        END IF;
      END IF;
      IF r.replaces IS NOT NULL THEN
        PERFORM ${s}.cancel_stored(ARRAY[r.replaces], r.created);
      END IF;
      INSERT INTO ${s}.orders (${COLUMNS}) VALUES (${VALUES('r')});
      INSERT INTO ${s}.events (xid, at, type, key) VALUES (${XID}, r.created, ${CREATED}, r.key);
      UPDATE ${s}.owners w SET live_open = w.live_open + CASE r.quota_class WHEN 0 THEN 1 ELSE 0 END,
        live_pending = w.live_pending + CASE r.quota_class WHEN 1 THEN 1 ELSE 0 END
      WHERE w.owner = substr(r.key, 37);
      stored := stored || r.ordinal;
      outcomes := outcomes || ${OUTCOMES.inserted}::bigint;
    END LOOP;
  ELSE
    WITH input AS MATERIALIZED (
      SELECT * FROM ${INPUT}
    ), inserted AS (
      INSERT INTO ${s}.orders (${COLUMNS})
      SELECT ${VALUES('i')} FROM input i WHERE substr(i.key, 37) = ANY(held)
        AND NOT EXISTS (SELECT FROM ${s}.tombstones t WHERE ${isEntry('t', 'i.key')}) ORDER BY i.ordinal
      ON CONFLICT DO NOTHING RETURNING key, owner, quota_class
    ), logged AS (
      INSERT INTO ${s}.events (xid, at, type, key)
      SELECT ${XID}, i.created, ${CREATED}, i.key FROM input i WHERE i.key IN (SELECT key FROM inserted) ORDER BY i.ordinal
    ), counted AS (
      UPDATE ${s}.owners w SET live_open = w.live_open + c.open, live_pending = w.live_pending + c.pending
      FROM (
        SELECT owner, count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending
        FROM inserted GROUP BY owner
      ) c WHERE w.owner = c.owner
    )
    SELECT array_agg(CASE WHEN n.key IS NOT NULL THEN ${OUTCOMES.inserted}
        WHEN substr(i.key, 37) = ANY(held) THEN ${OUTCOMES.duplicate} ELSE ${OUTCOMES.busy} END ORDER BY i.ordinal),
      array_agg(i.ordinal) FILTER (WHERE n.key IS NOT NULL)
    INTO outcomes, stored FROM input i LEFT JOIN inserted n ON n.key = i.key;
  END IF;

  IF stored IS NOT NULL THEN
    -- In the order of the hashes, so that concurrent inserts with the same documents cannot cause a deadlock.
    INSERT INTO ${s}.documents AS k (hash, document, referenced, used_until)
    SELECT u.hash, coalesce(x.document, u.document), true, u.valid_to + ${DOCUMENT_MARGIN}
    FROM (
      SELECT d.hash, max(o.valid_to) AS valid_to,
        (array_agg(d.document ORDER BY o.ordinal) FILTER (WHERE d.document IS NOT NULL))[1] AS document
      FROM unnest(p_app, p_hash, p_document, p_valid_to) WITH ORDINALITY o (app, hash, document, valid_to, ordinal)
      CROSS JOIN LATERAL (VALUES (o.app, NULL), (o.hash, o.document)) d (hash, document)
      WHERE o.ordinal = ANY(stored) AND d.hash IS NOT NULL GROUP BY d.hash
    ) u LEFT JOIN LATERAL (
      SELECT * FROM ${s}.documents x WHERE x.hash = u.hash OFFSET 0
    ) x ON true
    WHERE coalesce(x.document, u.document) IS NOT NULL AND (x.used_until IS NULL OR x.used_until <= u.valid_to)
    ORDER BY u.hash
    ON CONFLICT (hash) DO UPDATE SET referenced = true, used_until = greatest(k.used_until, excluded.used_until);
  END IF;
  RETURN outcomes;
END $$;

CREATE FUNCTION ${s}.number_events(p_channel text, p_signature text)
RETURNS bigint LANGUAGE plpgsql ${options} AS $$
DECLARE
  newest bigint := 0;
  seen pg_snapshot := '1:1:';
  epoch_start bigint;
  numbered bigint;
BEGIN
  FOR attempt IN 1..2 LOOP
    SELECT l.last, l.snapshot INTO newest, seen FROM ${s}.log l ORDER BY l.last DESC LIMIT 1;
    newest := coalesce(newest, 0);
    seen := coalesce(seen, '1:1:');
    IF NOT EXISTS (SELECT FROM ${unnumbered(s, 'xid')} e) THEN
      RETURN newest;
    END IF;
    IF attempt = 1 THEN
      -- One process at a time. The snapshot of each later statement includes everything committed by then.
      PERFORM FROM ${s}.log_lock FOR UPDATE;
    END IF;
  END LOOP;
  SELECT i.start INTO epoch_start FROM ${s}.log_epochs i
  WHERE i.start = (SELECT max(start) FROM ${s}.log_epochs) AND i.timeline = ${TIMELINE} AND ${isOriginal('i')};
  IF NOT FOUND THEN
    SELECT greatest(newest, max(i.start)) INTO epoch_start FROM ${s}.log_epochs i;
    INSERT INTO ${s}.log_epochs (start, system, timeline, xid)
    SELECT ${getEpochStart('epoch_start')}, coalesce((SELECT x.system FROM ${s}.log_epochs x ORDER BY x.start DESC LIMIT 1), ''),
      ${TIMELINE}, ${XID}
    RETURNING start INTO epoch_start;
  END IF;
  newest := greatest(newest, epoch_start);
  INSERT INTO ${s}.log (last, size, xid, snapshot)
  SELECT newest + sum(u.n) OVER w, u.n, u.xid, CASE WHEN u.o = max(u.o) OVER () THEN pg_current_snapshot() END
  FROM (
    SELECT e.xid, count(*) AS n, max(e.ordinal) AS o FROM ${unnumbered(s, 'xid, ordinal')} e GROUP BY e.xid
  ) u WINDOW w AS (ORDER BY u.o);
  SELECT max(l.last) INTO numbered FROM ${s}.log l;
  IF p_channel IS NOT NULL THEN
    PERFORM pg_notify(p_channel, p_signature);
  END IF;
  RETURN numbered;
END $$;

CREATE FUNCTION ${s}.read_events(p_after bigint, p_limit bigint, p_channel text, p_signature text)
RETURNS TABLE (id bigint, type smallint, key bytea, at bigint, cause text) LANGUAGE plpgsql ${options} AS $$
#variable_conflict use_column
BEGIN
  PERFORM ${s}.number_events(p_channel, p_signature);
  RETURN QUERY
    SELECT l.last - l.size + e.n, e.type, e.key, e.at, e.cause
    FROM (
      -- Events of earlier transactions on the page, including those of the first that are already read.
      SELECT p.*, sum(p.size) OVER w - p.size AS earlier,
        greatest(p_after - first_value(p.last - p.size) OVER w, 0) AS skipped
      FROM (SELECT * FROM ${s}.log WHERE last > p_after ORDER BY last LIMIT p_limit) p
      WINDOW w AS (ORDER BY p.last)
    ) l CROSS JOIN LATERAL (
      SELECT row_number() OVER (ORDER BY x.ordinal) AS n, x.* FROM ${s}.events x WHERE x.xid = l.xid
    ) e
    WHERE l.earlier < p_limit + l.skipped AND l.last - l.size + e.n > p_after
    ORDER BY 1 LIMIT p_limit;
END $$;
`;
}

/** Outcomes of an insert. To the last two, a reason or a number is added. */
export const OUTCOMES = {
  inserted: 0,
  duplicate: 1,
  busy: 2,
  split: 3,
  notReplaceable: 10,
  quotaExceeded: 100,
} as const;

/** Limit for counting expired orders that are still live. Above it, the valid orders of the owner are counted. */
const MAX_EXPIRED_SCAN = 1000;

/** Seconds that a document is needed longer than its orders. */
export const DOCUMENT_MARGIN = 604_800;

/** Time that an insert that skips locked owners waits for a new owner of another transaction, in milliseconds. */
const SKIP_TIMEOUT = 20;

const OPTIONS = "SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan";

/** Returns the settings of a function. */
function getOptions(partitions: number): string {
  const disabled = partitions === 1 ? (['enable_seqscan'] as const) : PARTITION_SETTINGS;
  return [OPTIONS, ...disabled.map((name) => `SET ${name} = off`)].join(' ');
}

/** Returns SQL for the events of transactions that were not visible in the snapshot `seen`. */
const unnumbered = (s: string, columns: string) =>
  `(SELECT ${columns} FROM ${s}.events WHERE xid >= pg_snapshot_xmax(seen)::text::bigint UNION ALL ` +
  `SELECT ${columns} FROM ${s}.events WHERE xid = ANY(ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(seen) x)))`;

const INPUT =
  'unnest(p_created, p_valid_to, p_scheme, p_phase, p_quota_class, p_key, p_sell, p_buy, p_app, bodies, p_checksum, p_quotes, ' +
  'p_quota, p_replaces) WITH ORDINALITY i (created, valid_to, scheme, phase, quota_class, key, sell, buy, app, body, checksum, ' +
  'quote, quota, replaces, ordinal)';

const COLUMNS =
  'created, valid_to, attempt, checksum, signing_scheme, phase, quota_class, key, owner, sell_token, buy_token, app_data, ' +
  'body, quote';

const VALUES = (r: string) =>
  `${r}.created, ${r}.valid_to, p_attempt, ${r}.checksum, ${r}.scheme, ${r}.phase, ${r}.quota_class, ${r}.key, substr(${r}.key, 37), ${r}.sell, ${r}.buy, ` +
  `${r}.app, ${r}.body, ${r}.quote`;
