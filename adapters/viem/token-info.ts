import type { Address, Hex, TokenInfo } from 'intentbook';
import type { BoundedResult } from '#internal';
import { hexToBytes } from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import type { RpcClient } from './rpc.ts';

/** Gas limit of each call. */
const GAS = 500_000;

/** Bytes of return data to keep: offset and length of a text, and a part of it that is long enough for display. */
const KEEP = 64 + 128;

const SELECTORS = {
  decimals: '0x313ce567',
  symbol: '0x95d89b41',
  name: '0x06fdde03',
  totalSupply: '0x18160ddd',
} as const;

/** Tokens that are read in one `eth_call`. Nodes limit its gas, often to 50 million. */
const TOKENS_PER_CALL = 25;

/** Reads many tokens like {@link readTokenInfo}, 25 in one `eth_call`. */
export async function readTokensInfo(
  client: RpcClient,
  tokens: readonly Address[],
  signal: AbortSignal,
): Promise<(TokenInfo | undefined)[]> {
  const infos: (TokenInfo | undefined)[] = [];
  for (let i = 0; i < tokens.length; i += TOKENS_PER_CALL) {
    const batch = tokens.slice(i, i + TOKENS_PER_CALL);
    const calls = batch.flatMap((to) => Object.values(SELECTORS).map((data) => ({ to, data, gas: GAS })));
    const results = await boundedCalls(client, calls, signal, KEEP);
    const size = calls.length / batch.length;
    infos.push(...batch.map((_, n) => decodeTokenInfo(results.slice(n * size, (n + 1) * size))));
  }
  return infos;
}

/**
 * Reads decimals, symbol and name of a token in one `eth_call`. A contract without `totalSupply` is not a token. Texts
 * may be `string` or, in old tokens, `bytes32`; a text that is neither, or not UTF-8, is omitted.
 */
export async function readTokenInfo(
  client: RpcClient,
  token: Address,
  signal: AbortSignal,
): Promise<TokenInfo | undefined> {
  return (await readTokensInfo(client, [token], signal))[0];
}

/** Decodes the results of the calls in {@link SELECTORS}. */
function decodeTokenInfo([decimals, symbol, name, supply]: readonly BoundedResult[]): TokenInfo | undefined {
  if (supply === undefined || !supply.exists || !supply.success || supply.size < 32) return undefined;
  return {
    ...optional('decimals', decodeDecimals(decimals)),
    ...optional('symbol', decodeText(symbol)),
    ...optional('name', decodeText(name)),
  };
}

function optional<K extends string, T>(key: K, value: T | undefined): { readonly [key in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [key in K]?: T }; // that key or none
}

function decodeDecimals(result: BoundedResult | undefined): number | undefined {
  if (!result?.success || result.size < 32) return undefined;
  const decimals = BigInt(result.word);
  return decimals <= 255n ? Number(decimals) : undefined;
}

function decodeText(result: BoundedResult | undefined): string | undefined {
  if (!result?.success || result.size < 32) return undefined;
  const bytes = result.size === 32 ? readBytes32(result.word) : readString(result.data);
  if (bytes === undefined) return undefined;
  try {
    // A truncated text may end within a character.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}

function readBytes32(word: Hex): Uint8Array {
  const bytes = hexToBytes(word);
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

/** Returns the bytes of an ABI-encoded `string`: offset 32, length, bytes. */
function readString(data: Hex): Uint8Array | undefined {
  const [offset, length] = [BigInt(data.slice(0, 66)), BigInt(`0x${data.slice(66, 130)}`)];
  if (offset !== 32n || length > 65_536n) return undefined;
  return hexToBytes(`0x${data.slice(130)}`).subarray(0, Number(length));
}
