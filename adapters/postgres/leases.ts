import type { LeaseOutcome, LeaseStore } from 'intentbook';
import type { PostgresSession } from './session.ts';

/** Milliseconds, in addition to the lifetime of a lease, in which a living holder has renewed it. */
const RENEWAL_MARGIN = 60_000;

type LeaseRow = readonly [holder: string, expires: number];

/** A holder that acquires or releases its lease again changes nothing. */
const REPEATABLE = { repeatable: true };

/**
 * Creates the lease operations. Each lease is a row; the conditional update of the row decides. A holder renews it when
 * half of its lifetime has passed.
 *
 * A lease also ends if it is not renewed for longer than its lifetime. Its holder may have ended while its clock was
 * ahead, so that the expiry time is far in the future.
 */
export function createLeaseTable({ schema: s, prepare, read, call }: PostgresSession, now: () => number): LeaseStore {
  const acquire = prepare<readonly [number]>(
    `INSERT INTO ${s}.leases AS l (name, holder, term, expires) VALUES ($1, $2, 1, $3) ON CONFLICT (name) DO UPDATE ` +
      'SET holder = excluded.holder, expires = excluded.expires, ' +
      'term = l.term + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END ' +
      'WHERE l.holder = excluded.holder OR l.expires <= $4 OR l.expires = $5 RETURNING term',
  );
  const select = prepare<LeaseRow>(`SELECT holder, expires FROM ${s}.leases WHERE name = $1`);
  const release = prepare(`UPDATE ${s}.leases SET expires = 0 WHERE name = $1 AND holder = $2`);
  /** Leases of other holders, and since when this process has seen them unchanged, in milliseconds since 1970. */
  const seen = new Map<string, { readonly expires: number; readonly since: number }>();
  /** Leases that this process holds. Until half of its lifetime, no other process can take one. */
  const held = new Map<string, LeaseOutcome & { readonly status: 'held'; readonly holder: string }>();

  function toTaken(name: string, at: number, [holder, expiresAt]: LeaseRow): LeaseOutcome {
    const before = seen.get(name);
    // The clock of this process may have been ahead, and is corrected.
    if (before?.expires !== expiresAt || at < before.since) seen.set(name, { expires: expiresAt, since: at });
    return { status: 'taken', holder, expiresAt };
  }

  return {
    async acquire({ name, holder, ttl }) {
      const at = now();
      const own = held.get(name);
      // Most calls change nothing. A write would wait for a renewal in progress, and costs a transaction.
      if (own?.holder === holder && own.expiresAt > at + ttl / 2 && own.expiresAt <= at + ttl) {
        return { status: 'held', term: own.term, expiresAt: own.expiresAt };
      }
      const before = seen.get(name);
      const isAbandoned = before !== undefined && at - before.since >= ttl + RENEWAL_MARGIN;
      const find = async () => (await read('read a lease', (run) => run(select, name)))[0];
      const current = await find();
      const isTaken = current !== undefined && current[0] !== holder && current[1] > at;
      if (isTaken && !(isAbandoned && current[1] === before.expires)) return toTaken(name, at, current);
      const abandoned = isAbandoned ? before.expires : null;
      const renew = () =>
        call('acquire a lease', (run) => run(acquire, name, holder, at + ttl, at, abandoned), REPEATABLE);
      const [taken] = await renew();
      if (taken === undefined) {
        held.delete(name);
        return toTaken(name, at, (await find()) ?? ['', at]);
      }
      seen.delete(name);
      const outcome = { status: 'held', term: taken[0], expiresAt: at + ttl } as const;
      held.set(name, { ...outcome, holder });
      return outcome;
    },
    async release({ name, holder }) {
      held.delete(name);
      await call('release a lease', (run) => run(release, name, holder), REPEATABLE);
    },
  };
}
