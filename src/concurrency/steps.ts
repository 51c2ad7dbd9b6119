import type { ReadOptions } from './abort.ts';
import { createThrottle } from './limit.ts';

const steps = /* @__PURE__ */ createThrottle(1);

/**
 * Waits until a long read may run its next step. One step of all long reads runs per tick of the event loop, so that
 * other requests are served in between, however many long reads run concurrently. Clients take turns.
 */
export function nextStep({ client }: Pick<ReadOptions, 'client'> = {}): Promise<void> {
  return steps.acquire(client);
}
