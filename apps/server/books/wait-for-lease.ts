import { StoreError } from 'intentbook';

/** Milliseconds between two attempts. */
const INTERVAL = 250;

/** Settings of the wait for a writer lease. */
export interface LeaseWait {
  /** Maximum milliseconds to wait. */
  readonly timeout: number;
  /** Called once, before the first wait. */
  readonly onWait: (message: string) => void;
}

/**
 * Opens a store, again if another process holds its writer lease. A process that was killed on another host leaves a
 * lease behind, which expires.
 */
export async function waitForLease(open: () => Promise<void>, { timeout, onWait }: LeaseWait): Promise<void> {
  const since = performance.now();
  for (let isFirst = true; ; isFirst = false) {
    const elapsed = performance.now() - since;
    try {
      return await open();
    } catch (error) {
      if (!isHeldElsewhere(error) || elapsed >= timeout) throw error;
      if (isFirst) onWait(`${error.message}. Waiting up to ${Math.ceil(timeout / 1000)} s for its writer lease`);
      await new Promise((resolve) => setTimeout(resolve, Math.min(INTERVAL, timeout)));
    }
  }
}

/** A lease of this process does not expire. */
function isHeldElsewhere(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === 'WriterActive' && !error.message.includes('this process');
}
