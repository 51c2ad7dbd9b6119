import type { Address, Hex, TokenInfo } from 'intentbook';
import { hexToBytes } from '#internal';
import type { BoundedAnswer } from './bounded-calls.ts';
import { boundedCalls } from './bounded-calls.ts';
import type { RpcClient } from './rpc.ts';

/** Gas that a token may use for each answer. */
const GAS = 500_000;

/** Bytes that are kept of each: where a text begins, how long it is, and as much of it as anybody would show. */
const KEEP = 64 + 128;

const SELECTORS = {
  decimals: '0x313ce567',
  symbol: '0x95d89b41',
  name: '0x06fdde03',
  totalSupply: '0x18160ddd',
} as const;

/**
 * Reads what a token says of itself, in one `eth_call`. What has no `totalSupply` is no token. Texts may be `string` or,
 * as tokens of old have it, `bytes32`; one that is neither, or not UTF-8, is left out.
 */
export async function readTokenInfo(
  client: RpcClient,
  token: Address,
  signal: AbortSignal,
): Promise<TokenInfo | undefined> {
  const calls = Object.values(SELECTORS).map((data) => ({ to: token, data, gas: GAS }));
  const [decimals, symbol, name, supply] = await boundedCalls(client, calls, signal, KEEP);
  if (supply === undefined || !supply.exists || !supply.success || supply.size < 32) return undefined;
  return {
    ...member('decimals', decodeDecimals(decimals)),
    ...member('symbol', decodeText(symbol)),
    ...member('name', decodeText(name)),
  };
}

function member<K extends string, T>(key: K, value: T | undefined): { readonly [key in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [key in K]?: T }; // that key or none
}

function decodeDecimals(answer: BoundedAnswer | undefined): number | undefined {
  if (!answer?.success || answer.size < 32) return undefined;
  const decimals = BigInt(answer.word);
  return decimals <= 255n ? Number(decimals) : undefined;
}

function decodeText(answer: BoundedAnswer | undefined): string | undefined {
  if (!answer?.success || answer.size < 32) return undefined;
  const bytes = answer.size === 32 ? untilZero(answer.word) : stringBytes(answer.data);
  if (bytes === undefined) return undefined;
  try {
    // A text that was cut may end within a character.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}

function untilZero(word: Hex): Uint8Array {
  const bytes = hexToBytes(word);
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

/** A `string` by itself: where it begins, 32; its length; its bytes. */
function stringBytes(data: Hex): Uint8Array | undefined {
  const [offset, length] = [BigInt(data.slice(0, 66)), BigInt(`0x${data.slice(66, 130)}`)];
  if (offset !== 32n || length > 65_536n) return undefined;
  return hexToBytes(`0x${data.slice(130)}`).subarray(0, Number(length));
}
