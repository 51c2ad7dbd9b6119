import { createDeadlineLimiter } from '../concurrency/abort.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import { type ChainHead, ChainMismatch } from '../ports/chain-source.ts';
import type { ApplyOutcome } from '../ports/chain-store.ts';
import type { ChainApi, ChainContext } from './chain-api.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { IndexerState } from './indexer-options.ts';

/** Blocks after which a block that the host has applied counts as confirmed: the host may apply logs late. */
const APPLIED_CONFIRMATIONS = 16;

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
    async blocks() {
      assertStarted();
      return store.chain.blocks();
    },
    async apply(batch) {
      assertStarted();
      (await import('./chain-writer.ts')).assertBatch(batch);
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
        blocks: () => store.chain.blocks(),
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
    /** Returns the newest block of the chain, if it is indexed. Without an indexer, it is the indexed block. */
    async findHead(): Promise<ChainHead | undefined> {
      const { indexedBlock } = await store.chain.progress();
      const number = indexedBlock?.number ?? 0;
      if (options === undefined) return { number, isRecent: true, confirmedTo: number - APPLIED_CONFIRMATIONS };
      return indexedBlock === null ? undefined : indexer?.loaded?.findHead(indexedBlock);
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
