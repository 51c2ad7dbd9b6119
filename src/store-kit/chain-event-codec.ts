import type { ChainEvent } from '../ports/chain-store.ts';
import type { Address, Hex } from '../protocol/hex.ts';

/** Types of chain events. Stores record the index in this list: append only. */
export const CHAIN_EVENT_TYPES = [
  'trade',
  'settlement',
  'invalidation',
  'presignature',
  'placement',
  'refund',
] as const satisfies readonly ChainEvent['type'][];

/** A stored chain event: the columns that a store needs for lookups, and the rest as JSON. */
export type ChainEventRow = readonly [
  block: number,
  log: number,
  blockHash: Hex,
  transactionHash: Hex,
  timestamp: number | null,
  type: number,
  uid: Hex | null,
  owner: Address | null,
  detail: string,
];

/** Members of chain events that a store has in columns. */
const COLUMNS: readonly string[] = [
  'type',
  'blockNumber',
  'logIndex',
  'blockHash',
  'transactionHash',
  'timestamp',
  'uid',
  'owner',
];

/** Formats the members of a chain event that have no column as JSON. */
export function formatChainEventDetail(event: ChainEvent): string {
  return JSON.stringify(Object.fromEntries(Object.entries(event).filter(([name]) => !COLUMNS.includes(name))));
}

/** Converts a row back to the chain event. */
export function readChainEvent(row: ChainEventRow): ChainEvent {
  const [blockNumber, logIndex, blockHash, transactionHash, timestamp, type, uid, owner, detail] = row;
  return {
    type: CHAIN_EVENT_TYPES[type],
    blockNumber,
    logIndex,
    blockHash,
    transactionHash,
    timestamp,
    ...(uid === null ? {} : { uid }),
    ...(owner === null ? {} : { owner }),
    ...JSON.parse(detail),
  } as ChainEvent; // the inverse of the columns and `formatChainEventDetail`
}
