import type { BlockRef, Fact, FactBatch } from '../ports/chain-store.ts';
import type { Hex } from '../protocol/hex.ts';
import { isOrderFact } from './project-order.ts';

/** Whether a store's mark is another one than a caller has seen, if the caller says what that was. */
export function hasMoved(mark: BlockRef | null, seen: BlockRef | null | undefined): boolean {
  return seen !== undefined && (seen?.number !== mark?.number || seen?.hash !== mark?.hash);
}

/** The hashes of all blocks that a batch names, by number: no two of them may differ from what a store has of them. */
export function blockHashes({ facts, blocks, through }: FactBatch): Map<number, Hex> {
  const named = new Map(facts.map((fact) => [fact.blockNumber, fact.blockHash]));
  for (const { number, hash } of [...blocks, through]) named.set(number, hash);
  return named;
}

/** The orders that facts are about, each once: the ones to be judged anew. */
export function ordersTouched(facts: readonly Fact[]): Hex[] {
  return [...new Set(facts.filter(isOrderFact).map(({ uid }) => uid))];
}
