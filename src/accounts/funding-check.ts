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
import { amountText, exchangeText, findTokens } from './notification-messages.ts';
import { createNotification, hashedId } from './notification-rules.ts';

/** Orders that are looked at in one step. */
const PAGE = 500;

/** States of following the chain in which what looks unpaid may have been paid with, by a trade not yet read. */
const BEHIND = ['starting', 'catching up', 'unavailable', 'stopped'];

/** Milliseconds that a lease is held at least. */
const LEASE = 60_000;

export interface FundingCheckContext {
  readonly book: KnownBook;
  readonly store: AccountStore;
  readonly clock: Clock;
  readonly tokens: TokenLookup;
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** Tells this process from others on the store. */
  readonly holder: string;
  /** Notifications may have been written. */
  readonly onAppended: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Tells accounts of open orders that they cannot pay for any more, for as long as it runs. */
export interface FundingCheck {
  start(): void;
  /** Waits for a look that is running. */
  stop(): Promise<void>;
}

/** An open order with what its owner must have and has. */
interface CheckedOrder {
  readonly order: Order;
  readonly needs: bigint;
  readonly funds: Funds;
}

/**
 * Makes a check of one book. An order is told of when two looks on end have found it unpayable: a balance that a trade has
 * taken is gone from the chain before the book has read that trade. That it was told is kept as a indexedBlock until it can be paid
 * for again, so that each crossing is told once, across restarts; marks and notifications are written in one step, on
 * condition that nobody else has written any, so that two processes that look at once are harmless.
 */
export function createFundingCheck(context: FundingCheckContext): FundingCheck {
  const { store, clock, interval, holder, onFailure } = context;
  const { book } = context.book;
  const feed = `funding ${book.chainId} ${book.settlementContract}`;
  const lease = { name: feed, holder };
  // Orders that the look before has found unpayable for the first time.
  let suspected: ReadonlySet<Hex> = new Set();
  let running: Promise<void> | undefined;
  let stopped = true;
  let cancel: Cancel = () => {};

  async function look(): Promise<void> {
    const suspects = new Set<Hex>();
    let cursor: string | undefined;
    do {
      if (stopped || !(await isOurs())) break;
      const page = await book.orders.list({ status: 'open', limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      await judge(page.orders, suspects);
      cursor = page.next;
      await yieldToEventLoop();
    } while (cursor !== undefined);
    suspected = suspects;
  }

  async function isOurs(): Promise<boolean> {
    const { checks } = await book.ready();
    if (BEHIND.includes(checks['chain'] ?? '')) return false;
    const outcome = await store.leases.acquire({ ...lease, ttl: Math.max(LEASE, 2 * interval) });
    return outcome.status === 'held';
  }

  async function judge(orders: readonly Order[], suspects: Set<Hex>): Promise<void> {
    const judged = await withFunds(orders);
    if (judged.length === 0) return;
    const { notifications } = store;
    // The cursor first: what is written after it is read makes it move.
    const after = await notifications.cursor(feed);
    const uids = judged.map(({ order }) => order.uid);
    const told = new Set((await notifications.marks(feed, uids)).map(({ key }) => key));
    const recovered = judged.filter((each) => told.has(each.order.uid) && !isShort(each));
    const short = judged.filter((each) => !told.has(each.order.uid) && isShort(each));
    const due = short.filter(({ order }) => suspected.has(order.uid));
    for (const { order } of short) suspects.add(order.uid);
    const at = clock.now();
    const open = await stillOpen(due);
    const marks: ProgressMarker[] = [
      ...recovered.map(({ order }) => ({ key: order.uid, value: null })),
      ...open.map(({ order }) => ({ key: order.uid, value: String(at) })),
    ];
    if (marks.length === 0) return;
    const changes = await changesOf(open, at);
    const outcome = await notifications.append({ feed, after, through: (after ?? 0) + 1, changes, marks });
    if (outcome.status === 'appended' && outcome.changed > 0) context.onAppended();
  }

  /** Asks what the owners have of what their orders sell, where that tells whether they can be paid for. */
  async function withFunds(orders: readonly Order[]): Promise<CheckedOrder[]> {
    const now = seconds(clock);
    const asked = orders.flatMap((order) => {
      const isPlaced = order.onchainOrderData?.placementError === undefined;
      const needs = isPlaced && (order.validFrom ?? 0) <= now ? fundsNeeded(order) : undefined;
      return needs === undefined ? [] : [{ order, needs, key: `${order.owner} ${order.sellToken}` }];
    });
    const pairs = new Map(asked.map(({ order, key }) => [key, { owner: order.owner, token: order.sellToken }]));
    const funds = await book.balances.funds([...pairs.values()]);
    const found = new Map([...pairs.keys()].map((key, i) => [key, funds[i]]));
    return asked.flatMap(({ order, needs, key }) => {
      const has = found.get(key);
      return has === undefined ? [] : [{ order, needs, funds: has }];
    });
  }

  /** What was filled or cancelled while the chain was asked is nobody's news any more. */
  async function stillOpen(due: readonly CheckedOrder[]): Promise<CheckedOrder[]> {
    if (due.length === 0) return [];
    const results = await book.orders.getMany(due.map(({ order }) => order.uid));
    const open = new Set(results.flatMap(({ order }) => (order?.status === 'open' ? [order.uid] : [])));
    return due.filter(({ order }) => open.has(order.uid));
  }

  async function changesOf(short: readonly CheckedOrder[], at: number): Promise<NotificationChange[]> {
    const orders = short.map(({ order }) => order);
    const tokensOf = await findTokens(orders, (token) => context.tokens(book.chainId, token), onFailure);
    return short.map(({ order, needs, funds }) => {
      // The time names the crossing: of several, each is told.
      const id = hashedId(['insufficient_balance', order.uid, at]);
      const metadata = {
        orderUid: order.uid,
        chainId: book.chainId,
        env: context.book.env,
        token: order.sellToken,
        requiredAmount: String(needs),
        balance: String(funds.balance),
        allowance: String(funds.allowance),
      };
      const message = messageOf({ order, needs, funds }, tokensOf(order));
      return {
        type: 'notify',
        notification: createNotification(id, 'insufficient_balance', at, order, message, metadata),
      };
    });
  }

  async function work(): Promise<void> {
    try {
      await look();
    } catch (failure) {
      onFailure(failure);
    }
    running = undefined;
    if (!stopped) schedule();
  }

  function schedule(): void {
    cancel = clock.after(interval, () => {
      running = work();
    });
  }

  return {
    start() {
      stopped = false;
      suspected = new Set();
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

function messageOf({ order, needs, funds }: CheckedOrder, tokens: OrderTokens): string {
  const amount = (atoms: bigint) => amountText(String(atoms), order.sellToken, tokens.sell);
  const what = exchangeText(order, order, tokens);
  const [lacking, has] =
    funds.balance < needs
      ? ['balance', `you have ${amount(funds.balance)}`]
      : ['allowance', `you have allowed ${amount(funds.allowance)}`];
  return `Your ${lacking} is too low for your order to exchange ${what}: it needs ${amount(needs)}, ${has}`;
}
