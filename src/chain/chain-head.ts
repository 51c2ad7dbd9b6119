import { createDeadlineLimiter } from '../concurrency/abort.ts';
import type { ChainHead, ChainSource } from '../ports/chain-source.ts';
import type { BlockRef } from '../ports/chain-store.ts';
import { type Clock, seconds } from '../ports/clock.ts';
import type { IndexerStatus } from './indexer-step.ts';

/** Seconds by which the index may be behind the head of a node, if another process or another node is followed. */
const MAX_LAG = 60;

/** Seconds by which the time of the newest block may differ from the clock. A later one is an error of its node. */
const MAX_DIFFERENCE = 900;

/** More blocks in a second than any chain has. A node that claims more must not prolong deadlines. */
const MAX_BLOCK_RATE = 10;

/**
 * Blocks after which a block counts as confirmed, although a node has not read it a second time: the node may be gone,
 * or another process follows the chain.
 */
const MAX_UNCONFIRMED = 256;

/** Milliseconds to wait for the heads of all nodes, so that an auction does not wait long for one that is down. */
const HEAD_TIMEOUT = 1000;

/**
 * Returns the newest block of the chain, if the book has indexed it, or another process is about to. `undefined`: the
 * book is behind, none of several nodes responds, or the block is so old that all nodes stand still.
 *
 * @param indexed - The newest indexed block.
 * @param status - The time of that block at the node that is followed, and the last block that all nodes have read a
 *   second time. `undefined`: another process follows the chain.
 */
export async function findChainHead(
  indexed: BlockRef,
  { headTime, confirmedTo = 0 }: Pick<IndexerStatus, 'headTime' | 'confirmedTo'>,
  sources: readonly ChainSource[],
  clock: Clock,
): Promise<ChainHead | undefined> {
  const confirmed = Math.min(Math.max(confirmedTo, indexed.number - MAX_UNCONFIRMED), indexed.number);
  if (headTime !== undefined && sources.length === 1) return toChainHead(indexed.number, headTime, confirmed, clock);
  // The node that is followed may have stopped, or may be on another fork.
  const remote = createDeadlineLimiter(clock, HEAD_TIMEOUT);
  const heads = await Promise.all(
    sources.map((node) =>
      remote.run(node.id, (signal) => readHead(node, indexed, clock, signal)).catch(() => undefined),
    ),
  );
  const found = heads.flatMap((each) => each ?? []);
  if (found.some(({ lag }) => lag > MAX_LAG) || found.length === 0) return undefined;
  const newest = Math.max(headTime ?? 0, ...found.map(({ timestamp }) => timestamp));
  return toChainHead(Math.max(indexed.number, ...found.map(({ number }) => number)), newest, confirmed, clock);
}

/**
 * Returns the newest block of a node, and the seconds by which the indexed block is behind it. Of another fork it is
 * always behind, because what it has filled may be open.
 */
async function readHead(node: ChainSource, indexed: BlockRef, clock: Clock, signal: AbortSignal) {
  const { number, timestamp } = await node.head({ signal });
  if (timestamp > seconds(clock) + MAX_DIFFERENCE) return undefined;
  if (number <= indexed.number) return { number, timestamp, lag: 0 };
  const block = await node.block(indexed.number, { signal });
  if (block === undefined) return undefined;
  const lag = block.hash === indexed.hash ? timestamp - block.timestamp : Infinity;
  return { number: Math.min(number, block.number + MAX_BLOCK_RATE * (Math.max(lag, 0) + 1)), timestamp, lag };
}

/** Returns the head, or `undefined` if its time shows that its node stands still. */
function toChainHead(number: number, timestamp: number, confirmedTo: number, clock: Clock): ChainHead | undefined {
  const age = seconds(clock) - timestamp;
  return age > MAX_DIFFERENCE ? undefined : { number, isRecent: age <= MAX_LAG, confirmedTo };
}
