import type { BundleCall, Hex } from 'intentbook';
import { formatSecret, parseHex } from '#internal';

/** The part of viem's `PublicClient` that this adapter uses. */
export interface RpcClient {
  request(args: { method: string; params?: unknown }): Promise<unknown>;
}

/**
 * Checks the client that was passed to a function.
 *
 * @throws TypeError for another value, such as the URL of a node.
 */
export function requireClient(where: string, client: RpcClient): void {
  if (typeof (client as RpcClient | undefined)?.request === 'function') return;
  throw new TypeError(`${where}: client must be a PublicClient of viem, got ${formatSecret(client)}`);
}

/** Error response of a node or of the transport. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  /** Whether the node does not support or allow the method, so that a retry is useless. */
  readonly unsupported: boolean;
  /** Whether the node rejects the transaction itself, such as one whose sender lacks the value that it sends. */
  readonly rejected: boolean;

  constructor(message: string, unsupported: boolean, rejected = false) {
    super(message);
    this.unsupported = unsupported;
    this.rejected = rejected;
  }
}

/**
 * Sends one request, unless the signal is aborted.
 *
 * @throws NodeError without the client's error as its cause, because that contains the node's URL and often a key.
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
    throw new NodeError(`${method}: ${getReason(error)}`, isUnsupported(error), isRejected(error));
  }
}

/** Returns the short message and the details of viem's errors, which do not contain the node's URL. */
function getReason(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const { shortMessage, details } = error as { shortMessage?: unknown; details?: unknown }; // of viem's own errors
  const texts = [shortMessage, details].filter((text): text is string => typeof text === 'string' && text !== '');
  const code = findNetworkCode(error);
  // Cut before the search, which takes quadratic time in a long word.
  const reason =
    texts.length === 0
      ? 'failed'
      : texts.join(' ').slice(0, MAX_SEARCHED).replaceAll(URLS, '…').replaceAll(SEPARATORS, ' ');
  return reason.slice(0, MAX_REASON) + (code === undefined ? '' : ` (${code})`);
}

/** Characters of a message in which URLs are searched. */
const MAX_SEARCHED = 2_000;

/** Maximum length of a reason. */
const MAX_REASON = 300;

/** Characters that end a line or control a terminal, which would change a log. */
const SEPARATORS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

const URLS = /\w+:\/\/\S+/g;

/** Finds the code of a network error among the causes: `ECONNREFUSED`. */
function findNetworkCode(error: unknown): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z][A-Z_]{2,40}$/.test(cause.code)) return cause.code;
  }
  return undefined;
}

function isUnsupported(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && (cause.code === METHOD_NOT_FOUND || cause.code === METHOD_NOT_SUPPORTED)) return true;
    if (UNSUPPORTED.test(cause.message)) return true;
  }
  return false;
}

function isRejected(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'number' ? cause.code : 0;
    if (code === TRANSACTION_REJECTED || (code <= -38_010 && code >= -38_026)) return true;
    if (/insufficient funds|intrinsic gas|exceeds? block gas limit/i.test(cause.message)) return true;
  }
  return false;
}

const TRANSACTION_REJECTED = -32003;

const UNSUPPORTED = /method .*(not found|not supported|not available|does not exist|not whitelisted)|unknown method/i;

const METHOD_NOT_FOUND = -32601;
const METHOD_NOT_SUPPORTED = -32004;

/** @throws TypeError if a node returned something else. */
export function parseHexResult(value: unknown, size?: number): Hex {
  const parsed = parseHex(value, size);
  if (parsed === undefined)
    throw new TypeError(`the node returned ${truncate(value)} instead of ${size ?? 'some'} bytes`);
  return parsed;
}

/** @throws TypeError if a node returned something else, or a number above 2^53 - 1. */
export function parseQuantity(value: unknown): number {
  const number = typeof value === 'string' && /^0x[0-9a-fA-F]{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new TypeError(`the node returned ${truncate(value)} instead of a number`);
  return number;
}

/** @throws TypeError if a node returned something else, or more than 256 bits. */
export function parseAmount(value: unknown): bigint {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) return BigInt(value);
  throw new TypeError(`the node returned ${truncate(value)} instead of an amount`);
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`the node returned ${truncate(value)} instead of an object`);
  return value as Readonly<Record<string, unknown>>; // members of an object have any type
}

export function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`the node returned ${truncate(value)} instead of a list`);
  return value;
}

export const toQuantity = (number: number | bigint) => `0x${number.toString(16)}`;

/** Returns a call in the form of the node. */
export function toRpcCall({ from, to, input, value, gas }: BundleCall) {
  return { from, to, input, value: toQuantity(value), ...(gas === undefined ? {} : { gas: toQuantity(gas) }) };
}

function truncate(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
