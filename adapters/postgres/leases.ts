import type { LeaseOutcome, LeaseStore } from 'intentbook';
import type { PostgresSession } from './session.ts';

/** Creates the lease operations. Each lease is a row; the conditional update of the row decides. */
export function createLeaseTable({ schema: s, prepare, write }: PostgresSession, now: () => number): LeaseStore {
  const acquire = prepare<readonly [number]>(
    `INSERT INTO ${s}.leases AS l (name, holder, term, expires) VALUES ($1, $2, 1, $3) ON CONFLICT (name) DO UPDATE ` +
      'SET holder = excluded.holder, expires = excluded.expires, ' +
      'term = l.term + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END ' +
      'WHERE l.holder = excluded.holder OR l.expires <= $4 RETURNING term',
  );
  const find = prepare<readonly [string, number]>(`SELECT holder, expires FROM ${s}.leases WHERE name = $1`);
  const release = prepare(`UPDATE ${s}.leases SET expires = 0 WHERE name = $1 AND holder = $2`);

  return {
    acquire: ({ name, holder, ttl }) =>
      write('acquire a lease', async (run): Promise<LeaseOutcome> => {
        const at = now();
        const [taken] = await run(acquire, name, holder, at + ttl, at);
        if (taken !== undefined) return { status: 'held', term: taken[0], expiresAt: at + ttl };
        const [other] = await run(find, name);
        return { status: 'taken', holder: other?.[0] ?? '', expiresAt: other?.[1] ?? at };
      }),
    release: ({ name, holder }) => write('release a lease', async (run) => void (await run(release, name, holder))),
  };
}
