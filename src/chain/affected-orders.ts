import type { BlockRef, ChainEvent, ChainEventBatch } from '../ports/chain-store.ts';
import type { Hex } from '../protocol/hex.ts';
import { isOrderChainEvent } from './project-order.ts';

/** Whether a store's indexedBlock is another one than a caller has seen, if the caller says what that was. */
export function isCursorStale(indexedBlock: BlockRef | null, seen: BlockRef | null | undefined): boolean {
  return seen !== undefined && (seen?.number !== indexedBlock?.number || seen?.hash !== indexedBlock?.hash);
}

/** The hashes of all blocks that a batch names, by number: no two of them may differ from what a store has of them. */
export function blockHashes({ events: facts, blocks, through }: ChainEventBatch): Map<number, Hex> {
  const named = new Map(facts.map((fact) => [fact.blockNumber, fact.blockHash]));
  for (const { number, hash } of [...blocks, through]) named.set(number, hash);
  return named;
}

/** The orders that facts are about, each once: the ones to be judged anew. */
export function getAffectedUids(facts: readonly ChainEvent[]): Hex[] {
  return [...new Set(facts.filter(isOrderChainEvent).map(({ uid }) => uid))];
}
