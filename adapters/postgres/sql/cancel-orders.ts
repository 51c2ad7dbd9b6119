import { XID } from '../log-epoch.ts';
import { EVENT_TYPES } from '../rows.ts';
import { type SqlFunction, WRITE_SETTINGS } from './function.ts';

const CANCELLED = EVENT_TYPES.indexOf('cancelled');
const REINSTATED = EVENT_TYPES.indexOf('reinstated');

/**
 * Returns the functions that cancel orders. `cancel_rejection` is the rule `checkCancellable` of the store kit.
 */
export const createCancelFunctions = (s: string): readonly SqlFunction[] => [
  {
    name: 'cancel_rejection',
    parameters: 'phase smallint, valid_to bigint, scheme smallint, now bigint',
    returns: 'integer',
    language: 'sql IMMUTABLE',
    body: `
  SELECT CASE
    WHEN phase IS NULL THEN 1
    WHEN phase = 5 THEN 2
    WHEN phase = 4 THEN 3
    WHEN valid_to < now THEN 4
    WHEN phase IN (1, 3) OR scheme > 1 THEN 5
    ELSE 0
  END
`,
  },
  {
    name: 'cancel_stored',
    parameters: 'p_keys bytea[], p_at bigint',
    returns: 'void',
    language: 'sql',
    body: `
  WITH found AS (
    SELECT k.key, k.ordinal, o.phase FROM unnest(p_keys) WITH ORDINALITY k (key, ordinal)
    JOIN ${s}.orders o ON o.key = k.key
  ), cancelled AS (
    UPDATE ${s}.orders o SET phase = 4, invalidated = true, cancelled_off_chain = true,
      version = coalesce(f.version, o.version) + 1,
      executed_sell_amount = coalesce(f.executed_sell_amount, o.executed_sell_amount),
      executed_buy_amount = coalesce(f.executed_buy_amount, o.executed_buy_amount),
      executed_fee_amount = coalesce(f.executed_fee_amount, o.executed_fee_amount),
      executed_fee = coalesce(f.executed_fee, o.executed_fee),
      executed_fee_token = coalesce(f.executed_fee_token, o.executed_fee_token)
    FROM found k LEFT JOIN ${s}.fills f ON f.key = k.key
    WHERE o.key = k.key RETURNING o.owner, o.quota_class, k.phase
  ), filled AS (
    DELETE FROM ${s}.fills f USING unnest(p_keys) k WHERE f.key = k
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
`,
  },
  {
    name: 'cancel_orders',
    parameters: 'p_keys bytea[], p_now bigint, p_at bigint',
    returns: 'bigint',
    language: 'plpgsql',
    settings: WRITE_SETTINGS,
    body: `
DECLARE
  rejection bigint;
BEGIN
  -- The first check takes no lock: a rejection was correct at the time of the read.
  FOR attempt IN 1..2 LOOP
    SELECT c.ordinal * 10 + c.reason INTO rejection FROM (
      SELECT k.ordinal, ${s}.cancel_rejection(o.phase, o.valid_to, o.signing_scheme, p_now) AS reason
      FROM unnest(p_keys) WITH ORDINALITY k (key, ordinal) LEFT JOIN ${s}.orders o ON o.key = k.key
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
END 
`,
  },
];
