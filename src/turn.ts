/** A message port, as far as it is used here. `ref` and `unref` are Node's. */
interface Port {
  onmessage: (() => void) | null;
  postMessage(message: null): void;
  ref?(): void;
  unref?(): void;
}

let channel: { readonly port1: Port; readonly port2: Port } | undefined;
let waiting: (() => void)[] = [];

/**
 * Waits until the event loop has turned once, so that what has arrived meanwhile is served. Of what every platform has,
 * a message to oneself is the one way to do so that takes microseconds.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) > 1) return;
    channel ??= open();
    channel.port1.ref?.();
    channel.port2.postMessage(null);
  });
}

function open(): { readonly port1: Port; readonly port2: Port } {
  const opened = new MessageChannel() as unknown as { port1: Port; port2: Port }; // its types differ by platform
  opened.port1.onmessage = () => {
    const turned = waiting;
    waiting = [];
    // A port that listens keeps a process alive, which this one shall do only while somebody waits.
    opened.port1.unref?.();
    for (const resolve of turned) resolve();
  };
  return opened;
}
