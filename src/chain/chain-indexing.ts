import type { FindDocument } from '../app-data/find-document.ts';
import { createDeadlineLimiter } from '../concurrency/deadline.ts';
import { lazy } from '../concurrency/lazy.ts';
import type { OrderBookEvents } from '../events.ts';
import type { Configuration } from '../options.ts';
import { ChainMismatch } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef, ChainProgress, RollbackOutcome } from '../ports/chain-store.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderQuote, QuoteQuery } from '../ports/quotes.ts';
import type { Address } from '../protocol/hex.ts';
import type { OrderHasher } from '../protocol/order.ts';
import { createOrderHasher } from '../protocol/order.ts';
import type { QuoteResult } from '../quotes/quote.ts';
import type { QuoteRequest } from '../quotes/request.ts';
import type { BatchContext, ChainBatch } from './decode-batch.ts';
import type { IndexerState } from './indexer-options.ts';
import type { PlacementQuote } from './placement.ts';

/** The condition of a rollback. */
export interface RollbackOptions {
  /** The checkpoint that the caller has seen. If it has moved, nothing is rolled back. Absent: no condition. */
  readonly after?: BlockRef | null;
}

/** Chain methods. The indexer calls them, or a host that indexes the chain itself. */
export interface ChainApi {
  /** Returns the checkpoint. */
  progress(): Promise<ChainProgress>;
  /**
   * Stores chain events and moves the checkpoint in one durable step. Each event counts once. Events of unknown orders
   * wait for their order. Throws a `TypeError` if the batch contradicts itself.
   */
  apply(batch: ChainBatch): Promise<ApplyOutcome>;
  /** Rolls back the chain events above a block in one durable step. */
  rollback(toBlock: number, options?: RollbackOptions): Promise<RollbackOutcome>;
}

export interface ChainIndexing {
  readonly methods: ChainApi;
  /** The state of the indexer. `undefined` without an indexer. */
  readonly state: IndexerState | undefined;
  /**
   * Returns the time of the newest block of the nodes, in seconds since 1970. `undefined` without an indexer. Rejects
   * if no node responds.
   */
  getBlockTime(): Promise<number | undefined>;
  /** Returns the checks that readiness shows. */
  checks(): Readonly<Record<string, string>>;
  /**
   * Loads the indexer and verifies the chain of the nodes. Throws a `ChainMismatch` if a node serves another chain. A
   * node that is unreachable does not prevent the start.
   */
  prepare(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface ChainContext {
  readonly configuration: Configuration;
  readonly assertStarted: () => void;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly emit: <E extends 'chainApplied' | 'chainRolledBack' | 'chainProgress'>(
    event: E,
    observation: Parameters<OrderBookEvents[E]>[0],
  ) => void;
  readonly onFailure: (failure: unknown) => void;
  readonly pricesOf: BatchContext['pricesOf'];
  readonly findDocument: FindDocument | undefined;
  readonly requestQuote: (request: QuoteRequest) => Promise<QuoteResult>;
}

/** Creates the chain methods and the lazy indexer. Books without a chain do not load the indexing code. */
export function createChainIndexing(context: ChainContext): ChainIndexing {
  const { configuration, assertStarted, wake, onFailure } = context;
  const { store, clock, settlementContract, chainId } = configuration;
  const domain = { chainId, settlementContract };
  const hasher: OrderHasher = createOrderHasher(domain);

  const reading = lazy(() => import('./decode-batch.ts'));

  const methods: ChainApi = {
    async progress() {
      assertStarted();
      return store.chain.progress();
    },
    async apply(chainBatch) {
      assertStarted();
      const read = await reading.use(({ readBatch }) => readBatch(chainBatch, batchContext()));
      const { batch, unattributed, ignored } = read;
      const outcome = await store.chain.apply(batch);
      if (outcome.status !== 'applied') return outcome;
      if (outcome.applied > 0) wake();
      const { indexedBlock, applied, known } = outcome;
      context.emit('chainApplied', {
        indexedBlock,
        applied,
        known,
        ignored,
        unattributed: applied === 0 ? 0 : unattributed,
      });
      return outcome;
    },
    async rollback(to, { after } = {}) {
      assertStarted();
      if (!Number.isSafeInteger(to) || to < 0) throw new TypeError('a rollback goes to a block number');
      const outcome = await store.chain.rollback({ to, at: clock.now(), ...(after === undefined ? {} : { after }) });
      if (outcome.status !== 'rolledBack') return outcome;
      if (outcome.removed > 0) wake();
      context.emit('chainRolledBack', { to, indexedBlock: outcome.indexedBlock, removed: outcome.removed });
      return outcome;
    },
  };

  function batchContext(): BatchContext {
    const { limits, tokens, hooksTrampoline, quotes } = configuration;
    return {
      limits,
      tokens,
      hasher,
      settlementContract,
      hooksTrampoline,
      documents: store.appData,
      findDocument: context.findDocument,
      now: clock.now(),
      pricesOf: context.pricesOf,
      ...(quotes === undefined ? {} : { findQuote }),
    };
  }

  /** Finds the quote that a placement names, otherwise a matching one, otherwise a new one. */
  async function findQuote({ uid, terms, id, owner, presigns, at, validTo }: PlacementQuote) {
    const query = { ...terms, quoteKind: presigns ? 'onchainPresign' : 'onchainEip1271', now: at } as const;
    const match = await store.quotes.match({ ...query, ...(id > 0 ? { id } : {}) });
    if (match !== undefined) return match;
    const isKnown = (await store.orders.get([uid])).some(({ placement }) => placement !== null);
    return isKnown || validTo < seconds(clock) ? 'past' : ((await requestQuote(query, owner)) ?? 'none');
  }

  async function requestQuote(query: QuoteQuery, owner: Address): Promise<OrderQuote | undefined> {
    const { sellToken, buyToken, kind, amount, quoteKind } = query;
    const signingScheme = quoteKind === 'onchainPresign' ? 'presign' : 'eip1271';
    const size = kind === 'sell' ? { sellAmountBeforeFee: amount } : { buyAmountAfterFee: amount };
    try {
      const result = await context.requestQuote({
        sellToken,
        buyToken,
        from: owner,
        kind,
        onchainOrder: true,
        signingScheme,
        ...size,
      });
      if (result.status === 'rejected' || result.quote.id === null) return undefined;
      return await store.quotes.match({ ...query, now: clock.now(), id: result.quote.id });
    } catch (failure) {
      onFailure(failure); // indexing must not depend on estimators
      return undefined;
    }
  }

  const options = configuration.indexer;
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
        apply: methods.apply,
        rollback: (to, after) => methods.rollback(to, { after }),
        observe: (observation) => context.emit('chainProgress', observation),
      });
    });
  const state = (): IndexerState | undefined => indexer && (indexer.loaded?.state ?? 'starting');

  return {
    methods,
    get state() {
      return state();
    },
    async getBlockTime() {
      if (options === undefined) return undefined;
      const remote = createDeadlineLimiter(clock, options.timeout);
      const heads = options.sources.map((node) => remote.run(settlementContract, (signal) => node.head({ signal })));
      return (await Promise.any(heads)).timestamp;
    },
    checks: () => ({
      chain: state() ?? 'off',
      funds: configuration.chain?.balanceAndAllowance === undefined ? 'off' : 'on',
      contractSignatures: configuration.chain?.isValidSignature === undefined ? 'off' : 'on',
    }),
    async prepare() {
      if (indexer !== undefined) await Promise.all([indexer.load(), reading.load()]);
      const nodes = [configuration.chain, ...(options?.sources ?? [])];
      const remote = createDeadlineLimiter(clock, configuration.checkTimeout);
      await Promise.all(
        nodes.map(async (node) => {
          try {
            await remote.run(settlementContract, async (signal) => node?.verify?.(domain, { signal }));
          } catch (failure) {
            if (failure instanceof ChainMismatch) throw failure;
            onFailure(failure);
          }
        }),
      );
    },
    start: () => indexer?.loaded?.start(),
    async stop() {
      await indexer?.loaded?.stop();
    },
  };
}
