/** A message port, as far as it is used here. `ref` and `unref` are Node's. */
interface Port {
  onmessage: (() => void) | null;
  postMessage(message: null): void;
  ref?(): void;
  unref?(): void;
}

interface Channel {
  readonly port1: Port;
  readonly port2: Port;
}

let channels: readonly [Channel, Channel] | undefined;
let side: 0 | 1 = 0;
let waiting: (() => void)[] = [];

/**
 * Waits until the event loop has turned, so that what has arrived meanwhile is served. Of what every platform has, a
 * message to oneself is the one way to do so that takes microseconds. Two channels take turns: Node hands out up to a
 * thousand messages of one channel before it looks at anything else, those among them that were sent in the meantime.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) > 1) return;
    channels ??= [open(), open()];
    const { port1, port2 } = channels[side];
    port1.ref?.();
    port2.postMessage(null);
  });
}

function open(): Channel {
  const opened = new MessageChannel() as unknown as Channel; // its types differ by platform
  opened.port1.onmessage = () => {
    const turned = waiting;
    waiting = [];
    side = side === 0 ? 1 : 0;
    // A port that listens keeps a process alive, which this one shall do only while somebody waits.
    opened.port1.unref?.();
    for (const resolve of turned) resolve();
  };
  // It is listening already, and nobody waits yet.
  opened.port1.unref?.();
  return opened;
}
