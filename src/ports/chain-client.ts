import type { Domain } from '../protocol/eip712.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Flashloan } from '../protocol/metadata.ts';
import type { InteractionData } from '../protocol/trampoline.ts';

/**
 * What a book asks the chain: before it lets an order in, and for accounts that want to know what they have. Every
 * question is optional: one that is not there is not asked, and what it would have rejected gets in.
 *
 * An answer MUST be of the newest block that the implementation knows, and of one block. A question that could not be
 * answered MUST reject; it MUST NOT be answered by a guess. The book gives each question a deadline, at which `signal`
 * is aborted and the order is rejected with `ChainUnavailable`: an implementation SHOULD stop its work then, and what it
 * answers later is dropped. An implementation MUST NOT throw for an order that is odd, only for a chain that is out of
 * reach.
 */
export interface ChainClient {
  /**
   * What an owner has of a token, and how much of it a spender may move. `0xeeee…ee` stands for native currency, of which
   * nothing can be allowed. Many are asked in one turn when an account's balances are read, so an implementation SHOULD
   * gather them.
   */
  balanceAndAllowance?(query: FundsQuery, call: ChainCall): Promise<Funds>;

  /** The same of up to a hundred owners and tokens at once, in their order. Absent: they are asked about one by one. */
  balancesAndAllowances?(queries: readonly FundsQuery[], call: ChainCall): Promise<readonly Funds[]>;

  /**
   * What a token says of itself (ERC-20, the optional part), each member absent where it says nothing or nonsense;
   * `undefined` when there is no token at this address. What was answered once is remembered.
   */
  tokenInfo?(token: Address, call: ChainCall): Promise<TokenInfo | undefined>;

  /**
   * Whether a contract calls a signature its own (EIP-1271). The call MUST be given a bounded amount of gas, and no more
   * than 32 bytes of its answer MUST be read. A contract that is not there, reverts, runs out of gas or answers anything
   * but the magic value is an answer: `valid: false`. Where the order has pre-hooks, they run first.
   */
  isValidSignature?(query: ContractSignatureQuery, call: ChainCall): Promise<ContractSignatureAnswer>;

  /**
   * Runs an order's pre-hooks, then tries to move the sell token as a settlement would, and says what the owner had and
   * had allowed after the hooks. Nothing is sent.
   */
  simulate?(query: SimulationQuery, call: ChainCall): Promise<Simulation>;

  /**
   * Asked once, when a book starts. Rejects with a `ChainMismatch` when this is another chain than the book's, or its
   * settlement contract is not there: then the book does not start. Any other failure does not keep it from starting.
   */
  verify?(domain: Domain, call: ChainCall): Promise<void>;
}

/** Travels with each question. */
export interface ChainCall {
  /** Aborted at the deadline, or when the answer is not wanted any more. */
  readonly signal: AbortSignal;
}

/** Whose balance of which token, and who may move it. */
export interface FundsQuery {
  readonly owner: Address;
  readonly token: Address;
  /** The vault relayer of the deployment. */
  readonly spender: Address;
}

/** Atoms of the token. */
export interface Funds {
  readonly balance: bigint;
  readonly allowance: bigint;
}

/** What a token says of itself. */
export interface TokenInfo {
  /** Atoms of a whole token, as a power of ten: 0 to 255. */
  readonly decimals?: number;
  readonly symbol?: string;
  readonly name?: string;
}

/** A signature that a contract is asked about (EIP-1271). */
export interface ContractSignatureQuery {
  /** The contract that is asked. */
  readonly owner: Address;
  /** The order's digest, 32 bytes. */
  readonly digest: Hex;
  readonly signature: Hex;
  /** Calls that run before, as the settlement contract would make them. */
  readonly pre: readonly InteractionData[];
  readonly flashloan: Flashloan | undefined;
}

/** What the contract has said. */
export type ContractSignatureAnswer =
  | { readonly valid: true }
  /**
   * `reason` is for people: "no contract at this address", "reverted", "answered 0xffffffff". It is shown to whoever has
   * sent the order, so it MUST NOT name nodes or keys.
   */
  | { readonly valid: false; readonly reason?: string };

/** A transfer to be tried after the hooks of its order. */
export interface SimulationQuery extends FundsQuery {
  /** Atoms that are to be moved. */
  readonly amount: bigint;
  readonly pre: readonly InteractionData[];
  /** Lent before the hooks run, as far as the implementation can play that. */
  readonly flashloan: Flashloan | undefined;
}

/** What was found after the pre-hooks. */
export interface Simulation extends Funds {
  /** `undefined` when the transfer went through, else what it reverted with. */
  readonly transferRevert: Hex | undefined;
}
