import type { Address, Hex } from 'intentbook';
import { listKnownTokens } from 'intentbook/accounts';
import { encodeFunctionCall } from './abi.ts';
import { type Contracts, getContracts, OPERATOR, transact } from './deployment.ts';
import { quantity, type Rpc } from './rpc.ts';
import type { SandboxToken, TokenOption } from './tokens.ts';

/** Factories of Uniswap V2, and of Honeyswap on Gnosis Chain, by chain id. */
const FACTORIES: Readonly<Record<number, Address>> = {
  1: '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f',
  100: '0xa818b4f111ccac7aa31d0bcc0806d64f2e0737d7',
  8453: '0x8909dc15e40173ff4699343b6eb8132c65e18ec6',
  42161: '0xf1d7cc64fb4452f05c498126312ebe29f30fbcf9',
  11155111: '0xf62c03e08ada871a0beb309762e260a7a6a880e6',
};

/** Lists the tokens of a fork: the common tokens of the chain, or those of the option, with symbols resolved. */
export function listForkTokens(chainId: number, options?: readonly TokenOption[]): readonly TokenOption[] {
  const [, , ...common] = listKnownTokens(chainId); // the first two are native currency and its wrapped form
  return options?.map((option) => common.find(({ symbol }) => symbol === option) ?? option) ?? common;
}

/** Returns the addresses of the contracts of a forked chain. @throws TypeError if its pools are not known. */
export function getForkContracts(chainId: number, tokens: readonly SandboxToken[]): Contracts {
  const uniswapFactory = FACTORIES[chainId];
  if (uniswapFactory !== undefined) return { ...getContracts(chainId, tokens), uniswapFactory, isFork: true };
  throw new TypeError(`chainId must be one of ${Object.keys(FACTORIES).join(', ')} with fork, got ${chainId}`);
}

/**
 * Allows the solver of a sandbox to settle on a fork.
 *
 * @param accounts - Accounts of the sandbox. Contracts that they delegate to on the real chain are removed.
 * @returns The tokens with the prices of their pools.
 * @throws TypeError if the chain is another one, or a contract is missing.
 */
export async function prepareFork(
  rpc: Rpc,
  contracts: Contracts,
  { chainId, tokens, accounts }: { chainId: number; tokens: readonly SandboxToken[]; accounts: readonly Address[] },
): Promise<SandboxToken[]> {
  const found = Number(await rpc.call<Hex>('eth_chainId'));
  if (found !== chainId) throw new TypeError(`chainId must be that of the forked chain, ${found}, got ${chainId}`);
  const { settlement, authenticator, hooksTrampoline, nativeFlow, uniswapFactory, solver, wrappedNative } = contracts;
  const needed = { settlement, authenticator, hooksTrampoline, nativeFlow, uniswapFactory };
  const named = [...Object.entries(needed), ...tokens.map(({ symbol, address }) => [symbol, address] as const)];
  await Promise.all(
    named.map(async ([name, address]) => {
      if ((await rpc.call<Hex>('eth_getCode', address, 'latest')) !== '0x') return;
      throw new TypeError(`fork must be a chain with a contract at ${address} (${name})`);
    }),
  );
  const manager = readAddress(await read(rpc, authenticator, encodeFunctionCall('manager()')));
  const wealth = quantity(10n ** 30n);
  await Promise.all([
    ...[OPERATOR, manager, solver].map((account) => rpc.call('anvil_setBalance', account, wealth)),
    ...accounts.map((account) => rpc.call('anvil_setCode', account, '0x')),
  ]);
  await transact(rpc, { from: manager, to: authenticator, data: encodeFunctionCall('addSolver(address)', solver) });
  return Promise.all(
    tokens.map(async (token) => {
      const price = await readPrice(rpc, token, { uniswapFactory, wrappedNative });
      return price === undefined ? token : { ...token, price };
    }),
  );
}

/** Reads native currency for one whole token from a pool. */
async function readPrice(
  rpc: Rpc,
  { address, decimals }: SandboxToken,
  { uniswapFactory, wrappedNative }: Pick<Contracts, 'uniswapFactory' | 'wrappedNative'>,
): Promise<string | undefined> {
  if (address === wrappedNative) return undefined;
  const data = encodeFunctionCall('getPair(address,address)', wrappedNative, address);
  const pair = readAddress(await read(rpc, uniswapFactory, data));
  if (BigInt(pair) === 0n) return undefined;
  const reserves = await read(rpc, pair, encodeFunctionCall('getReserves()'));
  const [first, second] = [2, 66].map((at) => Number(BigInt(`0x${reserves.slice(at, at + 64)}`)));
  const [native = 0, other = 0] = wrappedNative < address ? [first, second] : [second, first];
  return native > 0 && other > 0 ? (native / 1e18 / (other / 10 ** decimals)).toFixed(18) : undefined;
}

const read = (rpc: Rpc, to: Address, data: Hex) => rpc.call<Hex>('eth_call', { to, data }, 'latest');
const readAddress = (word: Hex): Address => `0x${word.slice(26)}`;
