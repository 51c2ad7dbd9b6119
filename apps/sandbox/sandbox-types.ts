import type {
  Channel,
  Hex,
  Limiter,
  NotificationType,
  OrderBook,
  OrderBookOptions,
  OrderStatus,
  QuoteResponse,
} from 'intentbook';
import type { Accounts, Notification } from 'intentbook/accounts';
import type { SolverEngine } from 'intentbook/solver';
import type { SandboxAccount } from './chain.ts';
import type { FaultPoint } from './faults.ts';
import type { SettleOptions } from './solving.ts';
import type { SandboxToken, TokenOption } from './tokens.ts';
import type { Scheme, TokenAmount, Trader } from './trader.ts';

/** Settings of a sandbox. */
export interface SandboxOptions {
  /**
   * `anvil` runs a node with the production contracts. `simulated` starts within milliseconds and needs no package:
   * balances are kept in a table, and hooks are not executed. Default: `anvil`.
   */
  readonly chain?: 'anvil' | 'simulated';
  /**
   * URL of a node of chain 1, 100, 8453, 42161 or 11155111. The sandbox continues its chain, with its contracts, tokens
   * and pools. Balances of accounts are set as in a new chain. Tokens are the common ones of the chain, or those of
   * `tokens`. Only with the chain `anvil`. Default: a new chain.
   */
  readonly fork?: string;
  /** Default: 11155111 (Sepolia), so that clients work without configuration. */
  readonly chainId?: number;
  /** Tokens besides wrapped native currency. Default: `USDC`, `DAI` and `COW`. */
  readonly tokens?: readonly TokenOption[];
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Port of the HTTP interface. Default: any free port. */
  readonly port?: number;
  /** Port of the JSON-RPC interface of the node. Default: any free port. */
  readonly rpcPort?: number;
  /** Time between blocks, in seconds. Default: 0, a block for each transaction. */
  readonly blockTime?: number;
  /**
   * `auto` settles orders as soon as possible, `manual` settles on a call of `settle`, `off` does not allow the sandbox
   * to settle. Default: `auto`.
   */
  readonly solver?: 'auto' | 'manual' | 'off';
  /** Rules of the book, such as denied tokens and limits. */
  readonly policy?: SandboxPolicy;
  /** Limiter of requests to the HTTP interface. Default: none. */
  readonly limiter?: Limiter;
  /** The solver engine, such as `httpEngine(url)`. Default: the reference engine. */
  readonly solverEngine?: SolverEngine;
  /** The channels of notifications, such as `webhookChannel(…)`. Default: none, and subscriptions are rejected. */
  readonly channels?: readonly Channel[];
  /** Seed of the keys. Default: those of Foundry and Hardhat for `accounts`, and the same traders in every sandbox. */
  readonly seed?: number;
  /**
   * A file that keeps the sandbox: the chain, the book and the accounts. It is read at the start, if it exists, and
   * written by `close`. The next sandbox must have the same version, chain, tokens and seed. Default: none.
   */
  readonly state?: string;
}

/** Options of the book that decide which orders are accepted. `deniedTokens` are symbols. */
export type SandboxPolicy = Pick<
  OrderBookOptions,
  'isDenied' | 'isActivelyBidOn' | 'limits' | 'ownerLimits' | 'deniedTokens'
>;

/** Amounts of whole tokens by symbol, such as `{ WETH: '10' }`. `ETH` is native currency. */
export type TokenAmounts = Readonly<Record<string, string | number>>;

/** Terms of a quote: an amount to sell, or an amount to buy. */
export type SandboxQuote =
  | { readonly sell: TokenAmount; readonly for: string }
  | { readonly buy: TokenAmount; readonly with: string };

/** Options of a quote. */
export interface SandboxQuoteOptions {
  /** The app-data document. Default: `{}`. */
  readonly appData?: string;
  /** Validity of the order in seconds. Default: 1800. */
  readonly validFor?: number;
  /** How the order will be signed. Default: `eip712`. */
  readonly scheme?: Scheme;
}

/** A chain, an order book and a solver for tests and demonstrations. */
export interface Sandbox extends AsyncDisposable {
  readonly chainId: number;
  /** The contract that orders are signed for. */
  readonly settlementContract: Hex;
  /** The contract that owners allow to transfer their sell tokens. */
  readonly vaultRelayer: Hex;
  /** Base URL of the order book and of the account interface. A browser shows the explorer. */
  readonly url: string;
  /** URL of the JSON-RPC interface of the node. Absent in a simulation. */
  readonly rpcUrl: string | undefined;
  /** URL of the API reference. Absent if the package swagger-ui-dist is not installed. */
  readonly docsUrl: string | undefined;
  /** The account that may settle. The node signs for it. */
  readonly solverAddress: Hex;
  /** Token for the restricted routes: `Authorization: Bearer <token>`. */
  readonly operatorToken: string;
  readonly book: OrderBook;
  /** The account interface: notifications, subscriptions, balances. */
  readonly accountInterface: Accounts;
  /** Accounts with their keys. They hold native currency and every token, with all allowances. */
  readonly accounts: readonly SandboxAccount[];
  /** Tokens, wrapped native currency first. */
  readonly tokens: readonly SandboxToken[];
  /** Errors that the book and the account interface have reported. */
  readonly failures: readonly unknown[];

  /** Creates an account with the given balances, native currency for gas, and all allowances. */
  createTrader(amounts?: TokenAmounts): Promise<Trader>;
  /** Creates a contract wallet (EIP-1271) with the given balances and all allowances. */
  createSmartWallet(amounts?: TokenAmounts): Promise<Trader>;
  /** Returns a trader of an account whose key is known, such as one of `accounts`. */
  traderOf(account: SandboxAccount): Trader;
  /** Adds to the balances of an account. */
  fund(account: string | { readonly address: string }, amounts: TokenAmounts): Promise<void>;
  /** Returns a token by its symbol. */
  token(symbol: string): SandboxToken;
  /** Requests a quote. @throws OrderBookError if the book rejects the request. */
  quote(
    trader: { readonly address: string },
    terms: SandboxQuote,
    options?: SandboxQuoteOptions,
  ): Promise<QuoteResponse>;

  /**
   * Waits until an order has a status. `timeout` is in milliseconds. Default: 10000.
   *
   * @throws Error after the timeout, with the reason why the order is not settled.
   * @throws TypeError if the status is not one of an order.
   */
  waitFor(uid: string, status: OrderStatus, options?: { readonly timeout?: number }): Promise<void>;
  /**
   * Waits until an account has a notification of a type. `timeout` is in milliseconds. Default: 10000.
   *
   * @returns The newest one.
   * @throws TypeError if the type is unknown.
   */
  waitForNotification(
    account: { readonly address: string },
    type: NotificationType,
    options?: { readonly timeout?: number },
  ): Promise<Notification>;
  /** Waits until the book has read the newest block. */
  synchronize(): Promise<void>;

  /**
   * Settles an order, or without a UID all orders that can be settled.
   *
   * @throws Error if the order cannot be settled, with the reason.
   */
  settle(uid?: Hex, options?: SettleOptions): Promise<void>;
  /** Stops to settle orders. */
  pauseSolver(): Promise<void>;
  resumeSolver(): Promise<void>;
  /** Sets the price of a token: native currency for one whole token. */
  setPrice(symbol: string, price: string | number): Promise<void>;

  /** Makes transfers of a token revert, or possible again. */
  freeze(symbol: string, frozen?: boolean): Promise<void>;

  /** Moves the time of the chain and of the book forward, in seconds. */
  advance(seconds: number): Promise<void>;
  /** Makes blocks. Default: 1. */
  mine(blocks?: number): Promise<void>;
  /**
   * Replaces the newest blocks with empty ones. Default: 1.
   *
   * @throws RangeError if an account was funded in one of them.
   */
  reorg(depth?: number): Promise<void>;
  /** Saves the state of the chain, of the book and of the account interface. */
  snapshot(): Promise<string>;
  /** Restores a state. It can be restored any number of times; later ones become invalid. */
  revert(snapshot: string): Promise<void>;

  /** Makes the next operations at a point fail. Default: once. */
  fail(point: FaultPoint, options?: { readonly times?: number }): void;
  /** Makes every request of the book to the node fail, until `restore`. */
  stopNode(): void;
  /** Delays every request of the book to the node, in milliseconds, until `restore`. */
  slowNode(ms: number): void;
  /** Ends all failures and delays, and waits until the book has read the newest block. */
  restore(): Promise<void>;

  /** Stops the server, the book and the chain. */
  close(): Promise<void>;
}
