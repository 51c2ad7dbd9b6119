import { createWorker, type Worker } from '../concurrency/worker.ts';
import type { OrderChainEvent, TradeChainEvent } from '../ports/chain-store.ts';
import { seconds } from '../ports/clock.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { TaskChange } from '../ports/task-store.ts';
import type { UpstreamOrder, UpstreamTrade } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';
import { unpackUid } from '../protocol/uid.ts';
import { reconcile, toChainEvents, toFacts, toPlacement, type UpstreamDifference } from '../records/reconcile.ts';
import { createContact } from './contact.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { CONFIRMATIONS, describeEnd, isFinalOrder, isOver, WINDOW } from './final.ts';
import { createImport } from './import.ts';
import type { OwnerSchedule } from './owner-schedule.ts';
import { drop, type Followed, type OrderTask, put } from './tasks.ts';
import { describeDomain, hasEnded, toInsert } from './wire.ts';

/** Name of the lease: one process of a store follows. */
const LEASE = 'upstream';
const LEASE_TTL = 30_000;

/** Milliseconds between two looks for due tasks. */
const INTERVAL = 1_000;

/** Key of the task that has the time at which this book began to read the chain. */
const CHAIN = 'chain';

/** Milliseconds by which the clocks of the two books may differ. */
const CLOCKS = 300_000;

/** Trades of one page, the maximum of the interface. */
const TRADES = 1000;

/** Orders of a batch that cannot be read alone, at most. */
const MAX_UNREAD = 5;

/** Reads without an order after which the interval between them grows. */
const MISSES = 3;

/** Orders of one read, the maximum of the interface. */
export const BATCH = 128;

/** Milliseconds from a read of a live order to the next one, if the owner can cancel it off chain. */
const READ_INTERVAL = 45_000;

/** The same for an order whose changes are all on chain, which this book follows. */
const CHAIN_INTERVAL = 600_000;

/** While orders are due, each fifth read is of an owner: an import must not delay them. */
const OWNER_TURN = 5;

/** Milliseconds for which a read that shows less than this book knows is taken for an old one. */
const LASTING = 120_000;

/** Milliseconds by which a read may be early, so that batches are full. */
const EARLY = 15_000;

/** What the follower needs besides the parts that the upstream shares. */
export interface FollowerContext {
  readonly book: UpstreamBook;
  readonly insert: Insert;
  readonly holder: string;
  readonly schedule: OwnerSchedule;
  /** Whether this book reads the chain, up to its head. */
  readonly isChainFollowed: () => boolean;
}

/**
 * Creates the worker that keeps followed orders current. The chain shows fills, presignatures and invalidations. The
 * other book is read for what only it knows: cancellations off chain, and orders that were posted elsewhere.
 *
 * A read counts only if nothing has changed the order since the request was sent. Absence is never evidence.
 */
export function createFollower({ book, insert, holder, schedule, isChainFollowed }: FollowerContext): Worker {
  const { upstream, store, tasks, clock, onFailure } = book;
  let beginning: Beginning | undefined;
  let isLookedUp = false;
  const contact = createContact(book);
  let hasBegun = false;
  let turns = 0;
  const owners = createImport({ book, schedule, storeOrders, adoptTrades, onFailure });

  /** Reads a batch of due orders. Returns false if none is due, or none can be read now. */
  async function readOrders(): Promise<boolean> {
    const now = clock.now();
    if ((await tasks.due('order', now + 1, 1)).length === 0) return false;
    const unread: Followed<'order'>[] = [];
    const due = await tasks.due('order', now + EARLY, BATCH);
    const isRead = (await readBatch(due, unread)) && unread.length < due.length;
    if (isRead)
      for (const { key } of unread) report({ uid: key as Hex, field: 'row', local: 'followed', upstream: 'error' });
    // While the other book fails for all, no order is read less often. Others are read first.
    const later = ({ key, version, value }: Followed<'order'>) =>
      put('order', key, clock.now() + READ_INTERVAL, value, version);
    await tasks.write(unread.map(isRead ? postpone : later));
    return isRead;
  }

  /**
   * Reads orders. If the other book responds with an error, they are read in parts: one does not block others.
   *
   * @param unread - Receives the orders that cannot be read alone. After a few of them, the other book is down.
   */
  async function readBatch(due: readonly Followed<'order'>[], unread: Followed<'order'>[]): Promise<boolean> {
    const uids = due.map(({ key }) => key as Hex); // the key of an order task is a UID
    const before = await versions(uids);
    const read = await upstream.getOrders(uids);
    if (read.status === 'failed' && read.httpStatus !== undefined) {
      const half = due.length >> 1;
      if (half > 0) return (await readBatch(due.slice(0, half), unread)) && readBatch(due.slice(half), unread);
      return unread.push(...due) < MAX_UNREAD;
    }
    if (read.status !== 'read') return false;
    const found = new Map(read.value.map((order) => [order.uid, order]));
    const orders = new Map((await store.orders.get(uids)).map((order) => [order.uid, order]));
    const current = new Set(uids.filter((uid) => orders.get(uid)?.version === before.get(uid)));
    await storeOrders([...found.values()].filter(({ uid }) => !orders.has(uid)));
    const disputed = new Set<Hex>();
    const isMain = read.host === upstream.name;
    for (const { key, value } of due) {
      const [order, other] = [orders.get(key as Hex), found.get(key as Hex)];
      if (order === undefined || other === undefined || !current.has(order.uid)) continue;
      if (await apply(order, other, isMain ? value : undefined)) disputed.add(order.uid);
    }
    await tasks.write(
      due.flatMap((task) => reschedule(task, { found, orders, current, disputed, readAt: read.startedAt })),
    );
    return true;
  }

  const versions = async (uids: readonly Hex[]) =>
    new Map((await store.orders.get(uids)).map(({ uid, version }) => [uid, version]));

  /**
   * Applies a read of an order. Returns whether the read shows less than this book knows.
   *
   * @param task - What earlier reads have shown. `undefined`: the read is of a failover, which may be far behind, so
   * what it lacks proves nothing.
   */
  async function apply(order: StoredOrder, found: UpstreamOrder, task: OrderTask | undefined): Promise<boolean> {
    const { uid } = order;
    const disputedAt = task?.disputedAt;
    const began = await findBeginning();
    const isFollowed = isChainFollowed() && began !== undefined;
    const chain = !isFollowed ? 'none' : found.creationDate >= began.at + CLOCKS ? 'all' : 'later';
    const isLasting = disputedAt !== undefined && disputedAt + LASTING <= clock.now();
    const result = reconcile(order, found, { chain, isLasting, now: seconds(clock) });
    if (found.onchainUser !== undefined && order.placement === null && !isChainsOwn(found, began?.at)) {
      const record = toInsert(found, book);
      const placement = record && toPlacement(found, record.order);
      if (placement !== undefined) await adopt([placement], found.creationDate);
    }
    if (result.events.length > 0) await adopt(result.events);
    if (order.quote === null && found.quote !== undefined && (await store.orders.addQuote(uid, found.quote)))
      book.cache?.forget([uid]);
    // A fill that was mined again in another block has the same amounts.
    const isLast = task?.endedAt !== undefined && task.endedAt + WINDOW <= clock.now();
    const isRepeated = isLast && !isFollowed && found.executedSellAmount > 0n;
    if (result.needsTrades || isRepeated) await adoptTradesOf(found, isFollowed ? began.block : undefined);
    // The trades stay as they are: other facts are reverted only.
    else if (result.isReverted)
      await adopt([...(await listStoredTrades(uid)), ...toFacts(found, [])], clock.now(), [uid]);
    for (const difference of result.differences) book.differs.notify(difference);
    return result.isDisputed && task !== undefined;
  }

  /**
   * Adopts the trades of an order.
   *
   * @param through - The last block whose trades this book does not read from the chain. `undefined`: any.
   */
  async function adoptTradesOf(found: UpstreamOrder, through: number | undefined): Promise<void> {
    const trades: UpstreamTrade[] = [];
    for (let page = TRADES; page === TRADES; ) {
      const read = await upstream.listTrades({ uid: found.uid }, { offset: trades.length, limit: TRADES });
      if (read.status !== 'read') return;
      trades.push(...read.value);
      page = read.value.length;
    }
    const earlier = trades.filter(({ blockNumber }) => through === undefined || blockNumber <= through);
    const isAll = earlier.length === trades.length;
    const events = toChainEvents(earlier, isAll ? new Map([[found.uid, found.executedFee]]) : new Map());
    // A list may be older than the order, or lack the transaction of a trade.
    const sold = events.reduce((sum, { sellAmount }) => sum + BigInt(sellAmount), 0n);
    const isComplete = through === undefined && sold === found.executedSellAmount;
    if (isComplete) await adopt([...events, ...toFacts(found, [])], clock.now(), [found.uid]);
    else await adopt(events);
  }

  async function listStoredTrades(uid: Hex): Promise<TradeChainEvent[]> {
    const trades: TradeChainEvent[] = [];
    for (let page = TRADES; page === TRADES; ) {
      const read = await store.chain.trades({ filter: { uid }, offset: trades.length, limit: TRADES });
      trades.push(...read);
      page = read.length;
    }
    return trades;
  }

  async function adopt(
    events: Parameters<typeof store.chain.adopt>[0],
    at = clock.now(),
    complete: readonly Hex[] = [],
  ): Promise<number> {
    if (events.length + complete.length === 0) return 0;
    const adopted = await store.chain.adopt(events, at, complete);
    // The fee of a trade is adopted without a log entry.
    if (adopted > 0) book.cache?.forget([...events.map(({ uid }) => uid), ...complete]);
    if (adopted > 0) book.wake();
    return adopted;
  }

  async function adoptTrades(trades: Parameters<typeof toChainEvents>[0]): Promise<number> {
    const began = await findBeginning();
    // While the chain is followed, it shows newer trades, and reverts them.
    const isOwn = (block: number) => isChainFollowed() && began !== undefined && block > began.block;
    return adopt(
      toChainEvents(
        trades.filter(({ blockNumber }) => !isOwn(blockNumber)),
        new Map(),
      ),
    );
  }

  /**
   * Stores orders that this book does not have, with what the other book knows of them. Their entries in the log have
   * the time of their creation: they are history.
   */
  async function storeOrders(orders: readonly UpstreamOrder[]): Promise<void> {
    const since = (await findBeginning())?.at;
    const records = orders.flatMap((order) => {
      // The other book keeps an order whose placement was reorganised away.
      if (isChainsOwn(order, since)) {
        report(
          { uid: order.uid, field: 'missing', local: 'not placed on chain', upstream: order.status ?? 'unknown' },
          'chain',
        );
        return [];
      }
      const record = toInsert(order, book);
      if (record === undefined)
        report({ uid: order.uid, field: 'row', local: 'not stored', upstream: describeDomain(order, book) });
      return record === undefined ? [] : [{ order, record }];
    });
    const oldest = Math.min(...records.map(({ order }) => order.creationDate));
    const facts: OrderChainEvent[] = [];
    const live: UpstreamOrder[] = [];
    const now = clock.now();
    for (const { order } of records) {
      const trades = order.executedSellAmount > 0n ? await listStoredTrades(order.uid) : [];
      facts.push(...toFacts(order, trades));
      const sold = trades.reduce((sum, { sellAmount }) => sum + BigInt(sellAmount), 0n);
      if (!isFinalOrder(order, now) || sold < order.executedSellAmount) live.push(order);
    }
    // Before the orders: after a crash, an order that is stored is not read as a new one again.
    await tasks.write(
      live.map(({ uid, signingScheme }) =>
        put('order', uid, now, { ecdsa: signingScheme === 'eip712' || signingScheme === 'ethsign' }, 0),
      ),
    );
    await adopt(facts, oldest);
    if (records.length > 0) await insert(records.map(({ record }) => record));
    await adopt(
      records.flatMap(({ order, record }) => toPlacement(order, record.order) ?? []),
      oldest,
    );
    book.wake();
  }

  /** Returns when and where this book began to read the chain; `undefined` if it has not. */
  async function findBeginning(): Promise<Beginning | undefined> {
    if (beginning !== undefined || (isLookedUp && !isChainFollowed())) return beginning;
    isLookedUp = true;
    const { indexedBlock } = await store.chain.progress();
    if (isChainFollowed() && indexedBlock !== null)
      await tasks.write([put('beginning', CHAIN, clock.now(), { block: indexedBlock.number }, 0)]); // unless it exists
    const [known] = await tasks.get('beginning', [CHAIN]);
    beginning = known && { at: known.due, block: known.value.block };
    return beginning;
  }

  /** Returns whether an order is stored by its placement alone: this book reads the contract that places it. */
  const isChainsOwn = (order: UpstreamOrder, since = Number.POSITIVE_INFINITY) =>
    order.onchainUser !== undefined &&
    order.creationDate >= since &&
    book.indexer?.onchainOrderContracts.includes(order.owner) === true;

  function report(
    difference: Omit<UpstreamDifference, 'resolution'>,
    resolution: UpstreamDifference['resolution'] = 'none',
  ): void {
    book.differs.notify({ ...difference, resolution });
  }

  /** The next read of an order that is absent or cannot be read. The interval doubles, up to an hour. */
  function postpone({ key, version, value }: Followed<'order'>) {
    const misses = (value.misses ?? 0) + 1;
    const { validTo } = unpackUid(key as Hex); // the key of an order task is a UID
    const isLongOver = misses > MISSES && (validTo + 86_400) * 1000 < clock.now();
    if (isLongOver) return drop('order', { key, version });
    const interval = Math.min(READ_INTERVAL * 2 ** Math.max(0, misses - MISSES), 3_600_000);
    return put('order', key, clock.now() + interval, { ...value, misses }, version);
  }

  function reschedule(task: Followed<'order'>, { found, orders, current, disputed, readAt }: Batch): TaskChange[] {
    const { key, version, value } = task;
    const uid = key as Hex; // the key of an order task is a UID
    const other = found.get(uid);
    const now = clock.now();
    const interval = value.ecdsa || !isChainFollowed() ? READ_INTERVAL : CHAIN_INTERVAL;
    const order = orders.get(uid);
    const local = order?.state;
    if (other === undefined) {
      if (value.misses === 1) report({ uid, field: 'missing', local: local ?? 'unknown', upstream: 'absent' });
      return [postpone(task)];
    }
    const isCounted = current.has(uid);
    const hasEndedHere = local === 'fulfilled' || local === 'cancelled';
    const end = hasEnded(other) || hasEndedHere ? (order && describeEnd(order)) || '' : undefined;
    const endedAt = value.endedAt === undefined || value.end !== end ? now : value.endedAt;
    const next: OrderTask = {
      ecdsa: other.signingScheme === 'eip712' || other.signingScheme === 'ethsign',
      ...(isCounted ? { readAt, ...(other.status === undefined ? {} : { status: other.status }) } : {}),
      ...(end === undefined ? {} : { end, endedAt }),
      ...(disputed.has(uid) ? { disputedAt: value.disputedAt ?? now } : {}),
    };
    if (!isCounted) return [put('order', key, now + INTERVAL, { ...value, ...next }, version)];
    if (end === undefined || disputed.has(uid)) return [put('order', key, now + interval, next, version)];
    const confirmation = CONFIRMATIONS.find((after) => endedAt + after > now);
    if (confirmation !== undefined) return [put('order', key, endedAt + confirmation, next, version)];
    // This book must agree: the chain may have shown its part of the end only.
    const isAgreed = other.status === 'expired' || other.status === local;
    if (!isAgreed) return [put('order', key, now + CHAIN_INTERVAL, next, version)];
    const isDone = order === undefined || isOver(order, now);
    return [
      drop('order', { key, version }),
      ...(isDone ? [] : [put('ended', key, order.validTo * 1000 + WINDOW, { end })]),
    ];
  }

  async function acquireLease(): Promise<boolean> {
    if (store.traits.writers === 'single') return true;
    const lease = await store.leases.acquire({ name: LEASE, holder, ttl: LEASE_TTL });
    return lease.status === 'held';
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    onFailure,
    async run(isStopping) {
      if (isChainFollowed()) await findBeginning();
      if (!hasBegun) await contact.begin();
      if (!hasBegun) await schedule.begin();
      hasBegun = true;
      while (!isStopping() && (await acquireLease())) {
        const hasRead = await readOrders();
        const isOwnersTurn = !hasRead || ++turns % OWNER_TURN === 0;
        const hasImported = isOwnersTurn && !isStopping() && (await owners.step());
        if (!hasRead && !hasImported) break;
      }
      contact.report();
      for (const kind of ['quote', 'ended'] as const)
        await tasks.write((await tasks.due(kind, clock.now(), BATCH)).map((task) => drop(kind, task)));
      return undefined;
    },
  });

  return {
    ...worker,
    get running() {
      return worker.running;
    },
    start() {
      hasBegun = false;
      worker.start();
    },
    async stop() {
      await worker.stop();
      if (store.traits.writers === 'many') await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}

/** When this book began to read the chain, in milliseconds since 1970, and the last block of the history before it. */
interface Beginning {
  readonly at: number;
  readonly block: number;
}

/** A read of orders, with what this book knows of them. */
interface Batch {
  readonly found: ReadonlyMap<Hex, UpstreamOrder>;
  readonly orders: ReadonlyMap<Hex, StoredOrder>;
  /** The orders that have not changed since the request was sent. */
  readonly current: ReadonlySet<Hex>;
  readonly disputed: ReadonlySet<Hex>;
  /** When the request was sent, in milliseconds since 1970. */
  readonly readAt: number;
}
