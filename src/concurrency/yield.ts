/** Runs `task` in a later tick of the event loop. */
export type Schedule = (task: () => void) => unknown;

/** The members of `MessageChannel` that are used here. Their full types differ by platform. */
interface Channel {
  readonly port1: { onmessage: (() => void) | null };
  readonly port2: { postMessage(message: null): void };
}

let schedule: Schedule | undefined;

/** Waits for the next tick of the event loop, so that pending I/O is served. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    schedule ??= immediate ?? createMessageScheduler();
    schedule(resolve);
  });
}

/** Replaces the event loop, for a simulator that orders the ticks. `undefined` restores that of the platform. */
export function setTickScheduler(scheduler: Schedule | undefined): void {
  schedule = scheduler;
}

/** `setImmediate` of Node, Bun and Deno. Read once at load time, since tests of a host may replace it later. */
const immediate: Schedule | undefined = Reflect.get(globalThis, 'setImmediate');

/** Creates a scheduler for other platforms: a message to the own process arrives after microseconds. */
function createMessageScheduler(): Schedule {
  const waiting: (() => void)[] = [];
  const { port1, port2 } = new MessageChannel() as unknown as Channel; // its types differ by platform
  port1.onmessage = () => waiting.shift()?.();
  return (task) => {
    waiting.push(task);
    port2.postMessage(null);
  };
}

/**
 * Calls `task` when a promise has settled, and settles as the promise. JavaScript runtimes settle the result of
 * `Promise.prototype.finally` after different numbers of microtasks, so the traces of a simulation would differ.
 */
export async function thenAlways<T>(promise: Promise<T>, task: () => void): Promise<T> {
  try {
    return await promise;
  } finally {
    task();
  }
}
