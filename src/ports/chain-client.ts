import type { Domain } from '../protocol/eip712.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Flashloan } from '../protocol/metadata.ts';
import type { InteractionData } from '../protocol/trampoline.ts';

/**
 * The chain queries of a book, used for order validation and for account balances. Every method is optional: if a
 * method is missing, its check is skipped and the order is accepted without it.
 *
 * A result MUST describe the newest block that the implementation knows, and a single block. A query that fails MUST
 * reject; it MUST NOT return a guess. The book gives each query a deadline. At the deadline `signal` is aborted and the
 * order is rejected with `ChainUnavailable`: an implementation SHOULD then stop its work, and later results are
 * ignored. An implementation MUST NOT throw for an unusual order, only for an unreachable chain.
 */
export interface ChainClient {
  /**
   * Returns an owner's balance of a token, and the amount that a spender may move. `0xeeee…ee` denotes native currency,
   * which has no allowance. Returns `undefined` if the token does not return both amounts, for example because it is
   * paused: an amount that cannot be read is not 0. Reading an account's balances makes many calls in one event-loop
   * tick, so an implementation SHOULD batch them.
   */
  balanceAndAllowance?(query: FundsQuery, call: ChainCall): Promise<Funds | undefined>;

  /**
   * Returns the funds of an order that sells from the vault (`internal`), or whose ERC-20 balance the vault moves
   * (`external`). The allowance is 0 if the owner has not approved the spender as a relayer of the vault. Returns
   * `undefined` as `balanceAndAllowance` does.
   */
  vaultFunds?(query: VaultFundsQuery, call: ChainCall): Promise<Funds | undefined>;

  /** Like `balanceAndAllowance`, for up to 100 queries, in input order. Default: one call per query. */
  balancesAndAllowances?(queries: readonly FundsQuery[], call: ChainCall): Promise<readonly (Funds | undefined)[]>;

  /**
   * Returns the ERC-20 metadata of a token. A member is absent if the contract does not return a valid value. Returns
   * `undefined` if there is no token at this address. Results are cached.
   */
  tokenInfo?(token: Address, call: ChainCall): Promise<TokenInfo | undefined>;

  /** Like `tokenInfo`, for up to 100 tokens, in input order. Default: one call per token. */
  tokensInfo?(tokens: readonly Address[], call: ChainCall): Promise<readonly (TokenInfo | undefined)[]>;

  /**
   * Checks whether a contract accepts a signature (EIP-1271). The call MUST have a bounded amount of gas, and at most
   * 32 bytes of its return data MUST be read. The result is `valid: false` if the contract does not exist, reverts,
   * runs out of gas or returns anything except the magic value. If the order has pre-hooks, they run first.
   */
  isValidSignature?(query: ContractSignatureQuery, call: ChainCall): Promise<ContractSignatureResult>;

  /**
   * Simulates an order's pre-hooks and then the transfer of the sell token, as a settlement would make it. Returns the
   * owner's balance and allowance after the hooks. No transaction is sent.
   */
  simulate?(query: SimulationQuery, call: ChainCall): Promise<Simulation>;

  /**
   * Called once at the start of the book. Rejects with a `ChainMismatch` for a chain other than the book's, and if its
   * settlement contract does not exist. Then the book does not start. Any other failure does not prevent the start.
   */
  verify?(domain: Domain, call: ChainCall): Promise<void>;
}

/** The context of each chain query. */
export interface ChainCall {
  /** Aborted at the deadline, or when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** The owner and token of a balance query, and the spender of its allowance. */
export interface FundsQuery {
  readonly owner: Address;
  readonly token: Address;
  /** The vault relayer of the deployment. */
  readonly spender: Address;
}

/** A query for funds that the vault holds or moves. */
export interface VaultFundsQuery extends FundsQuery {
  readonly source: 'internal' | 'external';
}

/** Atoms of the token. */
export interface Funds {
  readonly balance: bigint;
  readonly allowance: bigint;
}

/** The ERC-20 metadata of a token. */
export interface TokenInfo {
  /** Number of decimals: one whole token is 10^decimals atoms. 0 to 255. */
  readonly decimals?: number;
  readonly symbol?: string;
  readonly name?: string;
}

/** A contract signature to check (EIP-1271). */
export interface ContractSignatureQuery {
  /** The contract that checks the signature. */
  readonly owner: Address;
  /** The order's digest, 32 bytes. */
  readonly digest: Hex;
  readonly signature: Hex;
  /** Calls that run before the check, as the settlement contract would make them. */
  readonly pre: readonly InteractionData[];
  readonly flashloan: Flashloan | undefined;
  /**
   * Whether the signature may include the deployment of a contract that does not exist yet (ERC-6492). MUST NOT apply
   * to orders: the settlement contract cannot verify such a signature. Default: false.
   */
  readonly allowDeployment?: boolean;
}

/** The result of a contract signature check. */
export type ContractSignatureResult =
  /**
   * `signature` is the signature without its deployment, if it had one. `gas` is the gas that the check used, if it is
   * known.
   */
  | { readonly valid: true; readonly signature?: Hex; readonly gas?: number }
  /**
   * `reason` is for people: "no contract at this address", "reverted", "returned 0xffffffff". It is shown to the sender
   * of the order, so it MUST NOT name nodes or keys.
   */
  | { readonly valid: false; readonly reason?: string };

/** A transfer to simulate after the hooks of its order. */
export interface SimulationQuery extends FundsQuery {
  /** Atoms to move. */
  readonly amount: bigint;
  readonly pre: readonly InteractionData[];
  /** Lent before the hooks run, if the implementation can simulate it. */
  readonly flashloan: Flashloan | undefined;
}

/** Balance and allowance after the pre-hooks, and the result of the transfer. */
export interface Simulation extends Funds {
  /** `undefined` if the transfer succeeded, otherwise its revert data. */
  readonly transferRevert: Hex | undefined;
}
