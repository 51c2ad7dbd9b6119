/**
 * Creates a comparison of versions of orders that arrive from concurrent reads and from a stream. A version is the
 * number of the read or event that it comes from. A read has the number of its start: what it returns can be older than
 * an event that arrives meanwhile, and is newer than the result of an earlier read.
 */
export function createVersions() {
  const newest = new Map();
  let last = 0;
  let running = 0;
  return {
    /** Calls `read` with the number of a new version. */
    async run(read) {
      running++;
      try {
        return await read(++last);
      } finally {
        // All later versions are newer.
        if (--running === 0) newest.clear();
      }
    },
    /** Returns whether a version of an order is the newest one that has arrived. */
    arrive(uid, version) {
      if ((newest.get(uid) ?? 0) > version) return false;
      newest.set(uid, version);
      return true;
    },
  };
}
