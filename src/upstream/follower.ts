import { createWorker, type Worker } from '../concurrency/lifecycle.ts';
import { createAdoption } from './adoption.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { createImport } from './import.ts';
import { BATCH, createOrderReads, INTERVAL } from './order-reads.ts';
import type { OwnerSchedule } from './owner-schedule.ts';
import { drop } from './tasks.ts';

/** Name of the lease: one process of a store follows. */
const LEASE = 'upstream';
const LEASE_TTL = 30_000;

/** While orders are due, each fifth read is of an owner: an import must not delay them. */
const OWNER_TURN = 5;

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
 */
export function createFollower({ book, insert, holder, schedule, isChainFollowed }: FollowerContext): Worker {
  const { store, tasks, clock, onFailure } = book;
  const adoption = createAdoption(book, insert, isChainFollowed);
  const orders = createOrderReads(book, adoption, isChainFollowed);
  const owners = createImport(book, schedule, adoption);
  const contact = createContact(book);
  let hasBegun = false;
  let turns = 0;

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
      if (isChainFollowed()) await adoption.findBeginning();
      if (!hasBegun) await contact.begin();
      if (!hasBegun) await schedule.begin();
      hasBegun = true;
      while (!isStopping() && (await acquireLease())) {
        const hasRead = await orders.step();
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

/** A UID that no order has: the first read proves only that the upstream responds. */
const NO_ORDER = `0x${'00'.repeat(56)}` as const;

/** Creates the check whether the upstream can be reached: each class that begins to fail is reported once. */
export function createContact({ upstream, onFailure }: Pick<UpstreamBook, 'upstream' | 'onFailure'>) {
  const reported = new Map<string, number>();

  return {
    /** Sends a first read, so that a wrong URL is known before the first order. */
    async begin(): Promise<void> {
      await upstream.getOrders([NO_ORDER]);
      this.report();
    },
    report(): void {
      for (const [name, { since, reason }] of Object.entries(upstream.status().failing)) {
        if (reported.get(name) === since) continue;
        reported.set(name, since);
        onFailure(new Error(`upstream ${upstream.name}: ${name} fails: ${reason}`));
      }
    },
  };
}
