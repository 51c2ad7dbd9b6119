import type { SourceBook } from '../../account-tools/account-books.ts';
import type { AccountTools } from '../../account-tools/account-tools.ts';
import { toWrapped } from '../../account-tools/wrapped-token.ts';
import { createWorker } from '../../concurrency/lifecycle.ts';
import { yieldToEventLoop } from '../../ports/clock.ts';
import type { StoredEvent } from '../../ports/store.ts';
import type { ObservedPrices } from './observed-prices.ts';

/** Log entries that are read in one step. */
const BATCH_SIZE = 200;

/** Maximum number of log entries that are read at the start. */
const MAX_BACKLOG = 200_000;

/** Age of the oldest trades that are read, in milliseconds. An import puts older ones behind newer ones in the log. */
const MAX_AGE = 86_400_000;

/** Milliseconds until the log is read again without a signal, or after a failure. */
const INTERVAL = 1_000;

/** Adds the trades of a book's log to a record of prices. */
export interface TradeFollower {
  /** Starts on the first call. Resolves when the trades of the last day are read. */
  catchUp(): Promise<void>;
  /** Waits for the step in progress. */
  stop(): Promise<void>;
}

export function createTradeFollower(
  book: SourceBook,
  prices: ObservedPrices,
  { clock, onFailure }: Pick<AccountTools, 'clock' | 'onFailure'>,
): TradeFollower {
  let cursor: number | undefined;
  let started: Promise<void> | undefined;
  let reportCaughtUp = () => {};

  async function processBatch(): Promise<boolean> {
    cursor ??= Math.max(0, (await book.log.last()) - MAX_BACKLOG);
    const events = await book.log.after(cursor, BATCH_SIZE);
    const since = clock.now() - MAX_AGE;
    const trades = events.filter(({ type, at }) => type === 'traded' && at >= since);
    const results = await book.orders.getMany([...new Set(trades.map(({ uid }) => uid))]);
    const orders = new Map(results.flatMap(({ order }) => (order === undefined ? [] : [[order.uid, order]])));
    for (const event of events) {
      const key = toTradeKey(event);
      const { trade, reverted } = event.cause ?? {};
      if (event.type === 'reverted' && reverted === 'traded') prices.removeTrade(key);
      const order = orders.get(event.uid);
      if (!trades.includes(event) || trade === undefined || order === undefined) continue;
      const { sellToken } = order;
      const buyToken = toWrapped(book.chainId, order.buyToken);
      const [sellAmount, buyAmount] = [BigInt(trade.sellAmount) - BigInt(trade.feeAmount), BigInt(trade.buyAmount)];
      prices.addTrade({ key, at: event.at, sellToken, buyToken, sellAmount, buyAmount });
    }
    cursor = events.at(-1)?.id ?? cursor;
    return events.length === BATCH_SIZE;
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    watch: (wake) => book.log.watch(wake),
    onFailure,
    async run(isStopping) {
      while ((await processBatch()) && !isStopping()) await yieldToEventLoop();
      reportCaughtUp();
      return undefined;
    },
  });

  return {
    catchUp() {
      started ??= new Promise((resolve) => {
        reportCaughtUp = resolve;
        worker.start();
      });
      return started;
    },
    async stop() {
      await worker.stop();
      started = undefined;
      cursor = undefined;
    },
  };
}

function toTradeKey({ cause }: StoredEvent): string {
  if (cause === undefined) return '';
  const { blockNumber, logIndex, transactionHash } = cause.position;
  // The block hash of a trade that another book knows is unknown until the trade is indexed.
  return `${blockNumber} ${logIndex} ${transactionHash}`;
}
