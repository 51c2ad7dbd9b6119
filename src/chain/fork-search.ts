import type { BlockHeader, ChainSource } from '../ports/chain-source.ts';
import type { BlockRef } from '../ports/chain-store.ts';
import type { ChainIndexerContext } from './indexer-options.ts';
import { ReorganisationTooDeep } from './indexer-options.ts';
import { type ChainQuery, Inconsistent } from './log-reader.ts';

/**
 * Creates the search for forks: the blocks that a node no longer has are rolled back.
 *
 * @param reorgLimit - Blocks of the longest reorganisation. A longer one is an error.
 * @param getNodes - Returns the nodes that can be used.
 */
export function createForkSearch(
  query: ChainQuery,
  reorgLimit: number,
  getNodes: () => readonly ChainSource[],
  { rollback, observe }: Pick<ChainIndexerContext, 'rollback' | 'observe'>,
) {
  /** Finds the newest stored block that the node still has, and rolls back the blocks above it. */
  async function findFork(
    node: ChainSource,
    head: BlockRef,
    indexedBlock: BlockRef,
    blocks: readonly BlockRef[],
  ): Promise<boolean> {
    for (const stored of blocks) {
      if (stored.number >= indexedBlock.number) continue;
      if (indexedBlock.number - stored.number > reorgLimit) throw createDeepForkError(head, indexedBlock, reorgLimit);
      const current = await query((call) => node.block(stored.number, call));
      if (current === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${stored.number}`);
      if (current.hash === stored.hash) return rollBack(stored.number, indexedBlock);
    }
    // The first checkpoint itself is gone. Hashes are stored for more blocks than the limit, so it is near.
    const oldest = blocks.at(-1) ?? indexedBlock;
    if (indexedBlock.number - oldest.number > reorgLimit) throw createDeepForkError(head, indexedBlock, reorgLimit);
    return rollBack(oldest.number - 1, indexedBlock);
  }

  async function rollBack(to: number, indexedBlock: BlockRef): Promise<boolean> {
    const outcome = await rollback(to, indexedBlock);
    if (outcome.status !== 'rolledBack') return true;
    observe({ type: 'reorganised', from: indexedBlock, to });
    return true;
  }

  /** Returns whether another node has a block. Then a node with a shorter chain stands still on a fork. */
  async function isHeldElsewhere(node: ChainSource, { number, hash }: BlockRef): Promise<boolean> {
    const others = getNodes().filter((other) => other !== node);
    const read = (other: ChainSource) => query((call) => other.block(number, call)).catch(() => undefined);
    return (await Promise.all(others.map(read))).some((block) => block?.hash === hash);
  }

  /**
   * Distinguishes a node that lags behind, which has the stored blocks, from a reorganisation to a shorter chain.
   *
   * @returns `undefined` if the node lags behind. Otherwise as `findFork`.
   * @throws Inconsistent if another node has the indexed block.
   */
  async function checkShorterChain(
    node: ChainSource,
    head: BlockHeader,
    indexedBlock: BlockRef,
    blocks: readonly BlockRef[],
  ): Promise<boolean | undefined> {
    const stored = blocks.find(({ number }) => number <= head.number);
    if (stored === undefined) return undefined;
    const current = stored.number === head.number ? head : await query((call) => node.block(stored.number, call));
    if (current === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${stored.number}`);
    if (current.hash === stored.hash) return undefined;
    if (await isHeldElsewhere(node, indexedBlock))
      throw new Inconsistent(`it has another block ${stored.number}, and another node has the indexed block`);
    return findFork(node, head, indexedBlock, blocks.slice(blocks.indexOf(stored)));
  }

  return { findFork, checkShorterChain };
}

/**
 * Creates the error of a node that does not have the indexed block, nor any of the blocks before it within the limit. A
 * node with a shorter chain may lag behind on a fork, or its chain was reset. The indexer retries its requests.
 */
function createDeepForkError(head: BlockRef, indexedBlock: BlockRef, reorgLimit: number): Error {
  if (head.number < indexedBlock.number)
    return new Inconsistent(`its head ${head.number} is below block ${indexedBlock.number}, on another chain`);
  return new ReorganisationTooDeep(
    `block ${indexedBlock.number} is no longer ${indexedBlock.hash}, and the ${reorgLimit} blocks before it have ` +
      'changed too; roll back to a block that is still on the chain (intentbook rollback --to-block <block>)',
  );
}
