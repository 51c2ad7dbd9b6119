type Later = (task: () => void) => unknown;

/** A message channel, as far as it is used here. */
interface Channel {
  readonly port1: { onmessage: (() => void) | null };
  readonly port2: { postMessage(message: null): void };
}

let later: Later | undefined;

/** Waits until the event loop has turned once, so that what has arrived meanwhile is served. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    later ??= immediate ?? messages();
    later(resolve);
  });
}

/** Node, Bun and Deno. Taken once: tests of a host may put a false one in its place. */
const immediate: Later | undefined = Reflect.get(globalThis, 'setImmediate');

/** Elsewhere a message to oneself is the one way that takes microseconds. */
function messages(): Later {
  const waiting: (() => void)[] = [];
  const { port1, port2 } = new MessageChannel() as unknown as Channel; // its types differ by platform
  port1.onmessage = () => waiting.shift()?.();
  return (task) => {
    waiting.push(task);
    port2.postMessage(null);
  };
}
