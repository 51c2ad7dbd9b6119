import { createRequire } from 'node:module';
import type { Abi, Hex } from 'viem';
import { encodeDeployData, encodeFunctionData, stringToHex } from 'viem';
import { sepolia } from 'viem/chains';
import { startAnvil, waitForReceipt } from './anvil.ts';

const require = createRequire(import.meta.url);

/** Address of Arachnid's deterministic deployer on every chain, including anvil. */
const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C';

export const SETTLEMENT = '0x9008D19f58AAbD9eD0D60971565AA8510560ab41';
export const RELAYER = '0xC92E8bdf79f0507f65a392b0ab4667716BFE0110';
const AUTHENTICATOR = '0x2c4c28DDBdAc9C5E7055b4C863b72eA0149D8aFE';
const MANAGER = '0x6Fb5916c0f57f88004d5b5EB25f6f4D77353a1eD';

/** An account that anvil has funded and unlocked. */
export const SOLVER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

export type EvmClient = Awaited<ReturnType<typeof startAnvil>>['client'];

/** A chain in its own process, which ends with the test. */
export interface Evm extends AsyncDisposable {
  readonly url: string;
  readonly client: EvmClient;
}

/** Starts an EVM with the id of Sepolia. It mines one block per transaction. */
export async function startEvm(...flags: readonly string[]): Promise<Evm> {
  const { url, client, stop } = await startAnvil(sepolia, ...flags);
  return { url, client, [Symbol.asyncDispose]: stop };
}

interface Deployment {
  readonly address: Hex;
  readonly abi: Abi;
  readonly bytecode: Hex;
  readonly args: readonly unknown[];
}

const deployment = (name: string): Deployment => require(`@cowprotocol/contracts/deployments/mainnet/${name}.json`);

/** Interface of the settlement contract as published by its authors. */
export const SETTLEMENT_ABI: Abi = deployment('GPv2Settlement').abi;

/** Deploys the production contracts at their addresses from their creation code, and authorises the solver. */
export async function deployProtocol(client: EvmClient): Promise<void> {
  const salt = stringToHex('Mattresses in Berlin!', { size: 32 });
  for (const name of [
    'GPv2AllowListAuthentication_Implementation',
    'GPv2AllowListAuthentication_Proxy',
    'GPv2Settlement',
  ]) {
    const { abi, bytecode, args, address } = deployment(name);
    const init = encodeDeployData({ abi, bytecode, args });
    await send(client, { to: DEPLOYER, data: `${salt}${init.slice(2)}` });
    if ((await client.getCode({ address })) === undefined) throw new Error(`${name} is not where it belongs`);
  }
  await client.impersonateAccount({ address: MANAGER });
  await client.setBalance({ address: MANAGER, value: 10n ** 18n });
  await allowSolver(client, SOLVER);
}

/** Authorises an account to settle. */
export async function allowSolver(client: EvmClient, solver: Hex): Promise<void> {
  const { abi } = deployment('GPv2AllowListAuthentication_Implementation');
  const data = encodeFunctionData({ abi, functionName: 'addSolver', args: [solver] });
  await send(client, { to: AUTHENTICATOR, data, from: MANAGER });
}

/** Sends a transaction and throws if it reverts. */
export async function send(
  client: EvmClient,
  transaction: { to?: Hex; data?: Hex; value?: bigint; from?: Hex },
): Promise<Awaited<ReturnType<typeof waitForReceipt>>> {
  const { from = SOLVER, ...rest } = transaction;
  const hash = await client.sendTransaction({ account: from, chain: sepolia, ...rest, to: rest.to ?? null });
  const receipt = await waitForReceipt(client, hash);
  if (receipt.status !== 'success') throw new Error(`transaction ${hash} has reverted`);
  return receipt;
}

export async function deploy(client: EvmClient, bytecode: Hex): Promise<Hex> {
  const { contractAddress } = await send(client, { data: bytecode });
  if (contractAddress == null) throw new Error('nothing was deployed');
  return contractAddress;
}

/** Deploys a token that the solver account can mint. */
export async function deployToken(client: EvmClient, symbol: string): Promise<Hex> {
  const { abi, bytecode } = require('@openzeppelin/contracts/build/contracts/ERC20PresetMinterPauser.json');
  return deploy(client, encodeDeployData({ abi, bytecode, args: [symbol, symbol] }));
}
