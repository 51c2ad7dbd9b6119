import type { ChainSource } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef } from '../ports/chain-store.ts';
import { StoreError } from '../ports/store.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import type { createBlockRange } from './block-range.ts';
import { type ChainBatch, HASHES_KEPT } from './decode-batch.ts';
import type { IndexerObservation } from './indexer-options.ts';
import { type createLogReader, toInconsistent } from './log-reader.ts';

/** Blocks are read a second time in groups of this size: a node may have a block before it has the block's logs. */
const GROUP = 8;

/** The newest blocks, which are not read a second time yet. */
const DISTANCE = 4;

/** Maximum number of stored hashes. Above it, the blocks that no other node has read are forgotten at a restart. */
const MAX_HASHES = 2 * HASHES_KEPT;

/** The parts of the indexer that a second read uses. */
interface SecondReadContext {
  readonly range: ReturnType<typeof createBlockRange>;
  readonly blockHash: (node: ChainSource, number: number) => Promise<string | undefined>;
  readonly logsBetween: (node: ChainSource, from: number, to: number) => Promise<readonly ChainLog[] | undefined>;
  readonly read: ReturnType<typeof createLogReader>['read'];
  readonly apply: (batch: ChainBatch) => Promise<ApplyOutcome>;
  readonly observe: (observation: IndexerObservation) => void;
}

/**
 * Creates the second read of blocks, which applies the events that the first one lacked.
 *
 * Another node reads each block that was indexed since the start, also those of a long catch-up, one range at each
 * step. While no other node responds, the node that is followed repeats its reads of the newest blocks, and the others
 * compare them later. After a start all blocks with a stored hash are read, since the process may have stopped before.
 * Therefore the hash of the last compared block stays stored.
 */
export function createSecondRead({ range, blockHash, logsBetween, read, apply, observe }: SecondReadContext) {
  /** The last block that was read twice, or once so deep in the chain that its node must have had all logs. */
  let repeatedTo: number | undefined;
  /** The last block that another node than its first reader has read. */
  let comparedTo: number | undefined;
  /**
   * The first readers of the later blocks, in ranges that end with a block. `undefined`: it is not known after a start,
   * and taken for the current node.
   */
  let firstReads: readonly { readonly node: ChainSource | undefined; readonly to: number }[] = [];
  /** The newest block of the last attempt with all nodes. */
  let attemptedTo = 0;
  /** The node of the next attempt, counted from the first reader. */
  let offset = 1;
  /** No block was read a second time since the start. */
  let isFirst = true;

  /** Returns whether the node had all blocks up to a checkpoint, and applied what was missing. */
  async function readAgain(node: ChainSource, from: number, to: number, checkpoint: BlockRef, reference: BlockRef) {
    // A node that lags behind, or changes its fork meanwhile, may have other logs of these blocks, or none yet.
    const isCurrent = async () => (await blockHash(node, reference.number)) === reference.hash;
    if (!(await isCurrent())) return false;
    const logs = await logsBetween(node, from, to);
    if (logs === undefined || !(await isCurrent())) return false;
    const missed = await read(node, logs);
    if (missed.events.length === 0) return true;
    const outcome = await apply({ ...missed, through: checkpoint, after: checkpoint });
    if (outcome.status === 'conflict') throw toInconsistent(outcome);
    if (outcome.status === 'moved') return false;
    if (outcome.applied > 0) observe({ type: 'missed', events: outcome.applied, block: to });
    return true;
  }

  return {
    /** Reads all blocks with a stored hash again: another process may have read their successors once only. */
    restart(): void {
      [repeatedTo, comparedTo, attemptedTo, isFirst] = [undefined, undefined, 0, true];
    },

    /**
     * Begins a step before the checkpoint moves on.
     *
     * @param blocks - The blocks with a stored hash, newest first. Each may have been read once only.
     * @param indexed - The checkpoint. Blocks above it were rolled back, by this process or another one.
     * @returns the last block that needs no second read of its node, and the blocks whose hashes must stay stored.
     */
    begin(blocks: readonly BlockRef[], indexed: number): { recheckedTo: number; kept: readonly BlockRef[] } {
      const oldest = blocks.at(-1)?.number ?? indexed;
      const recent = blocks.findLast(({ number }) => number >= indexed - HASHES_KEPT)?.number ?? indexed;
      if (comparedTo === undefined) firstReads = [{ node: undefined, to: indexed }];
      const compared = Math.min(comparedTo ?? oldest, indexed);
      comparedTo = compared;
      firstReads = firstReads.flatMap(({ node, to }) => (to > compared ? { node, to: Math.min(to, indexed) } : []));
      repeatedTo = Math.min(repeatedTo ?? recent, indexed);
      attemptedTo = Math.min(attemptedTo, indexed);
      const last = blocks.length > MAX_HASHES ? undefined : blocks.find(({ number }) => number <= compared);
      return { recheckedTo: repeatedTo, kept: last === undefined ? [] : [last] };
    },

    /** Records the node that has returned the blocks up to the checkpoint first. */
    indexed(node: ChainSource, to: number): void {
      const last = firstReads.at(-1);
      if (to <= (last?.to ?? comparedTo ?? to)) return;
      const isSame = last !== undefined && (last.node ?? node) === node;
      firstReads = [...(isSame ? firstReads.slice(0, -1) : firstReads), { node, to }];
    },

    /** Records that blocks were indexed deep in the chain. */
    skip(to: number): void {
      [repeatedTo, isFirst] = [to, false];
    },

    /** Reads the next range of blocks. If a node fails or lags behind, the next attempt uses the next one. */
    async run(nodes: readonly ChainSource[], current: number, checkpoint: BlockRef, blocks: readonly BlockRef[]) {
      const newest = checkpoint.number - DISTANCE;
      const isOther = offset % nodes.length !== 0;
      const [first] = firstReads;
      const reader = first?.node === undefined ? current : nodes.indexOf(first.node);
      const node = nodes[(reader + offset) % nodes.length];
      const done = (isOther ? comparedTo : repeatedTo) ?? newest;
      const isDue = newest > done && (isFirst || newest - (isOther ? Math.max(done, attemptedTo) : done) >= GROUP);
      if (node === undefined) return;
      if (!isDue) {
        if (!isOther) [offset, attemptedTo] = [1, newest];
        return;
      }
      offset++;
      const to = Math.min(newest, done + range.size, isOther && first !== undefined ? first.to : newest);
      const reference = blocks.find(({ number }) => number === to + DISTANCE - 1) ?? checkpoint;
      try {
        if (!(await readAgain(node, done + 1, to, checkpoint, reference))) return;
        if (isOther) comparedTo = to;
        else attemptedTo = to;
        [repeatedTo, isFirst, offset] = [Math.max(repeatedTo ?? to, to), false, 1];
      } catch (failure) {
        if (failure instanceof StoreError) throw failure;
        observe({ type: 'failure', source: node.name, failure }); // the second read can be repeated later
      }
    },
  };
}
