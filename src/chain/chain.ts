import { createDeadlineLimiter } from '../concurrency/deadline.ts';
import { lazy } from '../concurrency/lazy.ts';
import { type ChainHead, ChainMismatch, type ChainSource } from '../ports/chain-source.ts';
import type { ApplyOutcome } from '../ports/chain-store.ts';
import { type Clock, seconds } from '../ports/clock.ts';
import type { ChainApi, ChainContext } from './chain-api.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { IndexerState } from './indexer-options.ts';

/** Seconds by which the index may be behind the head of a node, if another process or another node is followed. */
const MAX_LAG = 60;

/** Seconds by which the time of the newest block may differ from the clock. A later one is an error of its node. */
const MAX_DIFFERENCE = 900;

/** More blocks in a second than any chain has. A node that claims more must not prolong deadlines. */
const MAX_BLOCK_RATE = 10;

/** Milliseconds to wait for the heads of all nodes, so that an auction does not wait long for one that is down. */
const HEAD_TIMEOUT = 1000;

/** Creates the chain methods and the lazy indexer. Books without a chain do not load the indexing code. */
export function createChain(context: ChainContext) {
  const { store, clock, settlementContract, chainId, assertStarted, onFailure } = context;
  const domain = { chainId, settlementContract };
  let closing = new AbortController();
  const writer = lazy(async () => (await import('./chain-writer.ts')).createChainWriter(context, () => closing.signal));

  /** Applies a batch of the indexer, or of the host after its check. */
  async function apply(batch: ChainBatch): Promise<ApplyOutcome> {
    assertStarted();
    return writer.use((loaded) => loaded.apply(batch));
  }

  const methods: ChainApi = {
    async progress() {
      assertStarted();
      return store.chain.progress();
    },
    async apply(batch) {
      assertStarted();
      (await import('./check-batch.ts')).assertBatch(batch);
      return apply(batch);
    },
    async rollback(to, options) {
      assertStarted();
      return writer.use(({ rollback }) => rollback(to, options));
    },
  };

  const options = context.indexer;
  const indexer =
    options &&
    lazy(async () => {
      const { createChainIndexer } = await import('./indexer.ts');
      return createChainIndexer(options, {
        domain,
        clock,
        leases: store.leases,
        onFailure,
        remote: createDeadlineLimiter(clock, options.timeout),
        progress: () => store.chain.progress(),
        apply,
        rollback: (to, after) => methods.rollback(to, { after }),
        observe: (observation) => context.emit('chainProgress', observation),
      });
    });
  const state = (): IndexerState | undefined => indexer && (indexer.loaded?.state ?? 'starting');

  function formatState(): string {
    const reason = indexer?.loaded?.stopReason;
    return reason === undefined ? (state() ?? 'off') : `${state()}: ${reason}`;
  }

  return {
    methods,
    /** The state of the indexer. `undefined` without an indexer. */
    get state(): IndexerState | undefined {
      return state();
    },
    /**
     * Returns the time of the newest block of the nodes, in seconds since 1970. `undefined` without an indexer. Rejects
     * if no node responds.
     */
    async getBlockTime(): Promise<number | undefined> {
      if (options === undefined) return undefined;
      const remote = createDeadlineLimiter(clock, options.timeout);
      const heads = options.sources.map((node) => remote.run(settlementContract, (signal) => node.head({ signal })));
      return (await Promise.any(heads)).timestamp;
    },
    /**
     * Returns the newest block of the chain, if the book has indexed it, or another process is about to. `undefined`:
     * the book is behind, no node responds, or the block is so old that all nodes stand still. Without an indexer, it
     * is the indexed block.
     */
    async findHead(): Promise<ChainHead | undefined> {
      const { indexedBlock } = await store.chain.progress();
      if (options === undefined) return { number: indexedBlock?.number ?? 0, isRecent: true };
      const isStandingBy = state() === 'standing by';
      const headTime = indexer?.loaded?.headTime;
      if (indexedBlock === null || !(isStandingBy || headTime !== undefined)) return undefined;
      if (!isStandingBy && options.sources.length === 1) return toChainHead(indexedBlock.number, headTime, clock);
      // The node that is followed may have stopped, or may be on another fork.
      const remote = createDeadlineLimiter(clock, HEAD_TIMEOUT);
      const heads = await Promise.all(
        options.sources.map((node) =>
          remote.run(node.id, (signal) => readHead(node, indexedBlock.number, clock, signal)).catch(() => undefined),
        ),
      );
      const found = heads.flatMap((each) => each ?? []);
      if (found.some(({ lag }) => lag > MAX_LAG) || (isStandingBy && found.length === 0)) return undefined;
      const newest = Math.max(...found.map(({ timestamp }) => timestamp), isStandingBy ? 0 : (headTime ?? 0));
      return toChainHead(Math.max(indexedBlock.number, ...found.map(({ number }) => number)), newest, clock);
    },
    /** Returns the checks that readiness shows. */
    checks: (): Readonly<Record<string, string>> => ({
      chain: formatState(),
      funds: context.chain?.balanceAndAllowance === undefined ? 'off' : 'on',
      contractSignatures: context.chain?.isValidSignature === undefined ? 'off' : 'on',
    }),
    /**
     * Loads the indexer and verifies the chain of the nodes. Throws a `ChainMismatch` if a node serves another chain. A
     * node that is unreachable does not prevent the start.
     */
    async prepare(): Promise<void> {
      if (indexer !== undefined) await Promise.all([indexer.load(), writer.load()]);
      await verifyNodes(context);
    },
    start(): void {
      closing = new AbortController();
      indexer?.loaded?.start();
    },
    async stop(): Promise<void> {
      closing.abort();
      await indexer?.loaded?.stop();
    },
  };
}

/** Returns the newest block of a node, and the seconds by which the indexed block is behind it. */
async function readHead(node: ChainSource, indexed: number, clock: Clock, signal: AbortSignal) {
  const { number, timestamp } = await node.head({ signal });
  if (timestamp > seconds(clock) + MAX_DIFFERENCE) return undefined;
  if (number <= indexed) return { number, timestamp, lag: 0 };
  const block = await node.block(indexed, { signal });
  if (block === undefined) return undefined;
  const lag = timestamp - block.timestamp;
  return { number: Math.min(number, block.number + MAX_BLOCK_RATE * (Math.max(lag, 0) + 1)), timestamp, lag };
}

/** Returns the head, or `undefined` if its time shows that its node stands still. */
function toChainHead(number: number, timestamp = 0, clock: Clock): ChainHead | undefined {
  const age = seconds(clock) - timestamp;
  return age > MAX_DIFFERENCE ? undefined : { number, isRecent: age <= MAX_LAG };
}

/** Verifies the chain of the nodes. A node that is unreachable is reported. */
async function verifyNodes(context: ChainContext): Promise<void> {
  const { chain, indexer, chainId, settlementContract, clock, checkTimeout, onFailure } = context;
  const remote = createDeadlineLimiter(clock, checkTimeout);
  await Promise.all(
    [chain, ...(indexer?.sources ?? [])].map(async (node) => {
      try {
        await remote.run(settlementContract, async (signal) =>
          node?.verify?.({ chainId, settlementContract }, { signal }),
        );
      } catch (failure) {
        if (failure instanceof ChainMismatch) throw failure;
        onFailure(failure);
      }
    }),
  );
}
