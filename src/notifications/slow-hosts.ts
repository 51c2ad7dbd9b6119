/**
 * Duration of an attempt from which its host counts as slow, in milliseconds. It is also the timeout of a slow host.
 */
const SLOW = 5_000;

/** Maximum number of slow hosts that are remembered. The oldest are forgotten first. */
const MAX_HOSTS = 1_000;

/** The timeouts of target hosts. */
export interface SlowHosts {
  /**
   * Returns the timeout of the next attempt, in milliseconds.
   *
   * @param isFirst - Whether no attempt to the target has succeeded, and this is the first of a delivery.
   */
  getTimeout(host: string | undefined, isFirst: boolean): number;
  /** Records the duration of an attempt, in milliseconds. A fast attempt ends the shorter timeout. */
  record(host: string | undefined, duration: number): void;
}

/**
 * Creates the memory of slow hosts.
 *
 * @param timeout - Timeout of a host that is not slow, in milliseconds.
 */
export function createSlowHosts(timeout: number): SlowHosts {
  const slow = new Set<string>();
  return {
    getTimeout: (host, isFirst) =>
      host !== undefined && (isFirst || slow.has(host)) ? Math.min(timeout, SLOW) : timeout,
    record(host, duration) {
      if (host === undefined) return;
      slow.delete(host);
      if (duration < Math.min(timeout, SLOW)) return;
      slow.add(host);
      const [oldest] = slow;
      if (slow.size > MAX_HOSTS && oldest !== undefined) slow.delete(oldest);
    },
  };
}
