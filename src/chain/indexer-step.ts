import type { ChainCall } from '../ports/chain-client.ts';
import type { ChainSource } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef } from '../ports/chain-store.ts';
import { createBlockIndexing } from './block-indexing.ts';
import { type BlockRange, createBlockRange } from './block-range.ts';
import type { ChainBatch } from './decode-batch.ts';
import { createForkSearch } from './fork-search.ts';
import type { ChainIndexerContext, IndexerState, ParsedIndexerOptions } from './indexer-options.ts';
import { createLogReader, Inconsistent } from './log-reader.ts';
import type { NodeRotation } from './node-rotation.ts';
import { createSecondRead } from './second-read.ts';

/** Name of the lease: one process of a store indexes. */
export const LEASE = 'follow the chain';
const LEASE_TTL_MS = 15_000;

export interface IndexerStatus {
  state: IndexerState;
  /** The time of the newest block of the node, if the last step has indexed it. In seconds since 1970. */
  headTime: number | undefined;
  /** The last block that all nodes have read a second time. `undefined`: another process follows the chain. */
  confirmedTo: number | undefined;
}

export function setStatus(status: IndexerStatus, state: IndexerState, headTime?: number): void {
  status.state = state;
  status.headTime = headTime;
}

/**
 * Creates the step of an indexer.
 *
 * @param getSignal - Returns the signal that ends requests when the indexer stops.
 */
export function createIndexerStep(
  options: ParsedIndexerOptions,
  context: ChainIndexerContext,
  nodes: NodeRotation,
  status: IndexerStatus,
  getSignal: () => AbortSignal | undefined,
) {
  const { maxBlockRange, reorgLimit, fromBlock, holder, onchainOrderContracts } = options;
  const { remote, leases, domain, observe } = context;
  const verified = new Set<ChainSource>();
  const ranges = new Map<ChainSource, BlockRange>();
  /** The hash of the newest block that was observed. */
  let headHash: string | undefined;
  /** The blocks whose hashes must stay stored. */
  let keptBlocks: readonly BlockRef[] = [];
  /** The term of the lease at the last step. `undefined`: another process had it. */
  let term: number | undefined;

  const query = <T>(request: (call: ChainCall) => Promise<T>): Promise<T> => {
    const cancelled = getSignal();
    return remote.run(domain.settlementContract, (signal) => request({ signal }), cancelled ? { cancelled } : {});
  };
  const isStopping = () => getSignal()?.aborted === true;
  /** Returns the range of a node. Nodes have different limits. */
  function getRange(node: ChainSource): BlockRange {
    const range = ranges.get(node) ?? createBlockRange(maxBlockRange);
    ranges.set(node, range);
    return range;
  }
  const reader = createLogReader(onchainOrderContracts, { domain, run: query, observe, isStopping });
  const apply = (batch: ChainBatch): Promise<ApplyOutcome> =>
    context.apply(keptBlocks.length === 0 ? batch : { ...batch, blocks: keptBlocks });
  const blocks = createBlockIndexing({ query, reader, getRange, isStopping }, { apply, observe });
  const forks = createForkSearch(query, reorgLimit, () => nodes.usable, context);
  const secondRead = createSecondRead({
    getRange,
    blockHash: async (node, number) => (await query((call) => node.block(number, call)))?.hash,
    logsBetween: blocks.logsBetween,
    hasLogs: blocks.hasLogs,
    hasDeleted: blocks.hasDeleted,
    read: reader.read,
    apply,
    observe,
  });

  async function acquireLease(): Promise<boolean> {
    const outcome = await leases.acquire({ name: LEASE, holder, ttl: LEASE_TTL_MS });
    // Another holder may have rolled blocks back and read their successors once only.
    if (outcome.status !== 'held' || outcome.term !== term) secondRead.restart();
    term = outcome.status === 'held' ? outcome.term : undefined;
    return term !== undefined;
  }

  /** Does one step. @returns whether the next step can follow at once. */
  async function step(node: ChainSource): Promise<boolean> {
    if (!(await acquireLease())) {
      if (status.state !== 'standing by') observe({ type: 'standingBy' });
      setStatus(status, 'standing by');
      status.confirmedTo = undefined;
      return false;
    }
    if (!verified.has(node)) {
      await query((call) => node.verify(domain, call));
      verified.add(node);
    }
    keptBlocks = [];
    const { indexedBlock, rolledBackTo } = await context.progress();
    const stored = await context.blocks();
    const head = await query((call) => node.head(call));
    if (head.hash !== headHash) observe({ type: 'head', head: head.number, timestamp: head.timestamp });
    headHash = head.hash;
    if (indexedBlock === null) return blocks.begin(node, head, rolledBackTo, fromBlock);
    const { recheckedTo, confirmedTo, kept } = secondRead.begin(nodes.usable, node, stored, indexedBlock.number);
    status.confirmedTo = confirmedTo;
    keptBlocks = nodes.usable.length > 1 ? kept : [];
    if (head.number < indexedBlock.number)
      return (await forks.checkShorterChain(node, head, indexedBlock, stored)) ?? nodes.leaveStale();
    const block = await query((call) => node.block(indexedBlock.number, call));
    if (block === undefined)
      throw new Inconsistent(`it has block ${head.number}, but not block ${indexedBlock.number}`);
    if (block.hash !== indexedBlock.hash) return forks.findFork(node, head, indexedBlock, stored);

    const newestFinal = head.number - reorgLimit;
    if (indexedBlock.number < newestFinal) {
      setStatus(status, 'catching up');
      const to = await blocks.catchUp(node, indexedBlock, recheckedTo + 1, newestFinal, head);
      if (to === undefined) return true;
      nodes.moved();
      secondRead.caughtUp(node, to);
      return true;
    }
    setStatus(status, 'following', head.number > indexedBlock.number + 1 ? undefined : status.headTime);
    const end = await blocks.advance(node, indexedBlock, head);
    status.headTime = end.number >= head.number ? head.timestamp : undefined;
    await secondRead.run(nodes.usable, node, end, stored);
    if (end.number === indexedBlock.number) return nodes.leaveStale();
    nodes.moved();
    return end.number < head.number;
  }

  return step;
}
