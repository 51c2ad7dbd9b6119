import type { Address } from 'intentbook';
import { type BalanceLedger, createBalanceLedger } from './simulated-ledger.ts';

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

/** The largest amount of 256 bits. */
export const UNLIMITED = 2n ** 256n - 1n;

/** Executed amount of an invalidated order (GPv2Settlement.sol). */
export const INVALIDATED = 2n ** 256n - 1n;

/** Creates an empty state. */
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
    ledger: ledger.copy(),
    filled: new Map(filled),
    presigned: new Set(presigned),
    frozen: new Set(frozen),
    placed: new Map(placed),
  };
}
