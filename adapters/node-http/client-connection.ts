import type { IncomingMessage, ServerResponse } from 'node:http';

// One listener a socket: requests may be pipelined by the hundred, and node tells only the first of them of the end.
const served = new WeakMap<object, Set<AbortController>>();

/** Whether the client of a request has left before it had the whole answer. */
export class ClientConnection {
  readonly #socket: IncomingMessage['socket'];
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor({ socket }: IncomingMessage, response: ServerResponse) {
    this.#socket = socket;
    this.#response = response;
  }

  get gone(): boolean {
    return this.#controller?.signal.aborted ?? this.#isGone();
  }

  /** Aborted then. Made when somebody asks for it first: most answers are ready before anybody does, and it is not cheap. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isGone()) this.#controller.abort();
      else if (!this.#response.writableFinished) follow(this.#controller, this.#socket, this.#response);
    }
    return this.#controller.signal;
  }

  #isGone(): boolean {
    const { writableFinished, destroyed, closed } = this.#response;
    return !writableFinished && (destroyed || closed || this.#socket.destroyed);
  }
}

function follow(controller: AbortController, socket: IncomingMessage['socket'], response: ServerResponse): void {
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
}
