import { Agent, type ClientRequest, request as send } from 'node:http';
import type { Hex } from 'intentbook';

/**
 * A JSON-RPC client of the node of a sandbox. Requests of one tick travel in one batch. A request rejects with an
 * `RpcError` if the node returns an error or no valid response, and if it does not respond in time.
 */
export type Rpc = ReturnType<typeof createRpc>;

/** An error that the node has returned. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  /** The text that adapters of viem's clients show. */
  readonly shortMessage: string;
  readonly code: number;
  /** Revert data, if there is any. */
  readonly data: unknown;

  constructor(message: string, code: number, data?: unknown) {
    super(message);
    this.shortMessage = message;
    this.code = code;
    this.data = data;
  }
}

interface Pending {
  readonly body: { readonly jsonrpc: '2.0'; readonly id: number; readonly method: string; readonly params: unknown };
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Requests of one batch at most. */
const MAX_BATCH = 200;

/** Code of errors that the node has not returned: an internal error of JSON-RPC. */
const INTERNAL_ERROR = -32603;

/** Default time limit in milliseconds. A fork reads its state from another node, which may be slow. */
const TIMEOUT = 120_000;

/**
 * Creates a client of a node at an `http:` URL.
 *
 * @param timeout - Maximum time of a request in milliseconds.
 */
export function createRpc(url: string, timeout = TIMEOUT) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const sent = new Set<ClientRequest>();
  let isClosed = false;
  let nextId = 1;
  const queue: Pending[] = [];

  function flush(): void {
    const batch = queue.splice(0, MAX_BATCH);
    if (queue.length > 0) queueMicrotask(flush);
    post(JSON.stringify(batch.map(({ body }) => body)))
      .then((text) => {
        const replies = parseReplies(text);
        for (const { body, resolve, reject } of batch) {
          const reply = replies.get(body.id);
          if (reply?.error !== undefined) reject(new RpcError(reply.error.message, reply.error.code, reply.error.data));
          else if (reply === undefined) reject(new RpcError('the node returned no result', INTERNAL_ERROR));
          else resolve(reply.result);
        }
      })
      .catch((error: unknown) => {
        for (const { reject } of batch) reject(error);
      });
  }

  function post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (isClosed) throw createClosedError();
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const signal = AbortSignal.timeout(timeout);
      const fail = (error: unknown) => reject(signal.aborted ? createTimeoutError() : error);
      const outgoing = send(url, { method: 'POST', agent, headers, signal }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks).toString()));
        response.on('error', fail);
      });
      sent.add(outgoing);
      outgoing.on('error', fail);
      outgoing.on('close', () => sent.delete(outgoing));
      outgoing.end(body);
    });
  }

  const createTimeoutError = () => new RpcError(`the node did not respond within ${timeout} ms`, INTERNAL_ERROR);
  const createClosedError = () => new RpcError('the connection to the node is closed', INTERNAL_ERROR);

  function request({ method, params = [] }: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (queue.length === 0) queueMicrotask(flush);
      queue.push({ body: { jsonrpc: '2.0', id: nextId++, method, params }, resolve, reject });
    });
  }

  return {
    request,
    /** Sends one request. The caller states the type of the result. */
    // The caller states the type.
    call: <T>(method: string, ...params: readonly unknown[]): Promise<T> => request({ method, params }) as Promise<T>,
    /** Ends all requests. Those in progress reject. */
    close(): void {
      isClosed = true;
      for (const each of [...sent]) each.destroy(createClosedError());
      agent.destroy();
    },
  };
}

/** @throws RpcError if the text is not a list of replies. */
function parseReplies(text: string): ReadonlyMap<number, Reply> {
  try {
    const parsed = JSON.parse(text) as readonly Reply[]; // a batch has a list
    return new Map(parsed.map((reply) => [reply.id, reply]));
  } catch {
    throw new RpcError(`the node returned an invalid response: ${text.slice(0, 200)}`, INTERNAL_ERROR);
  }
}

/** Renders a number for JSON-RPC. */
export function quantity(value: bigint | number): Hex {
  return `0x${BigInt(value).toString(16)}`;
}
