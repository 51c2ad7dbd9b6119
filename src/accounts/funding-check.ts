import { fundsNeeded } from '../auctions/auction-order.ts';
import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Order } from '../orders/order-json.ts';
import type { AccountStore, NotificationChange, ProgressMarker } from '../ports/account-store.ts';
import type { Funds } from '../ports/chain-client.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { Hex } from '../protocol/hex.ts';
import type { KnownBook } from './account-books.ts';
import type { OrderTokens, TokenLookup } from './notification-messages.ts';
import { findTokens, formatAmount, formatExchange } from './notification-messages.ts';
import { createHashedId, createNotification } from './notification-rules.ts';

/** Number of orders per step. */
const PAGE = 500;

/** States of the indexer in which an order may look unfunded because of a trade that is not indexed yet. */
const BEHIND_STATES = ['starting', 'catching up', 'unavailable', 'stopped'];

/** Minimum duration of the lease, in milliseconds. */
const MIN_LEASE_TTL = 60_000;

export interface FundingCheckContext {
  readonly book: KnownBook;
  readonly store: AccountStore;
  readonly clock: Clock;
  readonly tokens: TokenLookup;
  /** Interval between two checks, in milliseconds. */
  readonly interval: number;
  /** Identifies this process among those on the store. */
  readonly holder: string;
  /** Called after notifications were written. */
  readonly onAppended: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** The worker that notifies accounts of open orders that are not funded. */
export interface FundingCheck {
  start(): void;
  /** Waits for a running check. */
  stop(): Promise<void>;
}

/** An open order with its required and actual funds. */
interface CheckedOrder {
  readonly order: Order;
  readonly needs: bigint;
  readonly funds: Funds;
}

/**
 * Creates the funding check of one book. An account is notified if two consecutive checks find an order unfunded: a
 * trade may have taken the balance before the book has indexed it. A progress marker records the notification until the
 * order is funded again, so each transition is reported once, across restarts. Markers and notifications are written in
 * one conditional step, so that concurrent checks of two processes are harmless.
 */
export function createFundingCheck(context: FundingCheckContext): FundingCheck {
  const { store, clock, interval, holder, onFailure } = context;
  const { book } = context.book;
  const feed = `funding ${book.chainId} ${book.settlementContract}`;
  const lease = { name: feed, holder };
  // Orders that the previous check found unfunded for the first time.
  let previouslyShort: ReadonlySet<Hex> = new Set();
  let running: Promise<void> | undefined;
  let stopped = true;
  let cancel: Cancel = () => {};

  async function checkAll(): Promise<void> {
    const newlyShort = new Set<Hex>();
    let cursor: string | undefined;
    do {
      if (stopped || !(await acquireLease())) break;
      const page = await book.orders.list({ status: 'open', limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      await checkPage(page.orders, newlyShort);
      cursor = page.next;
      await yieldToEventLoop();
    } while (cursor !== undefined);
    previouslyShort = newlyShort;
  }

  async function acquireLease(): Promise<boolean> {
    const { checks } = await book.ready();
    if (BEHIND_STATES.includes(checks['chain'] ?? '')) return false;
    const outcome = await store.leases.acquire({ ...lease, ttl: Math.max(MIN_LEASE_TTL, 2 * interval) });
    return outcome.status === 'held';
  }

  async function checkPage(orders: readonly Order[], newlyShort: Set<Hex>): Promise<void> {
    const checked = await loadFunds(orders);
    if (checked.length === 0) return;
    const { notifications } = store;
    // The cursor is read first: a later write of another process moves it and makes `append` fail.
    const after = await notifications.cursor(feed);
    const uids = checked.map(({ order }) => order.uid);
    const notified = new Set((await notifications.marks(feed, uids)).map(({ key }) => key));
    const recovered = checked.filter((each) => notified.has(each.order.uid) && !isShort(each));
    const short = checked.filter((each) => !notified.has(each.order.uid) && isShort(each));
    const due = short.filter(({ order }) => previouslyShort.has(order.uid));
    for (const { order } of short) newlyShort.add(order.uid);
    const at = clock.now();
    const open = await filterOpen(due);
    const marks: ProgressMarker[] = [
      ...recovered.map(({ order }) => ({ key: order.uid, value: null })),
      ...open.map(({ order }) => ({ key: order.uid, value: String(at) })),
    ];
    if (marks.length === 0) return;
    const changes = await createChanges(open, at);
    const outcome = await notifications.append({ feed, after, through: (after ?? 0) + 1, changes, marks });
    if (outcome.status === 'appended' && outcome.changed > 0) context.onAppended();
  }

  /** Loads the funds of the orders' owners, for orders whose funding can be determined. */
  async function loadFunds(orders: readonly Order[]): Promise<CheckedOrder[]> {
    const now = seconds(clock);
    const candidates = orders.flatMap((order) => {
      const isPlaced = order.onchainOrderData?.placementError === undefined;
      const needs = isPlaced && (order.validFrom ?? 0) <= now ? fundsNeeded(order) : undefined;
      return needs === undefined ? [] : [{ order, needs, key: `${order.owner} ${order.sellToken}` }];
    });
    const pairs = new Map(candidates.map(({ order, key }) => [key, { owner: order.owner, token: order.sellToken }]));
    const funds = await book.balances.funds([...pairs.values()]);
    const fundsByPair = new Map([...pairs.keys()].map((key, i) => [key, funds[i]]));
    return candidates.flatMap(({ order, needs, key }) => {
      const has = fundsByPair.get(key);
      return has === undefined ? [] : [{ order, needs, funds: has }];
    });
  }

  /** Removes orders that were filled or cancelled during the chain queries. */
  async function filterOpen(due: readonly CheckedOrder[]): Promise<CheckedOrder[]> {
    if (due.length === 0) return [];
    const results = await book.orders.getMany(due.map(({ order }) => order.uid));
    const open = new Set(results.flatMap(({ order }) => (order?.status === 'open' ? [order.uid] : [])));
    return due.filter(({ order }) => open.has(order.uid));
  }

  async function createChanges(short: readonly CheckedOrder[], at: number): Promise<NotificationChange[]> {
    const orders = short.map(({ order }) => order);
    const getTokens = await findTokens(orders, (token) => context.tokens(book.chainId, token), onFailure);
    return short.map(({ order, needs, funds }) => {
      // The time is part of the id, so that each transition has its own notification.
      const id = createHashedId(['insufficient_balance', order.uid, at]);
      const metadata = {
        orderUid: order.uid,
        chainId: book.chainId,
        env: context.book.env,
        token: order.sellToken,
        requiredAmount: String(needs),
        balance: String(funds.balance),
        allowance: String(funds.allowance),
      };
      const message = formatMessage({ order, needs, funds }, getTokens(order));
      return {
        type: 'notify',
        notification: createNotification(id, 'insufficient_balance', at, order, message, metadata),
      };
    });
  }

  async function run(): Promise<void> {
    try {
      await checkAll();
    } catch (failure) {
      onFailure(failure);
    }
    running = undefined;
    if (!stopped) schedule();
  }

  function schedule(): void {
    cancel = clock.after(interval, () => {
      running = run();
    });
  }

  return {
    start() {
      stopped = false;
      previouslyShort = new Set();
      schedule();
    },
    async stop() {
      stopped = true;
      cancel();
      await running;
      await store.leases.release(lease).catch(onFailure);
    },
  };
}

const isShort = ({ needs, funds }: CheckedOrder) => funds.balance < needs || funds.allowance < needs;

function formatMessage({ order, needs, funds }: CheckedOrder, tokens: OrderTokens): string {
  const amount = (atoms: bigint) => formatAmount(String(atoms), order.sellToken, tokens.sell);
  const what = formatExchange(order, order, tokens);
  const [lacking, has] =
    funds.balance < needs
      ? ['balance', `you have ${amount(funds.balance)}`]
      : ['allowance', `you have allowed ${amount(funds.allowance)}`];
  return `Your ${lacking} is too low for your order to exchange ${what}: it needs ${amount(needs)}, ${has}`;
}
