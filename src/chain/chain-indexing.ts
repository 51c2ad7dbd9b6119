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

/** On which condition blocks are taken back. */
export interface RollbackOptions {
  /** The indexedBlock that the caller has seen. Absent: whatever it is. */
  readonly after?: BlockRef | null;
}

/** What the chain has to say. For hosts with an index of their own; a book that follows the chain by itself calls them too. */
export interface ChainApi {
  /** How far the chain has been read. */
  progress(): Promise<ChainProgress>;
  /**
   * Stores what has happened on chain, and moves the indexedBlock, in one durable step: each event counts once, however often it
   * is told. Events of orders that are not there wait for them. Rejects with a `TypeError` when the batch contradicts itself.
   */
  apply(batch: ChainBatch): Promise<ApplyOutcome>;
  /** Takes back what blocks above this one have said, in one durable step. */
  rollback(toBlock: number, options?: RollbackOptions): Promise<RollbackOutcome>;
}

export interface ChainIndexing {
  readonly methods: ChainApi;
  /** How following the chain goes; `undefined` when nobody does. */
  readonly state: IndexerState | undefined;
  /** What readiness shows. */
  checks(): Readonly<Record<string, string>>;
  /**
   * Loads what follows the chain, and asks the nodes which one they serve. Rejects with a `ChainMismatch` when that is another
   * one. A node that cannot be reached is no reason not to start.
   */
  prepare(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface ChainContext {
  readonly configuration: Configuration;
  readonly assertStarted: () => void;
  /** There may be new entries in the log. */
  readonly wake: () => void;
  readonly emit: <E extends 'chainApplied' | 'chainRolledBack' | 'chainProgress'>(
    event: E,
    observation: Parameters<OrderBookEvents[E]>[0],
  ) => void;
  readonly onFailure: (failure: unknown) => void;
  readonly pricesOf: BatchContext['pricesOf'];
  readonly requestQuote: (request: QuoteRequest) => Promise<QuoteResult>;
}

/** Reading the chain is a tenth of the engine: it is loaded by books to which a chain tells something. */
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
      now: clock.now(),
      pricesOf: context.pricesOf,
      ...(quotes === undefined ? {} : { findQuote }),
    };
  }

  /** The quote that an order placed on chain names, else one that fits, else one of this moment. */
  async function findQuote({ uid, terms, id, owner, presigns, at, validTo }: PlacementQuote) {
    const query = { ...terms, quoteKind: presigns ? 'onchainPresign' : 'onchainEip1271', now: at } as const;
    const found = await store.quotes.match({ ...query, ...(id > 0 ? { id } : {}) });
    if (found !== undefined) return found;
    const isKnown = (await store.orders.get([uid])).some(({ placement }) => placement !== null);
    return isKnown || validTo < seconds(clock) ? 'past' : ((await freshQuote(query, owner)) ?? 'none');
  }

  async function freshQuote(query: QuoteQuery, owner: Address): Promise<OrderQuote | undefined> {
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
      onFailure(failure); // what the chain says must not wait for somebody's price
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
