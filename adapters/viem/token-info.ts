import type { Address, Hex, TokenInfo } from 'intentbook';
import { type BoundedResult, hexToBytes } from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import type { RpcClient } from './rpc.ts';

/** Gas limit of each call. */
const GAS = 500_000;

/** Bytes of return data to keep: the offset of a text, up to {@link MAX_OFFSET}, its length and a part for display. */
const KEEP = 64 + 32 + 128;

/** Largest offset of a text, in bytes. Encoders of ABI use 32; some hand-written tokens have another word before it. */
const MAX_OFFSET = 64n;

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
 * Reads decimals, symbol and name of a token in one `eth_call`. A contract without `decimals` and `totalSupply` is no
 * token. Texts may be `string` or, in old tokens, `bytes32`, and end at the first NUL; a text that is neither, or not
 * UTF-8, is omitted.
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
  const known = decodeDecimals(decimals);
  const hasSupply = supply?.exists === true && supply.success && supply.size >= 32;
  if (known === undefined && !hasSupply) return undefined;
  return {
    ...optional('decimals', known),
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
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    const [text] = decoded.split('\0', 1).map((part) => part.trim());
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

/** Returns the bytes of an ABI-encoded `string`: at its offset, the length and the bytes. */
function readString(data: Hex): Uint8Array | undefined {
  const offset = BigInt(data.slice(0, 66));
  if (offset < 32n || offset > MAX_OFFSET) return undefined;
  const start = 2 + 2 * Number(offset);
  const length = BigInt(`0x${data.slice(start, start + 64)}`);
  return length > 65_536n
    ? undefined
    : hexToBytes(`0x${data.slice(start + 64)}`).subarray(0, Math.min(128, Number(length)));
}
