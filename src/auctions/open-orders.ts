import { yieldToEventLoop } from '../ports/clock.ts';
import type { OrderCursor, Store, StoredOrder } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { isAfterGap } from '../records/event-log.ts';
import {
  type AuctionCandidate,
  type AuctionOrder,
  auctionCandidate,
  compareAuctionOrders,
  type Sharing,
  type TokenPair,
} from './auction-order.ts';
import type { FeeRules } from './fee-policies.ts';
import type { FundingQuery } from './funding.ts';

/** Orders that are read in one tick of the event loop. */
const PAGE = 48;

/** Log entries that are read in one tick of the event loop. */
const LOG_PAGE = 500;

/** Maximum number of tokens, of pairs, and of queries, that orders share. */
const MAX_SHARED = 100_000;

/** Maximum number of log entries to follow. If there are more, all open orders are read again. */
const MAX_LOG_ENTRIES = 20_000;

/** Creates the reader of open orders. The first call reads all of them, the next calls read changed orders only. */
export function createOpenOrders(
  { orders, events }: Pick<Store, 'orders' | 'events'>,
  spender: Address,
  onFailure: (failure: unknown) => void,
) {
  const candidates = createCandidateList();
  /** Log entries up to here are part of the candidates. */
  let position: number | undefined;
  /** Orders that had expired then, in seconds since 1970, were not read. */
  let readAt = 0;
  /** The fee rules of the candidates. */
  let rules: FeeRules | undefined;
  const share = createSharing(spender);

  /** Reads changed orders and replaces their candidates. */
  async function read(uids: readonly Hex[]): Promise<void> {
    const changed = new Map(toCandidates(await orders.get(uids)).map((each) => [each.order.uid, each]));
    for (const uid of uids) {
      const candidate = changed.get(uid);
      if (candidate === undefined || candidates.get(uid)?.created !== candidate.created) candidates.remove(uid);
      if (candidate !== undefined) candidates.put(candidate);
    }
    await yieldToEventLoop();
  }

  function toCandidates(rows: readonly StoredOrder[]): AuctionCandidate[] {
    return rows.flatMap((row) => {
      if (row.state !== 'open' || rules === undefined) return [];
      try {
        return auctionCandidate(row, rules, share) ?? [];
      } catch (failure) {
        onFailure(failure);
        return [];
      }
    });
  }

  async function readAll(last: number, now: number): Promise<void> {
    const list = candidates.begin();
    let after: OrderCursor | undefined;
    do {
      const query = { status: { is: 'open', now }, limit: PAGE, quotes: true } as const;
      const page = await orders.list(after === undefined ? query : { ...query, after });
      list.add(toCandidates(page));
      await yieldToEventLoop();
      const oldest = page.length === PAGE ? page.at(-1) : undefined;
      after = oldest && { creationDate: oldest.creationDate, uid: oldest.uid };
    } while (after !== undefined);
    list.end();
    position = last;
    readAt = now;
  }

  /** Reads the changes up to a position. @returns false if some of them have been deleted from the log. */
  async function follow(from: number, last: number): Promise<boolean> {
    for (let at = from; at < last; ) {
      const page = await events.after(at, LOG_PAGE);
      if (isAfterGap(at, page)) return false;
      const changed = new Set<Hex>();
      for (const { type, uid } of page) {
        if (type === 'expired') {
          candidates.remove(uid); // the row does not show it
          changed.delete(uid);
        } else changed.add(uid);
      }
      const uids = [...changed];
      for (let i = 0; i < uids.length; i += PAGE) await read(uids.slice(i, i + PAGE));
      at = page.at(-1)?.id ?? last;
      position = at;
    }
    return true;
  }

  return {
    /**
     * Reads the changes since the last call and returns the candidates, oldest first. A candidate is replaced when its
     * order changes. Orders whose `validTo` has passed may be included. Must not be called concurrently.
     *
     * @param now - Seconds since 1970.
     * @param fees - The fee rules. Other rules than before replace all candidates.
     */
    async update(now: number, fees: FeeRules): Promise<readonly AuctionCandidate[]> {
      const last = await events.last();
      // A clock that was ahead has left out orders that are valid.
      if (rules !== fees || now < readAt) position = undefined;
      rules = fees;
      const canFollow = position !== undefined && last >= position && last - position <= MAX_LOG_ENTRIES;
      if (position === undefined || !canFollow || !(await follow(position, last))) {
        position = undefined; // a failure on the way starts again
        await readAll(last, now);
      }
      return candidates.sorted;
    },
    /** Returns whether an open order is one of the orders of an auction. */
    isOneOf(uid: Hex, list: readonly AuctionOrder[]): boolean {
      const order = candidates.get(uid)?.order;
      return order !== undefined && list[indexOf(list, order, compareAuctionOrders)]?.uid === uid;
    },
  };
}

function createSharing(spender: Address): Sharing {
  const tokens = createShared<Address>();
  const pairs = createShared<TokenPair>();
  const queries = createShared<FundingQuery>();
  return {
    pair: (sellToken, buyToken) =>
      pairs(`${sellToken} ${buyToken}`, () => ({
        sellToken: tokens(sellToken, () => sellToken),
        buyToken: tokens(buyToken, () => buyToken),
      })),
    query: ({ owner, sellToken: token, sellTokenBalance: source }) =>
      queries(`${owner} ${token} ${source}`, () => ({ owner, token, source, spender })),
  };
}

/** Creates a table of values. After too many it begins again. A value that exists twice has no other effect. */
function createShared<T>() {
  const values = new Map<string, T>();
  return (key: string, create: () => T): T => {
    const known = values.get(key);
    if (known !== undefined) return known;
    if (values.size === MAX_SHARED) values.clear();
    const value = create();
    values.set(key, value);
    return value;
  };
}

/** Creates a list of candidates, oldest first, in which each is found by its UID. */
function createCandidateList() {
  let sorted: AuctionCandidate[] = [];
  let known = new Map<Hex, AuctionCandidate>();
  return {
    get sorted(): readonly AuctionCandidate[] {
      return sorted;
    },
    get: (uid: Hex) => known.get(uid),
    remove(uid: Hex): void {
      const candidate = known.get(uid);
      if (candidate === undefined) return;
      known.delete(uid);
      sorted.splice(indexOf(sorted, candidate, compareAge), 1);
    },
    put(candidate: AuctionCandidate): void {
      const { uid } = candidate.order;
      const before = known.get(uid);
      if (before !== undefined)
        sorted[indexOf(sorted, before, compareAge)] = candidate; // the creation date of a UID does not change
      else sorted.splice(indexOf(sorted, candidate, compareAge), 0, candidate);
      known.set(uid, candidate);
    },
    /** Begins a list that replaces this one at its end. Pages are added newest first. */
    begin() {
      const newestFirst: AuctionCandidate[] = [];
      const found = new Map<Hex, AuctionCandidate>();
      /** The candidates of the oldest second. A sort of all would be one long step. */
      let second: AuctionCandidate[] = [];
      const endSecond = () => {
        for (const candidate of second.sort(compareAge).reverse()) newestFirst.push(candidate);
        second = [];
      };
      return {
        add(page: readonly AuctionCandidate[]): void {
          for (const candidate of page) {
            if (found.has(candidate.order.uid)) continue;
            found.set(candidate.order.uid, candidate);
            if (second[0]?.order.created !== candidate.order.created) endSecond();
            second.push(candidate);
          }
        },
        end(): void {
          endSecond();
          [sorted, known] = [newestFirst.reverse(), found];
        },
      };
    },
  };
}

/** Returns the first index of a sorted list whose item is not before another one. */
function indexOf<T>(list: readonly T[], item: T, compare: (a: T, b: T) => number): number {
  let [low, high] = [0, list.length];
  const last = list.at(-1);
  if (last === undefined || compare(last, item) < 0) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    const isBefore = compare(list[middle] as T, item) < 0; // within the list
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareAge(a: AuctionCandidate, b: AuctionCandidate): number {
  return compareAuctionOrders(a.order, b.order);
}
