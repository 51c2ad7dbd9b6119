import type { BlockHeader, BlockRef, ChainSource, Hex, IndexerObservation } from 'intentbook';
import { onTestFinished } from 'vitest';
import type { ChainBatch } from '../../../src/chain/decode-batch.ts';
import { createChainIndexer } from '../../../src/chain/indexer.ts';
import type { ChainIndexerContext, ParsedIndexerOptions } from '../../../src/chain/indexer-options.ts';
import { createDeadlineLimiter } from '../../../src/concurrency/abort.ts';
import type { Happening } from '../../support/chain-events.ts';
import { hashOf, SOLVER } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';
import type { ScriptedChain } from '../../support/scripted-chain.ts';

/** Applies a batch or rolls back in place of the fixture's own store. */
type Outcomes = Partial<Pick<ChainIndexerContext, 'apply' | 'rollback' | 'progress' | 'blocks'>>;

interface IndexerFixtureOptions {
  readonly options?: Partial<ParsedIndexerOptions>;
  /** The blocks that are stored at the start, newest first. */
  readonly stored?: readonly BlockRef[];
  /** The block of a rollback before the start that left no checkpoint. */
  readonly rolledBackTo?: number;
  readonly outcomes?: Outcomes;
  readonly leases?: Partial<ChainIndexerContext['leases']>;
}

export const toRef = ({ number, hash }: BlockRef): BlockRef => ({ number, hash });

const UID: Hex = `0x${'12'.repeat(56)}`;
export const INVALIDATED: Happening = { event: 'OrderInvalidated', owner: SOLVER, orderUid: UID };

/** Contents of a number of empty blocks. */
export const empty = (count: number) => Array.from({ length: count }, (): Happening[] => []);

/** Returns the block of a chain with a number. */
export function findRef({ blocks }: ScriptedChain, number: number): BlockRef {
  const block = blocks.find((each) => each.number === number);
  if (block === undefined) throw new Error(`no block ${number}`);
  return toRef(block);
}

/** Returns the last block of each batch. */
export const throughs = (batches: readonly { through: { number: number } }[]) =>
  batches.map(({ through }) => through.number);

/** A block that no chain has. */
export const foreign = (number: number): BlockRef => ({ number, hash: hashOf(`foreign ${number}`) });

/** The stored blocks of a chain from `from` down to `to`, as the store returns them. */
export function storedBlocks({ blocks }: ScriptedChain, from: number, to: number): BlockRef[] {
  return blocks
    .filter(({ number }) => number <= from && number >= to)
    .map(toRef)
    .reverse();
}

/** Records the requests to a node as text. */
export function recorded(node: ChainSource, requests: string[] = []): ChainSource & { readonly requests: string[] } {
  return {
    ...node,
    requests,
    head(call) {
      requests.push('head');
      return node.head(call);
    },
    block(number, call) {
      requests.push(`block ${number}`);
      return node.block(number, call);
    },
    logs(query, call) {
      const { of } = query;
      requests.push('from' in of ? `logs ${of.from}..${of.to}` : 'logs of block');
      return node.logs(query, call);
    },
  };
}

/** An indexer with a clock that records waits, and a store that keeps blocks only. */
export function indexerFixture(sources: readonly ChainSource[], fixture: IndexerFixtureOptions = {}) {
  const { options = {}, stored = [], outcomes = {}, leases = {} } = fixture;
  const clock = manualClock();
  let blocks = [...stored];
  let rolledBackTo = fixture.rolledBackTo;
  const batches: ChainBatch[] = [];
  const rollbacks: [to: number, after: BlockRef][] = [];
  const observed: IndexerObservation[] = [];
  const failures: unknown[] = [];
  const waits: number[] = [];
  const released: unknown[] = [];
  const acquired: unknown[] = [];

  const indexer = createChainIndexer(
    {
      sources,
      pollInterval: 2000,
      reorgLimit: 10,
      maxBlockRange: 100,
      timeout: 1000,
      fromBlock: undefined,
      onchainOrderContracts: [],
      holder: 'me',
      ...options,
    },
    {
      domain: SEPOLIA_DOMAIN,
      clock: {
        ...clock,
        after(ms, run) {
          waits.push(ms);
          return clock.after(ms, run);
        },
      },
      // Requests have their own clock, so that `waits` has only those of the indexer.
      remote: createDeadlineLimiter(manualClock(), 1000),
      leases: {
        async acquire(request) {
          acquired.push(request);
          return { status: 'held', term: 1, expiresAt: 0 };
        },
        async release(lease) {
          released.push(lease);
        },
        ...leases,
      },
      progress: async () => ({
        indexedBlock: blocks[0] ?? null,
        ...(rolledBackTo !== undefined && { rolledBackTo }),
      }),
      blocks: async () => blocks,
      async apply(batch) {
        batches.push(batch);
        const { through } = batch;
        if (through.hash !== blocks[0]?.hash) blocks = [toRef(through), ...blocks];
        rolledBackTo = undefined;
        return { status: 'applied', applied: batch.events.length, known: 0, indexedBlock: toRef(through) };
      },
      async rollback(to, after) {
        rollbacks.push([to, after]);
        blocks = blocks.filter(({ number }) => number <= to);
        if (blocks.length === 0) rolledBackTo = to;
        return { status: 'rolledBack', removed: 0, indexedBlock: blocks[0] ?? null };
      },
      observe(observation) {
        if (observation.type !== 'head') observed.push(observation);
      },
      onFailure: (failure) => void failures.push(failure),
      ...outcomes,
    },
  );
  onTestFinished(() => indexer.stop());
  return {
    indexer,
    clock,
    batches,
    rollbacks,
    observed,
    failures,
    waits,
    released,
    acquired,
    get indexed() {
      return blocks[0]?.number;
    },
    /** Starts the indexer, and runs it until it waits. */
    async run() {
      indexer.start();
      await settle();
    },
    /** Waits for the current delay, and runs the indexer until it waits again. */
    async next(ms = 2000) {
      clock.advance(ms);
      await settle();
    },
  };
}

/** Runs everything that does not wait for the clock. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Texts of the failures that an indexer has observed. */
export const messagesOf = (observed: readonly IndexerObservation[]) =>
  observed.flatMap((each) => (each.type === 'failure' ? [`${each.source}: ${(each.failure as Error).message}`] : []));

/** A chain node that returns changed headers. */
export function withBlocks(
  node: ChainSource,
  change: (number: number, block: BlockHeader | undefined) => BlockHeader | undefined,
): ChainSource {
  return { ...node, block: async (number, call) => change(number, await node.block(number, call)) };
}

export const ANOTHER_HASH: Hex = hashOf('another');
