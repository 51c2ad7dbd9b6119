import type { Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderCursor, Store, StoredOrder } from '../ports/store.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { AuctionCandidate, AuctionOrder } from './auction-order.ts';
import { auctionCandidate } from './auction-order.ts';
import type { AuctionPrices, AuctionPricing } from './auction-prices.ts';
import type { Funding } from './funding.ts';
import { fundsKey } from './funding.ts';

/** What solvers compete for: the open orders that can be paid for, and what their tokens are worth. */
export interface Auction {
  /** Greater than that of any auction before. */
  readonly id: number;
  /** The newest block that was known; 0 when none was. */
  readonly block: number;
  readonly orders: readonly AuctionOrder[];
  readonly prices: AuctionPrices;
  readonly surplusCapturingJitOrderOwners: readonly Address[];
}

export interface Auctions {
  /** The auction of this moment. A new head or a change of the book makes a new one for whoever asks next. */
  current(): Promise<Auction>;
  /** The UIDs in the auction that was made last. */
  readonly listed: ReadonlySet<Hex>;
}

export interface AuctionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly vaultRelayer: Address;
  readonly deniedTokens: ReadonlySet<Address>;
  /** Absent: nobody can say who can pay, and everybody is believed to. */
  readonly funding: Funding | undefined;
  readonly pricing: AuctionPricing;
  readonly onFailure: (failure: unknown) => void;
}

/** Auctions whose prices are remembered: a day of them and more, at one for each block of the slowest chains. */
const KEPT = 10_000;

/** An auction is not older than this, in milliseconds, though nothing has happened: funds and prices change by themselves. */
const FRESH = 12_000;

const PAGE = 1000;

export function createAuctions(context: AuctionContext): Auctions {
  const { store, clock, vaultRelayer, deniedTokens, funding, pricing, onFailure } = context;
  let candidates = new Map<Hex, AuctionCandidate | undefined>();
  let versions = new Map<Hex, number>();
  let latest:
    | { readonly key: string; readonly content: string; readonly at: number; readonly auction: Auction }
    | undefined;
  let making: Promise<Auction> | undefined;
  let listed: ReadonlySet<Hex> = new Set();

  async function current(): Promise<Auction> {
    const [event, { indexedBlock }] = await Promise.all([store.events.last(), store.chain.progress()]);
    const key = `${event} ${indexedBlock?.hash}`;
    const age = clock.now() - (latest?.at ?? 0);
    if (latest?.key === key && age >= 0 && age < FRESH) return latest.auction;
    const [orders, at] = [await tradable(), clock.now()];
    const prices = await pricing.find(
      orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken]).filter(isToken),
    );
    const block = indexedBlock?.number ?? 0;
    const content = JSON.stringify([orders, prices]);
    const isSame = latest?.key === key && latest.content === content;
    const id = isSame
      ? latest?.auction.id
      : await store.auctions.insert({ block, prices: JSON.stringify(prices) }, KEPT);
    const auction = { id: id ?? 0, block, orders, prices, surplusCapturingJitOrderOwners: [] };
    latest = { key, content, at, auction };
    listed = new Set(orders.map(({ uid }) => uid));
    return auction;
  }

  /** The open orders that can trade now and be paid for, oldest first. */
  async function tradable(): Promise<readonly AuctionOrder[]> {
    const now = seconds(clock);
    const open = (await openOrders(now)).filter(({ order, validFrom }) => {
      const isDenied = deniedTokens.has(order.sellToken) || deniedTokens.has(order.buyToken);
      return validFrom <= now && !isDenied;
    });
    const paid = await paidFor(open);
    return paid.map(({ order }) => order);
  }

  async function paidFor(open: readonly AuctionCandidate[]): Promise<readonly AuctionCandidate[]> {
    if (funding === undefined) return open;
    const pairOf = ({ order }: AuctionCandidate) => ({
      owner: order.owner,
      token: order.sellToken,
      spender: vaultRelayer,
    });
    const funds = await funding.find(open.filter(({ needs }) => needs !== undefined).map(pairOf));
    return open.filter((each) => each.needs === undefined || (funds.get(fundsKey(pairOf(each))) ?? -1n) >= each.needs);
  }

  /** Reads what is new or has changed; the rest is known. */
  async function openOrders(now: number): Promise<AuctionCandidate[]> {
    const known = { candidates, versions };
    candidates = new Map();
    versions = new Map();
    let after: OrderCursor | undefined;
    do {
      const query = { status: { is: 'open', now }, limit: PAGE } as const;
      const rows = await store.orders.list(after === undefined ? query : { ...query, after });
      const fresh = rows.filter(({ uid, version }) => known.versions.get(uid) !== version).map(({ uid }) => uid);
      // Listings are without quotes.
      const read = new Map((fresh.length === 0 ? [] : await store.orders.get(fresh)).map((row) => [row.uid, row]));
      for (const { uid, version } of rows) {
        const row = read.get(uid);
        candidates.set(uid, row === undefined ? known.candidates.get(uid) : candidateOf(row));
        versions.set(uid, row?.version ?? version);
      }
      const last = rows.length === PAGE ? rows.at(-1) : undefined;
      after = last && { creationDate: last.creationDate, uid: last.uid };
    } while (after !== undefined);
    return [...candidates.values()].filter((candidate) => candidate !== undefined).reverse();
  }

  function candidateOf(row: StoredOrder): AuctionCandidate | undefined {
    if (row.state !== 'open') return undefined; // changed since it was listed
    try {
      return auctionCandidate(row);
    } catch (failure) {
      onFailure(failure);
      return undefined;
    }
  }

  return {
    current() {
      making ??= current().finally(() => {
        making = undefined;
      });
      return making;
    },
    get listed() {
      return listed;
    },
  };
}

const isToken = (token: Address) => token !== NATIVE_MARKER;
