import type { BlockRef, ChainEvent, ChainEventBatch, OrderChainEvent, TradeCursor } from '../ports/chain-store.ts';
import type { Address, Hex } from '../protocol/hex.ts';

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
