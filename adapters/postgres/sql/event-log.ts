import { getEpochStart, isOriginal, TIMELINE, XID } from '../log-epoch.ts';
import { type SqlFunction, WRITE_SETTINGS } from './function.ts';

/** Returns SQL for the events of transactions that were not visible in the snapshot `seen`. */
const unnumbered = (s: string, columns: string) =>
  `(SELECT ${columns} FROM ${s}.events WHERE xid >= pg_snapshot_xmax(seen)::text::bigint UNION ALL ` +
  `SELECT ${columns} FROM ${s}.events WHERE xid = ANY(ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(seen) x)))`;

/** Returns the functions that number and read the events of the log, see events.ts. */
export const createEventLogFunctions = (s: string): readonly SqlFunction[] => [
  {
    name: 'number_events',
    parameters: 'p_channel text, p_signature text',
    returns: 'bigint',
    language: 'plpgsql',
    settings: WRITE_SETTINGS,
    body: `
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
      PERFORM FROM ${s}.log_lock WHERE id = 1 FOR UPDATE;
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
END 
`,
  },
  {
    name: 'read_events',
    parameters: 'p_after bigint, p_limit bigint, p_channel text, p_signature text',
    returns: 'TABLE (id bigint, type smallint, key bytea, at bigint, cause text)',
    language: 'plpgsql',
    settings: WRITE_SETTINGS,
    body: `
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
END 
`,
  },
];
