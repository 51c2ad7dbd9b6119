import type { LeaseOutcome, LeaseStore } from 'intentbook';
import type { PostgresSession } from './session.ts';

/** Milliseconds, in addition to the lifetime of a lease, in which a living holder has renewed it. */
const RENEWAL_MARGIN = 60_000;

type LeaseRow = readonly [holder: string, expires: number, term: number];

/** The lease of another holder, and since when this process has seen it unchanged, in milliseconds since 1970. */
interface SeenLease {
  readonly expires: number;
  readonly since: number;
}

/**
 * Creates the lease operations. Each lease is a row; the conditional update of the row decides. A holder renews it when
 * half of its lifetime has passed.
 *
 * A lease also ends if it is not renewed for longer than its lifetime. Its holder may have ended while its clock was
 * ahead, so that the expiry time is far in the future.
 */
export function createLeaseTable({ schema: s, prepare, read, write }: PostgresSession, now: () => number): LeaseStore {
  const acquire = prepare<readonly [number]>(
    `INSERT INTO ${s}.leases AS l (name, holder, term, expires) VALUES ($1, $2, 1, $3) ON CONFLICT (name) DO UPDATE ` +
      'SET holder = excluded.holder, expires = excluded.expires, ' +
      'term = l.term + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END ' +
      'WHERE l.holder = excluded.holder OR l.expires <= $4 OR l.expires = $5 RETURNING term',
  );
  const find = prepare<LeaseRow>(`SELECT holder, expires, term FROM ${s}.leases WHERE name = $1`);
  const release = prepare(`UPDATE ${s}.leases SET expires = 0 WHERE name = $1 AND holder = $2`);
  const seen = new Map<string, SeenLease>();

  function toTaken(name: string, at: number, [holder, expiresAt]: LeaseRow): LeaseOutcome {
    if (expiresAt !== seen.get(name)?.expires) seen.set(name, { expires: expiresAt, since: at });
    return { status: 'taken', holder, expiresAt };
  }

  return {
    async acquire({ name, holder, ttl }) {
      const at = now();
      const before = seen.get(name);
      const isAbandoned = before !== undefined && at - before.since >= ttl + RENEWAL_MARGIN;
      // Most calls change nothing. A write would wait for a renewal in progress, and costs a transaction.
      const [current] = await read('read a lease', (run) => run(find, name));
      if (current !== undefined && current[1] > at) {
        const [of, expiresAt, term] = current;
        if (of === holder && expiresAt > at + ttl / 2 && expiresAt <= at + ttl)
          return { status: 'held', term, expiresAt };
        if (of !== holder && !(isAbandoned && expiresAt === before.expires)) return toTaken(name, at, current);
      }
      return write('acquire a lease', async (run): Promise<LeaseOutcome> => {
        const [taken] = await run(acquire, name, holder, at + ttl, at, isAbandoned ? before.expires : null);
        if (taken !== undefined) {
          seen.delete(name);
          return { status: 'held', term: taken[0], expiresAt: at + ttl };
        }
        const [other] = await run(find, name);
        return toTaken(name, at, other ?? ['', at, 0]);
      });
    },
    release: ({ name, holder }) => write('release a lease', async (run) => void (await run(release, name, holder))),
  };
}
