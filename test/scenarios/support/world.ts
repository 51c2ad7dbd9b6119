import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createDriver,
  createReferenceEngine,
  fundsReader,
  nodeSettler,
  type Solution,
  uniswapV2Liquidity,
} from 'intentbook/solver';
import type { Abi, Hex, LocalAccount } from 'viem';
import { encodeDeployData, encodeFunctionData, parseAbi, parseUnits, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import type { Contracts, Transaction } from '../../../apps/sandbox/deployment.ts';
import {
  deployWorld,
  getContracts,
  setAllowance,
  setBalance,
  setPoolPrice,
  transact,
} from '../../../apps/sandbox/deployment.ts';
import { createRpc } from '../../../apps/sandbox/rpc.ts';
import type { SandboxToken } from '../../../apps/sandbox/tokens.ts';
import { readTokens } from '../../../apps/sandbox/tokens.ts';
import type { SpawnedServer } from '../../integration/server/spawn.ts';
import { spawnServer } from '../../integration/server/spawn.ts';
import { startAnvil } from '../../support/anvil.ts';
import { serveFetch } from '../../support/fetch-server.ts';
import type { WireOrder } from './book.ts';
import { Book, OPERATOR_TOKEN } from './book.ts';
import type { Call, Trade } from './settlement.ts';
import { encodeSettlement } from './settlement.ts';

const ERC20 = parseAbi([
  'function approve(address, uint256) returns (bool)',
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address, uint256) returns (bool)',
]);
const AUTHENTICATOR = parseAbi(['function addSolver(address)']);
const MANAGER = '0x6fb5916c0f57f88004d5b5eb25f6f4d77353a1ed';
export const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Symbols of the tokens. The pools have them against WETH: 1 WETH is 2500 USDC, 2500 DAI, 10,000 COW. */
export type Symbol = 'WETH' | 'USDC' | 'DAI' | 'COW';
export type Amounts = Readonly<Partial<Record<Symbol | 'ETH', string>>>;
type Client = Awaited<ReturnType<typeof startAnvil>>['client'];

/** Options of a settlement. */
export interface SettleOptions {
  readonly solver?: Hex;
  readonly auctionId?: number;
  readonly calls?: readonly Call[];
}

/** How much of an order is executed. Default: all of it at its limit price. */
export interface Part {
  readonly uid: Hex;
  readonly sold?: bigint;
  readonly bought?: bigint;
}

/** A chain with the production contracts, pools, solvers and servers. One scenario uses it at a time. */
export interface World {
  readonly client: Client;
  readonly rpcUrl: string;
  readonly contracts: Contracts;
  /** The account of the solver. */
  readonly solver: Hex;
  /** Address of a token. */
  token(symbol: Symbol): Hex;
  /** Atoms of a number of whole tokens. */
  atoms(amount: string, symbol: Symbol): string;
  /** A file that is removed after the scenario. */
  file(name: string, content: string): string;

  /** A new account with balances, which has approved the relayer for all tokens, and with native currency for gas. */
  createTrader(amounts?: Amounts): Promise<LocalAccount>;
  fund(account: Hex, amounts: Amounts): Promise<void>;
  approve(owner: Hex, symbol: Symbol, atoms?: bigint): Promise<void>;
  balance(account: Hex, symbol: Symbol | 'ETH'): Promise<bigint>;
  setPrice(symbol: Symbol, price: string): Promise<void>;
  mine(): Promise<void>;

  /** Sends a transaction that must succeed, and returns its hash. The node signs for every account. */
  send(from: Hex, to: Hex | undefined, data: Hex, value?: bigint): Promise<Hex>;
  call(from: Hex, to: Hex, abi: Abi, functionName: string, args: readonly unknown[], value?: bigint): Promise<Hex>;
  deploy(contract: { readonly abi: Abi; readonly bytecode: Hex }, args?: readonly unknown[]): Promise<Hex>;
  /** Allows an account to settle. */
  allowSolver(account: Hex): Promise<void>;

  /** Starts a server in the production profile. Further flags replace the defaults. */
  serve(...flags: readonly string[]): Promise<Book>;
  /** Kills the server of a book. */
  kill(book: Book): Promise<void>;
  /** Starts a driver of the reference solver, and returns its URL. Each order pays a fee in atoms of the sell token. */
  startDriver(options?: { readonly account?: Hex; readonly fee?: bigint }): Promise<string>;
  /** Serves a function for the duration of the scenario. */
  listen(handle: (request: Request) => Promise<Response>): Promise<string>;
  /** Settles orders of a book with the balance of the settlement contract. */
  settle(book: Book, parts: readonly Part[], options?: SettleOptions): Promise<Hex>;
  /** Reads how orders would be executed. */
  trades(book: Book, parts: readonly Part[]): Promise<Trade[]>;

  /** Ends the servers of a scenario and restores the chain. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the chain and deploys the contracts. */
export async function createWorld(): Promise<World> {
  const anvil = await startAnvil(sepolia, '--auto-impersonate', '--order', 'fifo');
  const { client, url: rpcUrl } = anvil;
  const rpc = createRpc(rpcUrl);
  const tokens = readTokens(sepolia.id);
  const contracts = getContracts(sepolia.id, tokens);
  await deployWorld(rpc, contracts, tokens);
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-scenarios-'));
  const prices = join(folder, 'prices.json');
  const priced = tokens.map(({ address, price, decimals }) => [address, { price, decimals }]);
  writeFileSync(prices, JSON.stringify(Object.fromEntries(priced)));
  let snapshot = await client.snapshot();
  const closing: (() => Promise<unknown>)[] = [];
  const servers = new Map<Book, SpawnedServer>();

  function tokenOf(symbol: string): SandboxToken {
    const found = tokens.find((token) => token.symbol === symbol);
    if (found === undefined) throw new Error(`there is no token ${symbol}`);
    return found;
  }

  const world: World = {
    client,
    rpcUrl,
    contracts,
    solver: contracts.solver,
    token: (symbol) => tokenOf(symbol).address,
    atoms: (amount, symbol) => String(parseUnits(amount, tokenOf(symbol).decimals)),
    file(name, content) {
      const path = join(folder, `${randomBytes(4).toString('hex')}-${name}`);
      writeFileSync(path, content);
      return path;
    },

    async createTrader(amounts = {}) {
      const account = privateKeyToAccount(toHex(randomBytes(32)));
      const { vaultRelayer: spender } = contracts;
      const allowance = { owner: account.address, spender, atoms: 2n ** 256n - 1n };
      for (const token of tokens) await setAllowance(rpc, token, allowance, contracts);
      await world.fund(account.address, { ETH: '100', ...amounts });
      return account;
    },
    async fund(account, amounts) {
      for (const [symbol, amount] of Object.entries(amounts)) {
        if (symbol === 'ETH') {
          await client.setBalance({ address: account, value: parseUnits(amount, 18) });
          continue;
        }
        const token = tokenOf(symbol);
        const owned = await world.balance(account, symbol as Symbol); // one of the list
        await setBalance(rpc, token, account, owned + parseUnits(amount, token.decimals), contracts);
      }
      await world.mine();
    },
    async approve(owner, symbol, atoms = 2n ** 256n - 1n) {
      await world.call(owner, tokenOf(symbol).address, ERC20, 'approve', [contracts.vaultRelayer, atoms]);
    },
    async balance(account, symbol) {
      if (symbol === 'ETH') return client.getBalance({ address: account });
      const { address } = tokenOf(symbol);
      return client.readContract({ address, abi: ERC20, functionName: 'balanceOf', args: [account] });
    },
    setPrice: (symbol, price) => setPoolPrice(rpc, contracts, tokenOf(symbol), price),
    mine: () => client.mine({ blocks: 1 }),

    async send(from, to, data, value = 0n) {
      // A creation has no recipient.
      const transaction = { from, to: to as Hex, data, value } satisfies Transaction;
      const { transactionHash } = await transact(rpc, transaction);
      return transactionHash;
    },
    call: (from, to, abi, functionName, args, value) =>
      world.send(from, to, encodeFunctionData({ abi, functionName, args }), value),
    async deploy({ abi, bytecode }, args = []) {
      const hash = await world.send(contracts.solver, undefined, encodeDeployData({ abi, bytecode, args }));
      const { contractAddress } = await client.getTransactionReceipt({ hash });
      if (contractAddress == null) throw new Error('no contract was deployed');
      return contractAddress.toLowerCase() as Hex; // hex in lower case
    },
    async allowSolver(account) {
      await client.setBalance({ address: account, value: 10n ** 24n });
      await world.call(MANAGER, contracts.authenticator, AUTHENTICATOR, 'addSolver', [account]);
    },

    async serve(...flags) {
      const defaults: Readonly<Record<string, string>> = {
        '--chain': 'sepolia',
        ...(flags.includes('--postgres') ? {} : { '--db': ':memory:' }),
        '--rpc': rpcUrl,
        '--poll-interval': '25',
        '--profile': 'production',
        '--operator-token': OPERATOR_TOKEN,
        '--prices': prices,
        '--auction-min-validity': '0',
      };
      const args = Object.entries(defaults).flatMap(([flag, value]) => (flags.includes(flag) ? [] : [flag, value]));
      const server = await spawnServer([...args, ...flags]);
      const book = new Book(server.url);
      servers.set(book, server);
      return book;
    },
    async kill(book) {
      await servers.get(book)?.end('SIGKILL');
      servers.delete(book);
    },
    async startDriver({ account = contracts.solver, fee = 0n } = {}) {
      if (account !== contracts.solver) await world.allowSolver(account);
      const { settlement: receiver, wrappedNative, uniswapFactory: factory, vaultRelayer } = contracts;
      const liquidity = uniswapV2Liquidity(rpc, { factory, receiver, bases: [wrappedNative] });
      const getFunds = fundsReader(rpc, vaultRelayer);
      const engine = createReferenceEngine({ liquidity, wrappedNative, getFunds, buffer: 1n });
      const driver = createDriver({
        engine: {
          name: engine.name,
          solve: async (auction, signal) => (await engine.solve(auction, signal)).map((each) => withFee(each, fee)),
        },
        settler: nodeSettler({
          client: rpc,
          wallet: {
            address: account,
            sendTransaction: (transaction) =>
              rpc.call('eth_sendTransaction', { ...transaction, from: account, gas: toHex(12_000_000) }),
          },
        }),
      });
      return world.listen(driver.handle);
    },
    async listen(handle) {
      const server = await serveFetch(handle);
      closing.push(() => server.close());
      return server.url;
    },
    async trades(book, parts) {
      return Promise.all(parts.map(async (part) => executionOf(await book.order(part.uid), part)));
    },
    async settle(book, parts, { solver = contracts.solver, ...options } = {}) {
      const trades = await world.trades(book, parts);
      for (const { order, bought } of trades) await fillBuffer(order.buyToken, bought);
      return world.send(solver, contracts.settlement, encodeSettlement(trades, options));
    },

    async reset() {
      for (const server of servers.values()) await server.end('SIGKILL');
      servers.clear();
      for (const close of closing.splice(0).reverse()) await close();
      await client.revert({ id: snapshot });
      snapshot = await client.snapshot();
    },
    async close() {
      await world.reset();
      rpc.close();
      await anvil.stop();
      rmSync(folder, { recursive: true });
    },
  };

  /** Gives the settlement contract what a trade pays out. */
  async function fillBuffer(buyToken: Hex, bought: bigint): Promise<void> {
    const token = tokens.find(({ address }) => address === buyToken);
    if (token === undefined) await client.setBalance({ address: contracts.settlement, value: bought });
    else {
      const abi = { abi: ERC20, address: buyToken } as const;
      const owned = await client.readContract({ ...abi, functionName: 'balanceOf', args: [contracts.settlement] });
      await setBalance(rpc, token, contracts.settlement, owned + bought, contracts);
    }
  }

  return world;
}

function withFee(solution: Solution, fee: bigint): Solution {
  return { ...solution, fills: solution.fills.map((fill) => ({ ...fill, fee })) };
}

/** Completes the amounts of a part at the limit price of the order. */
function executionOf(order: WireOrder, { sold, bought }: Part): Trade {
  const [sellAmount, buyAmount] = [BigInt(order.sellAmount), BigInt(order.buyAmount)];
  if (sold !== undefined) return { order, sold, bought: bought ?? (sold * buyAmount + sellAmount - 1n) / sellAmount };
  if (bought !== undefined) return { order, sold: (bought * sellAmount) / buyAmount, bought };
  return { order, sold: sellAmount, bought: buyAmount };
}
