import type { Address, VaultReader } from 'intentbook';
import { encodeCall, parseHex, word } from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import { type RpcClient, requireClient } from './rpc.ts';

const DECIMALS = '0x313ce567';
const ASSET = '0x38d52e0f';
const CONVERT_TO_ASSETS = '0x07a2d13a';

/** Gas limit of each call. Some vaults read several contracts for their value. */
const GAS = 2_000_000;

/** Largest decimals of a vault for which a whole share fits into 256 bits. */
const MAX_DECIMALS = 77n;

/**
 * Creates the reader of vaults (EIP-4626), for the option `quotes.vaults`. A token whose `asset`, `decimals` or
 * `convertToAssets` reverts is no vault.
 *
 * @throws TypeError if `client` is not a client of viem.
 */
export function viemVaults(client: RpcClient): VaultReader {
  requireClient('viemVaults', client);
  return {
    async readShare(token, { signal }) {
      const [asset, decimals] = await readWords(client, token, [ASSET, DECIMALS], signal);
      if (asset === undefined || decimals === undefined || decimals > MAX_DECIMALS) return undefined;
      const address = parseHex(`0x${asset.toString(16).padStart(40, '0')}`, 20);
      if (address === undefined || asset === 0n) return undefined;
      const call = encodeCall(CONVERT_TO_ASSETS, [word(10n ** decimals)]);
      const [assets] = await readWords(client, token, [call], signal);
      // A share without a value has no price by its asset.
      return assets === undefined || assets === 0n ? undefined : { asset: address, assets, decimals: Number(decimals) };
    },
  };
}

/** Makes calls that return a word each. `undefined` for one that reverts, or of an account without code. */
async function readWords(client: RpcClient, to: Address, calls: readonly `0x${string}`[], signal: AbortSignal) {
  const results = await boundedCalls(
    client,
    calls.map((data) => ({ to, data, gas: GAS })),
    signal,
  );
  return results.map(({ exists, success, size, word: value }) => {
    return exists && success && size >= 32 ? BigInt(value) : undefined;
  });
}
