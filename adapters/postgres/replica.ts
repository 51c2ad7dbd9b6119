import type { PgClient, PgPool } from './driver.ts';
import type { Query } from './query.ts';
import { createQuery, resultsOf, withConnection } from './query.ts';
import type { Commit, PostgresSession } from './session.ts';

/** Reads that a copy of the database may answer. */
export interface Readers {
  read<T>(doing: string, work: (run: Query) => Promise<T>): Promise<T>;
}

/** A pool of connections to copies, and how far they must have come. */
export interface Replica {
  readonly pool: PgPool;
  /** Commits, and notes how far a copy must have come to show it. */
  readonly commit: Commit;
  /** Notes, on a connection to the database that is written to, that a copy must show all that is there now. */
  catchUp(run: Query): Promise<void>;
  /** Whether a copy shows all that this process has written, or has been told of. */
  shows(client: PgClient): Promise<boolean>;
}

/**
 * Copies lag. One answers a read only when it has replayed everything that this process has committed, so that whoever
 * writes through a process and reads through it sees what was written; and everything that the log has told it, so that
 * whoever hears of an order reads it as it was then, or later. How far a copy has come is known by connection,
 * since a pool may lead to several, and is asked again only when something was written since.
 */
export function createReplica(pool: PgPool): Replica {
  let written = 0n;
  const reached = new WeakMap<PgClient, bigint>();

  function note(place: bigint | undefined): void {
    if (place !== undefined && place > written) written = place;
  }

  return {
    pool,
    async catchUp(run) {
      const [row] = await run<readonly [string]>({ text: `SELECT ${FLUSHED}` });
      note(readWalPosition(row?.[0]));
    },
    async commit(client) {
      const text = `COMMIT; SELECT ${FLUSHED} AS place`;
      const [, flushed] = resultsOf(await client.query({ text }));
      note(readWalPosition((flushed?.rows[0] as { readonly place: string } | undefined)?.place)); // the column selected
    },
    async shows(client) {
      const wanted = written;
      if ((reached.get(client) ?? -1n) >= wanted) return true;
      const [row] = await createQuery(client)<readonly [string | null]>({
        text: 'SELECT pg_last_wal_replay_lsn()::text',
      });
      // A server that replays nothing is no copy: it is the one that is written to.
      const place = row?.[0] == null ? wanted : (readWalPosition(row[0]) ?? -1n);
      reached.set(client, place);
      return place >= wanted;
    },
  };
}

const FLUSHED = 'pg_current_wal_flush_lsn()::text';

/** Reads from a copy where one has caught up; otherwise, and when it fails, from the database that is written to. */
export function createReaders(session: PostgresSession, replica: Replica | undefined): Readers {
  if (replica === undefined) return session;
  return {
    async read(doing, work) {
      try {
        const answer = await withConnection(replica.pool, async (client) =>
          (await replica.shows(client)) ? { found: await work(createQuery(client)) } : undefined,
        );
        if (answer !== undefined) return answer.found;
      } catch {
        // A copy that fails is as good as none.
      }
      return session.read(doing, work);
    },
  };
}

/** A place in the server's log: two hexadecimal numbers of 32 bits. */
function readWalPosition(text: string | undefined): bigint | undefined {
  const [, high, low] = /^([0-9A-F]+)\/([0-9A-F]+)$/i.exec(text ?? '') ?? [];
  return high === undefined || low === undefined ? undefined : (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
