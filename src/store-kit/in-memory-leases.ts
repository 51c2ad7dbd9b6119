import type { LeaseStore } from '../ports/store.ts';

/**
 * Creates leases in memory for stores with a single writer: all holders end with the process, and the leases with them.
 *
 * @param now - Returns milliseconds since 1970.
 */
export function createInMemoryLeases(now: () => number): LeaseStore {
  const leases = new Map<string, { holder: string; term: number; expiresAt: number }>();

  return {
    async acquire({ name, holder, ttl }) {
      const at = now();
      const lease = leases.get(name);
      if (lease !== undefined && lease.holder !== holder && lease.expiresAt > at) {
        return { status: 'taken', holder: lease.holder, expiresAt: lease.expiresAt };
      }
      const term = (lease?.term ?? 0) + (lease?.holder === holder ? 0 : 1);
      const expiresAt = at + ttl;
      leases.set(name, { holder, term, expiresAt });
      return { status: 'held', term, expiresAt };
    },
    async release({ name, holder }) {
      const lease = leases.get(name);
      if (lease?.holder === holder) lease.expiresAt = 0;
    },
  };
}
