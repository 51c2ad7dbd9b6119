import type { FundsQuery } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Auction, AuctionCandidate, AuctionOrder } from './auction-order.ts';
import type { AuctionPricing } from './auction-prices.ts';
import type { Funding } from './funding.ts';
import { fundsKey } from './funding.ts';
import { createOpenOrders } from './open-orders.ts';
import type { RenderedAuction } from './render-auction.ts';
import { inSteps, renderAuction } from './render-auction.ts';

export interface Auctions {
  /** Returns the current auction. After a new block or a change of the book a call creates a new one. */
  current(): Promise<Auction>;
  /** Returns the same as JSON, rendered once for all callers. */
  rendered(): Promise<RenderedAuction>;
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

export function createAuctions(context: AuctionContext): Auctions {
  const { store, clock, vaultRelayer, deniedTokens, funding, pricing, onFailure } = context;
  const openOrders = createOpenOrders(store, onFailure);
  let latest: Cut | undefined;
  let making: Promise<Cut> | undefined;

  async function current(): Promise<Cut> {
    const [event, { indexedBlock }] = await Promise.all([store.events.last(), store.chain.progress()]);
    const key = `${event} ${indexedBlock?.hash}`;
    const age = clock.now() - (latest?.at ?? 0);
    if (latest?.key === key && age >= 0 && age < MAX_AGE_MS) return latest;
    const [{ chosen, tokens }, at] = [await choose(), clock.now()];
    const prices = await pricing.find(tokens);
    const block = indexedBlock?.number ?? 0;
    const stored = JSON.stringify(prices);
    if (latest?.key === key && latest.prices === stored && isEqual(latest.chosen, chosen)) {
      latest = { ...latest, at };
      return latest;
    }
    const id = await store.auctions.insert({ block, prices: stored }, STORED_AUCTIONS);
    const orders: AuctionOrder[] = [];
    const listed = new Set<Hex>();
    await inSteps(chosen, ({ order }) => {
      orders.push(order);
      listed.add(order.uid);
    });
    const auction = { id, block, orders, prices, surplusCapturingJitOrderOwners: [] };
    latest = { key, at, chosen, prices: stored, auction, listed };
    return latest;
  }

  /** Returns the funded open orders that can trade now, oldest first, and their tokens. */
  async function choose() {
    const now = seconds(clock);
    const open: AuctionCandidate[] = [];
    const tokens = new Set<Address>();
    const candidates = await openOrders.update(now);
    await inSteps(candidates, (candidate) => {
      const { order, validFrom, validTo } = candidate;
      if (validTo < now || validFrom > now) return;
      if (deniedTokens.has(order.sellToken) || deniedTokens.has(order.buyToken)) return;
      open.push(candidate);
    });
    const chosen = await selectFunded(open);
    await inSteps(chosen, ({ order: { sellToken, buyToken } }) => {
      tokens.add(sellToken).add(buyToken);
    });
    tokens.delete(NATIVE_MARKER);
    return { chosen, tokens };
  }

  async function selectFunded(open: readonly AuctionCandidate[]): Promise<readonly AuctionCandidate[]> {
    if (funding === undefined) return open;
    const pairs = new Map<string, FundsQuery>();
    await inSteps(open, ({ order: { owner, sellToken: token }, needs }) => {
      if (needs === undefined) return;
      const pair = { owner, token, spender: vaultRelayer };
      pairs.set(fundsKey(pair), pair);
    });
    const funds = await funding.find([...pairs.values()]);
    const funded: AuctionCandidate[] = [];
    await inSteps(open, (candidate) => {
      const { order, needs } = candidate;
      const key = fundsKey({ owner: order.owner, token: order.sellToken });
      if (needs === undefined || (funds.get(key) ?? -1n) >= needs) funded.push(candidate);
    });
    return funded;
  }

  function cut(): Promise<Cut> {
    making ??= current().finally(() => {
      making = undefined;
    });
    return making;
  }

  return {
    current: async () => (await cut()).auction,
    async rendered() {
      const made = await cut();
      made.rendered ??= renderAuction(made.auction);
      return made.rendered;
    },
    get listed() {
      return latest?.listed ?? NONE;
    },
  };
}

const NONE: ReadonlySet<Hex> = /* @__PURE__ */ new Set();

/** An auction with the values that decide whether it is still current. */
interface Cut {
  /** The newest log entry and the newest indexed block. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly chosen: readonly AuctionCandidate[];
  /** The stored prices. */
  readonly prices: string;
  readonly auction: Auction;
  readonly listed: ReadonlySet<Hex>;
  /** The JSON of the auction, rendered on first use. */
  rendered?: Promise<RenderedAuction>;
}

/** Compares two selections. The candidate of an unchanged order is the same object. */
function isEqual(a: readonly AuctionCandidate[], b: readonly AuctionCandidate[]): boolean {
  return a.length === b.length && a.every((candidate, i) => candidate === b[i]);
}
