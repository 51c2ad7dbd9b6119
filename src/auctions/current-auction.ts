import { type Clock, isRecent, readMonotonic, seconds, thenAlways } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { AuctionSelection } from './auction-api.ts';
import type { Auction, AuctionCandidate, AuctionOrder, TokenPair } from './auction-order.ts';
import type { createAuctionPricing } from './auction-prices.ts';
import type { FindDenied } from './denied.ts';
import type { GetFeeRules } from './fee-policies.ts';
import type { FilterReason } from './filter-reason.ts';
import { checkFunds, checkTimeAndTokens, countReasons, findPriced, getParties } from './filters.ts';
import type { Funding, FundingQuery } from './funding.ts';
import { createOpenOrders } from './open-orders.ts';
import { type RenderedAuction, renderOnce, visitAll } from './render-auction.ts';
import { renderAuctionValues } from './settled-auction.ts';
import type { SignatureChecks } from './signature-checks.ts';

export interface AuctionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly vaultRelayer: Address;
  readonly deniedTokens: ReadonlySet<Address>;
  /** Seconds that an order must remain valid. */
  readonly minValidity: number;
  /** The lowest id of new auctions. */
  readonly firstId: number;
  readonly getFees: GetFeeRules;
  readonly jitOrderOwners: readonly Address[];
  readonly findDenied: FindDenied;
  /** Returns the orders of winning solutions that may still be settled. */
  readonly findInFlight: () => Promise<ReadonlySet<Hex>>;
  /** Absent: funding cannot be checked, and every order counts as funded. */
  readonly funding: Funding | undefined;
  /** Absent: signatures of contracts are not checked again. */
  readonly signatures: SignatureChecks | undefined;
  readonly pricing: ReturnType<typeof createAuctionPricing>;
  /** Called with each new auction. */
  readonly onAuction: (auction: Auction) => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Auctions whose prices are stored: more than a day, with one auction per block of the slowest chains. */
const STORED_AUCTIONS = 10_000;

/** Maximum age of an auction in milliseconds, since funds and prices change without an event. */
const MAX_AGE_MS = 12_000;

export function createCurrentAuction(context: AuctionContext) {
  const { store, clock, firstId, onAuction, onFailure } = context;
  const openOrders = createOpenOrders(store, context.vaultRelayer, onFailure);
  const choose = createSelection(context, openOrders);
  let latest: AuctionSnapshot | undefined;
  let building: Promise<AuctionSnapshot> | undefined;
  let next: Promise<AuctionSnapshot> | undefined;
  let changes = 0;

  async function current(): Promise<AuctionSnapshot> {
    const [event, { indexedBlock }, competition] = await Promise.all([
      store.events.last(),
      store.chain.progress(),
      // Another process may have recorded a competition, which has no log entry.
      store.traits.writers === 'many' ? store.auctions.lastCompetition() : 0,
    ]);
    const block = indexedBlock?.number ?? 0;
    const [head, key] = [indexedBlock?.hash, `${event} ${indexedBlock?.hash} ${competition} ${changes}`];
    if (latest?.key === key && isNew(latest)) return latest;
    const { orders, prices, reasons, fees } = await choose();
    const times = { at: clock.now(), readAt: readMonotonic(clock) };
    const stored = renderAuctionValues(prices, fees);
    // A change that does not concern the auction, such as an order without a signature, does not create another one.
    if (
      latest !== undefined &&
      latest.head === head &&
      latest.prices === stored &&
      isEqual(latest.auction.orders, orders)
    ) {
      latest = { ...latest, key, ...times, reasons };
      return latest;
    }
    const id = await store.auctions.insert({ block, prices: stored }, STORED_AUCTIONS, firstId);
    const auction = { id, block, prices, surplusCapturingJitOrderOwners: context.jitOrderOwners, orders };
    latest = { key, head, ...times, prices: stored, auction, reasons };
    onAuction(auction);
    return latest;
  }

  /** Returns whether an auction is new, and the clock has not stepped to a time at which it selects other orders. */
  function isNew({ at, readAt }: AuctionSnapshot): boolean {
    const passed = clock.now() - at;
    return isRecent(clock, readAt, MAX_AGE_MS) && passed >= 0 && passed < MAX_AGE_MS;
  }

  /**
   * Returns the current auction. A call during a build does not share it, since it may predate a change that the caller
   * knows of. It shares the next one, which starts when that has ended.
   */
  function build(): Promise<AuctionSnapshot> {
    if (building === undefined) return start();
    next ??= building.then(start, start);
    return next;
  }

  function start(): Promise<AuctionSnapshot> {
    next = undefined;
    const started = thenAlways(current(), () => {
      if (next === undefined) building = undefined;
    });
    building = started;
    return started;
  }

  return {
    /** Returns the current auction. After a new block or a change of the book a call creates a new one. */
    current: async (): Promise<Auction> => (await build()).auction,
    /** Returns the same as JSON, rendered once for all callers. */
    rendered: async (): Promise<RenderedAuction> => renderOnce((await build()).auction),
    /** The selection of the last auction. */
    get selection(): AuctionSelection | undefined {
      if (latest === undefined) return undefined;
      const { auction, reasons: filtered } = latest;
      const listed = { has: (uid: Hex) => openOrders.isOneOf(uid, auction.orders) };
      return { id: auction.id, block: auction.block, listed, filtered, counts: countReasons(filtered) };
    },
    /** Called after a competition was recorded or a signature was checked: other orders can be settled. */
    changed(): void {
      changes++;
    },
  };
}

function createSelection(context: AuctionContext, openOrders: ReturnType<typeof createOpenOrders>) {
  const { clock, deniedTokens, minValidity, funding, pricing } = context;
  const { findDenied, findInFlight, getFees, signatures } = context;

  /** Returns the open orders that can be settled now, oldest first, the prices of their tokens, and the others. */
  async function choose() {
    const reasons = new Map<Hex, FilterReason>();
    const rules = { now: seconds(clock), minValidity, deniedTokens };
    const fees = getFees(rules.now);
    // Each pass over many orders takes milliseconds, so these are as few as the queries between them allow.
    const open: AuctionCandidate[] = [];
    const queries = new Set<FundingQuery>();
    await visitAll(await openOrders.update(rules.now, fees), (candidate) => {
      const reason = checkTimeAndTokens(candidate, rules);
      if (reason === undefined) {
        open.push(candidate);
        if (funding !== undefined && candidate.funds !== undefined) queries.add(candidate.funds);
      } else if (reason !== 'over') reasons.set(candidate.order.uid, reason);
    });
    const denied = await findDenied(open);
    const inFlight = await findInFlight();
    const invalid = signatures?.findInvalid(open) ?? new Set();
    const funds = await funding?.find([...queries]);
    const pairs = new Set<TokenPair>();
    const funded = await keep(open, reasons, (candidate) => {
      const { uid } = candidate.order;
      if (denied.size > 0 && getParties(candidate.order).some((party) => denied.has(party))) return 'deniedAddress';
      if (inFlight.size > 0 && inFlight.has(uid)) return 'inFlight';
      if (invalid.size > 0 && invalid.has(uid)) return 'invalidSignature';
      const reason = checkFunds(candidate, candidate.funds && funds?.get(candidate.funds), funds !== undefined);
      if (reason === undefined) pairs.add(candidate.pair);
      return reason;
    });
    const prices = await pricing.find(new Set([...pairs].flatMap(({ sellToken, buyToken }) => [sellToken, buyToken])));
    const priced = pricing.required ? findPriced(pairs, prices) : pairs;
    const isPriced = ({ pair }: AuctionCandidate) => (priced.has(pair) ? undefined : 'unpriced');
    const chosen = priced.size === pairs.size ? funded : await keep(funded, reasons, isPriced);
    return { orders: chosen.map(({ order }) => order), prices, reasons, fees };
  }

  return choose;
}

/** Returns the candidates without a reason against them, and records the reasons of the others. */
async function keep(
  candidates: readonly AuctionCandidate[],
  reasons: Map<Hex, FilterReason>,
  check: (candidate: AuctionCandidate) => FilterReason | undefined,
): Promise<readonly AuctionCandidate[]> {
  const kept: AuctionCandidate[] = [];
  await visitAll(candidates, (candidate) => {
    const reason = check(candidate);
    if (reason === undefined) kept.push(candidate);
    else reasons.set(candidate.order.uid, reason);
  });
  return kept;
}

/** An auction with the values that decide whether it is still current. */
interface AuctionSnapshot {
  /** The newest log entry, block and competition of all processes, and the number of changes of this one. */
  readonly key: string;
  /** Hash of the newest indexed block. */
  readonly head: Hex | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds of `readMonotonic`. */
  readonly readAt: number;
  /** The stored prices and fee rules. */
  readonly prices: string;
  readonly auction: Auction;
  readonly reasons: ReadonlyMap<Hex, FilterReason>;
}

/** Compares two selections. An unchanged order is the same object. */
function isEqual(a: readonly AuctionOrder[], b: readonly AuctionOrder[]): boolean {
  return a.length === b.length && a.every((order, i) => order === b[i]);
}
