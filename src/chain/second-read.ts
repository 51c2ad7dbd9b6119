import type { ChainSource } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef } from '../ports/chain-store.ts';
import { StoreError } from '../ports/store.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import type { BlockRange } from './block-range.ts';
import { type ChainBatch, HASHES_KEPT } from './decode-batch.ts';
import type { IndexerObservation } from './indexer-options.ts';
import { type createLogReader, Inconsistent, toInconsistent } from './log-reader.ts';

/** Blocks are read a second time in groups of this size: a node may have a block before it has the block's logs. */
const GROUP = 8;

/** The newest blocks, which are not read a second time yet. */
const DISTANCE = 4;

/** Maximum number of stored hashes. Above it, the blocks that no other node has read are forgotten at a restart. */
const MAX_HASHES = 2 * HASHES_KEPT;

/** The parts of the indexer that a second read uses. */
interface SecondReadContext {
  readonly getRange: (node: ChainSource) => BlockRange;
  readonly blockHash: (node: ChainSource, number: number) => Promise<string | undefined>;
  readonly logsBetween: (node: ChainSource, from: number, to: number) => Promise<readonly ChainLog[] | undefined>;
  /** Returns whether a node returns the logs of a block. */
  readonly hasLogs: (node: ChainSource, number: number) => Promise<boolean>;
  /** Returns whether a node has deleted the logs of a block. */
  readonly hasDeleted: (node: ChainSource, number: number, newer: number) => Promise<boolean>;
  readonly read: ReturnType<typeof createLogReader>['read'];
  readonly apply: (batch: ChainBatch) => Promise<ApplyOutcome>;
  readonly observe: (observation: IndexerObservation) => void;
}

interface NodeProgress {
  /** The last block that it has read so deep in the chain that it must have had all logs. */
  readonly to: number;
  /** The newest block of its last attempt. `undefined`: none since the start. */
  readonly attemptedTo: number | undefined;
}

/**
 * Creates the second read of blocks, which applies the events that the first one lacked.
 *
 * Each node reads each block that was indexed since the start, when the block is deep in the chain: also those of a
 * long catch-up, one range of one node at each step. One node may have had the logs late, and another one may omit
 * them. A node that does not respond reads its ranges later. After a start all blocks with a stored hash are read,
 * since the process may have stopped before. Therefore the hash of the last block that all nodes have read stays
 * stored. The blocks whose logs a node has deleted are found by bisection. They are skipped
 * with a quarter of the later ones.
 */
export function createSecondRead(context: SecondReadContext) {
  const { getRange, hasLogs, hasDeleted, observe } = context;
  const nodeProgress = new Map<ChainSource, NodeProgress>();
  /** The last block that any node has read so. */
  let repeatedTo: number | undefined;
  /** The node of the last attempt. The next one follows it. */
  let last: ChainSource | undefined;

  /** Returns the node of the next attempt, if one has blocks to read. */
  function findNext(nodes: readonly ChainSource[], before: ChainSource, newest: number): ChainSource | undefined {
    const first = nodes.indexOf(before) + 1;
    return [...nodes.slice(first), ...nodes.slice(0, first)].find((each) => {
      const { to, attemptedTo } = nodeProgress.get(each) ?? { to: newest };
      return newest > to && (attemptedTo === undefined || newest - Math.max(to, attemptedTo) >= GROUP);
    });
  }

  return {
    /** Reads all blocks with a stored hash again: another process may have read their successors once only. */
    restart(): void {
      nodeProgress.clear();
      repeatedTo = undefined;
    },

    /**
     * Begins a step before the checkpoint moves on.
     *
     * @param current - The node that is followed. After a start it is taken for the node that was followed before,
     *   which has read the ranges of a long catch-up.
     * @param blocks - The blocks with a stored hash, newest first. Each may have been read once only.
     * @param indexed - The checkpoint. Blocks above it were rolled back, by this process or another one.
     * @returns the last block that needs no second read, the last one that all nodes have read so, and the blocks whose
     *   hashes must stay stored.
     */
    begin(
      nodes: readonly ChainSource[],
      current: ChainSource,
      blocks: readonly BlockRef[],
      indexed: number,
    ): { recheckedTo: number; confirmedTo: number; kept: readonly BlockRef[] } {
      const oldest = blocks.at(-1)?.number ?? indexed;
      const recent = blocks.findLast(({ number }) => number >= indexed - HASHES_KEPT)?.number ?? indexed;
      repeatedTo = Math.min(repeatedTo ?? recent, indexed);
      let confirmedTo = indexed;
      for (const node of nodes) {
        const { to, attemptedTo } = nodeProgress.get(node) ?? { to: node === current ? recent : oldest };
        confirmedTo = Math.min(confirmedTo, to);
        nodeProgress.set(node, {
          to: Math.min(to, indexed),
          attemptedTo: attemptedTo === undefined ? undefined : Math.min(attemptedTo, indexed),
        });
      }
      const kept = blocks.length > MAX_HASHES ? undefined : blocks.find(({ number }) => number <= confirmedTo);
      return { recheckedTo: repeatedTo, confirmedTo, kept: kept === undefined ? [] : [kept] };
    },

    /** Records that a node has read the blocks that no node had read a second time, up to one deep in the chain. */
    caughtUp(node: ChainSource, to: number): void {
      const before = nodeProgress.get(node)?.to ?? to;
      if (before >= (repeatedTo ?? to)) nodeProgress.set(node, { to, attemptedTo: to });
      repeatedTo = to;
    },

    /** Reads the next range of one node. */
    async run(nodes: readonly ChainSource[], current: ChainSource, checkpoint: BlockRef, blocks: readonly BlockRef[]) {
      const newest = checkpoint.number - DISTANCE;
      const node = findNext(nodes, last ?? current, newest);
      const progress = node && nodeProgress.get(node);
      if (node === undefined || progress === undefined) return;
      last = node;
      const from = progress.to + 1;
      const to = Math.min(newest, progress.to + getRange(node).size);
      const reference = blocks.find(({ number }) => number === to + DISTANCE - 1) ?? checkpoint;
      // Of several nodes, one that does not respond waits for more blocks, so that it does not delay each step.
      if (nodes.length > 1) nodeProgress.set(node, { ...progress, attemptedTo: newest });
      try {
        if (!(await readAgain(context, node, from, to, checkpoint, reference))) return;
        nodeProgress.set(node, { to, attemptedTo: to });
        repeatedTo = Math.max(repeatedTo ?? to, to);
      } catch (failure) {
        if (failure instanceof StoreError) throw failure;
        observe({ type: 'failure', source: node.name, failure }); // the second read can be repeated later
        if (from < to || failure instanceof Inconsistent || !(await hasDeleted(node, from, newest))) return;
        const missing = await findLastMissing(from, newest, (number) => hasLogs(node, number));
        // Until the next step, it may delete more.
        const skipped = missing + Math.floor((newest - missing) / 4);
        nodeProgress.set(node, { to: skipped, attemptedTo: undefined });
      }
    },
  };
}

/** Returns whether the node had all blocks up to a checkpoint, and applied what was missing. */
async function readAgain(
  { blockHash, logsBetween, read, apply, observe }: SecondReadContext,
  node: ChainSource,
  from: number,
  to: number,
  checkpoint: BlockRef,
  reference: BlockRef,
): Promise<boolean> {
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

/** Returns the last block whose logs a node has deleted. No message shows it. */
async function findLastMissing(
  from: number,
  newest: number,
  hasLogs: (number: number) => Promise<boolean>,
): Promise<number> {
  let [missing, present] = [from, newest];
  while (present - missing > 1) {
    const middle = Math.floor((missing + present) / 2);
    if (await hasLogs(middle)) present = middle;
    else missing = middle;
  }
  return missing;
}
