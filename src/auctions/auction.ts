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

/** An auction: the funded open orders and the native prices of their tokens. */
export interface Auction {
  /** Greater than the id of every earlier auction. */
  readonly id: number;
  /** The newest indexed block. 0 if none is indexed. */
  readonly block: number;
  readonly orders: readonly AuctionOrder[];
  readonly prices: AuctionPrices;
  readonly surplusCapturingJitOrderOwners: readonly Address[];
}

export interface Auctions {
  /** Returns the current auction. After a new block or a change of the book a call creates a new one. */
  current(): Promise<Auction>;
  /** The UIDs of the last auction. */
  readonly listed: ReadonlySet<Hex>;
}

export interface AuctionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly vaultRelayer: Address;
  readonly deniedTokens: ReadonlySet<Address>;
  /** Absent: funding cannot be checked, and every order counts as funded. */
  readonly funding: Funding | undefined;
  readonly pricing: AuctionPricing;
  readonly onFailure: (failure: unknown) => void;
}

/** Auctions whose prices are stored: more than a day, with one auction per block of the slowest chains. */
const STORED_AUCTIONS = 10_000;

/** Maximum age of an auction in milliseconds, since funds and prices change without an event. */
const MAX_AGE_MS = 12_000;

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
    if (latest?.key === key && age >= 0 && age < MAX_AGE_MS) return latest.auction;
    const [orders, at] = [await tradable(), clock.now()];
    const prices = await pricing.find(
      orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken]).filter(isToken),
    );
    const block = indexedBlock?.number ?? 0;
    const content = JSON.stringify([orders, prices]);
    const isSame = latest?.key === key && latest.content === content;
    const id = isSame
      ? latest?.auction.id
      : await store.auctions.insert({ block, prices: JSON.stringify(prices) }, STORED_AUCTIONS);
    const auction = { id: id ?? 0, block, orders, prices, surplusCapturingJitOrderOwners: [] };
    latest = { key, content, at, auction };
    listed = new Set(orders.map(({ uid }) => uid));
    return auction;
  }

  /** Returns the funded open orders that can trade now, oldest first. */
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

  /** Reads new and changed orders. The others are cached. */
  async function openOrders(now: number): Promise<AuctionCandidate[]> {
    const cached = { candidates, versions };
    candidates = new Map();
    versions = new Map();
    let after: OrderCursor | undefined;
    do {
      const query = { status: { is: 'open', now }, limit: PAGE } as const;
      const rows = await store.orders.list(after === undefined ? query : { ...query, after });
      const changed = rows.filter(({ uid, version }) => cached.versions.get(uid) !== version).map(({ uid }) => uid);
      // Listings do not include quotes.
      const read = new Map((changed.length === 0 ? [] : await store.orders.get(changed)).map((row) => [row.uid, row]));
      for (const { uid, version } of rows) {
        const row = read.get(uid);
        candidates.set(uid, row === undefined ? cached.candidates.get(uid) : toCandidate(row));
        versions.set(uid, row?.version ?? version);
      }
      const last = rows.length === PAGE ? rows.at(-1) : undefined;
      after = last && { creationDate: last.creationDate, uid: last.uid };
    } while (after !== undefined);
    return [...candidates.values()].filter((candidate) => candidate !== undefined).reverse();
  }

  function toCandidate(row: StoredOrder): AuctionCandidate | undefined {
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
