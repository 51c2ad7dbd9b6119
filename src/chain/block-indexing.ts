import type { BlockHeader, ChainSource } from '../ports/chain-source.ts';
import type { BlockRef } from '../ports/chain-store.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import type { BlockRange } from './block-range.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { ChainIndexerContext } from './indexer-options.ts';
import {
  type ChainQuery,
  type createLogReader,
  Inconsistent,
  readConfirmedBlock,
  toInconsistent,
} from './log-reader.ts';

/**
 * Reads of a block that fail, each beside one of a newer block that succeeds, after which the node counts as one that
 * has deleted its logs. No message shows it, and a node that is overloaded fails at times.
 */
const PROBES = 4;

interface BlockIndexingParts {
  readonly query: ChainQuery;
  readonly reader: ReturnType<typeof createLogReader>;
  readonly getRange: (node: ChainSource) => BlockRange;
  readonly isStopping: () => boolean;
}

/** Creates the operations that read blocks of a node and apply their events. */
export function createBlockIndexing(
  { query, reader, getRange, isStopping }: BlockIndexingParts,
  context: Pick<ChainIndexerContext, 'apply' | 'observe'>,
) {
  const { observe } = context;
  const apply = (batch: ChainBatch, head: BlockHeader) => applyBatch(context, batch, head);

  /** Stores the first checkpoint, or the first one after a rollback that left none. */
  async function begin(
    node: ChainSource,
    head: BlockHeader,
    rolledBackTo: number | undefined,
    fromBlock: number | undefined,
  ): Promise<boolean> {
    const first =
      rolledBackTo === undefined ? (fromBlock ?? head.number + 1) : Math.max(rolledBackTo + 1, fromBlock ?? 1);
    if (first > head.number + 1) return false;
    const before = first === head.number + 1 ? head : await query((call) => node.block(first - 1, call));
    if (before === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${first - 1}`);
    const seen = rolledBackTo === undefined ? {} : { rolledBackTo };
    await apply({ events: [], through: toBlockRef(before), after: null, ...seen }, head);
    return true;
  }

  /**
   * Indexes a range by block number. It ends `reorgLimit` blocks below the head. It begins with the blocks that were
   * not read a second time before the node or this process was unreachable, unless the node has deleted their logs.
   *
   * @returns the last indexed block. `undefined`: the range was too large, or the checkpoint has moved.
   */
  async function catchUp(
    node: ChainSource,
    indexedBlock: BlockRef,
    from: number,
    newestFinal: number,
    head: BlockHeader,
  ): Promise<number | undefined> {
    const to = Math.min(from + getRange(node).size - 1, newestFinal);
    let logs: readonly ChainLog[] | undefined;
    try {
      logs = await logsBetween(node, from, to);
    } catch (failure) {
      if (from < to || to > indexedBlock.number || failure instanceof Inconsistent) throw failure;
      if (!(await hasDeleted(node, from, newestFinal))) throw failure;
      observe({ type: 'failure', source: node.name, failure });
      return catchUp(node, indexedBlock, indexedBlock.number + 1, newestFinal, head);
    }
    if (logs === undefined) return undefined; // the next step tries a smaller range
    const through =
      to > indexedBlock.number
        ? await readConfirmedBlock((each) => query((call) => node.block(each, call)), to, head)
        : indexedBlock;
    if (logs.some(({ blockNumber, blockHash }) => blockNumber === through.number && blockHash !== through.hash)) {
      throw new Inconsistent(`block ${through.number} has two hashes`);
    }
    const read = await reader.read(node, logs);
    if (!(await apply({ ...read, through: toBlockRef(through), after: indexedBlock }, head))) return undefined;
    return to;
  }

  /** Returns whether a node has deleted the logs of a block. */
  async function hasDeleted(node: ChainSource, number: number, newer: number): Promise<boolean> {
    for (let i = 0; i < PROBES; i++) if ((await hasLogs(node, number)) || !(await hasLogs(node, newer))) return false;
    return true;
  }

  /** Returns whether a node returns the logs of a block. */
  async function hasLogs(node: ChainSource, number: number): Promise<boolean> {
    return reader.logsBetween(node, number, number).then(
      () => true,
      () => false,
    );
  }

  /** Reads logs. @returns `undefined` if the range was too large for a node that otherwise responds. */
  async function logsBetween(node: ChainSource, from: number, to: number): Promise<readonly ChainLog[] | undefined> {
    const range = getRange(node);
    const blocks = to - from + 1;
    try {
      const logs = await reader.logsBetween(node, from, to);
      if (blocks >= range.size) range.succeeded(logs.length);
      return logs;
    } catch (failure) {
      if (to === from || failure instanceof Inconsistent) throw failure;
      await query((call) => node.head(call));
      observe({ type: 'failure', source: node.name, failure });
      range.rejected(blocks);
      return undefined;
    }
  }

  /** Indexes block by block, and checks each parent hash. @returns the last indexed block. */
  async function advance(node: ChainSource, indexedBlock: BlockRef, head: BlockHeader): Promise<BlockRef> {
    let last = indexedBlock;
    while (last.number < head.number && !isStopping()) {
      const number = last.number + 1;
      const next = number === head.number ? head : await query((call) => node.block(number, call));
      if (next === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${number}`);
      if (next.parentHash !== last.hash) break; // a reorganisation: the next step finds the fork
      const read = await reader.read(node, await reader.logsOfBlock(node, next), next.timestamp);
      if (!(await apply({ ...read, through: toBlockRef(next), after: last }, head))) break;
      last = toBlockRef(next);
    }
    return last;
  }

  return { begin, catchUp, logsBetween, hasLogs, hasDeleted, advance };
}

/** Applies a batch. @returns false if another process has moved the checkpoint. */
async function applyBatch(
  { apply, observe }: Pick<ChainIndexerContext, 'apply' | 'observe'>,
  batch: ChainBatch,
  head: BlockHeader,
): Promise<boolean> {
  const outcome = await apply(batch);
  switch (outcome.status) {
    case 'applied':
      observe({ type: 'progress', block: outcome.indexedBlock.number, head: head.number });
      return true;
    case 'conflict':
      throw toInconsistent(outcome);
    case 'moved':
      return false;
  }
}

const toBlockRef = ({ number, hash }: BlockRef): BlockRef => ({ number, hash });
