import { Agent, request as send } from 'node:http';
import type { Hex } from 'intentbook';

/** A JSON-RPC client of the node of a sandbox. Requests of one tick travel in one batch. */
export interface Rpc {
  request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** Sends one request. The caller states the type of the result. */
  call<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>;
  close(): void;
}

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

/** Creates a client of a node at an `http:` URL. */
export function createRpc(url: string): Rpc {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  let nextId = 1;
  let queue: Pending[] = [];

  function flush(): void {
    const batch = queue.splice(0, MAX_BATCH);
    if (queue.length > 0) queueMicrotask(flush);
    post(JSON.stringify(batch.map(({ body }) => body))).then(
      (text) => {
        const replies = new Map((JSON.parse(text) as Reply[]).map((reply) => [reply.id, reply])); // a batch has a list
        for (const { body, resolve, reject } of batch) {
          const reply = replies.get(body.id);
          if (reply?.error !== undefined) reject(new RpcError(reply.error.message, reply.error.code, reply.error.data));
          else if (reply === undefined) reject(new RpcError('the node returned no result', -32603));
          else resolve(reply.result);
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }

  function post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const outgoing = send(url, { method: 'POST', agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks).toString()));
        response.on('error', reject);
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  function request({ method, params = [] }: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (queue.length === 0) queueMicrotask(flush);
      queue.push({ body: { jsonrpc: '2.0', id: nextId++, method, params }, resolve, reject });
    });
  }

  return {
    request,
    // The caller states the type.
    call: <T>(method: string, ...params: readonly unknown[]) => request({ method, params }) as Promise<T>,
    close() {
      queue = [];
      agent.destroy();
    },
  };
}

/** Renders a number for JSON-RPC. */
export function quantity(value: bigint | number): Hex {
  return `0x${BigInt(value).toString(16)}`;
}
