import { createConcurrencyLimit } from '../concurrency/limit.ts';
import type {
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  PlacementChainEvent,
  TradeChainEvent,
} from '../ports/chain-store.ts';
import type { NewOrder } from '../ports/order-record.ts';
import { NATIVE_MARKER, ONE_NATIVE } from '../protocol/chains.ts';
import type { EventPosition, ProtocolEvent } from '../protocol/event-decoder.ts';
import { type Address, bytesToHex, type Hex, unpackUid } from '../protocol/hex.ts';
import { decodeSettledOrder } from '../protocol/settled-order.ts';
import { compareLogPositions } from '../records/chain-batch.ts';
import { toNewOrder } from '../records/order-json.ts';
import type { AuctionPrices } from '../records/settled-solution.ts';
import { type AttributedEvent, type Attribution, attribute, pairSettlements, type Settled } from './attribution.ts';
import type { BatchContext } from './batch-context.ts';
import { type OrderPlacement, readPlacement } from './placement.ts';

/** Chain events, from a host or from the indexer. */
export interface ChainBatch {
  /** Events in any order. Duplicates count once. */
  readonly events: readonly ProtocolEvent[];
  /** The last block of the batch. The batch has all events up to it. */
  readonly through: BlockRef;
  /** The checkpoint that the caller has seen. If it has moved, nothing is applied. Absent: no condition. */
  readonly after?: BlockRef | null;
  /** The `rolledBackTo` of the progress that the caller has seen. If it has changed, nothing is applied. */
  readonly rolledBackTo?: number;
  /** Further blocks whose hashes are stored, to find a fork later. Hashes of blocks with events are always stored. */
  readonly blocks?: readonly BlockRef[];
  /**
   * The calldata of each transaction's calls of `settle`, in order. Fees are computed from it. Without it
   * `executedFee` stays "0", and equal trades of one order in a transaction are a `conflict`: only calldata shows that
   * they are not one log under two indices.
   */
  readonly settleCalls?: ReadonlyMap<Hex, readonly Hex[]>;
}

/** Minimum number of blocks whose hashes are stored. No chain has ever had a deeper reorganisation. */
export const HASHES_KEPT = 1024;

/**
 * Maximum number of placements that are read concurrently. Each may wait for a document and for a quote. Each waits
 * for the signal of a closing book, and Node.js prints a warning for more than ten listeners of one signal.
 */
const CONCURRENT_PLACEMENTS = 8;

export interface DecodedBatch {
  readonly batch: ChainEventBatch;
  /** The settlements whose calldata is known. */
  readonly settlements: readonly Settled[];
  /** Number of trades whose fee is unknown. */
  readonly unattributed: number;
  /** Number of events that do not concern orders of this protocol. */
  readonly ignored: number;
}

/**
 * Decodes a batch of protocol events for the store.
 *
 * @throws TypeError if the batch contradicts itself: two hashes of one block, or an event above `through`.
 */
export async function decodeBatch(chainBatch: ChainBatch, context: BatchContext): Promise<DecodedBatch> {
  const { through, after, rolledBackTo, blocks = [], settleCalls = new Map() } = chainBatch;
  const events = sortEvents(chainBatch.events);
  assertOneFork(through, [...blocks, ...events.map(({ blockNumber: number, blockHash: hash }) => ({ number, hash }))]);

  const transactions = groupByTransaction(events);
  const settlements = [...transactions].flatMap(([hash, group]) => pairSettlements(group, settleCalls.get(hash) ?? []));
  const attributions = await attribute(settlements, context.findAuction);
  const decoded = new Map<ProtocolEvent, ChainEvent>();
  const placements = await readPlacements(events, context);
  let [unattributed, ignored] = [0, 0];
  for (const event of events) {
    const chainEvent =
      event.event === 'OrderPlacement'
        ? placements.get(event)
        : await toChainEvent(event, attributions.get(event) ?? NO_ATTRIBUTION);
    if (chainEvent === undefined) ignored++;
    else decoded.set(event, chainEvent);
    if (chainEvent?.type === 'trade' && chainEvent.executedFee === null) unattributed++;
  }
  const placed = new Set([...decoded.values()].flatMap((each) => (each.type === 'placement' ? each.uid : [])));
  const orders = await readJustInTimeOrders(settlements, placed, { ...context, attributions });
  const chainEvents = [...decoded].map(([event, each]) => {
    const order = each.type === 'trade' ? orders.get(event) : undefined;
    return order === undefined || each.type !== 'trade' ? each : { ...each, order };
  });
  const forgetBelow = Math.min(through.number - context.hashesKept, ...blocks.map(({ number }) => number));
  const batch = {
    events: chainEvents,
    blocks,
    through,
    forgetBelow,
    at: context.now,
    ...(after !== undefined && { after }),
    ...(rolledBackTo !== undefined && { rolledBackTo }),
  };
  return { batch, settlements, unattributed, ignored };
}

const NO_ATTRIBUTION: Attribution = { fee: undefined, auctionId: null, auction: undefined };

/** Reads the orders that were placed on chain. An event that is not an order of this protocol has no entry. */
async function readPlacements(
  events: readonly ProtocolEvent[],
  context: BatchContext,
): Promise<ReadonlyMap<ProtocolEvent, PlacementChainEvent>> {
  const limit = createConcurrencyLimit(CONCURRENT_PLACEMENTS);
  const placements = new Map<ProtocolEvent, PlacementChainEvent>();
  const read = async (event: OrderPlacement) => {
    const placement = await readPlacement(event, event.timestamp ?? Math.floor(context.now / 1000), context);
    if (placement !== undefined) placements.set(event, placement);
  };
  const placed = events.filter((event) => event.event === 'OrderPlacement');
  await Promise.all(placed.map((event) => limit.run(() => read(event))));
  return placements;
}

async function toChainEvent(
  event: Exclude<ProtocolEvent, { event: 'OrderPlacement' }>,
  attribution: Attribution,
): Promise<ChainEvent | undefined> {
  const position = toLogPosition(event);
  switch (event.event) {
    case 'Trade':
      return toTradeEvent(event, attribution);
    case 'Settlement':
      return { type: 'settlement', ...position, solver: event.solver, auctionId: attribution.auctionId };
    case 'OrderInvalidation':
      return isOwnOrder(event) ? { type: 'invalidation', ...position, uid: event.orderUid } : undefined;
    case 'OrderInvalidated':
      return { type: 'invalidation', ...position, uid: event.orderUid };
    case 'PreSignature':
      return { type: 'presignature', ...position, uid: event.orderUid, signed: event.signed };
    case 'OrderRefund':
      return isOwnOrder(event) ? { type: 'refund', ...position, uid: event.orderUid } : undefined;
  }
}

/**
 * Returns whether a contract that places orders on chain owns the order of its event. It MUST NOT end other orders.
 */
function isOwnOrder({ address, orderUid }: { readonly address: Address; readonly orderUid: Hex }): boolean {
  return unpackUid(orderUid).owner === address;
}

async function toTradeEvent(
  event: EventPosition & Extract<ProtocolEvent, { event: 'Trade' }>,
  { fee, auction }: Attribution,
): Promise<TradeChainEvent> {
  const { orderUid: uid, owner, sellToken, buyToken } = event;
  const prices = auction?.prices;
  const trade = {
    uid,
    owner,
    sellToken,
    buyToken,
    sellAmount: String(event.sellAmount),
    buyAmount: String(event.buyAmount),
    feeAmount: String(event.feeAmount),
  };
  return {
    type: 'trade',
    ...toLogPosition(event),
    ...trade,
    executedFee: fee === undefined ? null : String(fee),
    prices:
      prices === undefined ? null : { sellToken: getPrice(prices, sellToken), buyToken: getPrice(prices, buyToken) },
    protocolFees: (await auction?.protocolFees(trade)) ?? [],
  };
}

/** Returns the native price of a token. The price of native currency is 1. */
function getPrice(prices: AuctionPrices, token: Address): string | null {
  return token === NATIVE_MARKER ? ONE_NATIVE : (prices[token] ?? null);
}

function toLogPosition({ blockNumber, blockHash, logIndex, transactionHash, timestamp = null }: EventPosition) {
  return { blockNumber, blockHash, logIndex, transactionHash, timestamp };
}

/**
 * Sorts events by position and removes duplicates. Different events at one position are kept: the store refuses them.
 */
function sortEvents(events: readonly ProtocolEvent[]): ProtocolEvent[] {
  const sorted: ProtocolEvent[] = [];
  for (const event of [...events].sort(compareLogPositions)) {
    const isKnown = (before: ProtocolEvent) =>
      compareLogPositions(before, event) === 0 && formatEvent(before) === formatEvent(event);
    const first = sorted.findLastIndex((before) => compareLogPositions(before, event) !== 0) + 1;
    if (!sorted.slice(first).some(isKnown)) sorted.push(event);
  }
  return sorted;
}

/** Formats an event without the time of its block, which not every node returns with a log. */
function formatEvent({ timestamp: _, ...event }: ProtocolEvent): string {
  return JSON.stringify(event, (_name, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? Object.fromEntries(Object.entries(value).sort()) : value;
  });
}

function assertOneFork(through: BlockRef, named: readonly BlockRef[]): void {
  const hashes = new Map([[through.number, through.hash]]);
  for (const { number, hash } of named) {
    if (number > through.number) {
      throw new TypeError(`the batch goes through block ${through.number}, but names block ${number}`);
    }
    const other = hashes.get(number) ?? hash;
    if (other !== hash) throw new TypeError(`the batch names block ${number} as ${other} and as ${hash}`);
    hashes.set(number, hash);
  }
}

function groupByTransaction(events: readonly ProtocolEvent[]): ReadonlyMap<Hex, readonly ProtocolEvent[]> {
  const transactions = new Map<Hex, ProtocolEvent[]>();
  for (const event of events) {
    const list = transactions.get(event.transactionHash);
    if (list === undefined) transactions.set(event.transactionHash, [event]);
    else list.push(event);
  }
  return transactions;
}

type JustInTimeRules = Pick<
  BatchContext,
  'justInTimeOrders' | 'hasher' | 'settlementContract' | 'now' | 'findKnown'
> & { readonly attributions: ReadonlyMap<ProtocolEvent, Attribution> };

/**
 * Reads the orders that settlements have traded and the book does not have, from the calldata. The digest of each is
 * compared with the UID of the trade, so calldata cannot invent an order.
 *
 * @param placed - UIDs of orders that the same batch places on chain.
 * @returns The orders by trade.
 */
export async function readJustInTimeOrders(
  settlements: readonly Settled[],
  placed: ReadonlySet<Hex>,
  context: JustInTimeRules,
): Promise<ReadonlyMap<ProtocolEvent, NewOrder>> {
  const found = new Map<ProtocolEvent, NewOrder>();
  if (context.justInTimeOrders === 'off') return found;
  const uids = new Set(settlements.flatMap(({ trades }) => trades.map(({ orderUid }) => orderUid)));
  if (uids.size === 0) return found;
  const known = new Set([...(await context.findKnown([...uids])), ...placed]);
  for (const settlement of settlements) {
    if (!isOwn(settlement, known, context)) continue;
    for (const [i, trade] of settlement.trades.entries()) {
      const order = known.has(trade.orderUid) ? undefined : readOrder(settlement.input, i, trade, context);
      if (order !== undefined) found.set(trade, order);
    }
  }
  return found;
}

/** An order may be in several books on one contract. So a settlement that names an auction belongs to its book only. */
function isOwn({ trades, settlement }: Settled, known: ReadonlySet<Hex>, context: JustInTimeRules): boolean {
  if (context.justInTimeOrders === 'all') return true;
  const { auction, auctionId = null } = context.attributions.get(settlement) ?? {};
  return auctionId === null ? trades.some(({ orderUid }) => known.has(orderUid)) : auction !== undefined;
}

function readOrder(
  input: Hex,
  index: number,
  trade: AttributedEvent,
  { hasher, settlementContract, now }: JustInTimeRules,
): NewOrder | undefined {
  const settled = decodeSettledOrder(input, index);
  const uid = trade.orderUid;
  const { digest, owner } = unpackUid(uid);
  if (settled === undefined || bytesToHex(hasher.digest(settled.data)) !== digest) return undefined;
  const { data, signingScheme, signature } = settled;
  const creationDate = trade.timestamp == null ? now : trade.timestamp * 1000;
  return toNewOrder({
    uid,
    owner,
    data,
    signingScheme,
    signature,
    creationDate,
    settlementContract,
    interactions: { pre: [], post: [] },
    validFrom: undefined,
    class: 'liquidity',
  });
}
