import type { Address, Funds, Hex, VaultFundsQuery } from 'intentbook';
import { array, type BoundedResult, encodeCall, word } from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import type { RpcClient } from './rpc.ts';

/** The vault of the protocol: Balancer V2, at the same address on every chain. */
const VAULT: Address = '0xba12222222228d8ba445958a75a0704d566bf2c8';

const SELECTORS = {
  balanceOf: '0x70a08231',
  allowance: '0xdd62ed3e',
  getInternalBalance: '0x0f5a6efa',
  hasApprovedRelayer: '0xfec90d72',
} as const;

/** Gas limit of each call. */
const GAS = 1_000_000;

/** Bytes of return data to keep: a list with one element. */
const KEEP = 96;

const UNLIMITED = 2n ** 256n - 1n;

/**
 * Reads funds that the vault holds (`internal`) or moves (`external`), and the approvals, in one `eth_call`. Without a
 * vault on the chain both are 0. Returns `undefined` if the vault or the token exists, but does not return an amount.
 */
export async function readVaultFunds(
  client: RpcClient,
  { owner, token, spender, source }: VaultFundsQuery,
  signal: AbortSignal,
): Promise<Funds | undefined> {
  const approval = encodeCall(SELECTORS.hasApprovedRelayer, [word(owner), word(spender)]);
  const calls: { readonly to: Address; readonly data: Hex }[] =
    source === 'internal'
      ? [{ to: VAULT, data: encodeCall(SELECTORS.getInternalBalance, [word(owner), array([word(token)])]) }]
      : [
          { to: token, data: encodeCall(SELECTORS.balanceOf, [word(owner)]) },
          { to: token, data: encodeCall(SELECTORS.allowance, [word(owner), word(VAULT)]) },
        ];
  const [approved, balance, allowance] = await boundedCalls(
    client,
    [{ to: VAULT, data: approval }, ...calls].map((call) => ({ ...call, gas: GAS })),
    signal,
    KEEP,
  );
  if (approved?.exists === false) return { balance: 0n, allowance: 0n };
  const isApproved = readWord(approved, 0) === 1n;
  const held = readWord(balance, source === 'internal' ? 2 : 0);
  const allowed = !isApproved ? 0n : source === 'internal' ? UNLIMITED : readWord(allowance, 0);
  return held === undefined || allowed === undefined ? undefined : { balance: held, allowance: allowed };
}

/** Reads a word of a result. `undefined` if the call failed or returned too few bytes. */
function readWord(result: BoundedResult | undefined, index: number): bigint | undefined {
  if (!result?.success || result.size < 32 * (index + 1)) return undefined;
  return BigInt(`0x${result.data.slice(2 + 64 * index, 66 + 64 * index)}`);
}
