import type { Address, Hex, OrderBook } from 'intentbook';
import { uniswapV2 } from 'intentbook/estimators';
import { createReferenceEngine, fundsReader, nodeSettler, uniswapV2Liquidity } from 'intentbook/solver';
import {
  uniswapV2Pools,
  viemChain,
  viemOrderSimulator,
  viemQuoteVerifier,
  viemSimulator,
  viemSource,
} from 'intentbook/viem';
import { MAX_UINT256 } from '#internal';
import { encodeFunctionCall, labelledAddress } from './abi.ts';
import { type Anvil, type AnvilOptions, startAnvil } from './anvil.ts';
import type { NativeOrder, SandboxChain, SandboxOwner } from './chain.ts';
import { ARTIFACTS } from './contracts/artifacts.ts';
import type { Contracts, Transaction } from './deployment.ts';
import {
  deployWorld,
  getContracts,
  install,
  sendTransaction,
  setAllowance,
  setBalance,
  setPoolPrice,
  transact,
} from './deployment.ts';
import type { Faults } from './faults.ts';
import { getForkContracts, prepareFork } from './fork.ts';
import { quantity, type Rpc } from './rpc.ts';
import { createTaskQueue } from './task-queue.ts';
import type { SandboxToken } from './tokens.ts';
import { toAtoms } from './units.ts';

export interface NodeChainOptions extends AnvilOptions {
  readonly tokens: readonly SandboxToken[];
  /** Time between blocks, in seconds. 0: a block for each transaction. */
  readonly blockTime: number;
  /** Time between two looks of the book at the chain, in milliseconds. */
  readonly pollInterval: number;
  /** A state of such a chain. Absent: the state after the deployment. */
  readonly saved?: unknown;
}

/** The state of a node, as `anvil_dumpState` returns it, and the number of contract wallets. */
interface NodeState {
  readonly dump: Hex;
  readonly wallets: number;
}

/** Amounts that the accounts of the node hold, in whole units. */
const ACCOUNT_BALANCE = '10000';

/** Wei for one unit of gas, as quotes assume it. */
const GAS_PRICE = '1000000000';

/** Blocks of one request at most. */
const MAX_BLOCKS = 250;

/** A node with the contracts deployed, and the snapshot that it starts from. */
interface PreparedNode {
  readonly anvil: Anvil;
  /** Those of the options, with the prices of a forked chain. */
  readonly tokens: readonly SandboxToken[];
  base: string;
}

/** Nodes that no sandbox uses, by their settings. */
const idle = new Map<string, PreparedNode[]>();

/** Nodes of equal settings that are kept for the next sandboxes. */
const MAX_IDLE = 2;

/** Stops the nodes that are kept for the next sandboxes. They end with the process in any case. */
export async function stopIdleNodes(): Promise<void> {
  const nodes = [...idle.values()].flat();
  idle.clear();
  await Promise.all(nodes.map(({ anvil }) => anvil.stop()));
}

/** Takes a prepared node, or starts one. A chain is in the same state either way. */
export async function createNodeChain(options: NodeChainOptions): Promise<SandboxChain> {
  const { chainId, tokens, host, port, seed, blockTime, fork } = options;
  const saved = options.saved as NodeState | undefined; // as `save` has returned it
  const contracts = fork === undefined ? getContracts(chainId, tokens) : getForkContracts(chainId, tokens);
  const key = JSON.stringify([chainId, tokens, host, port, seed]);
  const node = idle.get(key)?.pop() ?? (await prepareNode(options, contracts));
  const { rpc } = node.anvil;
  // A snapshot can be reverted to once.
  await rpc.call('evm_revert', node.base);
  node.base = await rpc.call<string>('evm_snapshot');
  if (saved !== undefined) await rpc.call('anvil_loadState', saved.dump);
  const now = Math.floor(Date.now() / 1000);
  if (now > (await readHead(rpc)).timestamp) await rpc.call('evm_setTime', now);
  if (blockTime > 0) await rpc.call('evm_setIntervalMining', blockTime);

  let isReleased = false;
  const own: Rpc = {
    ...rpc,
    // The node may already serve the next sandbox.
    request: (args) => (isReleased ? Promise.reject(new Error('the sandbox is closed')) : rpc.request(args)),
    // The caller states the type.
    call: <T>(method: string, ...params: readonly unknown[]) => own.request({ method, params }) as Promise<T>,
  };
  const parts = { ...options, tokens: node.tokens };
  return createChain(parts, contracts, { ...node.anvil, rpc: own }, saved?.wallets ?? 0, async () => {
    isReleased = true;
    const others = idle.get(key) ?? [];
    if (others.length >= MAX_IDLE || port !== 0 || saved !== undefined || fork !== undefined) return node.anvil.stop();
    try {
      await rpc.call('evm_setIntervalMining', 0);
      await rpc.call('evm_setAutomine', true);
      await rpc.call('anvil_dropAllTransactions');
      idle.set(key, [...(idle.get(key) ?? []), node]);
    } catch {
      await node.anvil.stop();
    }
  });
}

async function prepareNode(
  { chainId, tokens: named, host, port, seed, fork }: NodeChainOptions,
  contracts: Contracts,
): Promise<PreparedNode> {
  const anvil = await startAnvil({ chainId, host, port, seed, fork });
  try {
    const { rpc, accounts } = anvil;
    const addresses = accounts.map(({ address }) => address);
    const tokens =
      fork === undefined ? named : await prepareFork(rpc, contracts, { chainId, tokens: named, accounts: addresses });
    if (fork === undefined) await deployWorld(rpc, contracts, tokens);
    const spender = contracts.vaultRelayer;
    await Promise.all(
      accounts.flatMap(({ address: owner }) =>
        tokens.flatMap((token) => [
          setBalance(rpc, token, owner, toAtoms(ACCOUNT_BALANCE, token.decimals), contracts),
          setAllowance(rpc, token, { owner, spender, atoms: MAX_UINT256 }, contracts),
        ]),
      ),
    );
    return { anvil, tokens, base: await rpc.call<string>('evm_snapshot') };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

function createChain(
  { chainId, tokens, pollInterval }: NodeChainOptions,
  contracts: Contracts,
  { rpc, url, accounts }: Anvil,
  savedWallets: number,
  release: () => Promise<void>,
): SandboxChain {
  const { settlement, nativeFlow, wrappedNative, uniswapFactory, vaultRelayer, solver } = contracts;
  let wallets = savedWallets;
  /** Runs changes of balances. Each one reads the balance that the one before has set. */
  const fundInOrder = createTaskQueue();
  /** Runs work that adds or replaces blocks. A reorganisation drops a transaction that another call waits for. */
  const inOrder = createTaskQueue();

  async function balanceOf(account: Address, token: SandboxToken | 'native'): Promise<bigint> {
    if (token === 'native') return BigInt(await rpc.call<Hex>('eth_getBalance', account, 'latest'));
    const data = encodeFunctionCall('balanceOf(address)', account);
    return BigInt(await rpc.call<Hex>('eth_call', { to: token.address, data }, 'latest'));
  }

  async function addBalance(account: Address, token: SandboxToken | 'native', atoms: bigint): Promise<void> {
    const balance = (await balanceOf(account, token)) + atoms;
    if (token === 'native') await rpc.call('anvil_setBalance', account, quantity(balance));
    else await setBalance(rpc, token, account, balance, contracts);
  }

  const transactInOrder = (transaction: Transaction) => inOrder(() => transact(rpc, transaction));

  /** Makes a call of an owner: directly, or through its contract wallet. */
  async function callAs({ address, controller }: SandboxOwner, to: Address, data: Hex): Promise<void> {
    if (controller === undefined) await transactInOrder({ from: address, to, data });
    else {
      const inner = encodeFunctionCall('execute(address,uint256,bytes)', to, 0n, { bytes: data });
      await transactInOrder({ from: controller, to: address, data: inner });
    }
  }

  return {
    chainId,
    contracts,
    tokens,
    accounts,
    rpcUrl: url,

    bookParts(faults: Faults) {
      const client = {
        async request(args: { readonly method: string; readonly params?: unknown }) {
          await faults.pass('node');
          return rpc.request(args);
        },
      };
      return {
        chain: viemChain(client),
        indexer: { sources: [viemSource(client)], pollInterval },
        estimator: uniswapV2(
          {
            async call({ to, data }) {
              return { data: await rpc.call<Hex>('eth_call', { to, data }, 'latest') };
            },
          },
          { factory: uniswapFactory, bases: [wrappedNative] },
        ),
        gasPrice: GAS_PRICE,
        createPools: (usdPrice) =>
          uniswapV2Pools(client, {
            chainId,
            factory: uniswapFactory,
            tokens: tokens.map(({ address }) => address),
            usdPrice,
          }),
        simulator: viemSimulator(client, { wrappedNative }),
        verifier: viemQuoteVerifier(client),
        orderSimulator: viemOrderSimulator(client),
      };
    },

    solverParts() {
      const bases = [wrappedNative];
      const liquidity = uniswapV2Liquidity(rpc, { factory: uniswapFactory, receiver: settlement, bases });
      return {
        engine: createReferenceEngine({
          liquidity,
          wrappedNative,
          getFunds: fundsReader(rpc, vaultRelayer),
          buffer: 1n,
        }),
        settler: nodeSettler({
          client: rpc,
          wallet: {
            address: solver,
            sendTransaction: (transaction) => sendTransaction(rpc, { ...transaction, from: solver }),
          },
          settlementContract: settlement,
        }),
      };
    },

    async attach() {},

    async synchronize(book: OrderBook) {
      for (;;) {
        const [{ indexedBlock }, { hash }] = await Promise.all([book.chain.progress(), readHead(rpc)]);
        if (indexedBlock?.hash === hash) return;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },

    head: () => readHead(rpc),

    mine: (blocks) =>
      inOrder(async () => {
        // The node takes longer for each block of a long chain, and a request has a time limit.
        for (let rest = blocks; rest > 0; rest -= MAX_BLOCKS) {
          await rpc.call('anvil_mine', quantity(Math.min(rest, MAX_BLOCKS)));
        }
      }),

    advance: (seconds) =>
      inOrder(async () => {
        await rpc.call('evm_increaseTime', quantity(seconds));
        await rpc.call('evm_mine');
      }),

    reorganize: (depth) =>
      inOrder(async () => {
        await rpc.call('anvil_reorg', depth, []);
      }),

    snapshot: () => rpc.call<string>('evm_snapshot'),

    async revert(snapshot, time) {
      if (!(await rpc.call<boolean>('evm_revert', snapshot))) {
        throw new RangeError(`snapshot must be one that was not reverted to, got ${snapshot}`);
      }
      if (time > (await readHead(rpc)).timestamp) await rpc.call('evm_setTime', time);
    },

    balanceOf,

    fund: (account, token, atoms) => fundInOrder(() => addBalance(account, token, atoms)),

    approve: (owner, token, atoms) => setAllowance(rpc, token, { owner, spender: vaultRelayer, atoms }, contracts),

    setPrice: (token, price) => inOrder(() => setPoolPrice(rpc, contracts, token, price)),

    async freeze({ address }, frozen) {
      if (contracts.isFork) throw new RangeError('tokens of a fork cannot be frozen');
      await transactInOrder({ to: address, data: encodeFunctionCall('setFrozen(bool)', frozen) });
    },

    async createWallet(owner) {
      wallets++;
      const address = labelledAddress(`wallet ${wallets} of ${owner.toLowerCase()}`);
      await install(rpc, address, `0x${ARTIFACTS.SmartWallet}`, owner);
      return address;
    },

    setPresignature: (owner, uid, signed) =>
      callAs(owner, settlement, encodeFunctionCall('setPreSignature(bytes,bool)', { bytes: uid }, signed)),

    invalidate: (owner, uid) => callAs(owner, settlement, encodeFunctionCall('invalidateOrder(bytes)', { bytes: uid })),

    async placeNativeOrder(order) {
      const data = encodeFunctionCall(`createOrder(${NATIVE_ORDER})`, ...nativeOrderArguments(order));
      const { transactionHash } = await transactInOrder({
        from: order.owner,
        to: nativeFlow,
        data,
        value: order.sellAmount,
      });
      return transactionHash;
    },

    async invalidateNativeOrder(order, sender) {
      const data = encodeFunctionCall(`invalidateOrder(${NATIVE_ORDER})`, ...nativeOrderArguments(order));
      await transactInOrder({ from: sender, to: nativeFlow, data });
    },

    save: async (): Promise<NodeState> => ({ dump: await rpc.call<Hex>('anvil_dumpState'), wallets }),

    release,
  };
}

/** The type of an order of the native-currency-flow contract (NativeFlow.sol). */
const NATIVE_ORDER = '(address,address,uint256,uint256,bytes32,uint256,uint32,bool,int64)';

function nativeOrderArguments(order: NativeOrder) {
  const { buyToken, receiver, sellAmount, buyAmount, appData, validTo, partiallyFillable, quoteId } = order;
  return [buyToken, receiver, sellAmount, buyAmount, appData, 0n, validTo, partiallyFillable, quoteId] as const;
}

async function readHead(rpc: Rpc) {
  const block = await rpc.call<{ number: Hex; timestamp: Hex; hash: Hex }>('eth_getBlockByNumber', 'latest', false);
  return { number: Number(block.number), timestamp: Number(block.timestamp), hash: block.hash };
}
