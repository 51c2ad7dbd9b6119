import type { DeadlineLimiter } from '../concurrency/deadline.ts';
import { sleep } from '../concurrency/sleep.ts';
import type { ChainCall } from '../ports/chain-client.ts';
import { type BlockHeader, type ChainHead, ChainMismatch, type ChainSource } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef, ChainProgress, RollbackOutcome } from '../ports/chain-store.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import { type LeaseStore, StoreError } from '../ports/store.ts';
import type { Domain } from '../protocol/eip712.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import { createBlockRange } from './block-range.ts';
import { findChainHead } from './chain-head.ts';
import type { ChainBatch } from './decode-batch.ts';
import { createDeepForkError } from './deep-fork.ts';
import {
  type IndexerObservation,
  type IndexerState,
  type ParsedIndexerOptions,
  ReorganisationTooDeep,
} from './indexer-options.ts';
import { createLogReader, Inconsistent, readConfirmedBlock, toInconsistent } from './log-reader.ts';
import { createSecondRead } from './second-read.ts';

/** The dependencies of the indexer. */
export interface ChainIndexerContext {
  readonly domain: Domain;
  readonly clock: Clock;
  readonly remote: DeadlineLimiter;
  readonly leases: LeaseStore;
  readonly progress: () => Promise<ChainProgress>;
  readonly apply: (batch: ChainBatch) => Promise<ApplyOutcome>;
  readonly rollback: (to: number, after: BlockRef) => Promise<RollbackOutcome>;
  readonly observe: (observation: IndexerObservation) => void;
  readonly onFailure: (failure: unknown) => void;
}

const LEASE = 'follow the chain';
const LEASE_TTL_MS = 15_000;

/** Delay after a failure of all nodes, in milliseconds. It doubles up to the maximum. */
const RETRY_DELAY = 500;
const MAX_RETRY_DELAY = 30_000;

/** Milliseconds without a new block after which the next node is used, since this one may have fallen behind. */
const STALE_AFTER = 60_000;

/**
 * Creates the chain indexer.
 *
 * It continues at the store's checkpoint: in ranges while the checkpoint is old, block by block near the head, where
 * reorganisations happen. Each step queries one node and is applied on condition that the checkpoint has not moved. So
 * a step can fail or be repeated at any point.
 */
export function createChainIndexer(options: ParsedIndexerOptions, context: ChainIndexerContext) {
  const { sources, pollInterval, reorgLimit, maxBlockRange, fromBlock, holder } = options;
  const { clock, remote, leases, domain, observe, onFailure } = context;
  const verified = new Set<ChainSource>();
  const range = createBlockRange(maxBlockRange);
  /** The nodes that have failed since the last step, because they no longer have the indexed blocks. */
  const diverged = new Set<ChainSource>();
  let usable = sources;
  let state: IndexerState = 'starting';
  /** The time of the newest block of the node, if the last step has indexed it. In seconds since 1970. */
  let headTime: number | undefined;
  /** The hash of the newest block that was observed. */
  let headHash: string | undefined;
  let stopReason: string | undefined;
  /** The blocks whose hashes must stay stored. */
  let keptBlocks: readonly BlockRef[] = [];
  let nodeIndex = 0;
  let failures = 0;
  /** The term of the lease at the last step. `undefined`: another process had it. */
  let term: number | undefined;
  /** When the checkpoint last moved, in milliseconds of `readMonotonic`. */
  let movedAt = readMonotonic(clock);
  let running: Promise<void> | undefined;
  let stopping: AbortController | undefined;

  const query = <T>(request: (call: ChainCall) => Promise<T>): Promise<T> =>
    remote.run(
      domain.settlementContract,
      (signal) => request({ signal }),
      stopping === undefined ? {} : { cancelled: stopping.signal },
    );

  const reader = createLogReader(options.onchainOrderContracts, {
    domain,
    run: query,
    observe,
    isStopping: () => stopping?.signal.aborted === true,
  });

  const secondRead = createSecondRead({
    range,
    blockHash: async (node, number) => (await query((call) => node.block(number, call)))?.hash,
    logsBetween,
    read: reader.read,
    apply: applyBatch,
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
      if (state !== 'standing by') observe({ type: 'standingBy' });
      [state, headTime] = ['standing by', undefined];
      return false;
    }
    if (!verified.has(node)) {
      await query((call) => node.verify(domain, call));
      verified.add(node);
    }
    keptBlocks = [];
    const { indexedBlock, blocks, rolledBackTo } = await context.progress();
    const head = await query((call) => node.head(call));
    if (head.hash !== headHash) observe({ type: 'head', head: head.number, timestamp: head.timestamp });
    headHash = head.hash;
    if (indexedBlock === null) return begin(node, head, rolledBackTo);
    const { recheckedTo, kept } = secondRead.begin(blocks, indexedBlock.number);
    keptBlocks = usable.length > 1 ? kept : [];
    if (head.number < indexedBlock.number) return checkShorterChain(node, head, indexedBlock, blocks);
    const block = await query((call) => node.block(indexedBlock.number, call));
    if (block === undefined)
      throw new Inconsistent(`it has block ${head.number}, but not block ${indexedBlock.number}`);
    if (block.hash !== indexedBlock.hash) return findFork(node, head, indexedBlock, blocks);

    const newestFinal = head.number - reorgLimit;
    if (indexedBlock.number < newestFinal) {
      [state, headTime] = ['catching up', undefined];
      await catchUp(node, indexedBlock, recheckedTo + 1, newestFinal, head);
      return true;
    }
    state = 'following';
    if (head.number > indexedBlock.number + 1) headTime = undefined;
    const end = await advance(node, indexedBlock, head);
    headTime = end.number >= head.number ? head.timestamp : undefined;
    secondRead.indexed(node, end.number);
    await secondRead.run(usable, nodeIndex, end, blocks);
    if (end.number === indexedBlock.number) return tryNextNodeIfStale();
    movedAt = readMonotonic(clock);
    return end.number < head.number;
  }

  /** Distinguishes a node that lags behind, which has the stored blocks, from a reorganisation to a shorter chain. */
  async function checkShorterChain(
    node: ChainSource,
    head: BlockHeader,
    indexedBlock: BlockRef,
    blocks: readonly BlockRef[],
  ): Promise<boolean> {
    const stored = blocks.find(({ number }) => number <= head.number);
    if (stored === undefined) return tryNextNodeIfStale();
    const current = stored.number === head.number ? head : await query((call) => node.block(stored.number, call));
    if (current === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${stored.number}`);
    if (current.hash === stored.hash) return tryNextNodeIfStale();
    return findFork(node, head, indexedBlock, blocks.slice(blocks.indexOf(stored)));
  }

  /** Switches to the next node if there was no new block for long. @returns false: no step can follow at once. */
  function tryNextNodeIfStale(): false {
    if (usable.length > 1 && Math.abs(readMonotonic(clock) - movedAt) > STALE_AFTER) {
      nodeIndex++;
      movedAt = readMonotonic(clock);
    }
    return false;
  }

  /** Stores the first checkpoint, or the first one after a rollback that left none. */
  async function begin(node: ChainSource, head: BlockHeader, rolledBackTo: number | undefined): Promise<boolean> {
    const first =
      rolledBackTo === undefined ? (fromBlock ?? head.number + 1) : Math.max(rolledBackTo + 1, fromBlock ?? 1);
    if (first > head.number + 1) return false;
    const before = first === head.number + 1 ? head : await query((call) => node.block(first - 1, call));
    if (before === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${first - 1}`);
    const seen = rolledBackTo === undefined ? {} : { rolledBackTo };
    await apply({ events: [], through: toBlockRef(before), after: null, ...seen }, head);
    return true;
  }

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
      if (current?.hash === stored.hash) return rollBack(stored.number, indexedBlock);
    }
    // The first checkpoint itself is gone. Hashes are stored for more blocks than the limit, so it is near.
    const oldest = blocks.at(-1) ?? indexedBlock;
    if (indexedBlock.number - oldest.number > reorgLimit) throw createDeepForkError(head, indexedBlock, reorgLimit);
    return rollBack(oldest.number - 1, indexedBlock);
  }

  async function rollBack(to: number, indexedBlock: BlockRef): Promise<boolean> {
    const outcome = await context.rollback(to, indexedBlock);
    if (outcome.status !== 'rolledBack') return true;
    observe({ type: 'reorganised', from: indexedBlock, to });
    return true;
  }

  /**
   * Indexes a range by block number. It ends `reorgLimit` blocks below the head. It begins with the blocks that were
   * not read a second time before the node or this process was unreachable.
   */
  async function catchUp(
    node: ChainSource,
    indexedBlock: BlockRef,
    from: number,
    newestFinal: number,
    head: BlockHeader,
  ): Promise<void> {
    const to = Math.min(from + range.size - 1, newestFinal);
    const logs = await logsBetween(node, from, to);
    if (logs === undefined) return; // the next step tries a smaller range
    const through =
      to > indexedBlock.number
        ? await readConfirmedBlock((each) => query((call) => node.block(each, call)), to, head)
        : indexedBlock;
    if (logs.some(({ blockNumber, blockHash }) => blockNumber === through.number && blockHash !== through.hash)) {
      throw new Inconsistent(`block ${through.number} has two hashes`);
    }
    const read = await reader.read(node, logs);
    if (!(await apply({ ...read, through: toBlockRef(through), after: indexedBlock }, head))) return;
    range.succeeded(logs.length);
    movedAt = readMonotonic(clock);
    secondRead.indexed(node, to);
    secondRead.skip(to);
  }

  /** Reads logs. @returns `undefined` if the range was too large for a node that otherwise responds. */
  async function logsBetween(node: ChainSource, from: number, to: number): Promise<readonly ChainLog[] | undefined> {
    try {
      return await reader.logsBetween(node, from, to);
    } catch (failure) {
      if (to === from || failure instanceof Inconsistent) throw failure;
      await query((call) => node.head(call));
      observe({ type: 'failure', source: node.name, failure });
      range.rejected(to - from + 1);
      return undefined;
    }
  }

  /** Indexes block by block, and checks each parent hash. @returns the last indexed block. */
  async function advance(node: ChainSource, indexedBlock: BlockRef, head: BlockHeader): Promise<BlockRef> {
    let last = indexedBlock;
    while (last.number < head.number && stopping?.signal.aborted === false) {
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

  function applyBatch(batch: ChainBatch): Promise<ApplyOutcome> {
    return context.apply(keptBlocks.length === 0 ? batch : { ...batch, blocks: keptBlocks });
  }

  /** Applies a batch. @returns false if another process has moved the checkpoint. */
  async function apply(batch: ChainBatch, head: BlockHeader): Promise<boolean> {
    const outcome = await applyBatch(batch);
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

  async function run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const node = usable[nodeIndex % usable.length];
      if (node === undefined) break;
      let wait: number | undefined;
      try {
        if (!(await step(node))) wait = pollInterval;
        failures = 0;
        diverged.clear();
      } catch (failure) {
        if (stop.aborted) return;
        if (failure instanceof ReorganisationTooDeep) diverged.add(node);
        if (failure instanceof ReorganisationTooDeep && usable.every((each) => diverged.has(each))) {
          onFailure(failure);
          stopReason = failure.message;
          break;
        }
        if (failure instanceof StoreError) {
          onFailure(failure);
          wait = Math.max(pollInterval, RETRY_DELAY);
        } else wait = onNodeFailure(node, failure);
      }
      if (wait !== undefined) await sleep(clock, wait, stop);
    }
    if (stop.aborted) return;
    [state, headTime] = ['stopped', undefined];
    stopReason ??= 'every node serves another chain';
  }

  /** Switches to the next node. @returns milliseconds to wait if all nodes have failed, otherwise `undefined`. */
  function onNodeFailure(node: ChainSource, failure: unknown): number | undefined {
    observe({ type: 'failure', source: node.name, failure });
    if (failure instanceof ChainMismatch) {
      onFailure(failure);
      usable = usable.filter((each) => each !== node);
      return undefined;
    }
    [state, headTime] = ['unavailable', undefined];
    nodeIndex++;
    failures++;
    if (failures % usable.length !== 0) return undefined;
    return Math.min(MAX_RETRY_DELAY, RETRY_DELAY * 2 ** Math.min(failures / usable.length - 1, 10));
  }

  return {
    get state(): IndexerState {
      return state;
    },
    /** Returns the newest block of the chain. `undefined`: the last step has not indexed it. See `findChainHead`. */
    async findHead(indexed: number): Promise<ChainHead | undefined> {
      if (state !== 'standing by' && headTime === undefined) return undefined;
      return findChainHead(indexed, headTime, sources, clock);
    },
    /** Why the indexer has stopped after a failure. `undefined` while it runs. */
    get stopReason(): string | undefined {
      return stopReason;
    },
    start(): void {
      if (running !== undefined) return;
      [state, headTime] = ['starting', undefined];
      stopReason = undefined;
      stopping = new AbortController();
      running = run(stopping.signal).catch(onFailure);
    },
    /** Waits for the step in progress and releases the lease. */
    async stop(): Promise<void> {
      stopping?.abort(new Error('the book is closing'));
      await running;
      running = undefined;
      stopping = undefined;
      await leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}

const toBlockRef = ({ number, hash }: BlockRef): BlockRef => ({ number, hash });
