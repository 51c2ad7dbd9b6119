import { createWorker, type Worker } from '../concurrency/worker.ts';
import type { OrderChainEvent } from '../ports/chain-store.ts';
import { seconds } from '../ports/clock.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { UpstreamOrder } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';
import { reconcile, toChainEvents, toFacts, toPlacement, type UpstreamDifference } from '../records/reconcile.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { createImport } from './import.ts';
import { drop, type Followed, type OrderTask, put } from './tasks.ts';
import { hasEnded, toInsert } from './wire.ts';

/** Name of the lease: one process of a store follows. */
const LEASE = 'upstream';
const LEASE_TTL = 30_000;

/** Milliseconds between two looks for due tasks. */
const INTERVAL = 1_000;

/** Key of the task that has the time at which this book began to read the chain. */
const CHAIN = 'chain';

/** Orders of one read, the maximum of the interface. */
export const BATCH = 128;

/** Milliseconds from a read of a live order to the next one, if the owner can cancel it off chain. */
const READ_INTERVAL = 45_000;

/** The same for an order whose changes are all on chain, which this book follows. */
const CHAIN_INTERVAL = 600_000;

/** Milliseconds by which a read may be early, so that batches are full. */
const EARLY = 15_000;

/** Milliseconds from the end of an order to the reads that confirm it: a reorganisation can revert its end. */
const CONFIRMATIONS = [60_000, 300_000, 1_200_000] as const;

/** What the follower needs besides the parts that the upstream shares. */
export interface FollowerContext {
  readonly book: UpstreamBook;
  readonly insert: Insert;
  readonly holder: string;
  /** Whether this book reads the chain, up to its head. */
  readonly isChainFollowed: () => boolean;
}

/**
 * Creates the worker that keeps followed orders current. The chain shows fills, presignatures and invalidations. The
 * other book is read for what only it knows: cancellations off chain, and orders that were posted elsewhere.
 *
 * A read counts only if nothing has changed the order since the request was sent. Absence is never evidence.
 */
export function createFollower({ book, insert, holder, isChainFollowed }: FollowerContext): Worker {
  const { upstream, store, tasks, clock, onFailure } = book;
  let beginning: number | undefined;
  const owners = createImport({ book, storeOrders, adoptTrades });

  /** Reads a batch of due orders. Returns false if none is due, or none can be read now. */
  async function readOrders(): Promise<boolean> {
    const now = clock.now();
    if ((await tasks.due('order', now + 1, 1)).length === 0) return false;
    const due = await tasks.due('order', now + EARLY, BATCH);
    const uids = due.map(({ key }) => key as Hex); // the key of an order task is a UID
    const before = await versions(uids);
    const read = await upstream.getOrders(uids);
    if (read.status !== 'read') return false;
    const found = new Map(read.value.map((order) => [order.uid, order]));
    const orders = new Map((await store.orders.get(uids)).map((order) => [order.uid, order]));
    const current = new Set(uids.filter((uid) => orders.get(uid)?.version === before.get(uid)));
    await storeOrders([...found.values()].filter(({ uid }) => !orders.has(uid)));
    for (const uid of current) {
      const [order, other] = [orders.get(uid), found.get(uid)];
      if (order !== undefined && other !== undefined) await apply(order, other);
    }
    await tasks.write(due.map((task) => reschedule(task, found, orders, current, read.startedAt)));
    return true;
  }

  const versions = async (uids: readonly Hex[]) =>
    new Map((await store.orders.get(uids)).map(({ uid, version }) => [uid, version]));

  /** Applies a read of an order. */
  async function apply(order: StoredOrder, found: UpstreamOrder): Promise<void> {
    const { events, needsTrades, differences } = reconcile(order, found, isChainFollowed(), seconds(clock));
    if (found.onchainUser !== undefined && order.placement === null && !isChainsOwn(found, await findBeginning())) {
      const record = toInsert(found, book);
      const placement = record && toPlacement(found, record.order);
      if (placement !== undefined) await adopt([placement], found.creationDate);
    }
    if (events.length > 0) await adopt(events);
    if (order.quote === null && found.quote !== undefined && (await store.orders.addQuote(order.uid, found.quote)))
      book.cache?.forget([order.uid]);
    if (needsTrades) {
      const read = await upstream.listTrades({ uid: order.uid }, { offset: 0, limit: 1000 });
      const fees = new Map([[order.uid, found.executedFee]]);
      if (read.status === 'read') await adopt(toChainEvents(read.value, fees));
    }
    for (const difference of differences) book.differs.notify(difference);
  }

  async function adopt(events: Parameters<typeof store.chain.adopt>[0], at = clock.now()): Promise<number> {
    if (events.length === 0) return 0;
    const adopted = await store.chain.adopt(events, at);
    // The fee of a trade is adopted without a log entry.
    if (adopted > 0) book.cache?.forget(events.map(({ uid }) => uid));
    if (adopted > 0) book.wake();
    return adopted;
  }

  async function adoptTrades(trades: Parameters<typeof toChainEvents>[0]): Promise<number> {
    const { indexedBlock } = await store.chain.progress();
    // While the chain is followed, it shows newer trades, and reverts them.
    const isOwn = (block: number) => isChainFollowed() && indexedBlock !== null && block > indexedBlock.number;
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
    const since = await findBeginning();
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
        report({ uid: order.uid, field: 'row', local: 'not stored', upstream: 'another domain' });
      return record === undefined ? [] : [{ order, record }];
    });
    const oldest = Math.min(...records.map(({ order }) => order.creationDate));
    const facts: OrderChainEvent[] = [];
    for (const { order } of records) {
      const filter = { uid: order.uid };
      facts.push(...toFacts(order, order.executedFee > 0n ? await store.chain.trades({ filter, limit: 1000 }) : []));
    }
    // Before the orders: after a crash, an order that is stored is not read as a new one again.
    const now = clock.now();
    const live = records.filter(({ order }) => !isFinal(order, now));
    await tasks.write(
      live.map(({ order: { uid, signingScheme } }) =>
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

  /** Returns when this book began to read the chain, in milliseconds since 1970. */
  async function findBeginning(): Promise<number> {
    if (beginning !== undefined) return beginning;
    if (isChainFollowed()) await tasks.write([put('beginning', CHAIN, clock.now(), {}, 0)]); // unless it exists
    const [known] = await tasks.get('beginning', [CHAIN]);
    beginning = known?.due;
    return beginning ?? Number.POSITIVE_INFINITY;
  }

  /** Returns whether an order is stored by its placement alone: this book reads the contract that places it. */
  const isChainsOwn = (order: UpstreamOrder, since: number) =>
    order.onchainUser !== undefined &&
    order.creationDate >= since &&
    book.indexer?.onchainOrderContracts.includes(order.owner) === true;

  function report(
    difference: Omit<UpstreamDifference, 'resolution'>,
    resolution: UpstreamDifference['resolution'] = 'none',
  ): void {
    book.differs.notify({ ...difference, resolution });
  }

  function reschedule(
    { key, version, value }: Followed<'order'>,
    found: ReadonlyMap<Hex, UpstreamOrder>,
    orders: ReadonlyMap<Hex, StoredOrder>,
    current: ReadonlySet<Hex>,
    readAt: number,
  ) {
    const uid = key as Hex; // the key of an order task is a UID
    const other = found.get(uid);
    const now = clock.now();
    const interval = value.ecdsa || !isChainFollowed() ? READ_INTERVAL : CHAIN_INTERVAL;
    if (other === undefined) {
      const misses = (value.misses ?? 0) + 1;
      if (misses === 2)
        report({ uid, field: 'missing', local: orders.get(uid)?.state ?? 'unknown', upstream: 'absent' });
      return put('order', key, now + interval, { ...value, misses }, version);
    }
    const isCounted = current.has(uid);
    const local = orders.get(uid)?.state;
    const isOver = hasEnded(other) || local === 'fulfilled' || local === 'cancelled';
    const endedAt = isOver ? (value.endedAt ?? now) : undefined;
    const next: OrderTask = {
      ecdsa: other.signingScheme === 'eip712' || other.signingScheme === 'ethsign',
      ...(isCounted ? { readAt, ...(other.status === undefined ? {} : { status: other.status }) } : {}),
      ...(endedAt === undefined ? {} : { endedAt }),
    };
    if (!isCounted) return put('order', key, now + INTERVAL, { ...value, ...next }, version);
    if (endedAt === undefined) return put('order', key, now + interval, next, version);
    const confirmation = CONFIRMATIONS.find((after) => endedAt + after > now);
    return confirmation === undefined
      ? drop('order', { key, version })
      : put('order', key, endedAt + confirmation, next, version);
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
      // Orders before owners: an import must not delay what people wait for.
      while (!isStopping() && (await acquireLease())) {
        const hasRead = await readOrders();
        const hasImported = !isStopping() && (await owners.step());
        if (!hasRead && !hasImported) break;
      }
      await removeOldQuotes();
      return undefined;
    },
  });

  async function removeOldQuotes(): Promise<void> {
    await tasks.write((await tasks.due('quote', clock.now(), BATCH)).map((task) => drop('quote', task)));
  }

  return {
    ...worker,
    get running() {
      return worker.running;
    },
    async stop() {
      await worker.stop();
      if (store.traits.writers === 'many') await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}

/** Returns whether an order has ended so long ago that nothing reverts it. */
function isFinal(order: UpstreamOrder, now: number): boolean {
  const [, , window] = CONFIRMATIONS;
  const { creationDate, validTo, userValidTo = validTo } = order;
  return hasEnded(order) && creationDate + window < now && userValidTo * 1000 + window < now;
}
