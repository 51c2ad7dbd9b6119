import type { Address } from 'intentbook';
import { MAX_UINT256 } from '#internal';

/** State of the contracts and tokens of a simulated chain. */
export interface ContractState {
  readonly ledger: BalanceLedger;
  /** Executed amounts of orders in atoms, by UID. */
  readonly filled: Map<string, bigint>;
  /** UIDs of pre-signed orders. */
  readonly presigned: Set<string>;
  /** Tokens whose transfers revert. */
  readonly frozen: Set<string>;
  /** Owners of orders that sell native currency, by UID. */
  readonly placed: Map<string, Address>;
}

/** Executed amount of an invalidated order (GPv2Settlement.sol). */
export const INVALIDATED = MAX_UINT256;

export function createState(): ContractState {
  return {
    ledger: createBalanceLedger(),
    filled: new Map(),
    presigned: new Set(),
    frozen: new Set(),
    placed: new Map(),
  };
}

/** Returns an independent copy. */
export function copyState({ ledger, filled, presigned, frozen, placed }: ContractState): ContractState {
  return {
    ledger: createBalanceLedger(...ledger.entries()),
    filled: new Map(filled),
    presigned: new Set(presigned),
    frozen: new Set(frozen),
    placed: new Map(placed),
  };
}

/** Balances and allowances of a simulated chain, in atoms. Native currency has the address `0xeeee…ee`. */
type BalanceLedger = ReturnType<typeof createBalanceLedger>;

export function createBalanceLedger(
  balances: ReadonlyMap<string, bigint> = new Map(),
  allowances: ReadonlyMap<string, bigint> = new Map(),
) {
  const held = new Map(balances);
  const allowed = new Map(allowances);
  const key = (account: Address, token: Address) => `${account.toLowerCase()} ${token}`;
  const balanceOf = (account: Address, token: Address): bigint => held.get(key(account, token)) ?? 0n;
  const setBalance = (account: Address, token: Address, atoms: bigint): void =>
    void held.set(key(account, token), atoms);
  return {
    balanceOf,
    setBalance,
    allowanceOf: (owner: Address, token: Address): bigint => allowed.get(key(owner, token)) ?? 0n,
    setAllowance: (owner: Address, token: Address, atoms: bigint): void => void allowed.set(key(owner, token), atoms),
    /** @throws RangeError if the sender has too little. */
    transfer(token: Address, from: Address, to: Address, atoms: bigint): void {
      if (balanceOf(from, token) < atoms) throw new RangeError(`insufficient balance of ${from}`);
      setBalance(from, token, balanceOf(from, token) - atoms);
      setBalance(to, token, balanceOf(to, token) + atoms);
    },
    /** Returns the balances and the allowances, from which `createBalanceLedger` makes an independent copy. */
    entries: () => [held, allowed] as const,
  };
}
