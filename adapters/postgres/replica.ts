import type { Clock } from 'intentbook';
import type { PgClient, PgPool } from './database-driver.ts';
import { createQuery, isServerError, type Query, withConnection } from './query.ts';
import type { PostgresSession } from './session.ts';

/** Pool of connections to replicas, with the position that they must have replayed. */
export type Replica = ReturnType<typeof createReplica>;

/** A position in the log of the server. Positions of different timelines cannot be compared. */
interface WalPosition {
  readonly timeline: string;
  readonly offset: bigint;
}

/**
 * Creates the state of the replicas, which lag behind the primary. A replica serves a read only after it has replayed
 * everything that this process has committed, so that a caller reads its own writes. It must also have replayed
 * everything that this process has read from the log, so that an order read after its event is not older.
 *
 * The replayed position is stored for each connection, because a pool may lead to several replicas. It is queried again
 * only after new writes.
 *
 * After a failover, positions begin again on a new timeline. A promoted replica is a primary: it has replayed
 * everything.
 */
export function createReplica(pool: PgPool) {
  let required: WalPosition | undefined;
  /** Number of commits whose position is unknown. Until the next known one, the primary serves all reads. */
  let unknown = 0;
  const replayed = new WeakMap<PgClient, WalPosition>();

  function requirePosition(position: WalPosition | undefined): void {
    if (position === undefined) return;
    if (required?.timeline !== position.timeline || position.offset > required.offset) required = position;
  }

  return {
    pool,
    /** Requires replicas to show everything up to now. Runs on a connection to the primary. */
    async catchUp(run: Query): Promise<void> {
      const [row] = await run<readonly [string]>({ text: `SELECT ${COMMITTED}` });
      requirePosition(parseWalPosition(row?.[0]));
    },
    /**
     * Records the position that a replica must have replayed to show the last commit of a connection. Without a
     * connection, that position is unknown.
     */
    async committed(client?: PgClient): Promise<void> {
      // A later position includes this commit, so the number of unknown positions is reset.
      const started = ++unknown;
      if (client === undefined) return;
      const [row] = await createQuery(client)<readonly [string]>({ text: `SELECT ${COMMITTED}` });
      requirePosition(parseWalPosition(row?.[0]));
      if (unknown === started) unknown = 0;
    },
    /** Returns whether a replica shows everything that this process has written or read from the log. */
    async isCurrent(client: PgClient): Promise<boolean> {
      const target = required;
      if (unknown > 0) return false;
      const known = replayed.get(client);
      if (target === undefined) return true;
      if (known !== undefined && covers(known, target)) return true;
      const [row] = await createQuery(client)<readonly [string | null]>({ text: `SELECT ${REPLAYED}` });
      // A server that replays nothing is not a replica but the primary.
      const position = row?.[0] == null ? target : parseWalPosition(row[0]);
      if (position === undefined) return false;
      replayed.set(client, position);
      return covers(position, target);
    },
  };
}

const covers = (replayed: WalPosition, target: WalPosition) =>
  replayed.timeline === target.timeline && replayed.offset >= target.offset;

// A commit that does not wait for the disk is complete before it is flushed, and a replica receives it later.
const COMMITTED =
  "(SELECT substr(pg_walfile_name(lsn), 1, 8) || ' ' || lsn::text FROM (SELECT CASE current_setting('synchronous_commit') " +
  "WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END AS lsn) position)";
// The name of a file cannot be determined during recovery. The control file has the timeline of the last restart point.
const REPLAYED =
  "CASE WHEN pg_is_in_recovery() THEN (SELECT lpad(upper(to_hex(coalesce(r.received_tli, c.timeline_id))), 8, '0') " +
  "FROM pg_control_checkpoint() c LEFT JOIN pg_stat_wal_receiver r ON true) || ' ' || pg_last_wal_replay_lsn()::text END";

/** Milliseconds until a replica that has failed is tried again. */
const RETRY_DELAY = 1000;

/**
 * Creates a reader that uses a current replica, and otherwise or after a failure the primary. Reads do not wait for a
 * replica that has failed: it is tried again beside them.
 */
export function createReaders(
  session: PostgresSession,
  replica: Replica | undefined,
  clock: Clock,
): Pick<PostgresSession, 'read'> {
  if (replica === undefined) return session;
  const { pool } = replica;
  let isAvailable = true;
  let isRetryDue = false;

  function onFailure(): void {
    isAvailable = false;
    isRetryDue = false;
    clock.after(RETRY_DELAY, () => {
      isRetryDue = true;
    });
  }

  async function tryAgain(): Promise<void> {
    isRetryDue = false;
    try {
      await withConnection(pool, (client) => createQuery(client)({ text: 'SELECT 1' }));
      isAvailable = true;
    } catch {
      onFailure();
    }
  }

  return {
    async read(operation, work) {
      if (!isAvailable) {
        if (isRetryDue) void tryAgain();
        return session.read(operation, work);
      }
      let hasBegun = false;
      try {
        const result = await withConnection(pool, async (client) => {
          if (!(await replica.isCurrent(client))) return undefined;
          hasBegun = true;
          return { value: await work(createQuery(client)) };
        });
        if (result !== undefined) return result.value;
      } catch (failure) {
        // The primary serves the read after any failure. After an error of a statement, the replica is still available.
        // The error of a pool without a connection names its setting, so it is no error of the driver.
        if (!hasBegun || !isServerError(failure)) onFailure();
      }
      return session.read(operation, work);
    },
  };
}

/** Parses the timeline, and a WAL position of the server: two hexadecimal numbers of 32 bits. */
function parseWalPosition(text: string | undefined): WalPosition | undefined {
  const [, timeline, high, low] = /^([0-9A-F]{8}) ([0-9A-F]+)\/([0-9A-F]+)$/i.exec(text ?? '') ?? [];
  if (timeline === undefined || high === undefined || low === undefined) return undefined;
  return { timeline, offset: (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) };
}
