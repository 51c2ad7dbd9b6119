import type {
  Address,
  BundleSimulator,
  ChainClient,
  Estimator,
  Hex,
  IndexerOptions,
  OrderBook,
  OrderSimulator,
  PoolSource,
  QuoteVerifier,
} from 'intentbook';
import type { Settler, SolverEngine } from 'intentbook/solver';
import type { UniswapV2PoolsOptions } from 'intentbook/viem';
import type { Contracts } from './deployment.ts';
import type { Faults } from './faults.ts';
import type { SandboxToken } from './tokens.ts';

/** An account with its key. */
export interface SandboxAccount {
  readonly address: Address;
  readonly privateKey: Hex;
}

/** An order that sells native currency, as the native-currency-flow contract takes it. Amounts are in atoms. */
export interface NativeOrder {
  readonly owner: Address;
  readonly buyToken: Address;
  readonly receiver: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly appData: Hex;
  /** In seconds since 1970. */
  readonly validTo: number;
  readonly partiallyFillable: boolean;
  readonly quoteId: number;
}

/** The chain of a sandbox: a node, or a simulation of one. */
export interface SandboxChain {
  readonly chainId: number;
  readonly contracts: Contracts;
  /** Wrapped native currency first. */
  readonly tokens: readonly SandboxToken[];
  /** Accounts that hold native currency and every token, with all allowances. */
  readonly accounts: readonly SandboxAccount[];
  /** URL of the JSON-RPC interface. Absent in a simulation. */
  readonly rpcUrl?: string;

  /** Creates the parts of a book that read the chain. */
  bookParts(faults: Faults): {
    readonly chain: ChainClient;
    readonly indexer?: IndexerOptions;
    readonly estimator: Estimator;
    /** Wei for one unit of gas. */
    readonly gasPrice: string;
    /** Absent in a simulation. */
    readonly simulator?: BundleSimulator;
    /** Simulates quotes. Absent if the chain does not execute contracts. */
    readonly verifier?: QuoteVerifier;
    /** Simulates orders. Absent if the chain does not execute contracts. */
    readonly orderSimulator?: OrderSimulator;
    /** Creates the source of the pools. */
    readonly createPools: (usdPrice: UniswapV2PoolsOptions['usdPrice']) => PoolSource;
  };
  /** Creates the parts of a solver. */
  solverParts(): { readonly engine: SolverEngine; readonly settler: Settler };
  /** Connects a book, which must be started. */
  attach(book: OrderBook): Promise<void>;
  /** Waits until the book has read the newest block. */
  synchronize(book: OrderBook): Promise<void>;

  /** Returns the number and the time of the newest block, in seconds since 1970. */
  head(): Promise<{ readonly number: number; readonly timestamp: number }>;
  mine(blocks: number): Promise<void>;
  /** Moves the time of the next blocks forward, and makes a block. */
  advance(seconds: number): Promise<void>;
  /** Replaces the newest blocks with empty ones. */
  reorganize(depth: number): Promise<void>;
  snapshot(): Promise<string>;
  /** Restores a snapshot, and sets the time of the next block, in seconds since 1970. */
  revert(snapshot: string, time: number): Promise<void>;

  /** Adds to the balance of an account. */
  fund(account: Address, token: SandboxToken | 'native', atoms: bigint): Promise<void>;
  /** Sets the allowance of the vault relayer. */
  approve(owner: Address, token: SandboxToken, atoms: bigint): Promise<void>;
  balanceOf(account: Address, token: SandboxToken | 'native'): Promise<bigint>;
  /** Native currency for one whole token. */
  setPrice(token: SandboxToken, price: string): Promise<void>;
  /** Makes transfers of a token revert, or possible again. */
  freeze(token: SandboxToken, frozen: boolean): Promise<void>;
  /** Creates a contract wallet of one key (EIP-1271). */
  createWallet(owner: Address): Promise<Address>;
  setPresignature(owner: SandboxOwner, uid: Hex, signed: boolean): Promise<void>;
  invalidate(owner: SandboxOwner, uid: Hex): Promise<void>;
  placeNativeOrder(order: NativeOrder): Promise<Hex>;
  invalidateNativeOrder(order: NativeOrder, sender: Address): Promise<void>;

  /** Returns the state, as a value of which a copy makes an equal chain, also in another process. */
  save(): Promise<unknown>;
  /** Stops the chain, or makes it available to the next sandbox. */
  release(): Promise<void>;
}

/** The owner of orders: an account, or a contract wallet of an account. */
export interface SandboxOwner {
  readonly address: Address;
  /** The account that makes the calls of a contract wallet. */
  readonly controller?: Address;
}
