import type { Api, Clock, OrderBook, OrderEvent, RecoveryBackend } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { PLACING_CONTRACT } from '../chain/placements.ts';
import type { SettlementMode } from '../chain/settlements.ts';
import type { LogCheck } from '../checks/log-check.ts';
import { STATISTICS_OPTIONS } from '../checks/statistics-check.ts';
import type { Report } from '../checks/store-observer.ts';
import { CHAIN_ID, MIN_VALIDITY, QUOTAS } from '../orders/pool-order.ts';
import type { RetentionAges } from '../plan/retention-ages.ts';
import { toDays } from '../plan/retention-ages.ts';
import type { AccountPort } from '../ports/account-port.ts';
import type { NodePort } from '../ports/chain-port.ts';
import type { Receiver } from '../ports/channel.ts';
import type { FundsPort } from '../ports/funds-port.ts';
import type { MarketPort } from '../ports/market.ts';
import { GAS_PRICE } from '../ports/market.ts';
import type { StorePort } from '../ports/store-port.ts';
import type { VirtualProcess } from './process.ts';
import type { SeededRandom } from './random.ts';

/** A book and an account interface in a virtual process. */
export interface BookProcess {
  readonly process: VirtualProcess;
  readonly book: OrderBook;
  readonly accounts: Accounts;
  /** The HTTP interface of the book. */
  readonly api: Api;
  readonly store: StorePort;
  readonly accountStore: AccountPort;
  readonly nodes: readonly NodePort[];
  readonly funds: FundsPort;
  /** `undefined` if the book does not quote. */
  readonly market: MarketPort | undefined;
  /** Whether the book has started and does not close. */
  readonly isStarted: boolean;
  /** Whether the age of estimates does not depend on steps of the wall clock. */
  readonly hasMonotonicTime: boolean;
  /** Number of submissions that have begun and not ended. The clients count them. */
  submissions: number;
  start(): Promise<void>;
  close(): Promise<void>;
  /** The last log entry that the listeners have received, or an earlier one. */
  readonly position: number;
  /** Checks that the listeners have received every entry since the start. */
  requireAllEvents(notify: Report): void;
}

export interface BookProcessContext {
  readonly process: VirtualProcess;
  /** Whether the account interface computes statistics. */
  readonly hasStatistics: boolean;
  /** Milliseconds between two checks of whether orders are funded. */
  readonly fundingInterval: number | 'off';
  /** Maximum number of attempts of a delivery. */
  readonly attempts: number;
  /** The orders of settlements that the book stores. */
  readonly settlements: SettlementMode;
  /** The ages at which the book deletes old data. */
  readonly retention: RetentionAges | undefined;
  readonly store: StorePort;
  readonly accountStore: AccountPort;
  readonly nodes: readonly NodePort[];
  readonly funds: FundsPort;
  readonly market: MarketPort | undefined;
  readonly receiver: Receiver;
  readonly random: SeededRandom;
  readonly recovery: RecoveryBackend;
  readonly log: LogCheck;
  readonly report: Report;
  readonly onFailure: (failure: unknown) => void;
}

/** Depth of the deepest reorganisation that the indexer accepts. Forks of a simulation are less deep. */
const REORG_LIMIT = 24;
/** The depth if the book deletes chain events, which it does below this depth only. */
const SMALL_REORG_LIMIT = 8;

const EVENT_NAMES = [
  'orderCreated',
  'orderCancelled',
  'orderPresigned',
  'orderPresignatureRevoked',
  'orderTraded',
  'orderExpired',
  'orderReinstated',
  'orderReverted',
] as const;

/** Creates the process. Nothing runs before `start`. */
export function createBookProcess(context: BookProcessContext): BookProcess {
  const { process, store, accountStore, nodes, funds, market, random, recovery, log, report, onFailure } = context;
  const { retention } = context;
  // Without monotonic time, old data is deleted soon after a start, and not only by a clock that was steady for long.
  const clock: Clock = retention === undefined ? process.clock : { now: process.clock.now, after: process.clock.after };
  const book = createOrderBook({
    chainId: CHAIN_ID,
    store: store.store,
    clock,
    recovery,
    chain: funds.client,
    limits: { maxOpenOrders: QUOTAS.open, maxPendingOrders: QUOTAS.pending, minValidity: MIN_VALIDITY },
    eip1271: 'accept-unverified',
    justInTimeOrders: context.settlements,
    ...(retention === undefined ? {} : { retention: toDays(retention) }),
    ...(market === undefined ? {} : { quotes: { estimators: market.estimators, gasPrice: GAS_PRICE } }),
    indexer: {
      sources: nodes.map(({ source }) => source),
      fromBlock: 101,
      reorgLimit: retention === undefined ? REORG_LIMIT : SMALL_REORG_LIMIT,
      onchainOrderContracts: [PLACING_CONTRACT],
    },
  });
  book.on('failure', onFailure);
  const drawBytes = (size: number) => Uint8Array.from({ length: size }, () => random.integer(0, 255));
  const accounts: Accounts = createAccounts({
    books: [book],
    store: accountStore.store,
    clock,
    recovery,
    channels: [context.receiver.connect(process, random)],
    deliveries: { retryDelay: 200, maxRetryDelay: 4_000, attempts: context.attempts, timeout: 2_000 },
    fundingInterval: context.fundingInterval,
    ...(context.hasStatistics ? STATISTICS_OPTIONS : {}),
    random: { bytes: drawBytes, uuid: () => process.name, fraction: random.fraction },
    onFailure,
  });
  /** The log position at which the listeners begin, as far as it is known. */
  let position: number | undefined;
  let before = 0;
  let isStarted = false;

  function receive({ id }: OrderEvent): void {
    if (process.isDead) return;
    const after = position ?? before;
    const [next] = log.after(after);
    // The book may have started at any position since the call.
    if (position === undefined ? id <= before : next?.id !== id) {
      report('listeners', `${process.name} emitted entry ${id} after ${after}`);
    }
    position = id;
  }
  for (const name of EVENT_NAMES) book.on(name, receive);

  return {
    process,
    book,
    accounts,
    api: createApi(book),
    store,
    accountStore,
    nodes,
    funds,
    market,
    hasMonotonicTime: clock.monotonic !== undefined,
    submissions: 0,
    get position() {
      return position ?? before;
    },
    get isStarted() {
      return isStarted && !process.isDead;
    },
    async start() {
      before = log.last;
      await book.start();
      position ??= log.entries.length === 0 ? 0 : undefined;
      await accounts.start();
      isStarted = true;
    },
    async close() {
      isStarted = false;
      await accounts.close();
      await book.close();
    },
    requireAllEvents(notify) {
      if (position !== undefined && position !== log.last) {
        notify('liveness', `${process.name} has not emitted entry ${log.last}, it is at ${position}`);
      }
    },
  };
}
