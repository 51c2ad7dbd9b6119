import type { PgClient, PgPool } from './driver.ts';
import type { Query } from './query.ts';
import { createQuery, toResults, withConnection } from './query.ts';
import type { Commit, PostgresSession } from './session.ts';

/** Reads that a replica may serve. */
export interface Readers {
  read<T>(operation: string, work: (run: Query) => Promise<T>): Promise<T>;
}

/** Pool of connections to replicas, with the position that they must have replayed. */
export interface Replica {
  readonly pool: PgPool;
  /** Commits a transaction and records the position that a replica must have replayed to show it. */
  readonly commit: Commit;
  /** Requires replicas to show everything up to now. Runs on a connection to the primary. */
  catchUp(run: Query): Promise<void>;
  /** Returns whether a replica shows everything that this process has written or read from the log. */
  isCurrent(client: PgClient): Promise<boolean>;
}

/**
 * Creates the state of the replicas, which lag behind the primary. A replica serves a read only after it has replayed
 * everything that this process has committed, so that a caller reads its own writes. It must also have replayed
 * everything that this process has read from the log, so that an order read after its event is not older.
 *
 * The replayed position is stored for each connection, because a pool may lead to several replicas. It is queried again
 * only after new writes.
 */
export function createReplica(pool: PgPool): Replica {
  let required = 0n;
  const replayed = new WeakMap<PgClient, bigint>();

  function requirePosition(position: bigint | undefined): void {
    if (position !== undefined && position > required) required = position;
  }

  return {
    pool,
    async catchUp(run) {
      const [row] = await run<readonly [string]>({ text: `SELECT ${FLUSHED}` });
      requirePosition(parseWalPosition(row?.[0]));
    },
    async commit(client) {
      const text = `COMMIT; SELECT ${FLUSHED} AS position`;
      const [, flushed] = toResults(await client.query({ text }));
      // The column selected.
      const row = flushed?.rows[0] as { readonly position: string } | undefined;
      requirePosition(parseWalPosition(row?.position));
    },
    async isCurrent(client) {
      const target = required;
      if ((replayed.get(client) ?? -1n) >= target) return true;
      const [row] = await createQuery(client)<readonly [string | null]>({
        text: 'SELECT pg_last_wal_replay_lsn()::text',
      });
      // A server that replays nothing is not a replica but the primary.
      const position = row?.[0] == null ? target : (parseWalPosition(row[0]) ?? -1n);
      replayed.set(client, position);
      return position >= target;
    },
  };
}

const FLUSHED = 'pg_current_wal_flush_lsn()::text';

/** Creates a reader that uses a current replica, and otherwise or after a failure the primary. */
export function createReaders(session: PostgresSession, replica: Replica | undefined): Readers {
  if (replica === undefined) return session;
  return {
    async read(operation, work) {
      try {
        const result = await withConnection(replica.pool, async (client) =>
          (await replica.isCurrent(client)) ? { value: await work(createQuery(client)) } : undefined,
        );
        if (result !== undefined) return result.value;
      } catch {
        // The primary serves the read after any failure of a replica.
      }
      return session.read(operation, work);
    },
  };
}

/** Parses a WAL position of the server: two hexadecimal numbers of 32 bits. */
function parseWalPosition(text: string | undefined): bigint | undefined {
  const [, high, low] = /^([0-9A-F]+)\/([0-9A-F]+)$/i.exec(text ?? '') ?? [];
  return high === undefined || low === undefined ? undefined : (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
