import { type FindDocument, readDocument } from '../admission/documents.ts';
import { sleep } from '../concurrency/abort.ts';
import { type ErrorCode, isTemporary, OrderBookError, SOLVER_ERROR_CODES } from '../errors.ts';
import { type Clock, readMonotonic, seconds } from '../ports/clock.ts';
import type { OrderQuote, QuoteQuery } from '../ports/quote-store.ts';
import { StoreError } from '../ports/store.ts';
import { formatValue } from '../protocol/format-value.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { createOrderHasher } from '../protocol/order.ts';
import { toConflict } from '../records/chain-batch.ts';
import { assertKnownOptions, requireList } from '../validation/options.ts';
import { findRepeatedTrade } from './attribution.ts';
import type { BatchContext } from './batch-context.ts';
import type { ChainApi, ChainContext } from './chain-api.ts';
import { type ChainBatch, decodeBatch, HASHES_KEPT } from './decode-batch.ts';

/**
 * Milliseconds after the first new quote of a batch in which further ones are requested. So placements with a slow
 * estimator delay the indexer by this time and `quotes.timeout` at most. The other placements have no quote.
 */
const QUOTE_TIME = 5000;

/**
 * Milliseconds after the begin of a batch in which failed queries of documents are repeated. A placement without its
 * document has no hooks, and it is not read again.
 */
const DOCUMENT_TIME = 10_000;

/** Milliseconds until a query of a document is repeated. The delay doubles. */
const DOCUMENT_RETRY_DELAY = 500;

/** Rejections without a price. The rules for quote requests, such as equal tokens, do not affect a placed order. */
const NO_PRICE: ReadonlySet<ErrorCode> = /* @__PURE__ */ new Set([
  'NoLiquidity',
  'UnsupportedToken',
  ...SOLVER_ERROR_CODES,
] satisfies ErrorCode[]);

/**
 * Creates the methods that write chain events.
 *
 * @param getClosing - Returns the signal that is aborted when the book begins to close.
 */
export function createChainWriter(
  context: ChainContext,
  getClosing: () => AbortSignal,
): Pick<ChainApi, 'apply' | 'rollback'> {
  const { store, clock, settlementContract, chainId, wake, cache } = context;
  const hasher = createOrderHasher({ chainId, settlementContract });
  const findDocument = createDocumentFinder(context, getClosing);
  const createQuoteFinder = createQuoteFinders(context, getClosing);

  function batchContext(): BatchContext {
    const { limits, tokens, hooksTrampoline, quotes, indexer } = context;
    return {
      limits,
      tokens,
      hasher,
      settlementContract,
      hooksTrampoline,
      documents: store.appData,
      findDocument: findDocument?.(),
      now: clock.now(),
      // A stored hash beyond the limit shows that a reorganisation is too deep.
      hashesKept: Math.max(HASHES_KEPT, (indexer?.reorgLimit ?? 0) + 1),
      findAuction: context.findAuction,
      justInTimeOrders: context.justInTimeOrders,
      findKnown: async (uids) => new Set((await store.orders.get(uids)).map(({ uid }) => uid)),
      ...(quotes === undefined ? {} : { findQuote: createQuoteFinder() }),
    };
  }

  /**
   * Wakes the readers of the log if a step fails: it may be stored.
   *
   * @param changed - The orders that the step can change without a log entry. Absent: unknown.
   */
  async function write<T>(step: Promise<T>, changed?: readonly Hex[]): Promise<T> {
    try {
      return await step;
    } catch (failure) {
      wake();
      throw failure;
    } finally {
      if (changed === undefined) cache?.clear();
      else if (changed.length > 0) cache?.forget(changed);
    }
  }

  return {
    async apply(chainBatch) {
      const { events, through, settleCalls = new Map() } = chainBatch;
      const repeated = findRepeatedTrade(events, settleCalls, hasher);
      if (repeated !== undefined) return toConflict(repeated, (await store.chain.progress()).indexedBlock ?? through);
      const { batch, settlements, unattributed, ignored } = await decodeBatch(chainBatch, batchContext());
      const uids = batch.events.flatMap((event) => (event.type === 'settlement' ? [] : event.uid));
      await context.onSettled?.(settlements, uids);
      // An invalidation of a filled order has no log entry. Neither has the fee of an adopted trade.
      const changed = batch.events.flatMap((event) =>
        event.type === 'invalidation' || event.type === 'trade' ? event.uid : [],
      );
      const outcome = await write(store.chain.apply(batch), changed);
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
    async rollback(to, options = {}) {
      assertKnownOptions('chain.rollback', options, ['after']);
      const { after } = options;
      // -1 removes all blocks, also the first one of the chain.
      if (!Number.isSafeInteger(to) || to < -1) throw new TypeError('a rollback goes to a block number');
      const pendingValidity = context.limits.maxPendingValidity;
      const request = { to, at: clock.now(), pendingValidity, ...(after === undefined ? {} : { after }) };
      const outcome = await write(store.chain.rollback(request));
      if (outcome.status !== 'rolledBack') return outcome;
      if (outcome.removed > 0) wake();
      context.emit('chainRolledBack', { to, indexedBlock: outcome.indexedBlock, removed: outcome.removed });
      return outcome;
    },
  };
}

/** Creates the function that finds the documents of a batch, if the book has a source of documents. */
function createDocumentFinder(context: ChainContext, getClosing: () => AbortSignal): (() => FindDocument) | undefined {
  const { find } = context.documents;
  return find && (() => storeFound(repeatFailures(find, context.clock, getClosing()), context));
}

/** Stores the documents that the source has, so that the orders of the batch refer to them. */
function storeFound(find: FindDocument, { store, limits }: Pick<ChainContext, 'store' | 'limits'>): FindDocument {
  const { maxAppDataSize, maxUnreferencedDocuments } = limits;
  return async (hash) => {
    const text = await find(hash);
    if (text === undefined || readDocument(text, hash, maxAppDataSize) instanceof OrderBookError) return text;
    await store.appData.put({ hash, document: text }, maxUnreferencedDocuments);
    return text;
  };
}

/**
 * Repeats failed queries of documents for a limited time. If the book closes meanwhile, the batch is rejected, so
 * that it is read again after the next start.
 */
function repeatFailures(find: FindDocument, clock: Clock, closing: AbortSignal): FindDocument {
  const until = readMonotonic(clock) + DOCUMENT_TIME;
  return async (hash) => {
    for (let delay = DOCUMENT_RETRY_DELAY; ; delay *= 2) {
      try {
        return await find(hash, 'chain');
      } catch (failure) {
        if (closing.aborted) throw new StoreError('Closed', 'the book is closing');
        if (!(failure instanceof OrderBookError) || readMonotonic(clock) + delay > until) throw failure;
      }
      await sleep(clock, delay, closing);
    }
  };
}

/**
 * Creates the finders of quotes. One finds the quotes of a batch: the quote that a placement names, otherwise a
 * matching one, otherwise a new one.
 */
function createQuoteFinders(context: ChainContext, getClosing: () => AbortSignal) {
  const { store, clock, onFailure } = context;

  /** Requests a quote. After a temporary failure the order has no quote and can trade: it is not read again. */
  async function requestQuote(query: QuoteQuery, owner: Address): Promise<OrderQuote | 'none' | 'past'> {
    const { sellToken, buyToken, kind, amount, quoteKind } = query;
    const signingScheme = quoteKind === 'onchainPresign' ? 'presign' : 'eip1271';
    // After the fee, since an order that does not cover the fee of today has a price, too.
    const size = kind === 'sell' ? { sellAmountAfterFee: amount } : { buyAmountAfterFee: amount };
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
      if (result.status === 'quoted') {
        const { id } = result.quote;
        return (id === null ? undefined : await store.quotes.match({ ...query, now: clock.now(), id })) ?? 'none';
      }
      if (NO_PRICE.has(result.error.code) && !isTemporary(result.error)) return 'none';
    } catch (failure) {
      onFailure(failure); // indexing must not depend on estimators
    }
    if (getClosing().aborted) throw new StoreError('Closed', 'the book is closing');
    return 'past';
  }

  return function createQuoteFinder(): NonNullable<BatchContext['findQuote']> {
    let until: number | undefined;

    return async ({ uid, terms, id, owner, presigns, at, validTo }) => {
      const query = { ...terms, quoteKind: presigns ? 'onchainPresign' : 'onchainEip1271', now: at } as const;
      // The sender chooses the id. No quote has one above 2^53, and a database may reject a query of it.
      const match = await store.quotes.match({ ...query, ...(id > 0 && Number.isSafeInteger(id) ? { id } : {}) });
      if (match !== undefined) return match;
      const isKnown = (await store.orders.get([uid])).some(({ placement }) => placement !== null);
      if (isKnown || validTo < seconds(clock)) return 'past';
      const now = readMonotonic(clock);
      until ??= now + QUOTE_TIME;
      return now < until ? requestQuote(query, owner) : 'past';
    };
  };
}

const MEMBERS: readonly (keyof ChainBatch)[] = ['events', 'through', 'after', 'rolledBackTo', 'blocks', 'settleCalls'];

/**
 * Checks the members of a batch of the host, and its hex text. An address with a checksum, as libraries return it,
 * would match no order: an invalidation would be ignored, and a trade would belong to an unknown account.
 *
 * @throws TypeError naming the first member that is unknown, or not in lower case.
 */
export function assertBatch(batch: ChainBatch): void {
  assertKnownOptions('chain.apply', batch, MEMBERS);
  const { events, through, blocks = [], settleCalls = new Map() } = batch;
  const checkMembers = (path: string, members: object): void => {
    for (const [name, value] of Object.entries(members) as [string, unknown][]) {
      if (typeof value === 'string') check(`${path}.${name}`, value);
      else if (typeof value === 'object' && value !== null) checkMembers(`${path}.${name}`, value);
    }
  };
  requireList('events', events).forEach((event, i) => void checkMembers(`events[${i}]`, event));
  if (Object(through) !== through)
    throw new TypeError(`chain.apply: through must be an object, got ${formatValue(through)}`);
  checkMembers('through', through);
  requireList('blocks', blocks).forEach((block, i) => void checkMembers(`blocks[${i}]`, block));
  for (const hash of settleCalls.keys()) check('the hash of settleCalls', hash);
}

function check(path: string, text: string): void {
  // The name of an event is not hex.
  if (!/^0x/i.test(text) || /^0x[0-9a-f]*$/.test(text)) return;
  throw new TypeError(`chain.apply: ${path} must be hex in lower case, got ${formatValue(text)}`);
}
