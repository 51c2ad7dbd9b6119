import type {
  CompetitionSolution,
  CompetitionSummary,
  FilterReason,
  OrderCompetition,
  SettlementAttempt,
} from '../auctions/index.ts';
import { assertNotAborted, countRows, type ReadOptions } from '../concurrency/abort.ts';
import { nextStep } from '../concurrency/steps.ts';
import { OrderBookError } from '../errors.ts';
import type { OrderBook } from '../order-book.ts';
import type { StoredEvent } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { type EventLog, getTransactionHash } from '../records/event-log.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { OrderTrade } from '../records/results.ts';
import type { Order } from '../records/wire-order.ts';

/** Maximum number of trades in a report. */
const MAX_TRADES = 100;

/** Number of the newest log entries that are searched. */
const SEARCHED_ENTRIES = 20_000;

/** Log entries that are read in one step. */
const PAGE = 500;

/**
 * Collects the data of an order that explains why it is or is not settled.
 *
 * @throws OrderBookError `NotFound` if the book has no such order.
 */
export async function createOrderReport(book: OrderBook, uid: string, work: ReadOptions) {
  const order = await book.orders.get(uid);
  if (order === undefined) throw createNotFoundError(uid);
  const [selection, trades, competitionStatus, competitions, simulation, history] = await Promise.all([
    book.auctions.selection(),
    book.trades.list({ orderUid: uid, limit: MAX_TRADES }),
    book.orders.competitionStatus(uid),
    book.auctions.competitionsOfOrder(uid),
    simulateOpenOrder(book, order),
    readHistory(order.uid, book.log, work),
  ]);
  const filterReason = selection?.filtered.get(order.uid) ?? null;
  const listed = selection?.listed.has(order.uid) === true;
  // The last auction may be older than the end of the order.
  const selected = order.status === 'open' ? toSelectionEvent(listed, filterReason, book.clock.now()) : [];
  return {
    orderUid: order.uid,
    order,
    competitionStatus,
    auction: selection && { id: selection.id, block: selection.block, listed, filterReason },
    trades: trades.map((trade) => ({ ...trade, ...findAuction(trade, competitions) })),
    ...history,
    events: [...addAttemptEvents(history.events, competitions), ...selected],
    auctions: competitions.map((each) => toAuction(each, order, trades)).reverse(),
    simulation,
  };
}

/** Returns the auction that a trade belongs to, if its competition is among the newest. */
function findAuction({ txHash }: OrderTrade, competitions: readonly CompetitionSummary[]): { auctionId?: number } {
  const found = competitions.find(({ transactionHashes }) => transactionHashes.includes(txHash));
  return found === undefined ? {} : { auctionId: found.auctionId };
}

/** Labels and reasons of production for open orders that an auction leaves out. Others have no reason there. */
const FILTER_LABELS: Readonly<Partial<Record<FilterReason, readonly [label: string, reason: string]>>> = {
  deniedToken: ['invalid', 'unsupported_token'],
  deniedAddress: ['invalid', 'banned_user'],
  invalidSignature: ['invalid', 'invalid_signature'],
  unfunded: ['invalid', 'insufficient_balance'],
  inFlight: ['filtered', 'in_flight'],
  dust: ['filtered', 'dust_order'],
  unpriced: ['filtered', 'missing_native_price'],
};

/** Returns the event of the last auction: production stores it, this book derives it when the report is created. */
function toSelectionEvent(listed: boolean, filterReason: FilterReason | null, now: number) {
  const timestamp = formatIsoDate(now);
  if (listed) return [{ label: 'ready', timestamp }];
  const [label, reason] = (filterReason && FILTER_LABELS[filterReason]) ?? [];
  return label === undefined || reason === undefined ? [] : [{ label, reason, timestamp }];
}

/**
 * Adds the events that production stores for an order of a winner. They precede the trades of their auction, and not by
 * time: entries of the log have the time of their block.
 */
function addAttemptEvents(entries: readonly ReportEvent[], competitions: readonly OrderCompetition[]): ReportEvent[] {
  const pending = [...competitions].reverse();
  const events: ReportEvent[] = [];
  const addUntil = (position: number) => {
    for (const { settlementAttempts } of pending.splice(0, position)) {
      for (const { auctionAt, startedAt } of settlementAttempts) {
        events.push({ label: 'ready', timestamp: formatIsoDate(auctionAt) });
        events.push({ label: 'executing', timestamp: formatIsoDate(startedAt) });
      }
    }
  };
  for (const entry of entries) {
    const { label, txHash } = entry;
    const isOfTransaction = ({ transactionHashes }: CompetitionSummary) =>
      transactionHashes.some((hash) => hash === txHash);
    if (label === 'traded') addUntil(pending.findIndex(isOfTransaction) + 1);
    events.push(entry);
  }
  addUntil(pending.length);
  return events;
}

/** Converts a competition with the order to the form of production. */
function toAuction(competition: OrderCompetition, order: Order, trades: readonly OrderTrade[]) {
  const { auctionId: id, auctionStartBlock: block, auctionDeadlineBlock: deadline, auction, solutions } = competition;
  const traded = trades.filter((trade) => findAuction(trade, [competition]).auctionId !== undefined);
  const nativePrices = Object.entries(auction.prices).filter(
    ([token]) => token === order.sellToken || token === order.buyToken,
  );
  return {
    id,
    block,
    deadline,
    nativePrices: Object.fromEntries(nativePrices),
    proposedSolutions: solutions.map((solution) => toProposedSolution(solution, order.uid)),
    executions: traded.map(({ blockNumber, executedProtocolFees }) => ({
      // The total of the order. Production has the fee of the single trade.
      executedFee: order.executedFee,
      executedFeeToken: order.executedFeeToken,
      blockNumber,
      protocolFees: executedProtocolFees.map(({ token, amount }) => ({ token, amount })),
    })),
    settlementAttempts: competition.settlementAttempts.map(toWireAttempt),
    feePolicies: traded.slice(0, 1).flatMap((trade) => trade.executedProtocolFees.map(toFeePolicy)),
  };
}

function toWireAttempt({
  solverAddress: solver,
  ranking,
  startedAt,
  startBlock,
  deadlineBlock,
  end,
}: SettlementAttempt) {
  const started = {
    solver,
    solutionUid: ranking - 1,
    startTimestamp: formatIsoDate(startedAt),
    startBlock,
    deadlineBlock,
  };
  if (end === undefined) return started;
  return { ...started, endTimestamp: formatIsoDate(end.at), endBlock: end.block, outcome: end.outcome };
}

function toProposedSolution({ ranking, solverAddress: solver, ...solution }: CompetitionSolution, uid: Hex) {
  const { isWinner, filteredOut, score, orders } = solution;
  const { sellAmount: executedSell = '0', buyAmount: executedBuy = '0' } = orders.find(({ id }) => id === uid) ?? {};
  return { solutionUid: ranking - 1, ranking, solver, isWinner, filteredOut, score, executedSell, executedBuy };
}

/** Converts `{ surplus: { factor } }` to `{ kind: 'surplus', surplusFactor }`, and the others in the same way. */
function toFeePolicy({ policy }: OrderTrade['executedProtocolFees'][number]) {
  const [[kind = '', values] = []] = Object.entries(policy);
  const factors = Object.entries(Object(values)).filter(([, value]) => typeof value === 'number');
  const toName = (name: string) => `${kind}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return { kind, ...Object.fromEntries(factors.map(([name, value]) => [toName(name), value])) };
}

export function createNotFoundError(uid: string): OrderBookError {
  return new OrderBookError('NotFound', 'there is no order with this UID', { uid });
}

/** Simulates an order that can be settled. `null` for other orders, and if no simulation is possible. */
async function simulateOpenOrder({ orders }: OrderBook, { uid, status }: Order) {
  const result = status === 'open' ? await orders.simulate(uid) : undefined;
  return result?.status === 'simulated' ? { blockNumber: result.block, error: result.error } : null;
}

/** Finds the entries of an order among the newest entries of the log. */
async function readHistory(uid: Hex, log: EventLog, work: ReadOptions) {
  let found: readonly StoredEvent[] = [];
  let searchedEntries = 0;
  // Ids are no count: an epoch of the log begins far after the last entry of the one before.
  for (let last = await log.last(); last > 0 && searchedEntries < SEARCHED_ENTRIES; ) {
    const start = Math.max(0, last - (SEARCHED_ENTRIES - searchedEntries));
    const ofRange: StoredEvent[] = [];
    for (let at = start; at < last; ) {
      const page = (await log.after(at, PAGE)).filter(({ id }) => id <= last);
      ofRange.push(...page.filter((entry) => entry.uid === uid));
      searchedEntries += page.length;
      countRows(work, page.length);
      at = page.at(-1)?.id ?? last;
      await nextStep(work);
      assertNotAborted(work.signal);
    }
    found = [...ofRange, ...found];
    last = await findLastEntry(start, log);
  }
  return { events: found.map(toEntry), searchedEntries, isComplete: found[0]?.type === 'created' };
}

/** Returns the id of the last entry up to an id. 0 if there is none. */
async function findLastEntry(id: number, log: EventLog): Promise<number> {
  const isAfter = async (other: number) => ((await log.after(other, 1))[0]?.id ?? Number.POSITIVE_INFINITY) <= id;
  let [low, high] = [0, id];
  if (!(await isAfter(low))) return 0;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isAfter(middle)) low = middle;
    else high = middle;
  }
  return high;
}

interface ReportEvent {
  readonly label: string;
  readonly timestamp: string;
  readonly txHash?: Hex;
}

function toEntry(event: StoredEvent): ReportEvent {
  const txHash = getTransactionHash(event);
  return { label: event.type, timestamp: formatIsoDate(event.at), ...(txHash === undefined ? {} : { txHash }) };
}
