import type { Clock, Domain, Store } from 'intentbook';

/**
 * The operations that a store with a reader runs on its writing connection, by part: those that commit. The connection
 * of the reader rejects each of them.
 */
export const WRITES = {
  orders: ['insert', 'cancel', 'addQuote', 'expire', 'reinstate', 'prune'],
  appData: ['put'],
  quotes: ['insert', 'prune'],
  chain: ['apply', 'adopt', 'rollback'],
  auctions: ['insert', 'record'],
  tasks: ['write'],
  retention: ['pruneEvents', 'pruneChainEvents', 'pruneDocuments'],
} as const satisfies { readonly [Part in keyof Store]?: readonly (keyof Store[Part])[] };

export type WrittenPart = keyof typeof WRITES;

/** Name of an operation of the writing connection: `orders.insert`. */
export type WriteName =
  | 'open'
  | 'close'
  | 'check'
  | { [Part in WrittenPart]: `${Part}.${(typeof WRITES)[Part][number]}` }[WrittenPart];

/** Calls an operation by its name. The parameter of `open` is the domain. */
export function callStore(store: Store, clock: Clock, name: WriteName, parameters: readonly unknown[]) {
  if (name === 'open') return store.open({ domain: parameters[0] as Domain, clock }); // as the caller passes it
  const operation = name.split('.').reduce<object>((target, key) => Reflect.get(target, key), store);
  return (operation as (...given: readonly unknown[]) => Promise<unknown>)(...parameters); // of this name
}

/** A message to the write thread. The thread has several stores, with a number each. */
export type WriteMessage = WriteStart | WriteCall | WriteEnd;

/** Creates a store in the thread. */
export interface WriteStart {
  readonly store: number;
  readonly source: unknown;
  /** See {@link createWriteState}. */
  readonly state: Int32Array;
}

/** Removes a store that is closed. */
export interface WriteEnd {
  readonly store: number;
  readonly end: true;
}

export interface WriteCall {
  readonly store: number;
  readonly id: number;
  readonly name: WriteName;
  readonly parameters: readonly unknown[];
}

/** The result of a call. Errors lose their class on the way between threads. */
export type WriteResult =
  | { readonly id: number; readonly value: unknown }
  | {
      readonly id: number;
      readonly error: { readonly code?: string; readonly message: string; readonly cause?: unknown };
    };

/** Positions in the state. */
export const EPOCH = 0;
export const LEASE_END = 1;

/**
 * Creates the memory that a store of the write thread shares with the thread of the book. It contains the epoch, which
 * is odd while an operation runs and different after it, so that a write is noticed before its result arrives. It also
 * contains the second (since 1970) until which no other process can become the writer.
 */
export function createWriteState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}
