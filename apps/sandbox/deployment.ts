import type { Address, Hex } from 'intentbook';
import { chainById, deployment } from '#internal';
import { encodeArguments, encodeFunctionCall, integerWord, labelledAddress, mappingSlot, textWord } from './abi.ts';
import { ARTIFACTS } from './contracts/artifacts.ts';
import { readAccountProxyCode, readPeer } from './peers.ts';
import { getPoolReserves } from './pool-reserves.ts';
import { quantity, type Rpc } from './rpc.ts';
import type { SandboxToken } from './tokens.ts';
import { toAtoms } from './units.ts';

/** The hooks trampoline of every chain (HooksTrampoline.sol). */
const TRAMPOLINE: Address = '0x60bf78233f48ec42ee3f101b9a05ec7878728006';

/** The contract that wallets and front ends read many balances through, the same on every public chain. */
const MULTICALL: Address = '0xca11bde05977b3631167028862be2a173976ca11';

/** The contract of allowances by signature, the same on every public chain. */
const PERMIT2: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3';

/** Contracts of orders with conditions, such as TWAP orders, and the handler of Safes that verifies them. */
const COMPOSABLE_ORDERS: Address = '0xfdafc9d1902f4e0b84f65f49f244b32b31013b74';
const INTERVAL_ORDERS: Address = '0x6cf1e9ca41f7611def408122793c358a3d11e5a5';
const BLOCK_TIME: Address = '0x52ed56da04309aca4c3fecc595298d80c2f16bac';
const SAFE_HANDLER: Address = '0x2f55e8b20d0b9fefa187aa7d00b6cbe563605bf5';

/** Contracts of the account proxies, version 1.0.1. The address of a proxy derives from both and from its code. */
const ACCOUNT_FACTORY: Address = '0x312f92fe5f1710408b20d52a374fa29e099cfa86';
const ACCOUNT_PROXY: Address = '0xa2704cf562ad418bf0453f4b662ebf6a2489ed88';

/** Arachnid's deployment proxy, which the protocol's contracts are deployed through by CREATE2. */
const DEPLOYER: Address = '0x4e59b44847b379578588920ca78fbf26c0b4956c';

/** Contracts and accounts of a chain. */
export interface Contracts {
  readonly settlement: Address;
  readonly vaultRelayer: Address;
  readonly authenticator: Address;
  readonly hooksTrampoline: Address;
  readonly nativeFlow: Address;
  readonly wrappedNative: Address;
  readonly uniswapFactory: Address;
  readonly uniswapRouter: Address;
  /** The account of the sandbox's solver. */
  readonly solver: Address;
  /** Whether tokens and pools are those of another chain, so that the layout of their storage is not known. */
  readonly isFork?: boolean;
}

/** Accounts that no contract stands at. */
const MANAGER: Address = '0x6fb5916c0f57f88004d5b5eb25f6f4d77353a1ed';
export const OPERATOR: Address = labelledAddress('operator');

/** Gas for a transaction of the sandbox. */
const GAS = quantity(12_000_000);

/** Returns the addresses of the contracts of a chain. */
export function getContracts(chainId: number, tokens: readonly SandboxToken[]): Contracts {
  const { settlement, vaultRelayer, ethFlow } = deployment('production', chainById(chainId));
  const [wrapped] = tokens;
  if (wrapped === undefined) throw new TypeError('tokens must contain wrapped native currency');
  return {
    settlement,
    vaultRelayer,
    authenticator: '0x2c4c28ddbdac9c5e7055b4c863b72ea0149d8afe',
    hooksTrampoline: TRAMPOLINE,
    nativeFlow: ethFlow,
    wrappedNative: wrapped.address,
    uniswapFactory: labelledAddress('uniswap factory'),
    uniswapRouter: labelledAddress('uniswap router'),
    solver: labelledAddress('solver'),
  };
}

/** The artifact of a deployment (package @cowprotocol/contracts). */
interface Deployment {
  readonly address: Hex;
  readonly bytecode: Hex;
  readonly args: readonly Hex[];
}

/** Deploys the protocol, tokens and pools. */
export async function deployWorld(rpc: Rpc, contracts: Contracts, tokens: readonly SandboxToken[]): Promise<void> {
  const { settlement, authenticator, vaultRelayer, nativeFlow, wrappedNative, solver } = contracts;
  const wealth = quantity(10n ** 30n);
  const rich = [OPERATOR, MANAGER, solver, wrappedNative];
  await Promise.all(rich.map((account) => rpc.call('anvil_setBalance', account, wealth)));

  for (const name of [
    'GPv2AllowListAuthentication_Implementation',
    'GPv2AllowListAuthentication_Proxy',
    'GPv2Settlement',
  ]) {
    const artifact = readPeer<Deployment>('@cowprotocol/contracts', `deployments/mainnet/${name}.json`);
    const salt = textWord('Mattresses in Berlin!');
    await transact(rpc, { to: DEPLOYER, data: `${salt}${artifact.bytecode.slice(2)}${encodeConstructor(artifact)}` });
    await assertDeployed(rpc, artifact.address, name);
  }
  await assertDeployed(rpc, vaultRelayer, 'GPv2VaultRelayer');

  const wethCode = readPeer<{ bytecode: Hex }>('@uniswap/v2-periphery', 'build/WETH9.json').bytecode;
  const routerCode = readPeer<{ bytecode: Hex }>('@uniswap/v2-periphery', 'build/UniswapV2Router02.json').bytecode;
  const factoryCode = readPeer<{ bytecode: Hex }>('@uniswap/v2-core', 'build/UniswapV2Factory.json').bytecode;
  const [wrapped, ...others] = tokens;
  await Promise.all([
    install(rpc, wrappedNative, withPrefix(wethCode)),
    setText(rpc, wrappedNative, 0, wrapped?.name ?? ''),
    setText(rpc, wrappedNative, 1, wrapped?.symbol ?? ''),
    rpc.call('anvil_setStorageAt', wrappedNative, quantity(2), `0x${integerWord(18n)}`),
    install(rpc, contracts.uniswapFactory, withPrefix(factoryCode), OPERATOR),
    install(rpc, contracts.uniswapRouter, withPrefix(routerCode), contracts.uniswapFactory, wrappedNative),
    install(rpc, contracts.hooksTrampoline, `0x${ARTIFACTS.HooksTrampoline}`, settlement),
    install(rpc, MULTICALL, `0x${ARTIFACTS.Multicall3}`),
    install(rpc, PERMIT2, `0x${ARTIFACTS.Permit2}`),
    install(rpc, COMPOSABLE_ORDERS, `0x${ARTIFACTS.ComposableOrders}`, settlement),
    install(rpc, INTERVAL_ORDERS, `0x${ARTIFACTS.IntervalOrders}`, COMPOSABLE_ORDERS),
    install(rpc, BLOCK_TIME, `0x${ARTIFACTS.BlockTime}`),
    install(rpc, SAFE_HANDLER, `0x${ARTIFACTS.SafeHandler}`),
    install(rpc, nativeFlow, `0x${ARTIFACTS.NativeFlow}`, settlement, wrappedNative, vaultRelayer),
    ...others.map(({ address, name, symbol, decimals }) =>
      install(rpc, address, `0x${ARTIFACTS.SandboxToken}`, textWord(name), textWord(symbol), BigInt(decimals)),
    ),
  ]);
  await deployAccountProxies(rpc);
  await transact(rpc, { from: MANAGER, to: authenticator, data: encodeFunctionCall('addSolver(address)', solver) });
  await transact(rpc, { to: nativeFlow, data: encodeFunctionCall('approveRelayer()') });

  for (const token of others) {
    await transact(rpc, {
      to: contracts.uniswapFactory,
      data: encodeFunctionCall('createPair(address,address)', wrappedNative, token.address),
    });
    await setPoolPrice(rpc, contracts, token, token.price);
  }
  // Settlements round in favour of the orders. The settlement contract pays for it.
  await Promise.all(tokens.map((token) => setBalance(rpc, token, settlement, toAtoms('1', token.decimals), contracts)));
}

/** Deploys the contracts of account proxies, if the package with the code of the proxies is installed. */
async function deployAccountProxies(rpc: Rpc): Promise<void> {
  const code = readAccountProxyCode();
  if (code === undefined) return;
  const holder = labelledAddress('account proxy code');
  await rpc.call('anvil_setCode', holder, code);
  await install(rpc, ACCOUNT_PROXY, `0x${ARTIFACTS.AccountProxy}`);
  await install(rpc, ACCOUNT_FACTORY, `0x${ARTIFACTS.AccountFactory}`, ACCOUNT_PROXY, holder);
}

/** Sets the price of a token: native currency for one whole token. */
export async function setPoolPrice(rpc: Rpc, contracts: Contracts, token: SandboxToken, price: string): Promise<void> {
  const { uniswapFactory, wrappedNative } = contracts;
  const reserves = getPoolReserves(token, price);
  const data = encodeFunctionCall('getPair(address,address)', wrappedNative, token.address);
  const pair: Address = `0x${(await rpc.call<Hex>('eth_call', { to: uniswapFactory, data }, 'latest')).slice(26)}`;
  const wrapped = { ...token, address: wrappedNative };
  await Promise.all([
    setBalance(rpc, wrapped, pair, reserves.native, contracts),
    setBalance(rpc, token, pair, reserves.token, contracts),
  ]);
  await transact(rpc, { to: pair, data: encodeFunctionCall('sync()') });
}

/** Storage slots of balances and allowances: of the wrapped token (WETH9.sol), and of SandboxToken.sol. */
function getSlots({ address }: Pick<SandboxToken, 'address'>, { wrappedNative }: Contracts) {
  return address === wrappedNative ? { balances: 3n, allowances: 4n } : { balances: 1n, allowances: 2n };
}

/** Sets the balance of an account without a transaction. */
export async function setBalance(
  rpc: Rpc,
  token: Pick<SandboxToken, 'address'>,
  account: Address,
  atoms: bigint,
  contracts: Contracts,
): Promise<void> {
  if (contracts.isFork) return rpc.call('anvil_dealERC20', account, token.address, quantity(atoms));
  const slot = mappingSlot(account, getSlots(token, contracts).balances);
  await rpc.call('anvil_setStorageAt', token.address, slot, `0x${integerWord(atoms)}`);
}

/** Sets an allowance without a transaction. */
export async function setAllowance(
  rpc: Rpc,
  token: Pick<SandboxToken, 'address'>,
  { owner, spender, atoms }: { readonly owner: Address; readonly spender: Address; readonly atoms: bigint },
  contracts: Contracts,
): Promise<void> {
  if (contracts.isFork) return rpc.call('anvil_setERC20Allowance', owner, spender, token.address, quantity(atoms));
  const slot = mappingSlot(spender, mappingSlot(owner, getSlots(token, contracts).allowances));
  await rpc.call('anvil_setStorageAt', token.address, slot, `0x${integerWord(atoms)}`);
}

/** A transaction of the sandbox. The node signs for every account. */
export interface Transaction {
  readonly from?: Address;
  readonly to: Address;
  readonly data?: Hex;
  readonly value?: bigint;
}

/** The part of a receipt that the sandbox reads. */
export interface Receipt {
  readonly transactionHash: Hex;
  readonly blockNumber: Hex;
  readonly status: Hex;
}

/** Sends a transaction without waiting for it. */
export function sendTransaction(rpc: Rpc, { from = OPERATOR, to, data = '0x', value = 0n }: Transaction): Promise<Hex> {
  return rpc.call<Hex>('eth_sendTransaction', { from, to, data, value: quantity(value), gas: GAS });
}

/**
 * Sends a transaction and waits until it is in a block.
 *
 * @throws Error if it reverts.
 */
export async function transact(rpc: Rpc, transaction: Transaction): Promise<Receipt> {
  const hash = await sendTransaction(rpc, transaction);
  for (let attempt = 0; ; attempt++) {
    const receipt = await rpc.call<Receipt | null>('eth_getTransactionReceipt', hash);
    if (receipt !== null) {
      if (BigInt(receipt.status) === 1n) return receipt;
      throw new Error(`transaction ${hash} to ${transaction.to} has reverted`);
    }
    // A node that makes blocks at an interval makes one for the sandbox at once.
    if (attempt === 20) await rpc.call('evm_mine');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Puts the code of a contract at an address. Its constructor runs in a simulation. */
export async function install(
  rpc: Rpc,
  address: Address,
  creationCode: Hex,
  ...args: readonly (Hex | bigint)[]
): Promise<void> {
  const data = `${creationCode}${encodeArguments(args)}`;
  const code = await rpc.call<Hex>('eth_call', { from: OPERATOR, data, gas: quantity(30_000_000) }, 'latest');
  await rpc.call('anvil_setCode', address, code);
}

async function setText(rpc: Rpc, address: Address, slot: number, text: string): Promise<void> {
  // A text of less than 32 bytes is kept with its doubled length in the last byte (Solidity's storage layout).
  const packed = `${textWord(text).slice(0, 64)}${(text.length * 2).toString(16).padStart(2, '0')}`;
  await rpc.call('anvil_setStorageAt', address, quantity(slot), packed);
}

async function assertDeployed(rpc: Rpc, address: Address, name: string): Promise<void> {
  if ((await rpc.call<Hex>('eth_getCode', address, 'latest')) !== '0x') return;
  throw new Error(`${name} is missing at ${address} after its deployment`);
}

/** Encodes the arguments of a constructor: addresses, and one byte string for a proxy. */
function encodeConstructor({ args }: Deployment): string {
  return encodeArguments(args.map((arg) => (/^0x[0-9a-fA-F]{40}$/.test(arg) ? arg : { bytes: arg })));
}

const withPrefix = (code: string): Hex => (code.startsWith('0x') ? (code as Hex) : `0x${code}`);
