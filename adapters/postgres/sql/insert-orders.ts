import { ownerPrefix } from '../conditions.ts';
import { XID } from '../log-epoch.ts';
import { EVENT_TYPES, LIVE } from '../rows.ts';
import { type SqlFunction, WRITE_SETTINGS } from './function.ts';

const CREATED = EVENT_TYPES.indexOf('created');

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

/**
 * Returns the statement that stores and refers to the documents of orders.
 *
 * @param input - Lists of app-data hashes, hashes of documents, documents, and ends of validity.
 * @param condition - Selects orders `o`.
 * @param creator - The transaction of the host with which the documents become visible. Default: they are visible.
 */
export const referDocuments = (s: string, input: string, condition: string, creator?: string) => `
    -- In the order of the hashes, so that concurrent inserts with the same documents cannot cause a deadlock.
    INSERT INTO ${s}.documents AS k (hash, document, referenced, used_until, creators)
    SELECT u.hash, coalesce(x.document, u.document), true, u.valid_to + ${DOCUMENT_MARGIN}, ${creator === undefined ? 'NULL' : `ARRAY[${creator}]`}
    FROM (
      SELECT d.hash, max(o.valid_to) AS valid_to,
        (array_agg(d.document ORDER BY o.ordinal) FILTER (WHERE d.document IS NOT NULL))[1] AS document
      FROM unnest(${input}) WITH ORDINALITY o (app, hash, document, valid_to, ordinal)
      CROSS JOIN LATERAL (VALUES (o.app, NULL), (o.hash, o.document)) d (hash, document)
      WHERE ${condition} AND d.hash IS NOT NULL GROUP BY d.hash
    ) u LEFT JOIN LATERAL (
      SELECT * FROM ${s}.documents x WHERE x.hash = u.hash OFFSET 0
    ) x ON true
    WHERE coalesce(x.document, u.document) IS NOT NULL AND (x.used_until IS NULL OR x.used_until <= u.valid_to OR NOT ${isVisible('x.creators')})
    ORDER BY u.hash
    ON CONFLICT (hash) DO UPDATE SET referenced = true, used_until = greatest(k.used_until, excluded.used_until),
      creators = CASE WHEN excluded.creators IS NULL OR ${isVisible('k.creators')} THEN NULL ELSE k.creators || excluded.creators END`;

/**
 * Returns SQL for whether a document is visible. One that was stored for transactions of the host is visible when one
 * of them is committed. It is stored before they end, so that its row is not locked until then.
 */
export const isVisible = (creators: string) =>
  `(${creators} IS NULL OR EXISTS (SELECT FROM unnest(${creators}) t WHERE ` +
  // A number of a restored dump may be that of a later transaction, whose status is an error.
  "CASE WHEN t < pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN coalesce(pg_xact_status(t::text::xid8), 'committed') = 'committed' " +
  'ELSE false END))';

/** Returns the functions that insert orders, with the quotas of their owners. */
export const createInsertFunctions = (s: string): readonly SqlFunction[] => [
  createLiveCount(s),
  createLockOwners(s),
  createInsertOrders(s),
];

const createLiveCount = (s: string): SqlFunction => ({
  name: 'live_count',
  parameters: 'p_owner bytea, p_quota_class integer, p_now bigint',
  returns: 'bigint',
  language: 'plpgsql STABLE',
  settings: WRITE_SETTINGS,
  body: `
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
END 
`,
});

/** Locks the rows of owners, and returns the owners that are locked. */
const createLockOwners = (s: string): SqlFunction => ({
  name: 'lock_owners',
  parameters: 'p_owners bytea[], p_skip boolean',
  returns: 'bytea[]',
  language: 'plpgsql',
  settings: WRITE_SETTINGS,
  body: `
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
END 
`,
});

/** Inserts orders one after the other, as if each were inserted before the next is checked. Within `insert_orders`. */
const insertOneByOne = (
  s: string,
) => `    -- One order after the other, as if each were inserted before the next is checked.
    outcomes := '{}';
    FOR r IN SELECT * FROM ${INPUT} ORDER BY i.ordinal LOOP
      IF NOT substr(r.key, 37) = ANY(held) THEN
        outcomes := outcomes || ${OUTCOMES.busy}::bigint;
        CONTINUE;
      END IF;
      IF EXISTS (SELECT FROM ${s}.orders o WHERE o.key = r.key)
        OR EXISTS (SELECT FROM ${s}.tombstones t WHERE t.key = r.key)
      THEN
        outcomes := outcomes || ${OUTCOMES.duplicate}::bigint;
        CONTINUE;
      END IF;
      used := 0;
      IF r.replaces IS NOT NULL THEN
        SELECT o.phase, o.valid_to, o.signing_scheme, o.quota_class INTO old FROM ${s}.orders o
        WHERE o.key = r.replaces;
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
    END LOOP;`;

const createInsertOrders = (s: string): SqlFunction => ({
  name: 'insert_orders',
  parameters: `
    p_skip boolean, p_split boolean, p_attempt integer, p_created bigint[], p_valid_to bigint[], p_scheme smallint[], p_phase smallint[],
    p_quota_class smallint[], p_key bytea[], p_sell bytea[], p_buy bytea[], p_app bytea[], p_bodies text, p_checksum integer[], p_quotes text[],
    p_quota bigint[], p_replaces bytea[], p_hash bytea[], p_document text[]`,
  returns: 'bigint[]',
  language: 'plpgsql',
  settings: WRITE_SETTINGS,
  body: `
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
      AND NOT EXISTS (SELECT FROM ${s}.orders o WHERE o.key = e.key)
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
${insertOneByOne(s)}
  ELSE
    WITH input AS MATERIALIZED (
      SELECT * FROM ${INPUT}
    ), inserted AS (
      INSERT INTO ${s}.orders (${COLUMNS})
      SELECT ${VALUES('i')} FROM input i WHERE substr(i.key, 37) = ANY(held)
        AND NOT EXISTS (SELECT FROM ${s}.tombstones t WHERE t.key = i.key) ORDER BY i.ordinal
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

  -- An empty list of hashes: the documents were stored before the transaction of the host.
  IF stored IS NOT NULL AND (p_hash IS NULL OR cardinality(p_hash) > 0) THEN
    ${referDocuments(s, 'p_app, p_hash, p_document, p_valid_to', 'o.ordinal = ANY(stored)')};
  END IF;
  RETURN outcomes;
END 
`,
});
