import { sleep } from '../concurrency/abort.ts';
import { type ChainHead, ChainMismatch, type ChainSource } from '../ports/chain-source.ts';
import type { BlockRef } from '../ports/chain-store.ts';
import { StoreError } from '../ports/store.ts';
import { findChainHead } from './chain-head.ts';
import {
  type ChainIndexerContext,
  type IndexerState,
  type ParsedIndexerOptions,
  ReorganisationTooDeep,
} from './indexer-options.ts';
import { createIndexerStep, type IndexerStatus, LEASE, setStatus } from './indexer-step.ts';
import { Inconsistent } from './log-reader.ts';
import { createNodeRotation, RETRY_DELAY } from './node-rotation.ts';

/**
 * Creates the chain indexer.
 *
 * It continues at the store's checkpoint: in ranges while the checkpoint is old, block by block near the head, where
 * reorganisations happen. Each step queries one node and is applied on condition that the checkpoint has not moved. So
 * a step can fail or be repeated at any point.
 */
export function createChainIndexer(options: ParsedIndexerOptions, context: ChainIndexerContext) {
  const { sources, pollInterval, holder } = options;
  const { clock, leases, observe, onFailure } = context;
  const nodes = createNodeRotation(sources, clock);
  const status: IndexerStatus = { state: 'starting', headTime: undefined, confirmedTo: undefined };
  let stopReason: string | undefined;
  /** What the last node that failed has contradicted. `undefined`: nothing, or a step has succeeded. */
  let contradiction: string | undefined;
  let running: Promise<void> | undefined;
  let stopping: AbortController | undefined;
  const step = createIndexerStep(options, context, nodes, status, () => stopping?.signal);

  async function run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const node = nodes.current;
      if (node === undefined) break;
      let wait: number | undefined;
      try {
        if (!(await step(node))) wait = pollInterval;
        nodes.succeeded();
        contradiction = undefined;
      } catch (failure) {
        if (stop.aborted) return;
        if (failure instanceof ReorganisationTooDeep && nodes.diverge(node)) {
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
    setStatus(status, 'stopped');
    stopReason ??= 'every node serves another chain';
  }

  /** Uses another node after a failure. @returns milliseconds to wait, or `undefined`. */
  function onNodeFailure(node: ChainSource, failure: unknown): number | undefined {
    observe({ type: 'failure', source: node.name, failure });
    if (failure instanceof ChainMismatch) {
      onFailure(failure);
      nodes.exclude(node);
      return undefined;
    }
    setStatus(status, 'unavailable');
    contradiction = failure instanceof Inconsistent ? failure.message : undefined;
    return nodes.fail();
  }

  return {
    get state(): IndexerState {
      return status.state;
    },
    /** Returns the newest block of the chain. `undefined`: the last step has not indexed it. See `findChainHead`. */
    async findHead(indexed: BlockRef): Promise<ChainHead | undefined> {
      if (status.state !== 'standing by' && status.headTime === undefined) return undefined;
      return findChainHead(indexed, status, sources, clock);
    },
    /** Why the indexer has stopped after a failure, or cannot use the response of a node. `undefined` otherwise. */
    get stopReason(): string | undefined {
      return stopReason ?? contradiction;
    },
    start(): void {
      if (running !== undefined) return;
      setStatus(status, 'starting');
      status.confirmedTo = undefined;
      [stopReason, contradiction] = [undefined, undefined];
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
