import type { BlockRef, ChainSource, Domain, Store } from 'intentbook';

export interface RolledBack {
  /** The block that the index continues after. */
  readonly block: BlockRef;
  /** Number of chain events that were deleted. */
  readonly removed: number;
}

/** Milliseconds until a request to a node is cancelled. */
const TIMEOUT = 15_000;

/**
 * Deletes the chain events above a block, so that the indexer continues after it. Orders return to their state at that
 * block. A repeated call completes an interrupted one.
 *
 * @param nodes - Return the hash of the block. Required if the store does not know it.
 */
export async function rollBackBook(
  store: Store,
  domain: Domain,
  to: number,
  nodes: readonly ChainSource[],
  now: number,
): Promise<RolledBack> {
  const { indexedBlock, rolledBackTo } = await store.chain.progress();
  if (indexedBlock !== null && to >= indexedBlock.number) {
    throw new Error(`--to-block must be below the indexed block ${indexedBlock.number}, got ${to}`);
  }
  // The events above the block of an interrupted call are deleted.
  if (rolledBackTo !== undefined && to > rolledBackTo) {
    throw new Error(`--to-block must be at most the block of the last rollback ${rolledBackTo}, got ${to}`);
  }
  const stored = (await store.chain.blocks()).find(({ number }) => number === to)?.hash;
  const hash = (await readHash(domain, to, nodes)) ?? stored;
  if (hash === undefined) throw new Error(`the store has no hash of block ${to}; give a node with --rpc <urls>`);
  if (stored !== undefined && stored !== hash) throw createForkError({ number: to, hash }, stored);
  const outcome = await store.chain.rollback({ to, at: now, after: indexedBlock });
  if (outcome.status !== 'rolledBack') throw new Error('a server indexes this book; stop it and repeat the command');
  const block = { number: to, hash };
  // The checkpoint has the hash that was checked, also if the store had deleted it.
  const kept = { events: [], blocks: [], forgetBelow: 0, at: now };
  const isEmpty = indexedBlock === null && rolledBackTo === undefined;
  const seen = outcome.indexedBlock === null && !isEmpty ? { rolledBackTo: to } : {};
  const applied = await store.chain.apply({ ...kept, through: block, after: outcome.indexedBlock, ...seen });
  // The book may have events of a block without its hash.
  if (applied.status === 'conflict') throw createForkError(block, applied.stored);
  if (applied.status !== 'applied') throw new Error('a server indexes this book; stop it and repeat the command');
  return { block, removed: outcome.removed };
}

const createForkError = ({ number, hash }: BlockRef, stored: BlockRef['hash']) =>
  new Error(`block ${number} is ${stored} in the book and ${hash} on the node; select an older block`);

/** Reads the hash of a block from the first node that responds. `undefined` without nodes. */
async function readHash(domain: Domain, number: number, nodes: readonly ChainSource[]) {
  const failures: unknown[] = [];
  for (const node of nodes) {
    try {
      const call = { signal: AbortSignal.timeout(TIMEOUT) };
      await node.verify(domain, call);
      const block = await node.block(number, call);
      if (block !== undefined) return block.hash;
      failures.push(new Error(`${node.name} has no block ${number}`));
    } catch (failure) {
      failures.push(failure);
    }
  }
  if (failures.length > 0) throw failures[0];
  return undefined;
}
