import type { Hex } from 'intentbook';
import { SAMPLES, SIGNERS, START } from './book-orders.ts';

// Model of a book in minimal form: no store, no log, no text; sets and sums that are computed from the history. It uses
// no code of the package.

export const QUOTAS = { open: 3, pending: 1 } as const;
const MIN_VALIDITY = 60;

export interface Fact {
  readonly type: 'trade' | 'invalidation' | 'signature';
  readonly order: number;
  /** Id of a trade. */
  readonly sold: bigint;
  readonly bought: bigint;
  /** Id of a presignature. */
  readonly signed: boolean;
}

/** Accepted order, by its index among the samples. */
interface Placed {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly cancelled: boolean;
  readonly swept: boolean;
}

export type State = 'open' | 'presignaturePending' | 'fulfilled' | 'cancelled';

/** An order in the model. */
export interface Standing {
  readonly state: State;
  readonly sold: bigint;
  readonly bought: bigint;
  readonly quotaClass: 'open' | 'pending';
  /** Whether its expiry was detected, logged or not. */
  readonly swept: boolean;
  /** Whether the log contains its expiry. */
  readonly logged: boolean;
}

/** A state of the model. It is immutable; operations return the next state. */
export class BookModel {
  readonly placed: ReadonlyMap<number, Placed>;
  readonly blocks: readonly (readonly Fact[])[];

  constructor(placed: ReadonlyMap<number, Placed> = new Map(), blocks: readonly (readonly Fact[])[] = []) {
    this.placed = placed;
    this.blocks = blocks;
  }

  standing(n: number): Standing {
    const { kind, sellAmount, buyAmount, scheme } = sample(n);
    const { cancelled: byOwner = false, swept: wasSwept = false } = this.placed.get(n) ?? {};
    let [sold, bought] = [0n, 0n];
    let invalidated = byOwner;
    let signed = false;
    let everSigned = false;
    for (const fact of this.blocks.flat()) {
      if (fact.order !== n) continue;
      if (fact.type === 'trade') [sold, bought] = [sold + fact.sold, bought + fact.bought];
      else if (fact.type === 'invalidation') invalidated = true;
      else {
        signed = fact.signed;
        everSigned ||= signed;
      }
    }
    const filled = kind === 'sell' ? sold >= sellAmount : bought >= buyAmount;
    const waits = scheme === 'presign' && !signed;
    const swept = wasSwept && !filled && !invalidated;
    return {
      state: filled ? 'fulfilled' : invalidated ? 'cancelled' : waits ? 'presignaturePending' : 'open',
      sold,
      bought,
      swept,
      logged: swept && (scheme !== 'presign' || everSigned),
      quotaClass: waits || scheme === 'eip1271' ? 'pending' : 'open',
    };
  }

  isLive(n: number, now: number): boolean {
    const { state, swept } = this.standing(n);
    return !swept && sample(n).validTo >= now && (state === 'open' || state === 'presignaturePending');
  }

  count(signer: number, quotaClass: 'open' | 'pending', now: number): number {
    return [...this.placed.keys()].filter(
      (n) => sample(n).signer === signer && this.isLive(n, now) && this.standing(n).quotaClass === quotaClass,
    ).length;
  }

  /** Submits orders together. @returns a result for each: `accepted`, or the code of the rejection. */
  submit(list: readonly number[], at: number): [string[], BookModel] {
    const now = Math.floor(at / 1000);
    const first = list.map((n) => this.#rejectAtOnce(n, list, now));
    let next: BookModel = this;
    const words = list.map((n, i) => {
      const rejection = first[i] ?? next.#rejectInsert(n, now);
      if (rejection !== undefined) return rejection;
      const { replaces } = sample(n);
      if (replaces !== undefined) next = next.#with(replaces, { cancelled: true });
      next = next.#with(n, { at, cancelled: false, swept: false });
      return 'accepted';
    });
    return [words, next.#settled()];
  }

  #rejectAtOnce(n: number, list: readonly number[], now: number): string | undefined {
    const { validTo, replaces, scheme, signer } = sample(n);
    if (this.placed.has(n)) return 'DuplicatedOrder';
    if (validTo < now) return 'OrderExpired';
    if (validTo < now + MIN_VALIDITY) return 'InsufficientValidTo';
    if (replaces === undefined) return undefined;
    if (scheme === 'presign' || scheme === 'eip1271') return 'InvalidSignature';
    if (sample(replaces).signer !== signer) return 'WrongOwner';
    return list.includes(replaces) ? undefined : this.#rejectCancelling(replaces, now);
  }

  #rejectInsert(n: number, now: number): string | undefined {
    const { replaces, signer, scheme } = sample(n);
    if (this.placed.has(n)) return 'DuplicatedOrder';
    const rejection = replaces === undefined ? undefined : this.#rejectCancelling(replaces, now);
    if (rejection !== undefined) return rejection;
    const quotaClass = scheme === 'presign' || scheme === 'eip1271' ? 'pending' : 'open';
    const freed = replaces !== undefined && this.standing(replaces).quotaClass === quotaClass ? 1 : 0;
    return this.count(signer, quotaClass, now) - freed >= QUOTAS[quotaClass] ? 'TooManyLimitOrders' : undefined;
  }

  #rejectCancelling(n: number, now: number): string | undefined {
    if (!this.placed.has(n)) return 'OrderNotFound';
    const { state, swept } = this.standing(n);
    if (state === 'fulfilled') return 'OrderFullyExecuted';
    if (state === 'cancelled') return 'AlreadyCancelled';
    if (swept || sample(n).validTo < now) return 'OrderExpired';
    const { scheme } = sample(n);
    return scheme === 'presign' || scheme === 'eip1271' ? 'OnChainOrder' : undefined;
  }

  /** Cancels several orders with one signature: all or none. */
  cancel(list: readonly number[], signer: number, at: number): [string, BookModel] {
    const now = Math.floor(at / 1000);
    if (list.some((n) => sample(n).signer !== signer)) return ['WrongOwner', this];
    if (list.some((n) => !this.placed.has(n))) return ['OrderNotFound', this];
    const rejection = list.map((n) => this.#rejectCancelling(n, now)).find((each) => each !== undefined);
    if (rejection !== undefined) return [rejection, this];
    let next: BookModel = this;
    for (const n of list) next = next.#with(n, { cancelled: true });
    return ['cancelled', next.#settled()];
  }

  /** Returns the remaining amount of an order on its fixed side. */
  left(n: number, more: readonly Fact[]): bigint {
    const facts = [...this.blocks.flat(), ...more].filter(({ order }) => order === n);
    const { kind, sellAmount, buyAmount } = sample(n);
    const done = facts.reduce((sum, { sold, bought }) => sum + (kind === 'sell' ? sold : bought), 0n);
    return (kind === 'sell' ? sellAmount : buyAmount) - done;
  }

  mine(block: readonly Fact[]): BookModel {
    return new BookModel(this.placed, [...this.blocks, block]).#settled();
  }

  rollback(depth: number): BookModel {
    return new BookModel(this.placed, this.blocks.slice(0, Math.max(0, this.blocks.length - depth))).#settled();
  }

  /** @returns the number of expired orders. */
  sweep(at: number): [number, BookModel] {
    const now = Math.floor(at / 1000);
    const due = [...this.placed.keys()].filter((n) => {
      const { state, swept } = this.standing(n);
      return !swept && sample(n).validTo < now && (state === 'open' || state === 'presignaturePending');
    });
    let next: BookModel = this;
    for (const n of due) next = next.#with(n, { swept: true });
    return [due.length, next];
  }

  #with(n: number, change: Partial<Placed>): BookModel {
    const before = this.placed.get(n) ?? { at: START * 1000, cancelled: false, swept: false };
    return new BookModel(new Map(this.placed).set(n, { ...before, ...change }), this.blocks);
  }

  /** An order with another end is not swept. If that end is rolled back, the order is swept again. */
  #settled(): BookModel {
    const placed = new Map([...this.placed].map(([n, order]) => [n, { ...order, swept: this.standing(n).swept }]));
    return new BookModel(placed, this.blocks);
  }

  /** Returns the complete visible state at a time. */
  shows(at: number): Shown {
    const now = Math.floor(at / 1000);
    const listed = [...this.placed].sort(([a, { at: x }], [b, { at: y }]) =>
      x === y ? (sample(a).uid < sample(b).uid ? 1 : -1) : y - x,
    );
    const orders = [...this.placed].map(([n, { at: creationDate }]): ShownOrder => {
      const { state, sold, bought } = this.standing(n);
      const { uid, validTo } = sample(n);
      const ended = state === 'fulfilled' || state === 'cancelled';
      const status = !ended && validTo < now ? 'expired' : state;
      return { uid, status, creationDate, sold: String(sold), bought: String(bought) };
    });
    return {
      orders: orders.sort((a, b) => (a.uid < b.uid ? -1 : 1)),
      lists: SIGNERS.map((_, i) => listed.filter(([n]) => sample(n).signer === i).map(([n]) => sample(n).uid)),
      counts: SIGNERS.map((_, i) => ({ open: this.count(i, 'open', now), pending: this.count(i, 'pending', now) })),
      log: [...this.placed.keys()].map((n) => this.#logOf(n)).sort((a, b) => (a.uid < b.uid ? -1 : 1)),
    };
  }

  #logOf(n: number): ShownLog {
    const { state, sold, bought, logged } = this.standing(n);
    const facts = this.blocks.flat().filter(({ order }) => order === n);
    const invalidated = this.placed.get(n)?.cancelled === true || invalidatesOpen(n, facts);
    const signed =
      sample(n).scheme === 'presign' && facts.findLast(({ type }) => type === 'signature')?.signed === true;
    const filled = state === 'fulfilled';
    const trades = facts.filter(({ type }) => type === 'trade').length;
    return {
      uid: sample(n).uid,
      cancelled: invalidated,
      signed,
      filled,
      trades,
      sold: String(sold),
      bought: String(bought),
      expired: logged,
    };
  }
}

/** Returns whether an invalidation precedes the fill of an order. A later one is not logged. */
function invalidatesOpen(n: number, facts: readonly Fact[]): boolean {
  const { kind, sellAmount, buyAmount } = sample(n);
  let [sold, bought] = [0n, 0n];
  for (const fact of facts) {
    if (fact.type === 'trade') [sold, bought] = [sold + fact.sold, bought + fact.bought];
    const filled = kind === 'sell' ? sold >= sellAmount : bought >= buyAmount;
    if (fact.type === 'invalidation' && !filled) return true;
  }
  return false;
}

export interface ShownOrder {
  readonly uid: Hex;
  readonly status: State | 'expired';
  readonly creationDate: number;
  readonly sold: string;
  readonly bought: string;
}

/** Returns the expected log entries of one order. */
export interface ShownLog {
  readonly uid: Hex;
  readonly cancelled: boolean;
  readonly signed: boolean;
  readonly filled: boolean;
  readonly trades: number;
  readonly sold: string;
  readonly bought: string;
  readonly expired: boolean;
}

export interface Shown {
  readonly orders: readonly ShownOrder[];
  /** Per owner, newest first. */
  readonly lists: readonly (readonly Hex[])[];
  readonly counts: readonly { readonly open: number; readonly pending: number }[];
  readonly log: readonly ShownLog[];
}

export function sample(n: number): (typeof SAMPLES)[number] {
  const found = SAMPLES[n];
  if (found === undefined) throw new Error(`there is no order ${n}`);
  return found;
}
