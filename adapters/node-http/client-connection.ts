import type { IncomingMessage, ServerResponse } from 'node:http';

// Controllers by socket, with one listener for each socket: hundreds of requests may be pipelined on one socket, and
// node emits the close of the socket only to the first.
const controllers = new WeakMap<object, Set<AbortController>>();

/** State of the client connection of a request: whether it closed before the response was complete. */
export class ClientConnection {
  readonly #socket: IncomingMessage['socket'];
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor({ socket }: IncomingMessage, response: ServerResponse) {
    this.#socket = socket;
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#controller?.signal.aborted ?? this.#isAborted();
  }

  /** Aborted when the connection closes. Created on first use, because it is expensive and rarely needed. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted()) this.#controller.abort();
      else if (!this.#response.writableFinished) abortOnClose(this.#controller, this.#socket, this.#response);
    }
    return this.#controller.signal;
  }

  #isAborted(): boolean {
    const { writableFinished, destroyed, closed } = this.#response;
    return !writableFinished && (destroyed || closed || this.#socket.destroyed);
  }
}

function abortOnClose(controller: AbortController, socket: IncomingMessage['socket'], response: ServerResponse): void {
  let ofSocket = controllers.get(socket);
  if (ofSocket === undefined) {
    const all = new Set<AbortController>();
    // Adapters of functions, such as serverless-http, have an object without events.
    socket.once?.('close', () => {
      for (const each of all) each.abort();
    });
    controllers.set(socket, all);
    ofSocket = all;
  }
  const others = ofSocket.add(controller);
  response.once('close', () => {
    others.delete(controller);
    if (!response.writableFinished) controller.abort();
  });
}
