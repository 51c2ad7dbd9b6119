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
  // Members of viem's own errors.
  const { shortMessage, details } = Object(error) as { shortMessage?: unknown; details?: unknown };
  const texts = [shortMessage, details].filter((text): text is string => typeof text === 'string' && text !== '');
  const cause = findNetworkCause(listCauses(error));
  return (texts.length === 0 ? 'failed' : clean(texts.join(' '))) + (cause === undefined ? '' : ` (${clean(cause)})`);
}

/** Removes URLs and control characters of a text, and limits its length. */
const clean = (text: string): string =>
  // Cut before the search, which takes quadratic time in a long word.
  text.slice(0, MAX_SEARCHED).replaceAll(URLS, '…').replaceAll(SEPARATORS, ' ').slice(0, MAX_REASON);

/** Characters of a message in which URLs are searched. */
const MAX_SEARCHED = 2_000;

/** Maximum length of a reason. */
const MAX_REASON = 300;

/** Characters that end a line or control a terminal, which would change a log. */
const SEPARATORS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

const URLS = /\w+:\/\/\S+/g;

/** Members of an error or of one of its causes. */
interface Cause {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

/** Maximum number of causes. One of them may be the error itself. */
const MAX_CAUSES = 10;

/** Returns an error and its causes, also those of another realm. */
function listCauses(error: unknown): readonly Cause[] {
  const found: Cause[] = [];
  for (let each = error; typeof each === 'object' && each !== null && found.length < MAX_CAUSES; ) {
    found.push(each);
    each = (each as Cause).cause;
  }
  return found;
}

/** Finds the code of a network error, `ECONNREFUSED`, or the reason that `fetch` has instead: `bad port`. */
function findNetworkCause(causes: readonly Cause[]): string | undefined {
  const isText = (text: unknown): text is string => typeof text === 'string';
  const code = causes.map((cause) => cause.code).find((each) => isText(each) && /^[A-Z][A-Z_]{2,40}$/.test(each));
  const failed = causes.findIndex(({ message }) => message === 'fetch failed');
  return [code, causes[failed + 1]?.message].slice(0, failed < 0 ? 1 : 2).find(isText);
}

const isUnsupported = (error: unknown): boolean =>
  listCauses(error).some(({ code, message }) => {
    return code === METHOD_NOT_FOUND || code === METHOD_NOT_SUPPORTED || UNSUPPORTED.test(String(message));
  });

const isRejected = (error: unknown): boolean =>
  listCauses(error).some(({ code, message }) => {
    if (code === TRANSACTION_REJECTED || (Number(code) <= -38_010 && Number(code) >= -38_026)) return true;
    return /insufficient funds|intrinsic gas|exceeds? block gas limit/i.test(String(message));
  });

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
