import type { KnownBook } from '../account-tools/account-books.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import type { OrderTokens } from '../account-tools/token-labels.ts';
import { findTokens } from '../account-tools/token-labels.ts';
import { createWorker, type Worker } from '../concurrency/lifecycle.ts';
import type { Funds } from '../ports/chain-client.ts';
import { seconds, yieldToEventLoop } from '../ports/clock.ts';
import type { NotificationChange, ProgressMarker } from '../ports/notification-store.ts';
import type { Hex } from '../protocol/hex.ts';
import { fundsNeeded } from '../records/spending.ts';
import type { Order } from '../records/wire-order.ts';
import { createHashedId } from './hashed-ids.ts';
import { append } from './notification-indexer.ts';
import { createNotification, formatAmount, formatExchange } from './notification-rules.ts';

/** Orders that are checked in one step. */
const PAGE_SIZE = 500;

/** Owners and tokens whose funds are read together. */
const PAIRS = 100;

/** Maximum number of failed reads of a check. One that fails leaves out its orders only. */
const MAX_FAILED = 3;

/** States of the indexer without trades that are not read yet, which may have spent missing funds. */
const CURRENT_STATES = ['following', 'off'];

/** Minimum lifetime of the lease, in milliseconds. */
const MIN_LEASE_TTL = 60_000;

/** Notifies accounts of open orders that they cannot pay any more. `stop` waits for the check in progress. */
export type FundingCheck = Pick<Worker, 'start' | 'stop'>;

/** An open order with the required amount of its sell token and the owner's funds, in atoms. */
interface CheckedOrder {
  readonly order: Order;
  readonly needs: bigint;
  readonly funds: Funds;
}

type FundingCheckContext = Pick<AccountTools, 'store' | 'clock' | 'tokens' | 'onFailure'> & {
  readonly book: KnownBook;
  /** Milliseconds between two checks. */
  readonly interval: number;
  /** Identifies this process among those on the store. */
  readonly holder: string;
  /** Called after notifications may have been written. */
  readonly onAppended: () => void;
};

/**
 * Creates the check of one book.
 *
 * An order is reported when two consecutive checks find it unfunded: after a trade, the balance is reduced on chain
 * before the book has indexed the trade. A progress marker records the report until the order is funded again. So each
 * change to unfunded is reported once, also across restarts. Markers and notifications are written in one conditional
 * step, so two concurrent checks do no harm. The marker of an order that is not open any more is deleted. That of an
 * order that was closed while no check ran is kept, and has an effect only if a rollback opens the order again.
 */
export function createFundingCheck(context: FundingCheckContext): FundingCheck {
  const { store, clock, interval, holder, onFailure } = context;
  const { book } = context.book;
  const feed = `funding ${book.chainId} ${book.settlementContract}`;
  const lease = { name: feed, holder };
  /** Orders that the previous check found unfunded for the first time. */
  let suspects: ReadonlySet<Hex> = new Set();
  /** Open orders of which this process has seen or written a marker. */
  let marked: ReadonlySet<Hex> = new Set();
  /** Failed reads of the check in progress. */
  let failed = 0;

  async function checkAll(isStopping: () => boolean): Promise<void> {
    const nextSuspects = new Set<Hex>();
    const nextMarked = new Set<Hex>();
    failed = 0;
    let cursor: string | undefined;
    do {
      if (isStopping() || !(await acquireLease(context, lease))) {
        suspects = nextSuspects;
        return;
      }
      const page = await book.orders.list({
        status: 'open',
        limit: PAGE_SIZE,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { uid } of page.orders) if (marked.has(uid)) nextMarked.add(uid);
      await checkPage(page.orders, nextSuspects, nextMarked);
      cursor = page.next;
      await yieldToEventLoop();
    } while (cursor !== undefined);
    await deleteMarkers([...marked].filter((uid) => !nextMarked.has(uid)));
    suspects = nextSuspects;
    marked = nextMarked;
  }

  /** Deletes the markers of those orders that are not open. */
  async function deleteMarkers(uids: readonly Hex[]): Promise<void> {
    const open = await filterOpen(uids, book);
    const marks = uids.filter((uid) => !open.has(uid)).map((key) => ({ key, value: null }));
    if (marks.length === 0) return;
    const after = await store.notifications.cursor(feed);
    await append(store, { feed, after, through: (after ?? 0) + 1, changes: [], marks }, context.onAppended);
  }

  async function checkPage(orders: readonly Order[], nextSuspects: Set<Hex>, nextMarked: Set<Hex>): Promise<void> {
    const checked = await readFunds(orders, book, seconds(clock), (failure) => {
      if (++failed > MAX_FAILED) throw failure;
      onFailure(failure);
    });
    if (checked.length === 0) return;
    const { notifications } = store;
    // The cursor is read first: a concurrent write moves it and makes the append below fail.
    const after = await notifications.cursor(feed);
    const uids = checked.map(({ order }) => order.uid);
    const reported = new Set((await notifications.marks(feed, uids)).map(({ key }) => key));
    const funded = checked.filter((each) => reported.has(each.order.uid) && !isUnfunded(each));
    const unfunded = checked.filter((each) => !reported.has(each.order.uid) && isUnfunded(each));
    const due = unfunded.filter(({ order }) => suspects.has(order.uid));
    for (const { order } of unfunded) nextSuspects.add(order.uid);
    const at = clock.now();
    const stillOpen = await filterOpen(
      due.map(({ order }) => order.uid),
      book,
    );
    const open = due.filter(({ order }) => stillOpen.has(order.uid));
    const marks: ProgressMarker[] = [
      ...funded.map(({ order }) => ({ key: order.uid, value: null })),
      ...open.map(({ order }) => ({ key: order.uid, value: String(at) })),
    ];
    for (const { order } of checked) if (reported.has(order.uid)) nextMarked.add(order.uid);
    for (const { order } of funded) nextMarked.delete(order.uid);
    for (const { order } of open) nextMarked.add(order.uid);
    if (marks.length === 0) return;
    const changes = await createNotifications(open, at, context);
    await append(store, { feed, after, through: (after ?? 0) + 1, changes, marks }, context.onAppended);
  }

  const worker = createWorker({
    clock,
    interval,
    runAtStart: false,
    onFailure,
    async run(isStopping) {
      await checkAll(isStopping);
      return undefined;
    },
  });

  return {
    start() {
      suspects = new Set();
      worker.start();
    },
    async stop() {
      await worker.stop();
      await store.leases.release(lease).catch(onFailure);
    },
  };
}

/** Acquires the lease of the checks, if the book is not behind its chain. */
async function acquireLease(
  { book: { book }, store, interval }: FundingCheckContext,
  lease: { readonly name: string; readonly holder: string },
): Promise<boolean> {
  const { checks } = await book.ready();
  if (!CURRENT_STATES.includes(checks['chain'] ?? 'off')) {
    await store.leases.release(lease); // the process that follows the chain can check
    return false;
  }
  const outcome = await store.leases.acquire({ ...lease, ttl: Math.max(MIN_LEASE_TTL, 2 * interval) });
  return outcome.status === 'held';
}

/** Returns those orders that are open: others may have been filled or cancelled in the meantime. */
async function filterOpen(uids: readonly Hex[], book: Pick<KnownBook['book'], 'orders'>): Promise<ReadonlySet<Hex>> {
  if (uids.length === 0) return new Set();
  const results = await book.orders.getMany(uids);
  return new Set(results.flatMap(({ order }) => (order?.status === 'open' ? [order.uid] : [])));
}

/** Reads the funds of the orders' owners. Leaves out orders whose funding cannot be determined. */
async function readFunds(
  orders: readonly Order[],
  book: Pick<KnownBook['book'], 'balances'>,
  now: number,
  onFailed: (failure: unknown) => void,
): Promise<CheckedOrder[]> {
  const candidates = orders.flatMap((order) => {
    // Auctions have neither just-in-time orders nor those whose placement failed.
    const isOffered = !order.isLiquidityOrder && order.onchainOrderData?.placementError === undefined;
    const needs = isOffered && (order.validFrom ?? 0) <= now ? fundsNeeded(order) : undefined;
    return needs === undefined ? [] : [{ order, needs, key: `${order.owner} ${order.sellToken}` }];
  });
  const pairs = new Map(candidates.map(({ order, key }) => [key, { owner: order.owner, token: order.sellToken }]));
  const fundsByKey = new Map<string, Funds | undefined>();
  const all = [...pairs];
  for (let i = 0; i < all.length; i += PAIRS) {
    const part = all.slice(i, i + PAIRS);
    try {
      const results = await book.balances.funds(part.map(([, pair]) => pair));
      for (const [n, [key]] of part.entries()) fundsByKey.set(key, results[n]);
    } catch (failure) {
      onFailed(failure);
    }
  }
  return candidates.flatMap(({ order, needs, key }) => {
    const funds = fundsByKey.get(key);
    return funds === undefined ? [] : [{ order, needs, funds }];
  });
}

async function createNotifications(
  unfunded: readonly CheckedOrder[],
  at: number,
  { book: { book, env }, tokens, onFailure }: Pick<AccountTools, 'tokens' | 'onFailure'> & { readonly book: KnownBook },
): Promise<NotificationChange[]> {
  const orders = unfunded.map(({ order }) => order);
  const getTokens = await findTokens(orders, (token) => tokens(book.chainId, token), onFailure);
  return unfunded.map(({ order, needs, funds }) => {
    // The id contains the time, so that a later shortfall of the same order is a new notification.
    const id = createHashedId(['insufficient_balance', order.uid, at]);
    const metadata = {
      orderUid: order.uid,
      chainId: book.chainId,
      env,
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

const isUnfunded = ({ needs, funds }: CheckedOrder) => funds.balance < needs || funds.allowance < needs;

function formatMessage({ order, needs, funds }: CheckedOrder, tokens: OrderTokens): string {
  const held = funds.balance < needs ? funds.balance : funds.allowance;
  const round = (atoms: bigint) => formatAmount(String(atoms), order.sellToken, tokens.sell);
  // Rounded, a lack of the last digits would not be visible.
  const isExact = round(held) === round(needs);
  const amount = (atoms: bigint) => formatAmount(String(atoms), order.sellToken, tokens.sell, isExact);
  const exchange = formatExchange(order, order, tokens);
  const [lacking, has] =
    funds.balance < needs ? ['balance', `you have ${amount(held)}`] : ['allowance', `you have allowed ${amount(held)}`];
  // A partially fillable order needs one atom, whatever it sells.
  const required = order.partiallyFillable ? '' : `it needs ${amount(needs)}, `;
  return `Your ${lacking} is too low for your order to exchange ${exchange}: ${required}${has}`;
}
