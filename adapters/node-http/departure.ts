import type { IncomingMessage, ServerResponse } from 'node:http';

// One listener a socket: requests may be pipelined by the hundred, and node tells only the first of them of the end.
const served = new WeakMap<object, Set<AbortController>>();

/** A signal that is aborted when the client leaves before it has the whole answer. */
export function departureSignal({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  let present = served.get(socket);
  if (present === undefined) {
    const all = new Set<AbortController>();
    socket.once('close', () => {
      for (const each of all) each.abort();
    });
    served.set(socket, all);
    present = all;
  }
  const others = present.add(controller);
  response.once('close', () => {
    others.delete(controller);
    if (!response.writableFinished) controller.abort();
  });
  if (response.destroyed || socket.destroyed) controller.abort();
  return controller.signal;
}
