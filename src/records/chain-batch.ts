import type {
  ApplyOutcome,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  OrderChainEvent,
  TradeCursor,
} from '../ports/chain-store.ts';
import { type Address, type Hex, UNKNOWN_HASH } from '../protocol/hex.ts';

/** Compares positions on the chain, for sorting. */
export function compareLogPositions(a: TradeCursor, b: TradeCursor): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}

/** Returns whether a chain event concerns an order. */
export function isOrderChainEvent(event: ChainEvent): event is OrderChainEvent {
  return event.type !== 'settlement';
}

/** Returns whether a store's checkpoint differs from the one that a caller has seen. `undefined`: no condition. */
export function isCursorStale(indexedBlock: BlockRef | null, seen: BlockRef | null | undefined): boolean {
  return seen !== undefined && (seen?.number !== indexedBlock?.number || seen?.hash !== indexedBlock?.hash);
}

/** Returns whether a store's progress differs from that on which a batch is based. */
export function isBatchStale(
  batch: Pick<ChainEventBatch, 'after' | 'rolledBackTo'>,
  indexedBlock: BlockRef | null,
  rolledBackTo: number | undefined,
): boolean {
  const { after, rolledBackTo: seen } = batch;
  return isCursorStale(indexedBlock, after) || (seen !== undefined && seen !== rolledBackTo);
}

/** Returns the hashes of all blocks in a batch, by number. A store must reject a batch that contradicts its hashes. */
export function blockHashes({ events, blocks, through }: ChainEventBatch): Map<number, Hex> {
  const named = new Map(events.map((event) => [event.blockNumber, event.blockHash]));
  for (const { number, hash } of [...blocks, through]) named.set(number, hash);
  return named;
}

/** Returns the UIDs of the orders that chain events concern, each once. Their projection must be computed again. */
export function getAffectedUids(events: readonly ChainEvent[]): Hex[] {
  return [...new Set(events.filter(isOrderChainEvent).map(({ uid }) => uid))];
}

/**
 * Returns the blocks, from the first one after `after` up to `through`, of which a batch has all events: adopted events
 * there are replaced by those of the batch.
 */
export function getConfirmedRange(
  { through }: Pick<ChainEventBatch, 'through'>,
  indexedBlock: BlockRef | null,
): { readonly after: number; readonly through: number } {
  // The first batch does not show from which block on it is complete.
  return { after: indexedBlock?.number ?? through.number - 1, through: through.number };
}

/**
 * Returns the first block in which each token was sold or bought, among these chain events. A store keeps the minimum
 * per token. A rollback needs no search: a token whose first block is rolled back has no trade left.
 */
export function firstTradeBlocks(events: Iterable<ChainEvent>): ReadonlyMap<Address, number> {
  const first = new Map<Address, number>();
  for (const event of events) {
    if (event.type !== 'trade') continue;
    for (const token of [event.sellToken, event.buyToken]) {
      first.set(token, Math.min(event.blockNumber, first.get(token) ?? event.blockNumber));
    }
  }
  return first;
}

/** The events of a batch that a store must write, or an event that contradicts another one at its position. */
export type NewEvents =
  | {
      readonly status: 'new';
      /** In chain order. */
      readonly events: readonly ChainEvent[];
      /** Stored events to remove before: `events` has them under other indices. */
      readonly removed: readonly ChainEvent[];
    }
  | { readonly status: 'contradiction'; readonly event: ChainEvent };

/**
 * Finds the events of a batch that are not stored. Nodes may number the logs of a block differently. So an event is
 * known if a stored one of its block has the same transaction and content: the one at its position, otherwise the n-th
 * such event is the n-th stored one.
 *
 * If a batch has all stored events of a block and a new one, an earlier response lacked a log. The stored events then
 * get the indices of the batch, since indices of two nodes do not order the logs. Those of a batch that lacks a stored
 * event are no better, so they replace others only if the new event has the index of a stored one.
 *
 * @param events - In chain order, of the same blocks as the stored ones.
 * @param stored - All stored events of the blocks of the batch.
 */
export function findNewEvents(events: readonly ChainEvent[], stored: readonly ChainEvent[]): NewEvents {
  /** Stored events without an event of the batch, by position. */
  const left = new Map(stored.map((event) => [formatPosition(event), event]));
  const others = events.filter((event) => {
    const position = formatPosition(event);
    const same = left.get(position);
    if (same === undefined || formatContent(same) !== formatContent(event)) return true;
    left.delete(position);
    return false;
  });
  const byContent = new Map<string, ChainEvent[]>();
  for (const event of [...left.values()].sort(compareLogPositions)) {
    const content = formatContent(event);
    byContent.set(content, [...(byContent.get(content) ?? []), event]);
  }
  const added: ChainEvent[] = [];
  const moved: { readonly from: ChainEvent; readonly to: ChainEvent }[] = [];
  for (const to of others) {
    const from = byContent.get(formatContent(to))?.shift();
    if (from === undefined) added.push(to);
    else moved.push({ from, to });
  }
  const taken = new Set(stored.map(formatPosition));
  const incomplete = new Set([...byContent.values()].flat().map(({ blockNumber }) => blockNumber));
  const isNumbered = (each: ChainEvent) => taken.has(formatPosition(each)) || !incomplete.has(each.blockNumber);
  const blocks = new Set(added.filter(isNumbered).map(({ blockNumber }) => blockNumber));
  const renumbered = moved.filter(({ from }) => blocks.has(from.blockNumber));
  for (const { from } of renumbered) taken.delete(formatPosition(from));
  const found = [...added, ...renumbered.map(({ from, to }) => renumber(from, to))].sort(compareLogPositions);
  for (const event of found) {
    if (taken.has(formatPosition(event))) return { status: 'contradiction', event };
    taken.add(formatPosition(event));
  }
  return { status: 'new', events: found, removed: renumbered.map(({ from }) => from) };
}

/** Returns a stored event under its new index. A known fee stays if the later read does not have it. */
function renumber(from: ChainEvent, to: ChainEvent): ChainEvent {
  const isLess = from.type === 'trade' && to.type === 'trade' && to.executedFee === null;
  return isLess ? { ...from, logIndex: to.logIndex } : to;
}

/** What a store knows of the orders and blocks of adopted events. */
export interface KnownEvents {
  /** All stored events of the blocks of the events. */
  readonly ofBlocks: readonly ChainEvent[];
  /** All stored events of their orders. */
  readonly ofOrder: (uid: Hex) => readonly OrderChainEvent[];
  /** The greatest log index of the events with an unknown position; -1 if there is none. */
  readonly lastUnknown: number;
  /** The orders whose other adopted events are reverted. Placements stay. */
  readonly complete?: readonly Hex[] | undefined;
}

/** The adopted events to store. */
export interface Adoption {
  readonly added: readonly OrderChainEvent[];
  /** Stored events to remove: adopted trades whose fee has become known, and events that are reverted. */
  readonly removed: readonly ChainEvent[];
}

/**
 * Finds the adopted events that are neither known nor contradict an indexed event, with their positions. An event with
 * an unknown position is known if the order has an event of its type.
 */
export function findAdoptable(
  events: readonly OrderChainEvent[],
  { ofBlocks, ofOrder, lastUnknown, complete = [] }: KnownEvents,
): Adoption {
  const isKept = (stored: OrderChainEvent) =>
    stored.blockHash !== UNKNOWN_HASH || stored.type === 'placement' || events.some((each) => isOneEvent(stored, each));
  const removed: ChainEvent[] = complete.flatMap((uid) => ofOrder(uid).filter((stored) => !isKept(stored)));
  const gone = new Set(removed.map(formatPosition));
  const present: ChainEvent[] = ofBlocks.filter((event) => !gone.has(formatPosition(event)));
  const found: OrderChainEvent[] = [];
  let last = lastUnknown;
  for (const event of events) {
    if (event.blockNumber === 0) {
      const isSame = ({ uid, type }: OrderChainEvent) => uid === event.uid && type === event.type;
      if (ofOrder(event.uid).some(isSame) || found.some(isSame)) continue;
      found.push({ ...event, logIndex: ++last });
      continue;
    }
    const ofBlock = present.filter(({ blockNumber }) => blockNumber === event.blockNumber);
    const result = findNewEvents([event], ofBlock);
    if (result.status === 'contradiction') {
      // The index is that of a stored event, which may be out of date. Until that is known, the event keeps its own.
      const isFree = (each: ChainEvent) => present.every((other) => formatPosition(other) !== formatPosition(each));
      const kept = removed.find((each) => formatContent(each) === formatContent(event) && isFree(each));
      if (kept !== undefined) present.push(...removed.splice(removed.indexOf(kept), 1));
      continue;
    }
    if (result.events.length === 0) {
      const stored = ofBlocks.find((each) => isLessKnown(each, event));
      if (stored === undefined || removed.includes(stored)) continue;
      removed.push(stored);
    } else present.push(event);
    found.push(event);
  }
  return { added: found.sort(compareLogPositions), removed };
}

/** Returns whether an adopted event is one that the other book knows. An unknown position is that of any event. */
function isOneEvent(stored: OrderChainEvent, event: OrderChainEvent): boolean {
  if (stored.uid !== event.uid || stored.type !== event.type) return false;
  return (
    event.blockNumber === 0 || (stored.logIndex === event.logIndex && formatContent(stored) === formatContent(event))
  );
}

/** Returns whether a stored event is the adopted form of a trade whose fee is known now, or has changed. */
function isLessKnown(stored: ChainEvent, event: OrderChainEvent): boolean {
  return (
    stored.type === 'trade' &&
    event.type === 'trade' &&
    stored.blockHash === UNKNOWN_HASH &&
    event.executedFee !== null &&
    stored.executedFee !== event.executedFee &&
    compareLogPositions(stored, event) === 0
  );
}

/** Returns the outcome of a batch with an event that contradicts another one at its position. */
export function toConflict(
  { blockNumber, blockHash, logIndex }: Pick<ChainEvent, 'blockNumber' | 'blockHash' | 'logIndex'>,
  indexedBlock: BlockRef,
): ApplyOutcome {
  return { status: 'conflict', block: blockNumber, stored: blockHash, log: logIndex, indexedBlock };
}

/** Formats the log position of a chain event as a map key. */
export const formatPosition = ({ blockNumber, logIndex }: ChainEvent) => `${blockNumber} ${logIndex}`;

/** Formats the values that an event has on chain. Others, such as prices, depend on the time at which it was read. */
function formatContent(event: ChainEvent): string {
  return [event.blockNumber, event.transactionHash, event.type, ...listValues(event)].join(' ');
}

function listValues(event: ChainEvent): readonly unknown[] {
  switch (event.type) {
    case 'trade': {
      const { uid, owner, sellToken, buyToken, sellAmount, buyAmount, feeAmount } = event;
      return [uid, owner, sellToken, buyToken, sellAmount, buyAmount, feeAmount];
    }
    case 'settlement':
      return [event.solver];
    case 'presignature':
      return [event.uid, event.signed];
    case 'placement':
      return [event.uid, event.sender, event.userValidTo];
    case 'invalidation':
    case 'refund':
      return [event.uid];
  }
}
