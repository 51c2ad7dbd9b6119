import type { Address, BlockRef, ChainClient, Funds, FundsQuery, Hex, OrderBook } from 'intentbook';
import { orderTypedData, orderUid, signingDomain } from 'intentbook/sign';
import { createReferenceEngine, encodeSettlement, type Settler, type Solution } from 'intentbook/solver';
import { MAX_UINT256, NATIVE_MARKER } from '#internal';
import { keccakHex, labelledAddress } from './abi.ts';
import type { NativeOrder, SandboxAccount, SandboxChain } from './chain.ts';
import { getContracts } from './deployment.ts';
import type { Faults } from './faults.ts';
import type { KeyRing } from './keys.ts';
import { KNOWN_ACCOUNTS } from './known-accounts.ts';
import { createSimulatedPoolSource, createSimulatedPools, type Reserves } from './simulated-pools.ts';
import { executeSettlement, type NewChainEvent } from './simulated-settlement.ts';
import { type ContractState, copyState, createBalanceLedger, createState, INVALIDATED } from './simulated-state.ts';
import { createTaskQueue } from './task-queue.ts';
import type { SandboxToken } from './tokens.ts';
import { toAtoms } from './units.ts';

export interface SimulatedChainOptions {
  readonly chainId: number;
  readonly tokens: readonly SandboxToken[];
  readonly seed: number | undefined;
  readonly keys: Promise<KeyRing>;
  /** A state of such a chain. Absent: the state of a new one. */
  readonly saved?: unknown;
}

interface Block extends BlockRef {
  readonly timestamp: number;
  /** State after the block. */
  readonly state: SavedState;
}

/** A copy of the state of all contracts. */
interface SavedState {
  readonly contracts: ContractState;
  readonly reserves: Reserves;
}

/** The state of a chain without its history, in values that can be serialised. */
interface SimulatedState extends Omit<ContractState, 'ledger'> {
  readonly ledger: ReturnType<ContractState['ledger']['entries']>;
  readonly reserves: Reserves;
  readonly wallets: ReadonlyMap<Address, Address>;
  readonly head: Omit<Block, 'state'>;
}

/** Amounts that the accounts hold, in whole units. */
const ACCOUNT_BALANCE = '10000';

const GAS_PRICE = '1000000000';

/**
 * Creates a chain without a node: balances from a table, pools, and settlements that are applied to the book. It starts
 * within milliseconds. Hooks are not executed.
 */
export async function createSimulatedChain(options: SimulatedChainOptions): Promise<SandboxChain> {
  const { chainId, tokens, seed, keys } = options;
  const contracts = getContracts(chainId, tokens);
  const { settlement, solver, nativeFlow, wrappedNative } = contracts;
  const pools = createSimulatedPools(tokens);
  const accounts = seed === undefined ? KNOWN_ACCOUNTS : await deriveAccounts(keys, seed);
  const saved = options.saved as SimulatedState | undefined; // as `save` has returned it
  const wallets = new Map<Address, Address>(saved?.wallets);
  let state = createState();
  let blocks: Block[] = [];
  let offset = 0;
  let hashes = 0;
  let attached: OrderBook | undefined;
  const snapshots = new Map<string, { readonly blocks: readonly Block[]; readonly state: SavedState }>();

  for (const { address: checksummed } of accounts) {
    const address = checksummed.toLowerCase() as Address;
    state.ledger.setBalance(address, NATIVE_MARKER, toAtoms(ACCOUNT_BALANCE, 18));
    for (const token of tokens) {
      state.ledger.setBalance(address, token.address, toAtoms(ACCOUNT_BALANCE, token.decimals));
      state.ledger.setAllowance(address, token.address, MAX_UINT256);
    }
  }
  for (const token of tokens) state.ledger.setBalance(settlement, token.address, toAtoms('1', token.decimals));
  if (saved === undefined) blocks.push(createBlock(1));
  else {
    state = copyState({ ...saved, ledger: createBalanceLedger(...saved.ledger) });
    pools.restore(saved.reserves);
    offset = Math.max(0, saved.head.timestamp - Math.floor(Date.now() / 1000));
    blocks.push({ ...saved.head, state: saveState() });
  }

  function newHash(): Hex {
    hashes++;
    return keccakHex(Buffer.from(`sandbox ${hashes} ${Math.random()}`));
  }

  function saveState(): SavedState {
    return { contracts: copyState(state), reserves: pools.copy() };
  }

  function restoreState(saved: SavedState): void {
    state = copyState(saved.contracts);
    pools.restore(saved.reserves);
  }

  function head(): Block {
    return blocks.at(-1) as Block; // the first is never removed
  }

  function readReserves(age: number): Reserves {
    const time = head().timestamp - age;
    const block = blocks.findLast(({ timestamp }) => timestamp <= time);
    return age === 0 ? pools.copy() : (block?.state.reserves ?? new Map());
  }

  function createBlock(number: number): Block {
    const timestamp = Math.max(Math.floor(Date.now() / 1000) + offset, (blocks.at(-1)?.timestamp ?? 0) + 1);
    return { number, hash: newHash(), timestamp, state: saveState() };
  }

  /** Runs work that adds or replaces blocks. Concurrent calls are queued. */
  const inOrder = createTaskQueue();

  /** Adds a block with the events of one transaction, and applies it to the book. Runs within `inOrder`. */
  async function mine(events: readonly NewChainEvent[] = [], settleCall?: Hex): Promise<Hex> {
    const before = head();
    const block = createBlock(before.number + 1);
    const transactionHash = newHash();
    blocks.push(block);
    const { number: blockNumber, hash: blockHash, timestamp } = block;
    const outcome = await attached?.chain.apply({
      events: events.map((event, logIndex) => ({
        ...event,
        blockNumber,
        blockHash,
        logIndex,
        transactionHash,
        timestamp,
      })),
      through: { number: blockNumber, hash: blockHash },
      blocks: [{ number: before.number, hash: before.hash }],
      ...(settleCall === undefined ? {} : { settleCalls: new Map([[transactionHash, [settleCall]]]) }),
    });
    if (outcome !== undefined && outcome.status !== 'applied') throw new Error(`block ${blockNumber} was not applied`);
    return transactionHash;
  }

  /** Executes a settlement. One that reverts has no effect. */
  function execute(solution: Solution): NewChainEvent[] {
    const saved = saveState();
    try {
      return executeSettlement(solution, { state, pools, contracts, time: head().timestamp });
    } catch (error) {
      restoreState(saved);
      throw error;
    }
  }

  const settler: Settler = {
    address: solver,
    async simulate(solution) {
      const saved = saveState();
      try {
        execute(solution);
        restoreState(saved);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    submit: (solution, auctionId) =>
      inOrder(async () => {
        const events = execute(solution);
        const transactionHash = await mine(events, encodeSettlement(solution, auctionId));
        return { transactionHash, block: head().number, reverted: false };
      }),
  };

  function getFunds({ owner, token }: FundsQuery): Funds {
    return { balance: state.ledger.balanceOf(owner, token), allowance: state.ledger.allowanceOf(owner, token) };
  }

  function createFaultyClient(faults: Faults): ChainClient {
    return {
      async balanceAndAllowance(query) {
        await faults.pass('node');
        return getFunds(query);
      },
      async balancesAndAllowances(queries) {
        await faults.pass('node');
        return queries.map(getFunds);
      },
      async isValidSignature({ owner, digest, signature }) {
        await faults.pass('node');
        const controller = wallets.get(owner);
        if (controller === undefined) return { valid: false, reason: 'no contract at this address' };
        return (await keys).recover(digest, signature) === controller
          ? { valid: true }
          : { valid: false, reason: 'returned 0xffffffff' };
      },
      async simulate(query) {
        await faults.pass('node');
        const transferRevert = state.frozen.has(query.token) ? ('0x' as const) : undefined;
        return { ...getFunds(query), transferRevert };
      },
      async tokenInfo(address) {
        await faults.pass('node');
        const token = tokens.find((each) => each.address === address);
        return token && { decimals: token.decimals, symbol: token.symbol, name: token.name };
      },
    };
  }

  function placedUid(order: NativeOrder): Hex {
    const signed = { ...order, sellToken: wrappedNative, validTo: 0xffff_ffff, kind: 'sell' as const };
    return orderUid(orderTypedData(signingDomain({ chainId, settlementContract: settlement }), signed), nativeFlow);
  }

  const nameHash = (name: string) => keccakHex(Buffer.from(name));

  return {
    chainId,
    contracts,
    tokens,
    accounts,

    bookParts: (faults) => ({
      chain: createFaultyClient(faults),
      estimator: pools.estimator,
      gasPrice: GAS_PRICE,
      createPools: (usdPrice) => createSimulatedPoolSource({ chainId, tokens, readReserves, usdPrice }),
    }),

    solverParts: () => ({
      engine: createReferenceEngine({
        liquidity: pools.liquidity,
        wrappedNative,
        buffer: 1n,
        getFunds: async (orders) =>
          orders.map(({ owner, sellToken }) => {
            const { balance, allowance } = getFunds({ owner, token: sellToken, spender: contracts.vaultRelayer });
            if (balance < allowance) return balance;
            return allowance;
          }),
      }),
      settler,
    }),

    async attach(book) {
      attached = book;
      const { indexedBlock } = await book.chain.progress();
      const { number, hash } = head();
      if (indexedBlock?.hash !== hash) await book.chain.apply({ events: [], through: { number, hash } });
    },

    async synchronize() {},

    head: async () => head(),

    mine: (count) =>
      inOrder(async () => {
        for (let i = 0; i < count; i++) await mine();
      }),

    advance: (seconds) =>
      inOrder(async () => {
        offset += seconds;
        await mine();
      }),

    reorganize: (depth) =>
      inOrder(async () => {
        const to = Math.max(0, blocks.length - 1 - depth);
        blocks = blocks.slice(0, to + 1);
        restoreState(head().state);
        await attached?.chain.rollback(head().number);
        for (let i = 0; i < depth; i++) await mine();
      }),

    async snapshot() {
      const id = String(snapshots.size + 1);
      snapshots.set(id, { blocks: [...blocks], state: saveState() });
      return id;
    },

    async revert(id, time) {
      const snapshot = snapshots.get(id);
      if (snapshot === undefined) throw new RangeError(`snapshot must be one of this chain, got "${id}"`);
      blocks = [...snapshot.blocks];
      restoreState(snapshot.state);
      offset = time - Math.floor(Date.now() / 1000);
    },

    async fund(account, token, atoms) {
      const address = token === 'native' ? NATIVE_MARKER : token.address;
      state.ledger.setBalance(account, address, state.ledger.balanceOf(account, address) + atoms);
    },

    approve: async (owner, token, atoms) => state.ledger.setAllowance(owner, token.address, atoms),

    balanceOf: async (account, token) =>
      state.ledger.balanceOf(account, token === 'native' ? NATIVE_MARKER : token.address),

    setPrice: (token, price) =>
      inOrder(async () => {
        pools.setPrice(token, price);
        await mine();
      }),

    freeze: ({ address }, isFrozen) =>
      inOrder(async () => {
        if (isFrozen) state.frozen.add(address);
        else state.frozen.delete(address);
        await mine();
      }),

    async createWallet(owner) {
      const address = labelledAddress(`wallet ${wallets.size + 1} of ${owner.toLowerCase()}`);
      wallets.set(address, owner);
      return address;
    },

    setPresignature: ({ address }, orderUid, signed) =>
      inOrder(async () => {
        if (signed) state.presigned.add(orderUid);
        else state.presigned.delete(orderUid);
        await mine([{ event: 'PreSignature', owner: address, orderUid, signed }]);
      }),

    invalidate: ({ address }, orderUid) =>
      inOrder(async () => {
        state.filled.set(orderUid, INVALIDATED);
        await mine([{ event: 'OrderInvalidated', owner: address, orderUid }]);
      }),

    placeNativeOrder: (order) =>
      inOrder(async () => {
        state.ledger.transfer(NATIVE_MARKER, order.owner, nativeFlow, order.sellAmount);
        state.placed.set(placedUid(order), order.owner);
        const { buyToken, receiver, sellAmount, buyAmount, appData, partiallyFillable } = order;
        const userValidTo = order.validTo.toString(16).padStart(8, '0');
        return mine([
          {
            event: 'OrderPlacement',
            address: nativeFlow,
            sender: order.owner,
            order: {
              sellToken: wrappedNative,
              buyToken,
              receiver,
              sellAmount,
              buyAmount,
              validTo: 0xffff_ffff,
              appData,
              feeAmount: 0n,
              kind: nameHash('sell'),
              partiallyFillable,
              sellTokenBalance: nameHash('erc20'),
              buyTokenBalance: nameHash('erc20'),
            },
            signature: { scheme: 0, data: nativeFlow },
            data: `0x${order.quoteId.toString(16).padStart(16, '0')}${userValidTo}`,
          },
        ]);
      }),

    invalidateNativeOrder: (order, sender) =>
      inOrder(async () => {
        const orderUid = placedUid(order);
        const owner = state.placed.get(orderUid);
        const isExpired = order.validTo < head().timestamp;
        if (owner === undefined || (owner !== sender && !isExpired)) throw new Error('the order cannot be invalidated');
        const rest = order.sellAmount - (state.filled.get(orderUid) ?? 0n);
        const { balanceOf, setBalance } = state.ledger;
        // What was wrapped for a fill that did not happen is unwrapped.
        const all = balanceOf(nativeFlow, NATIVE_MARKER) + balanceOf(nativeFlow, wrappedNative);
        setBalance(nativeFlow, wrappedNative, 0n);
        setBalance(nativeFlow, NATIVE_MARKER, all);
        state.ledger.transfer(NATIVE_MARKER, nativeFlow, owner, rest);
        state.filled.set(orderUid, INVALIDATED);
        state.placed.delete(orderUid);
        await mine([
          owner === sender
            ? { event: 'OrderInvalidation', address: nativeFlow, orderUid }
            : { event: 'OrderRefund', address: nativeFlow, orderUid, refunder: sender },
        ]);
      }),

    async save(): Promise<SimulatedState> {
      const { state: _, ...last } = head();
      return { ...state, ledger: state.ledger.entries(), reserves: pools.copy(), wallets, head: last };
    },

    async release() {},
  };
}

/** Derives as many accounts as are known. */
async function deriveAccounts(keys: Promise<KeyRing>, seed: number): Promise<SandboxAccount[]> {
  const ring = await keys;
  return KNOWN_ACCOUNTS.map((_, i) => ring.derive(`${seed} account ${i}`));
}
