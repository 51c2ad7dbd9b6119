import type { CancelRejection, Hex } from 'intentbook';
import type { ChainFact, FactPosition } from '../chain/chain.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { QUOTAS } from '../orders/pool-order.ts';

export type ModelState = 'open' | 'presignaturePending' | 'fulfilled' | 'cancelled';

/** An order in the model, computed from its whole history. */
export interface Standing {
  readonly state: ModelState;
  readonly sold: bigint;
  readonly bought: bigint;
  readonly quotaClass: 'open' | 'pending';
  /** Whether its expiry is recorded, and whether the log contains it. */
  readonly isSwept: boolean;
  readonly isExpiryLogged: boolean;
  readonly isSigned: boolean;
  readonly trades: number;
  /** Whether the log contains a cancellation. */
  readonly isCancellationLogged: boolean;
}

interface Placed {
  /** Creation of the order, in milliseconds since 1970. */
  readonly at: number;
  /** Who has added it: its owner, a placement on chain, or a settlement that has traded it. */
  readonly source: 'owner' | 'placement' | 'trade';
  isCancelled: boolean;
  isSwept: boolean;
}

/** The visible state of an order between two commits. */
export interface Version {
  /** The first commit with this state. */
  readonly commit: number;
  /** `undefined`: the order is not stored. */
  readonly shown: ShownOrder | undefined;
}

export interface ShownOrder {
  readonly state: ModelState;
  /** Whether its expiry is recorded. Reads do not show this. */
  readonly isSwept: boolean;
  /** Whether a settlement has added it. Auctions do not have such an order. */
  readonly isJustInTime: boolean;
  readonly creationDate: number;
  readonly sold: string;
  readonly bought: string;
}

type Outcome = 'inserted' | 'duplicate' | 'quotaExceeded' | `notReplaceable ${CancelRejection}`;

/**
 * The reference model of a book: maps and sums without indexes, texts or code of the package. It follows the atomic
 * steps of the store in their order and predicts each outcome.
 */
export class Model {
  readonly placed = new Map<number, Placed>();
  /** The signed expiries of deleted orders that were cancelled off chain. They cannot be inserted again. */
  readonly tombstones = new Map<number, number>();
  /** The commits in which tombstones were deleted last. */
  readonly #tombstoneEnds = new Map<number, number>();
  /** Number of commits so far. */
  commit = 0;
  /** Facts of the indexed blocks, in chain order. */
  facts: readonly ChainFact[] = [];
  /** The same with their positions. */
  positions: readonly FactPosition[] = [];
  /** Keys of the trades that are stored with their order, which exists as long as they do unless its owner adds it. */
  readonly tradesWithOrder = new Set<string>();
  readonly #pool: Pool;
  readonly #factsByOrder = new Map<number, ChainFact[]>();
  /** Orders that stored chain events contain. A deleted one does not exist again. */
  #contained: ReadonlySet<number> = new Set();
  /** Lists of accounts since the last change of the stored orders. */
  readonly #accountLists = new Map<string, readonly Hex[]>();
  /** Standings since the last change. */
  readonly #standings = new Map<number, Standing>();
  readonly #versions: Version[][];
  readonly #lists: { readonly commit: number; readonly uids: string }[][];

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#versions = pool.orders.map(() => [{ commit: 0, shown: undefined }]);
    this.#lists = pool.owners.map(() => [{ commit: 0, uids: '' }]);
  }

  standing(n: number): Standing {
    const known = this.#standings.get(n);
    if (known !== undefined) return known;
    const standing = this.#compute(n);
    this.#standings.set(n, standing);
    return standing;
  }

  #compute(n: number): Standing {
    const { kind, sellAmount, buyAmount, scheme } = this.#order(n);
    const placed = this.placed.get(n);
    const isJustInTime = placed?.source === 'trade';
    let [sold, bought, trades] = [0n, 0n, 0];
    let isInvalidated = placed?.isCancelled === true;
    let isCancellationLogged = isInvalidated;
    let [isSigned, wasSigned] = [false, false];
    const isFull = () => (kind === 'sell' ? sold >= sellAmount : bought >= buyAmount);
    for (const fact of this.#factsByOrder.get(n) ?? []) {
      if (fact.type === 'trade') {
        sold += fact.sold;
        bought += fact.bought;
        trades++;
      } else if (fact.type === 'invalidation') {
        isCancellationLogged ||= !isFull();
        isInvalidated = true;
      } else if (fact.type === 'signature') {
        isSigned = fact.signed;
        wasSigned ||= isSigned;
      }
    }
    const waits = scheme === 'presign' && !isSigned;
    const isSwept = placed?.isSwept === true && !isFull() && !isInvalidated;
    return {
      state: isFull() ? 'fulfilled' : isInvalidated ? 'cancelled' : waits ? 'presignaturePending' : 'open',
      sold,
      bought,
      trades,
      isSigned,
      isSwept,
      isCancellationLogged,
      isExpiryLogged: isSwept && (scheme !== 'presign' || wasSigned),
      // The contract has verified the signature of an order that was traded.
      quotaClass: waits ? 'pending' : scheme === 'presign' || isJustInTime ? 'open' : this.#order(n).quotaClass,
    };
  }

  isLive(n: number, now: number): boolean {
    const { state, isSwept } = this.standing(n);
    return !isSwept && this.#order(n).validTo >= now && (state === 'open' || state === 'presignaturePending');
  }

  count(owner: string, quotaClass: 'open' | 'pending', now: number): number {
    let count = 0;
    for (const n of this.placed.keys()) {
      if (this.#order(n).owner === owner && this.standing(n).quotaClass === quotaClass && this.isLive(n, now)) count++;
    }
    return count;
  }

  /** Returns why an order cannot be cancelled off chain. */
  cancelRejection(n: number, now: number): CancelRejection | undefined {
    if (!this.placed.has(n)) return 'missing';
    const { state } = this.standing(n);
    if (state === 'fulfilled' || state === 'cancelled') return state;
    const { validTo, scheme } = this.#order(n);
    if (validTo < now) return 'expired';
    return scheme === 'presign' || scheme === 'eip1271' ? 'on-chain' : undefined;
  }

  insert(n: number, at: number): Outcome {
    const now = Math.floor(at / 1000);
    const { replaces, owner, quotaClass } = this.#order(n);
    if (this.placed.has(n) || this.tombstones.has(n)) return 'duplicate';
    const reason = replaces === undefined ? undefined : this.cancelRejection(replaces, now);
    if (reason !== undefined) return `notReplaceable ${reason}`;
    const isFreed =
      replaces !== undefined && this.isLive(replaces, now) && this.standing(replaces).quotaClass === quotaClass;
    if (this.count(owner, quotaClass, now) - (isFreed ? 1 : 0) >= QUOTAS[quotaClass]) return 'quotaExceeded';
    if (replaces !== undefined) this.#cancelOne(replaces);
    this.placed.set(n, { at, source: 'owner', isCancelled: false, isSwept: false });
    this.#standings.delete(n);
    this.#accountLists.clear();
    return 'inserted';
  }

  /** Cancels all orders or none. Missing orders are reported first. */
  cancel(list: readonly number[], now: number): 'cancelled' | CancelRejection {
    const reasons = list.map((n) => this.cancelRejection(n, now)).filter((reason) => reason !== undefined);
    const [first] = reasons;
    if (first !== undefined) return reasons.includes('missing') ? 'missing' : first;
    for (const n of list) this.#cancelOne(n);
    return 'cancelled';
  }

  #cancelOne(n: number): void {
    const placed = this.placed.get(n);
    if (placed === undefined) return;
    placed.isCancelled = true;
    placed.isSwept = false;
    this.#standings.delete(n);
  }

  /** Records expiries. Returns their number. */
  expire(now: number): number {
    let count = 0;
    for (const [n, placed] of this.placed) {
      const { state, isSwept } = this.standing(n);
      if (isSwept || this.#order(n).validTo >= now || (state !== 'open' && state !== 'presignaturePending')) continue;
      placed.isSwept = true;
      this.#standings.delete(n);
      count++;
    }
    return count;
  }

  /** Reverts recorded expiries. Returns their number. */
  reinstate(validFrom: number): number {
    let count = 0;
    for (const [n, placed] of this.placed) {
      if (!placed.isSwept || this.#order(n).validTo < validFrom) continue;
      placed.isSwept = false;
      this.#standings.delete(n);
      count++;
    }
    return count;
  }

  /** Returns the orders that ended before a time, in seconds since 1970. */
  listEnded(before: number): number[] {
    return [...this.placed.keys()].filter((n) => {
      const at = this.placed.get(n)?.at ?? 0;
      const { state, isSwept } = this.standing(n);
      const hasEnded = isSwept || state === 'fulfilled' || state === 'cancelled';
      return hasEnded && at < before * 1000 && this.#order(n).validTo < before;
    });
  }

  /** Deletes orders. */
  remove(orders: readonly number[]): void {
    for (const n of orders) {
      if (this.placed.get(n)?.isCancelled === true) this.tombstones.set(n, this.#order(n).validTo);
      this.placed.delete(n);
      this.#standings.delete(n);
    }
    this.#accountLists.clear();
  }

  /** Deletes the tombstones of orders that expired before a time. */
  releaseTombstones(before: number): void {
    for (const [n, validTo] of this.tombstones) {
      if (validTo >= before) continue;
      this.tombstones.delete(n);
      this.#tombstoneEnds.set(n, this.commit + 1);
    }
  }

  /** Returns whether an order had a tombstone at any time since a commit. */
  hadTombstone(n: number, since: number): boolean {
    return this.tombstones.has(n) || (this.#tombstoneEnds.get(n) ?? 0) > since;
  }

  setFacts(positions: readonly FactPosition[]): void {
    this.positions = positions;
    this.facts = positions.map(({ fact }) => fact);
    this.#factsByOrder.clear();
    for (const fact of this.facts) {
      const known = this.#factsByOrder.get(fact.order);
      if (known === undefined) this.#factsByOrder.set(fact.order, [fact]);
      else known.push(fact);
    }
    this.#standings.clear();
    this.#setPlacements(positions);
    // An order that has ended is not expired. If its end is rolled back, the next sweep records the expiry again.
    for (const [n, placed] of this.placed) placed.isSwept = this.standing(n).isSwept; // the same standing
  }

  /** Adds the orders that placements and settlements add, and removes those whose source is not part of the chain. */
  #setPlacements(positions: readonly FactPosition[]): void {
    this.#accountLists.clear();
    const sources = new Map<number, FactPosition>();
    for (const each of positions) {
      const { type, order } = each.fact;
      const isSource = type === 'placement' || this.tradesWithOrder.has(each.key);
      if (isSource && !sources.has(order)) sources.set(order, each);
    }
    for (const [n, { source, isCancelled }] of [...this.placed]) {
      if (source === 'owner' || sources.has(n)) continue;
      if (isCancelled) this.tombstones.set(n, this.#order(n).validTo);
      this.placed.delete(n);
    }
    for (const [n, { fact, timestamp }] of sources) {
      if (this.placed.has(n) || this.#contained.has(n)) continue;
      const source = fact.type === 'placement' ? 'placement' : 'trade';
      this.placed.set(n, { at: timestamp * 1000, source, isCancelled: false, isSwept: false });
    }
    this.#contained = new Set(sources.keys());
  }

  show(n: number): ShownOrder | undefined {
    const placed = this.placed.get(n);
    if (placed === undefined) return undefined;
    const { state, isSwept, sold, bought } = this.standing(n);
    const isJustInTime = placed.source === 'trade';
    return { state, isSwept, isJustInTime, creationDate: placed.at, sold: sold.toString(), bought: bought.toString() };
  }

  /** Returns the UIDs of the orders that an account owns or has placed on chain, newest first. */
  list(account: string): readonly Hex[] {
    const known = this.#accountLists.get(account);
    if (known !== undefined) return known;
    const list = [...this.placed]
      .filter(([n]) => this.#order(n).owner === account || this.#order(n).placedBy === account)
      .sort(([a, x], [b, y]) => y.at - x.at || (this.#order(a).uid < this.#order(b).uid ? 1 : -1))
      .map(([n]) => this.#order(n).uid);
    this.#accountLists.set(account, list);
    return list;
  }

  /** Ends a commit: keeps the new state of each order for later checks. */
  endCommit(): void {
    this.commit++;
    for (const [n, versions] of this.#versions.entries()) {
      const last = versions.at(-1)?.shown;
      if (last === undefined && !this.placed.has(n)) continue;
      const shown = this.show(n);
      const isEqual =
        last?.state === shown?.state &&
        last?.isSwept === shown?.isSwept &&
        last?.sold === shown?.sold &&
        last?.bought === shown?.bought &&
        last?.creationDate === shown?.creationDate;
      if (!isEqual) versions.push({ commit: this.commit, shown });
    }
    for (const [signer, lists] of this.#lists.entries()) {
      const uids = this.list(this.#pool.owners[signer] ?? '').join();
      if (lists.at(-1)?.uids !== uids) lists.push({ commit: this.commit, uids });
    }
  }

  /** Returns the states that an order had from one commit to another, both included. */
  between(n: number, from: number, to: number): readonly Version[] {
    return select(this.#versions[n] ?? [], from, to);
  }

  listsBetween(signer: number, from: number, to: number): readonly string[] {
    return select(this.#lists[signer] ?? [], from, to).map(({ uids }) => uids);
  }

  #order(n: number): PoolOrder {
    return this.#pool.orders[n] as PoolOrder; // indexes are those of the pool
  }
}

/** Returns the elements of a history that were valid from one commit to another, both included. */
export function select<T extends { readonly commit: number }>(history: readonly T[], from: number, to: number): T[] {
  return history.filter(({ commit }, i) => commit <= to && (history[i + 1]?.commit ?? Number.POSITIVE_INFINITY) > from);
}
