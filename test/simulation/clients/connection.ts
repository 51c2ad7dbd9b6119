import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';

/** A connection of a client that begins again after each interruption. */
export interface Connection<E> {
  /** The endpoint of the connection. `undefined`: the client is not connected. */
  readonly endpoint: E | undefined;
  /** Ends the connection; the client connects again later. */
  reconnect(): void;
}

/** The process that a client is connected to. */
export interface Endpoint {
  /** Calls `task` when its process is killed. The returned function cancels this. */
  onEnd(task: () => void): () => void;
}

export interface ConnectionContext<E extends Endpoint> {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  /** Returns an endpoint that has started. */
  readonly find: () => E | undefined;
  /**
   * Follows the endpoint until its stream ends or `isCurrent` returns false.
   *
   * @param onLeave - Sets the function that ends the stream.
   */
  readonly follow: (endpoint: E, isCurrent: () => boolean, onLeave: (leave: () => void) => void) => Promise<void>;
}

/** Maximum milliseconds until a client notices that the process of its connection has ended. */
const NOTICE_TIME = 400;

/** Maximum milliseconds until a client connects again. */
const RECONNECT_TIME = 600;

/** Creates the connection, and connects. */
export function createConnection<E extends Endpoint>(context: ConnectionContext<E>): Connection<E> {
  const { scheduler, random, find, follow } = context;
  let generation = 0;
  let endpoint: E | undefined;
  let leave = () => {};
  let forget = () => {};

  function connect(): void {
    const mine = ++generation;
    const isCurrent = () => mine === generation;
    const reconnectOnce = () => {
      if (isCurrent()) reconnect();
    };
    endpoint = find();
    if (endpoint === undefined) {
      reconnect();
      return;
    }
    forget = endpoint.onEnd(() => void scheduler.after(random.integer(0, NOTICE_TIME), reconnectOnce));
    const onLeave = (given: () => void) => {
      if (isCurrent()) leave = given;
      else given();
    };
    follow(endpoint, isCurrent, onLeave).then(reconnectOnce, reconnectOnce);
  }

  function reconnect(): void {
    generation++;
    endpoint = undefined;
    leave();
    forget();
    leave = () => {};
    forget = () => {};
    scheduler.after(random.integer(1, RECONNECT_TIME), connect);
  }

  connect();
  return {
    get endpoint() {
      return endpoint;
    },
    reconnect,
  };
}
