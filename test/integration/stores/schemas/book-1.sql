CREATE SCHEMA IF NOT EXISTS "released";

CREATE TABLE IF NOT EXISTS "released".migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  breaking boolean NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS "released".domain (
  id smallint PRIMARY KEY CHECK (id = 1),
  chain_id bigint NOT NULL,
  settlement_contract bytea NOT NULL CHECK (octet_length(settlement_contract) = 20)
);

CREATE TABLE "released".orders (
  created bigint NOT NULL,
  valid_to bigint NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  attempt integer NOT NULL DEFAULT 0,
  checksum integer,
  signing_scheme smallint NOT NULL CHECK (signing_scheme BETWEEN 0 AND 3),
  phase smallint NOT NULL CHECK (phase BETWEEN 0 AND 5),
  quota_class smallint NOT NULL CHECK (quota_class BETWEEN 0 AND 1),
  invalidated boolean NOT NULL DEFAULT false,
  cancelled_off_chain boolean NOT NULL DEFAULT false,
  placed_on_chain boolean NOT NULL DEFAULT false,
  key bytea CHECK (octet_length(key) = 56),
  owner bytea NOT NULL CHECK (octet_length(owner) = 20),
  sell_token bytea NOT NULL CHECK (octet_length(sell_token) = 20),
  buy_token bytea NOT NULL CHECK (octet_length(buy_token) = 20),
  app_data bytea NOT NULL CHECK (octet_length(app_data) = 32),
  executed_sell_amount numeric NOT NULL DEFAULT 0 CHECK (executed_sell_amount >= 0),
  executed_buy_amount numeric NOT NULL DEFAULT 0 CHECK (executed_buy_amount >= 0),
  executed_fee_amount numeric NOT NULL DEFAULT 0 CHECK (executed_fee_amount >= 0),
  executed_fee numeric NOT NULL DEFAULT 0 CHECK (executed_fee >= 0),
  executed_fee_token bytea CHECK (octet_length(executed_fee_token) = 20),
  onchain_user bytea CHECK (octet_length(onchain_user) = 20),
  body text NOT NULL CHECK (body::json IS NOT NULL),
  quote text,
  placement text, PRIMARY KEY (key));

CREATE INDEX orders_owner ON "released".orders (substr(owner, 14), phase, ((greatest(least(created, 140737488355327), 0) / 4294967296)::smallint), ((greatest(least(created, 140737488355327), 0) % 4294967296 - 2147483648)::integer));
CREATE INDEX orders_sell ON "released".orders (sell_token, phase, created);
CREATE INDEX orders_buy ON "released".orders (buy_token, phase, created);
CREATE INDEX orders_newest ON "released".orders (phase, created);
CREATE INDEX orders_expiry ON "released".orders ((phase / 2), valid_to) WHERE phase < 4;
CREATE INDEX orders_onchain_user ON "released".orders (onchain_user, phase, created) WHERE onchain_user IS NOT NULL;
CREATE INDEX orders_onchain_expiry ON "released".orders (valid_to) WHERE onchain_user IS NOT NULL;

ALTER INDEX "released".orders_owner ALTER COLUMN 1 SET STATISTICS 0;

CREATE TABLE "released".fills (
  version bigint NOT NULL,
  key bytea CHECK (octet_length(key) = 56),
  executed_sell_amount numeric NOT NULL CHECK (executed_sell_amount >= 0),
  executed_buy_amount numeric NOT NULL CHECK (executed_buy_amount >= 0),
  executed_fee_amount numeric NOT NULL CHECK (executed_fee_amount >= 0),
  executed_fee numeric NOT NULL CHECK (executed_fee >= 0),
  executed_fee_token bytea CHECK (octet_length(executed_fee_token) = 20), PRIMARY KEY (key)) WITH (fillfactor = 45);

CREATE TABLE "released".tombstones (key bytea CHECK (octet_length(key) = 56), PRIMARY KEY (key));

CREATE TABLE "released".owners (
  owner bytea CHECK (octet_length(owner) = 20),
  live_open bigint NOT NULL CHECK (live_open >= 0),
  live_pending bigint NOT NULL CHECK (live_pending >= 0), PRIMARY KEY (owner)) WITH (fillfactor = 45);

ALTER TABLE "released".orders ALTER owner SET STATISTICS 0, ALTER sell_token SET STATISTICS 0,
  ALTER buy_token SET STATISTICS 0, ALTER onchain_user SET STATISTICS 0, ALTER phase SET STATISTICS 0;

CREATE TABLE "released".documents (
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  used_until bigint NOT NULL DEFAULT 0,
  referenced boolean NOT NULL,
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  document text NOT NULL
);
CREATE INDEX documents_unreferenced ON "released".documents (ordinal) WHERE NOT referenced;
CREATE INDEX documents_used ON "released".documents (used_until) WHERE referenced;

CREATE TABLE "released".events (
  xid bigint NOT NULL,
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  at bigint NOT NULL,
  type smallint NOT NULL,
  key bytea NOT NULL CHECK (octet_length(key) = 56),
  cause text,
  PRIMARY KEY (xid, ordinal)
);

CREATE TABLE "released".log (
  last bigint PRIMARY KEY,
  size bigint NOT NULL,
  xid bigint NOT NULL,
  snapshot pg_snapshot
);

CREATE TABLE "released".log_epochs (
  start bigint PRIMARY KEY,
  xid bigint NOT NULL,
  system text NOT NULL,
  timeline text NOT NULL
);

CREATE TABLE "released".log_lock (
  id smallint PRIMARY KEY CHECK (id = 1),
  pruned_through bigint NOT NULL
);
INSERT INTO "released".log_lock (id, pruned_through) VALUES (1, 0);

CREATE TABLE "released".leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  term bigint NOT NULL,
  expires bigint NOT NULL
);

CREATE TABLE "released".quotes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  expires_at bigint NOT NULL,
  kind smallint NOT NULL CHECK (kind BETWEEN 0 AND 1),
  quote_kind smallint NOT NULL CHECK (quote_kind BETWEEN 0 AND 2),
  sell_token bytea NOT NULL CHECK (octet_length(sell_token) = 20),
  buy_token bytea NOT NULL CHECK (octet_length(buy_token) = 20),
  amount text NOT NULL,
  rank text COLLATE "C" NOT NULL,
  body text NOT NULL CHECK (body::json IS NOT NULL),
  metadata text NOT NULL CHECK (metadata::json IS NOT NULL)
);
CREATE INDEX quotes_terms ON "released".quotes (sell_token, buy_token, kind, amount, quote_kind, rank, id);
CREATE INDEX quotes_expiry ON "released".quotes (expires_at);

CREATE TABLE "released".chain_events (
  block bigint NOT NULL,
  log integer NOT NULL,
  type smallint NOT NULL,
  "timestamp" bigint,
  auction bigint,
  block_hash bytea NOT NULL CHECK (octet_length(block_hash) = 32),
  transaction_hash bytea NOT NULL CHECK (octet_length(transaction_hash) = 32),
  key bytea CHECK (octet_length(key) = 56),
  owner bytea CHECK (octet_length(owner) = 20),
  onchain_user bytea CHECK (octet_length(onchain_user) = 20),
  detail text NOT NULL,
  PRIMARY KEY (block, log)
);
CREATE INDEX chain_events_key ON "released".chain_events (key, block, log) WHERE key IS NOT NULL;
CREATE INDEX chain_events_owner ON "released".chain_events (owner, block, log) WHERE owner IS NOT NULL;
CREATE INDEX chain_events_user ON "released".chain_events (onchain_user, block, log) WHERE onchain_user IS NOT NULL;
CREATE INDEX chain_events_transaction ON "released".chain_events (transaction_hash, block, log);
CREATE INDEX chain_events_auction ON "released".chain_events (auction, block, log) WHERE auction IS NOT NULL;
ALTER TABLE "released".chain_events ALTER owner SET STATISTICS 0, ALTER onchain_user SET STATISTICS 0;

CREATE TABLE "released".blocks (
  number bigint PRIMARY KEY,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);

CREATE TABLE "released".progress (
  id smallint PRIMARY KEY CHECK (id = 1),
  number bigint,
  hash bytea CHECK (octet_length(hash) = 32)
);
INSERT INTO "released".progress (id) VALUES (1);

CREATE TABLE "released".first_trades (
  block bigint NOT NULL,
  token bytea PRIMARY KEY CHECK (octet_length(token) = 20)
);
CREATE INDEX first_trades_block ON "released".first_trades (block);

CREATE TABLE "released".auctions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  block bigint NOT NULL,
  prices text NOT NULL CHECK (prices::json IS NOT NULL)
);

CREATE TABLE "released".competitions (
  auction bigint PRIMARY KEY,
  body text NOT NULL CHECK (body::json IS NOT NULL)
);

CREATE FUNCTION "released".cancel_rejection(phase smallint, valid_to bigint, scheme smallint, now bigint)
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

CREATE FUNCTION "released".live_count(p_owner bytea, p_quota_class integer, p_now bigint)
RETURNS bigint LANGUAGE plpgsql STABLE SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  live bigint;
  expired bigint;
  own bigint;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE e.owner = p_owner AND e.quota_class = p_quota_class) INTO expired, own
  FROM (SELECT owner, quota_class FROM "released".orders WHERE phase / 2 = 0 AND phase < 4 AND valid_to < p_now LIMIT 1000) e;
  IF expired < 1000 THEN
    SELECT CASE p_quota_class WHEN 0 THEN w.live_open ELSE w.live_pending END INTO live
    FROM "released".owners w WHERE w.owner = p_owner;
    RETURN coalesce(live, 0) - own;
  END IF;
  SELECT count(*) INTO live FROM "released".orders o
  WHERE substr(o.owner, 14) = substr(p_owner, 14) AND o.owner = p_owner AND o.phase IN (0, 1) AND o.quota_class = p_quota_class AND o.valid_to >= p_now;
  RETURN live;
END $$;

CREATE FUNCTION "released".lock_owners(p_owners bytea[], p_skip boolean)
RETURNS bytea[] LANGUAGE plpgsql SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  held bytea[];
  missing bytea[];
  added bytea;
BEGIN
  missing := ARRAY(
    SELECT o FROM unnest(p_owners) o WHERE NOT EXISTS (SELECT FROM "released".owners w WHERE w.owner = o) ORDER BY o
  );
  IF p_skip AND cardinality(missing) > 0 THEN
    -- A new owner of an uncommitted transaction cannot be skipped, so the wait for it is short.
    PERFORM set_config('lock_timeout', '20', true);
    FOREACH added IN ARRAY missing LOOP
      BEGIN
        INSERT INTO "released".owners (owner, live_open, live_pending) VALUES (added, 0, 0) ON CONFLICT DO NOTHING;
      EXCEPTION WHEN lock_not_available THEN
        NULL; -- left out below
      END;
    END LOOP;
  ELSIF cardinality(missing) > 0 THEN
    INSERT INTO "released".owners (owner, live_open, live_pending)
    SELECT o, 0, 0 FROM unnest(missing) o ORDER BY o ON CONFLICT DO NOTHING;
  END IF;
  IF p_skip THEN
    SELECT array_agg(l.owner) INTO held FROM (
      SELECT w.owner FROM (SELECT o FROM unnest(p_owners) o ORDER BY o) p CROSS JOIN LATERAL
        (SELECT x.owner FROM "released".owners x WHERE x.owner = p.o FOR NO KEY UPDATE SKIP LOCKED) w
    ) l;
  ELSE
    SELECT array_agg(l.owner) INTO held FROM (
      SELECT w.owner FROM (SELECT o FROM unnest(p_owners) o ORDER BY o) p CROSS JOIN LATERAL
        (SELECT x.owner FROM "released".owners x WHERE x.owner = p.o FOR NO KEY UPDATE) w
    ) l;
  END IF;
  RETURN coalesce(held, '{}');
END $$;

CREATE FUNCTION "released".cancel_stored(p_keys bytea[], p_at bigint)
RETURNS void LANGUAGE sql AS $$
  WITH found AS (
    SELECT k.key, k.ordinal, o.phase FROM unnest(p_keys) WITH ORDINALITY k (key, ordinal)
    JOIN "released".orders o ON o.key = k.key AND substr(o.owner, 14) = substr(k.key, 50)
  ), cancelled AS (
    UPDATE "released".orders o SET phase = 4, invalidated = true, cancelled_off_chain = true,
      version = coalesce(f.version, o.version) + 1,
      executed_sell_amount = coalesce(f.executed_sell_amount, o.executed_sell_amount),
      executed_buy_amount = coalesce(f.executed_buy_amount, o.executed_buy_amount),
      executed_fee_amount = coalesce(f.executed_fee_amount, o.executed_fee_amount),
      executed_fee = coalesce(f.executed_fee, o.executed_fee),
      executed_fee_token = coalesce(f.executed_fee_token, o.executed_fee_token)
    FROM found k LEFT JOIN "released".fills f ON f.key = k.key AND substr(f.key, 50) = substr(k.key, 50)
    WHERE o.key = k.key AND substr(o.owner, 14) = substr(k.key, 50) RETURNING o.owner, o.quota_class, k.phase
  ), filled AS (
    DELETE FROM "released".fills f USING unnest(p_keys) k WHERE f.key = k AND substr(f.key, 50) = substr(k, 50)
  ), logged AS (
    -- A recorded expiry is reverted first. Only orders with an ECDSA signature are cancelled, whose expiry is logged.
    INSERT INTO "released".events (xid, at, type, key)
    SELECT pg_current_xact_id()::text::bigint, p_at, t.type, k.key FROM found k
    CROSS JOIN (VALUES (0, 8), (1, 1)) t (n, type)
    WHERE t.n = 1 OR k.phase IN (2, 3) ORDER BY k.ordinal, t.n
  )
  UPDATE "released".owners w SET live_open = w.live_open - c.open, live_pending = w.live_pending - c.pending
  FROM (
    SELECT owner, count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending
    FROM cancelled WHERE phase < 2 GROUP BY owner
  ) c WHERE w.owner = c.owner
$$;

CREATE FUNCTION "released".cancel_orders(p_keys bytea[], p_now bigint, p_at bigint)
RETURNS bigint LANGUAGE plpgsql SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  rejection bigint;
BEGIN
  -- The first check takes no lock: a rejection was correct at the time of the read.
  FOR attempt IN 1..2 LOOP
    SELECT c.ordinal * 10 + c.reason INTO rejection FROM (
      SELECT k.ordinal, "released".cancel_rejection(o.phase, o.valid_to, o.signing_scheme, p_now) AS reason
      FROM unnest(p_keys) WITH ORDINALITY k (key, ordinal) LEFT JOIN "released".orders o ON o.key = k.key AND substr(o.owner, 14) = substr(k.key, 50)
    ) c WHERE c.reason > 0 ORDER BY c.reason <> 1, c.ordinal LIMIT 1;
    IF FOUND THEN
      RETURN rejection;
    END IF;
    IF attempt = 1 THEN
      PERFORM "released".lock_owners(ARRAY(SELECT DISTINCT substr(k, 37) FROM unnest(p_keys) k), false);
    END IF;
  END LOOP;
  PERFORM "released".cancel_stored(p_keys, p_at);
  RETURN 0;
END $$;

CREATE FUNCTION "released".insert_orders(
  p_skip boolean, p_split boolean, p_attempt integer, p_created bigint[], p_valid_to bigint[], p_scheme smallint[], p_phase smallint[],
  p_quota_class smallint[], p_key bytea[], p_sell bytea[], p_buy bytea[], p_app bytea[], p_bodies text, p_checksum integer[], p_quotes text[],
  p_quota bigint[], p_replaces bytea[], p_hash bytea[], p_document text[])
RETURNS bigint[] LANGUAGE plpgsql SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
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
  held := "released".lock_owners(ARRAY(SELECT DISTINCT substr(k, 37) FROM unnest(p_key) k), p_skip);
  -- Chain events that are already stored are applied by the caller, one order at a time.
  IF NOT p_split AND EXISTS (
    SELECT FROM "released".chain_events e WHERE e.key = ANY(p_key)
      AND NOT EXISTS (SELECT FROM "released".orders o WHERE o.key = e.key AND substr(o.owner, 14) = substr(e.key, 50))
  ) THEN
    RETURN ARRAY[3];
  END IF;

  IF EXISTS (SELECT FROM unnest(p_replaces) x WHERE x IS NOT NULL)
    OR (SELECT count(DISTINCT k) < count(*) FROM unnest(p_key) k)
    OR EXISTS (
      SELECT FROM (
        SELECT substr(q.key, 37) AS owner, min(q.quota) AS quota, count(*) AS n, max(q.quota_class) AS quota_class
        FROM unnest(p_key, p_quota, p_quota_class) q (key, quota, quota_class) GROUP BY 1
      ) i JOIN "released".owners w ON w.owner = i.owner
      WHERE i.quota < i.n + CASE i.quota_class WHEN 0 THEN w.live_open ELSE greatest(w.live_open, w.live_pending) END
    )
  THEN
    -- One order after the other, as if each were inserted before the next is checked.
    outcomes := '{}';
    FOR r IN SELECT * FROM unnest(p_created, p_valid_to, p_scheme, p_phase, p_quota_class, p_key, p_sell, p_buy, p_app, bodies, p_checksum, p_quotes, p_quota, p_replaces) WITH ORDINALITY i (created, valid_to, scheme, phase, quota_class, key, sell, buy, app, body, checksum, quote, quota, replaces, ordinal) ORDER BY i.ordinal LOOP
      IF NOT substr(r.key, 37) = ANY(held) THEN
        outcomes := outcomes || 2::bigint;
        CONTINUE;
      END IF;
      IF EXISTS (SELECT FROM "released".orders o WHERE o.key = r.key AND substr(o.owner, 14) = substr(r.key, 50))
        OR EXISTS (SELECT FROM "released".tombstones t WHERE t.key = r.key AND substr(t.key, 50) = substr(r.key, 50))
      THEN
        outcomes := outcomes || 1::bigint;
        CONTINUE;
      END IF;
      used := 0;
      IF r.replaces IS NOT NULL THEN
        SELECT o.phase, o.valid_to, o.signing_scheme, o.quota_class INTO old FROM "released".orders o
        WHERE o.key = r.replaces AND substr(o.owner, 14) = substr(r.replaces, 50);
        reason := "released".cancel_rejection(old.phase, old.valid_to, old.signing_scheme, r.created / 1000);
        IF reason > 0 THEN
          outcomes := outcomes || (10 + reason)::bigint;
          CONTINUE;
        END IF;
        used := CASE WHEN old.quota_class = r.quota_class AND old.phase < 2 THEN -1 ELSE 0 END;
      END IF;
      IF r.quota IS NOT NULL THEN
        used := used + "released".live_count(substr(r.key, 37), r.quota_class, r.created / 1000);
        IF used >= r.quota THEN
          outcomes := outcomes || (100 + used);
          CONTINUE;
        END IF;
      END IF;
      IF r.replaces IS NOT NULL THEN
        PERFORM "released".cancel_stored(ARRAY[r.replaces], r.created);
      END IF;
      INSERT INTO "released".orders (created, valid_to, attempt, checksum, signing_scheme, phase, quota_class, key, owner, sell_token, buy_token, app_data, body, quote) VALUES (r.created, r.valid_to, p_attempt, r.checksum, r.scheme, r.phase, r.quota_class, r.key, substr(r.key, 37), r.sell, r.buy, r.app, r.body, r.quote);
      INSERT INTO "released".events (xid, at, type, key) VALUES (pg_current_xact_id()::text::bigint, r.created, 0, r.key);
      UPDATE "released".owners w SET live_open = w.live_open + CASE r.quota_class WHEN 0 THEN 1 ELSE 0 END,
        live_pending = w.live_pending + CASE r.quota_class WHEN 1 THEN 1 ELSE 0 END
      WHERE w.owner = substr(r.key, 37);
      stored := stored || r.ordinal;
      outcomes := outcomes || 0::bigint;
    END LOOP;
  ELSE
    WITH input AS MATERIALIZED (
      SELECT * FROM unnest(p_created, p_valid_to, p_scheme, p_phase, p_quota_class, p_key, p_sell, p_buy, p_app, bodies, p_checksum, p_quotes, p_quota, p_replaces) WITH ORDINALITY i (created, valid_to, scheme, phase, quota_class, key, sell, buy, app, body, checksum, quote, quota, replaces, ordinal)
    ), inserted AS (
      INSERT INTO "released".orders (created, valid_to, attempt, checksum, signing_scheme, phase, quota_class, key, owner, sell_token, buy_token, app_data, body, quote)
      SELECT i.created, i.valid_to, p_attempt, i.checksum, i.scheme, i.phase, i.quota_class, i.key, substr(i.key, 37), i.sell, i.buy, i.app, i.body, i.quote FROM input i WHERE substr(i.key, 37) = ANY(held)
        AND NOT EXISTS (SELECT FROM "released".tombstones t WHERE t.key = i.key AND substr(t.key, 50) = substr(i.key, 50)) ORDER BY i.ordinal
      ON CONFLICT DO NOTHING RETURNING key, owner, quota_class
    ), logged AS (
      INSERT INTO "released".events (xid, at, type, key)
      SELECT pg_current_xact_id()::text::bigint, i.created, 0, i.key FROM input i WHERE i.key IN (SELECT key FROM inserted) ORDER BY i.ordinal
    ), counted AS (
      UPDATE "released".owners w SET live_open = w.live_open + c.open, live_pending = w.live_pending + c.pending
      FROM (
        SELECT owner, count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending
        FROM inserted GROUP BY owner
      ) c WHERE w.owner = c.owner
    )
    SELECT array_agg(CASE WHEN n.key IS NOT NULL THEN 0
        WHEN substr(i.key, 37) = ANY(held) THEN 1 ELSE 2 END ORDER BY i.ordinal),
      array_agg(i.ordinal) FILTER (WHERE n.key IS NOT NULL)
    INTO outcomes, stored FROM input i LEFT JOIN inserted n ON n.key = i.key;
  END IF;

  IF stored IS NOT NULL THEN
    -- In the order of the hashes, so that concurrent inserts with the same documents cannot cause a deadlock.
    INSERT INTO "released".documents AS k (hash, document, referenced, used_until)
    SELECT u.hash, coalesce(x.document, u.document), true, u.valid_to + 604800
    FROM (
      SELECT d.hash, max(o.valid_to) AS valid_to,
        (array_agg(d.document ORDER BY o.ordinal) FILTER (WHERE d.document IS NOT NULL))[1] AS document
      FROM unnest(p_app, p_hash, p_document, p_valid_to) WITH ORDINALITY o (app, hash, document, valid_to, ordinal)
      CROSS JOIN LATERAL (VALUES (o.app, NULL), (o.hash, o.document)) d (hash, document)
      WHERE o.ordinal = ANY(stored) AND d.hash IS NOT NULL GROUP BY d.hash
    ) u LEFT JOIN LATERAL (
      SELECT * FROM "released".documents x WHERE x.hash = u.hash OFFSET 0
    ) x ON true
    WHERE coalesce(x.document, u.document) IS NOT NULL AND (x.used_until IS NULL OR x.used_until <= u.valid_to)
    ORDER BY u.hash
    ON CONFLICT (hash) DO UPDATE SET referenced = true, used_until = greatest(k.used_until, excluded.used_until);
  END IF;
  RETURN outcomes;
END $$;

CREATE FUNCTION "released".number_events(p_channel text, p_signature text)
RETURNS bigint LANGUAGE plpgsql SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  newest bigint := 0;
  seen pg_snapshot := '1:1:';
  epoch_start bigint;
  numbered bigint;
BEGIN
  FOR attempt IN 1..2 LOOP
    SELECT l.last, l.snapshot INTO newest, seen FROM "released".log l ORDER BY l.last DESC LIMIT 1;
    newest := coalesce(newest, 0);
    seen := coalesce(seen, '1:1:');
    IF NOT EXISTS (SELECT FROM (SELECT xid FROM "released".events WHERE xid >= pg_snapshot_xmax(seen)::text::bigint UNION ALL SELECT xid FROM "released".events WHERE xid = ANY(ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(seen) x))) e) THEN
      RETURN newest;
    END IF;
    IF attempt = 1 THEN
      -- One process at a time. The snapshot of each later statement includes everything committed by then.
      PERFORM FROM "released".log_lock FOR UPDATE;
    END IF;
  END LOOP;
  SELECT i.start INTO epoch_start FROM "released".log_epochs i
  WHERE i.start = (SELECT max(start) FROM "released".log_epochs) AND i.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AND i.xmin::text::bigint = i.xid % 4294967296;
  IF NOT FOUND THEN
    SELECT greatest(newest, max(i.start)) INTO epoch_start FROM "released".log_epochs i;
    INSERT INTO "released".log_epochs (start, system, timeline, xid)
    SELECT CASE WHEN least(floor(extract(epoch FROM clock_timestamp()) * 1000 - 1577836800000)::bigint * 100, 562949953421312::bigint) > epoch_start THEN least(floor(extract(epoch FROM clock_timestamp()) * 1000 - 1577836800000)::bigint * 100, 562949953421312::bigint) ELSE epoch_start + 4294967296 END, coalesce((SELECT x.system FROM "released".log_epochs x ORDER BY x.start DESC LIMIT 1), ''),
      substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_current_xact_id()::text::bigint
    RETURNING start INTO epoch_start;
  END IF;
  newest := greatest(newest, epoch_start);
  INSERT INTO "released".log (last, size, xid, snapshot)
  SELECT newest + sum(u.n) OVER w, u.n, u.xid, CASE WHEN u.o = max(u.o) OVER () THEN pg_current_snapshot() END
  FROM (
    SELECT e.xid, count(*) AS n, max(e.ordinal) AS o FROM (SELECT xid, ordinal FROM "released".events WHERE xid >= pg_snapshot_xmax(seen)::text::bigint UNION ALL SELECT xid, ordinal FROM "released".events WHERE xid = ANY(ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(seen) x))) e GROUP BY e.xid
  ) u WINDOW w AS (ORDER BY u.o);
  SELECT max(l.last) INTO numbered FROM "released".log l;
  IF p_channel IS NOT NULL THEN
    PERFORM pg_notify(p_channel, p_signature);
  END IF;
  RETURN numbered;
END $$;

CREATE FUNCTION "released".read_events(p_after bigint, p_limit bigint, p_channel text, p_signature text)
RETURNS TABLE (id bigint, type smallint, key bytea, at bigint, cause text) LANGUAGE plpgsql SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  PERFORM "released".number_events(p_channel, p_signature);
  RETURN QUERY
    SELECT l.last - l.size + e.n, e.type, e.key, e.at, e.cause
    FROM (
      -- Events of earlier transactions on the page, including those of the first that are already read.
      SELECT p.*, sum(p.size) OVER w - p.size AS earlier,
        greatest(p_after - first_value(p.last - p.size) OVER w, 0) AS skipped
      FROM (SELECT * FROM "released".log WHERE last > p_after ORDER BY last LIMIT p_limit) p
      WINDOW w AS (ORDER BY p.last)
    ) l CROSS JOIN LATERAL (
      SELECT row_number() OVER (ORDER BY x.ordinal) AS n, x.* FROM "released".events x WHERE x.xid = l.xid
    ) e
    WHERE l.earlier < p_limit + l.skipped AND l.last - l.size + e.n > p_after
    ORDER BY 1 LIMIT p_limit;
END $$;

INSERT INTO "released".migrations (version, name, breaking) VALUES (1, 'book', false);
