import type { BlockRef } from '../ports/chain-store.ts';
import { ReorganisationTooDeep } from './indexer-options.ts';
import { Inconsistent } from './log-reader.ts';

/**
 * Creates the error of a node that does not have the indexed block, nor any of the blocks before it within the limit. A
 * node with a shorter chain may lag behind on a fork, or its chain was reset. The indexer retries its requests.
 */
export function createDeepForkError(head: BlockRef, indexedBlock: BlockRef, reorgLimit: number): Error {
  if (head.number < indexedBlock.number)
    return new Inconsistent(`its head ${head.number} is below block ${indexedBlock.number}, on another chain`);
  return new ReorganisationTooDeep(
    `block ${indexedBlock.number} is no longer ${indexedBlock.hash}, and the ${reorgLimit} blocks before it have ` +
      'changed too; roll back to a block that is still on the chain (intentbook rollback --to-block <block>)',
  );
}
