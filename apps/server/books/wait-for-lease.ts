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
 *
 * @param name - Path of the book, or `accounts`: a failure begins with it, unless it is the book at the root.
 */
export async function waitForLease(
  name: string,
  open: () => Promise<void>,
  { timeout, onWait }: LeaseWait,
): Promise<void> {
  const since = performance.now();
  for (let isFirst = true; ; isFirst = false) {
    const elapsed = performance.now() - since;
    try {
      return await open();
    } catch (error) {
      if (!isHeldElsewhere(error) || elapsed >= timeout) throw nameFailure(name, error);
      if (isFirst) onWait(`${error.message}. Waiting up to ${Math.ceil(timeout / 1000)} s for its writer lease`);
      await new Promise((resolve) => setTimeout(resolve, Math.min(INTERVAL, timeout)));
    }
  }
}

function nameFailure(name: string, error: unknown): unknown {
  if (name === '/' || !(error instanceof StoreError)) return error;
  return new StoreError(error.code, `${name}: ${error.message}`, { cause: error });
}

/** A lease of this process does not expire. */
function isHeldElsewhere(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === 'WriterActive' && !error.message.includes('this process');
}
