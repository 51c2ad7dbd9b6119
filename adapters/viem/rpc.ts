import type { Hex } from 'intentbook';
import { parseHex } from '#internal';

/** What this adapter asks of a client: viem's `PublicClient` has it. */
export interface RpcClient {
  request(args: { method: string; params?: unknown }): Promise<unknown>;
}

/** What a node, or the way to it, has answered instead of an answer. */
export class NodeError extends Error {
  override readonly name = 'NodeFault';
  /** Whether the node does not know the method, or keeps it from us: asking again is no use. */
  readonly unsupported: boolean;

  constructor(message: string, unsupported: boolean) {
    super(message);
    this.unsupported = unsupported;
  }
}

/**
 * Sends one request, unless it is not wanted any more.
 *
 * @throws NodeFault without the client's own error as its cause: that one names the node's URL, which often carries a key.
 */
export async function callRpc(
  client: RpcClient,
  signal: AbortSignal,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  signal.throwIfAborted();
  try {
    return await client.request({ method, params });
  } catch (error) {
    throw new NodeError(`${method}: ${reasonOf(error)}`, isUnsupported(error));
  }
}

/** viem's errors have a short message, and what the node has said, apart from where it is. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const { shortMessage, details } = error as { shortMessage?: unknown; details?: unknown }; // of viem's own errors
  const texts = [shortMessage, details].filter((text): text is string => typeof text === 'string' && text !== '');
  return texts.length === 0
    ? 'failed'
    : texts
        .join(' ')
        .replaceAll(/\w+:\/\/\S+/g, '…')
        .slice(0, 300);
}

function isUnsupported(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && (cause.code === METHOD_NOT_FOUND || cause.code === METHOD_NOT_SUPPORTED)) return true;
    if (UNSUPPORTED.test(cause.message)) return true;
  }
  return false;
}

const UNSUPPORTED = /method .*(not found|not supported|not available|does not exist|not whitelisted)|unknown method/i;

const METHOD_NOT_FOUND = -32601;
const METHOD_NOT_SUPPORTED = -32004;

/** @throws TypeError when a node answers something else. */
export function hex(value: unknown, size?: number): Hex {
  const parsed = parseHex(value, size);
  if (parsed === undefined)
    throw new TypeError(`the node answered ${short(value)} where ${size ?? 'some'} bytes belong`);
  return parsed;
}

/** @throws TypeError when a node answers something else, or a number that a double does not hold. */
export function quantity(value: unknown): number {
  const number = typeof value === 'string' && /^0x[0-9a-fA-F]{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new TypeError(`the node answered ${short(value)} where a number belongs`);
  return number;
}

/** @throws TypeError when a node answers something else, or more than 256 bits. */
export function amount(value: unknown): bigint {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) return BigInt(value);
  throw new TypeError(`the node answered ${short(value)} where an amount belongs`);
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`the node answered ${short(value)} where an object belongs`);
  return value as Readonly<Record<string, unknown>>; // an object has members of whatever kind
}

export function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`the node answered ${short(value)} where a list belongs`);
  return value;
}

export const toQuantity = (number: number | bigint) => `0x${number.toString(16)}`;

function short(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
