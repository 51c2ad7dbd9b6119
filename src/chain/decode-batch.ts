import type { AuctionPrices } from '../auctions/auction-prices.ts';
import { ONE_NATIVE } from '../auctions/auction-prices.ts';
import type { BlockRef, ChainEvent, ChainEventBatch, TradeChainEvent } from '../ports/chain-store.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { EventPosition, ProtocolEvent } from '../protocol/event-decoder.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { attribute } from './attribution.ts';
import type { PlacementContext } from './placement.ts';
import { readPlacement } from './placement.ts';
import { compareLogPositions } from './project-order.ts';

/** What has happened on chain, as a host or the follower tells it. */
export interface ChainBatch {
  /** In any order; the same event twice counts once. */
  readonly events: readonly ProtocolEvent[];
  /** How far the events go: there are no others up to this block. */
  readonly through: BlockRef;
  /** The indexedBlock that the caller has seen, so that two that apply at once do not disturb each other. Absent: any. */
  readonly after?: BlockRef | null;
  /** Blocks whose hashes are worth remembering, to find where a fork begins. Those with events are remembered anyhow. */
  readonly blocks?: readonly BlockRef[];
  /**
   * The inputs of the calls of `settle` that each transaction makes, in their order. Fees are computed from them;
   * without them `executedFee` stays "0".
   */
  readonly settleCalls?: ReadonlyMap<Hex, readonly Hex[]>;
}

/** Hashes of blocks are remembered this far back: further than any chain has ever gone. */
export const HASHES_KEPT = 1024;

export interface BatchContext extends PlacementContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** What tokens were worth in an auction, as far as that is known. */
  readonly pricesOf: (auctionId: number) => Promise<AuctionPrices | undefined>;
}

/** A batch as the store takes it. */
export interface ReadBatch {
  readonly batch: ChainEventBatch;
  /** Trades of which nobody knows what fee they paid. */
  readonly unattributed: number;
  /** Events that are no orders of this protocol. */
  readonly ignored: number;
}

/**
 * Makes facts of events.
 *
 * @throws TypeError when the batch contradicts itself: two hashes of one block, an event above `through`.
 */
export async function readBatch(chainBatch: ChainBatch, context: BatchContext): Promise<ReadBatch> {
  const { through, after, blocks = [], settleCalls = new Map() } = chainBatch;
  const events = sorted(chainBatch.events);
  assertOneFork(through, [...blocks, ...events.map(({ blockNumber: number, blockHash: hash }) => ({ number, hash }))]);

  const attributions = new Map(
    [...byTransaction(events)].map(([hash, its]) => [
      hash,
      attribute(
        its.filter((each) => each.event === 'Trade' || each.event === 'Settlement'),
        settleCalls.get(hash) ?? [],
      ),
    ]),
  );
  const chainEvents: ChainEvent[] = [];
  const prices = new Map<number, AuctionPrices | undefined>();
  let [unattributed, ignored] = [0, 0];
  for (const event of events) {
    const { fees, auctions } = attributions.get(event.transactionHash) ?? NOTHING;
    const auctionId = auctions.get(event.logIndex) ?? null;
    if (auctionId !== null && !prices.has(auctionId)) prices.set(auctionId, await context.pricesOf(auctionId));
    const known = auctionId === null ? undefined : prices.get(auctionId);
    const fact = await toChainEvent(event, { fee: fees.get(event.logIndex), auctionId, prices: known }, context);
    if (fact === undefined) ignored++;
    else chainEvents.push(fact);
    if (fact?.type === 'trade' && fact.executedFee === null) unattributed++;
  }
  const forgetBelow = through.number - HASHES_KEPT;
  const batch = { events: chainEvents, blocks, through, forgetBelow, at: context.now };
  return { batch: after === undefined ? batch : { ...batch, after }, unattributed, ignored };
}

const NOTHING = { fees: new Map<number, bigint>(), auctions: new Map<number, number | null>() };

/** What calldata has told of an event. */
interface TradeAttribution {
  readonly fee: bigint | undefined;
  readonly auctionId: number | null;
  readonly prices: AuctionPrices | undefined;
}

async function toChainEvent(
  event: ProtocolEvent,
  told: TradeAttribution,
  context: BatchContext,
): Promise<ChainEvent | undefined> {
  const place = toLogPosition(event);
  switch (event.event) {
    case 'Trade':
      return toTradeEvent(event, told);
    case 'Settlement':
      return { type: 'settlement', ...place, solver: event.solver, auctionId: told.auctionId };
    case 'OrderInvalidated':
    case 'OrderInvalidation':
      return { type: 'invalidation', ...place, uid: event.orderUid };
    case 'PreSignature':
      return { type: 'presignature', ...place, uid: event.orderUid, signed: event.signed };
    case 'OrderRefund':
      return { type: 'refund', ...place, uid: event.orderUid };
    case 'OrderPlacement':
      return readPlacement(event, event.timestamp ?? Math.floor(context.now / 1000), context);
  }
}

function toTradeEvent(
  event: EventPosition & Extract<ProtocolEvent, { event: 'Trade' }>,
  { fee, prices }: TradeAttribution,
): TradeChainEvent {
  const { orderUid: uid, owner, sellToken, buyToken } = event;
  return {
    type: 'trade',
    ...toLogPosition(event),
    uid,
    owner,
    sellToken,
    buyToken,
    sellAmount: String(event.sellAmount),
    buyAmount: String(event.buyAmount),
    feeAmount: String(event.feeAmount),
    executedFee: fee === undefined ? null : String(fee),
    prices:
      prices === undefined ? null : { sellToken: priceIn(prices, sellToken), buyToken: priceIn(prices, buyToken) },
    protocolFees: [],
  };
}

/** Native currency to be bought is worth what it is. */
function priceIn(prices: AuctionPrices, token: Address): string | null {
  return token === NATIVE_MARKER ? ONE_NATIVE : (prices[token] ?? null);
}

function toLogPosition({ blockNumber, blockHash, logIndex, transactionHash, timestamp = null }: EventPosition) {
  return { blockNumber, blockHash, logIndex, transactionHash, timestamp };
}

/** In the order of the chain, each once. */
function sorted(events: readonly ProtocolEvent[]): ProtocolEvent[] {
  const byPlace = [...events].sort(compareLogPositions);
  return byPlace.filter((event, i) => {
    const before = byPlace[i - 1];
    return before === undefined || compareLogPositions(before, event) !== 0 || before.blockHash !== event.blockHash;
  });
}

function assertOneFork(through: BlockRef, named: readonly BlockRef[]): void {
  const hashes = new Map([[through.number, through.hash]]);
  for (const { number, hash } of named) {
    if (number > through.number) {
      throw new TypeError(`the batch goes through block ${through.number}, but names block ${number}`);
    }
    const known = hashes.get(number) ?? hash;
    if (known !== hash) throw new TypeError(`the batch names block ${number} as ${known} and as ${hash}`);
    hashes.set(number, hash);
  }
}

function byTransaction(events: readonly ProtocolEvent[]): ReadonlyMap<Hex, readonly ProtocolEvent[]> {
  const transactions = new Map<Hex, ProtocolEvent[]>();
  for (const event of events) {
    const list = transactions.get(event.transactionHash);
    if (list === undefined) transactions.set(event.transactionHash, [event]);
    else list.push(event);
  }
  return transactions;
}
