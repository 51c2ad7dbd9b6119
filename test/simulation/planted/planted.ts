import type { SimulationName } from '../index.ts';
import { PLANTED_ACCOUNTS } from './planted-accounts.ts';
import { PLANTED_ACTORS } from './planted-actors.ts';
import { PLANTED_AUCTIONS } from './planted-auctions.ts';
import { PLANTED_FAIRNESS, PLANTED_RECEIVERS } from './planted-fairness.ts';
import { PLANTED_PLACEMENTS } from './planted-placements.ts';
import { PLANTED_QUOTES } from './planted-quotes.ts';
import { PLANTED_REPLAYS } from './planted-replays.ts';
import { PLANTED_RETENTION } from './planted-retention.ts';
import { PLANTED_SETTLEMENTS } from './planted-settlements.ts';
import { PLANTED_SHORTFALLS } from './planted-shortfalls.ts';
import { PLANTED_STATISTICS } from './planted-statistics.ts';
import { PLANTED_SUBSCRIPTIONS } from './planted-subscriptions.ts';
import { PLANTED_TRANSACTIONS } from './planted-transactions.ts';
import { PLANTED_UPSTREAM } from './planted-upstream.ts';

/** A fault that is put into the code in memory, to see whether the simulator finds it. */
export interface PlantedFault {
  readonly name: string;
  readonly area:
    | 'account features'
    | 'upstream'
    | 'admission'
    | 'quotas'
    | 'cancellation'
    | 'totals'
    | 'reorganisation'
    | 'log'
    | 'streams'
    | 'caches'
    | 'delivery'
    | 'fairness'
    | 'leases'
    | 'group commit'
    | 'outcomes'
    | 'expiry'
    | 'auctions'
    | 'entity tags'
    | 'placements'
    | 'quotes'
    | 'receivers'
    | 'replays'
    | 'retention'
    | 'in flight'
    | 'two books'
    | 'nodes'
    | 'drivers'
    | 'settlements'
    | 'shortfalls'
    | 'subscriptions'
    | 'statistics'
    | 'transactions';
  readonly store: SimulationName;
  /** Whether a few seeds find it, so that `npm test` includes it. */
  readonly isQuick?: true;
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** The faults. */
export const PLANTED: readonly PlantedFault[] = [
  {
    name: 'the quota is off by one',
    isQuick: true,
    area: 'quotas',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: 'if (used >= quota)',
    replace: 'if (used > quota)',
  },
  {
    name: 'a replaced order does not free its place',
    area: 'quotas',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: 'replaced?.quotaClass === order.quotaClass && isLive(replaced) ? 1 : 0',
    replace: '0',
  },
  {
    name: 'presign orders count as open',
    area: 'quotas',
    store: 'shared',
    file: 'src/orders/submit.ts',
    find: "return creation.signingScheme === 'eip1271' && eip1271 === 'verified' ? 'open' : 'pending';",
    replace: "return creation.signingScheme === 'presign' || eip1271 === 'verified' ? 'open' : 'pending';",
  },
  {
    name: 'the minimum validity is not checked',
    area: 'admission',
    store: 'memory',
    file: 'src/admission/checks.ts',
    find: 'const earliest = now + limits.minValidity;',
    replace: 'const earliest = now - 100000;',
  },
  {
    name: 'an amount of zero is accepted',
    area: 'admission',
    store: 'memory',
    file: 'src/admission/checks.ts',
    find: 'if (data.sellAmount > 0n && data.buyAmount > 0n) return undefined;',
    replace: 'if (data.sellAmount > 0n) return undefined;',
  },
  {
    name: 'a failed group of orders is acknowledged',
    area: 'group commit',
    store: 'memory',
    file: 'src/orders/insert-retries.ts',
    find: '    if (!alone) {\n      member.fail(last);',
    replace: "    if (!alone) {\n      member.settle(member.inserts.map(() => ({ status: 'inserted' })));",
  },
  {
    name: 'outcomes of a group are shifted by one',
    area: 'group commit',
    store: 'shared',
    file: 'src/orders/group-commit.ts',
    find: 'start += member.inserts.length;',
    replace: 'start += 1;',
  },
  {
    name: 'a book that closes does not wait for submissions',
    area: 'group commit',
    store: 'memory',
    file: 'src/orders/group-commit.ts',
    find: 'while (active.size > 0)',
    replace: 'while (active.size > 1e9)',
  },
  {
    name: 'an unknown outcome is reported as accepted',
    area: 'outcomes',
    store: 'shared',
    file: 'src/orders/submit.ts',
    find: "    case 'inserted':\n      return undefined;",
    replace: "    case 'inserted':\n    case 'unknown' as never:\n      return undefined;",
  },
  {
    name: 'an unknown outcome is reported as a rejection',
    isQuick: true,
    area: 'outcomes',
    store: 'shared',
    file: 'src/orders/submit.ts',
    find: "return error.code === 'OutcomeUnknown' ? { status: 'unknown', uid, error } : { status: 'rejected', error };",
    replace:
      "return error.code === 'OutcomeUnknown' && uid === '0x' ? { status: 'unknown', uid, error } : { status: 'rejected', error };",
  },
  {
    name: 'a failed cancellation is reported as done',
    isQuick: true,
    area: 'cancellation',
    store: 'shared',
    file: 'src/orders/cancel.ts',
    find: '    throw failure;\n  });',
    replace: "    return { status: 'cancelled' } as const;\n  });",
  },
  {
    name: 'any signature cancels an order',
    area: 'cancellation',
    store: 'memory',
    file: 'src/orders/cancel.ts',
    find: 'uids.every((each) => unpackUid(each).owner === signer)',
    replace: 'uids.some((each) => unpackUid(each).owner === signer)',
  },
  {
    name: 'an expired order can be cancelled',
    area: 'cancellation',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: 'const reason = checkCancellable(records[i], now);',
    replace: 'const reason = checkCancellable(records[i], now - 1000);',
  },
  {
    name: 'the cache does not process the log',
    isQuick: true,
    area: 'caches',
    store: 'memory',
    file: 'src/orders/read.ts',
    find: 'if (order !== undefined) drop(toKey(uid), order);',
    replace: '',
  },
  {
    name: 'the cache keeps an order that was read before a change',
    area: 'caches',
    store: 'memory',
    file: 'src/orders/read.ts',
    find: 'if (since !== version || order.lacksDocument || pauses > 0) return;',
    replace: 'if (order.lacksDocument || pauses > 0) return;',
  },
  {
    name: 'concurrent reads share a result that is too old',
    area: 'caches',
    store: 'shared',
    file: 'src/concurrency/coalesce.ts',
    find: 'flight.next ??= flight.result.then(startNext, startNext);',
    replace: 'flight.next ??= flight.result;',
  },
  {
    name: 'a read by UID returns the cached order without reading the log',
    area: 'caches',
    store: 'memory',
    file: 'src/orders/read.ts',
    find: 'const version = cache && (cache.current() ?? (await cache.refresh()));\n  const cached = cache?.get(uid);',
    replace: 'const version = undefined;\n  const cached = cache?.get(uid);',
  },
  {
    name: 'the store takes an old entry of the log for the newest one',
    area: 'caches',
    store: 'memory',
    file: 'adapters/memory/index.ts',
    find: 'isNewest: (id) => id === last(),',
    replace: 'isNewest: (id) => id <= last(),',
  },
  {
    name: 'the text of a cached order keeps its first status',
    area: 'caches',
    store: 'memory',
    file: 'src/records/order-json.ts',
    find: 'if (order.rendered?.status === status) return',
    replace: 'if (order.rendered !== undefined) return',
  },
  {
    name: 'a tick is missing between listeners and the log',
    area: 'log',
    store: 'memory',
    file: 'src/event-log/event-dispatcher.ts',
    find: 'cursor = event.id;',
    replace: 'cursor = events.at(-1)?.id === event.id ? event.id + 1 : event.id;',
  },
  {
    name: 'an expiry is not logged',
    isQuick: true,
    area: 'log',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: 'if (emitsExpiry(row, listEventsOfOrder(row.uid))) record(createExpiryEvent(row.uid, row.validTo));',
    replace: '',
  },
  {
    name: 'a reinstated order is not logged',
    area: 'log',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: "    record({ type: 'reinstated', uid: row.uid, owner: row.owner, at });",
    replace: '',
  },
  {
    name: 'orders are expired one second early',
    area: 'expiry',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: 'expiring.firstWhere(({ validTo }) => validTo >= now);',
    replace: 'expiring.firstWhere(({ validTo }) => validTo > now);',
  },
  {
    name: 'expiries that a clock ahead has recorded are not reverted',
    area: 'expiry',
    store: 'shared',
    file: 'src/orders/expiry.ts',
    find: 'write(() => store.orders.reinstate({ validFrom, at: clock.now(), limit })));',
    replace: 'write(async () => 0 * validFrom * limit));',
  },
  {
    name: 'the status does not depend on the time',
    area: 'expiry',
    store: 'memory',
    file: 'src/records/order-json.ts',
    find: 'validTo < now',
    replace: 'validTo < now - 30',
  },
  {
    name: 'a rollback keeps one block too many',
    area: 'reorganisation',
    store: 'memory',
    file: 'src/chain/fork-search.ts',
    find: 'const outcome = await rollback(to, indexedBlock);',
    replace: 'const outcome = await rollback(to + 1, indexedBlock);',
  },
  {
    name: 'the parent hash of a block is not compared',
    area: 'reorganisation',
    store: 'memory',
    file: 'src/chain/block-indexing.ts',
    find: 'if (next.parentHash !== last.hash) break;',
    replace: '',
  },
  {
    name: 'the hash of the checkpoint is not compared',
    isQuick: true,
    area: 'reorganisation',
    store: 'memory',
    file: 'src/chain/indexer-step.ts',
    find: 'if (block.hash !== indexedBlock.hash) return forks.findFork(node, head, indexedBlock, stored);',
    replace: '',
  },
  {
    name: 'blocks are not read a second time',
    area: 'totals',
    store: 'memory',
    file: 'src/chain/indexer-step.ts',
    find: 'await secondRead.run(nodes.usable, node, end, stored);',
    replace: '',
  },
  {
    name: 'the last of two trades of a block is lost',
    area: 'totals',
    store: 'memory',
    file: 'src/chain/log-reader.ts',
    find: '    return logs.flatMap((log) => {',
    replace: '    return logs.slice(0, 2).flatMap((log) => {',
  },
  {
    name: 'a revoked pre-signature still counts',
    isQuick: true,
    area: 'totals',
    store: 'memory',
    file: 'src/protocol/event-decoder.ts',
    find: 'signed: signed === 1',
    replace: 'signed: signed !== undefined',
  },
  {
    name: 'a stream that resumes repeats the last entry',
    isQuick: true,
    area: 'streams',
    store: 'memory',
    file: 'src/streams/broadcaster.ts',
    find: 'await subscriber.begin(after ?? newest, newest, await',
    replace: 'await subscriber.begin(Math.max(0, (after ?? newest) - 1), newest, await',
  },
  {
    name: 'a subscriber that joins during a read misses it',
    area: 'streams',
    store: 'shared',
    file: 'src/streams/broadcaster.ts',
    find: 'if (running !== undefined) joinedDuringRead.add(subscriber);',
    replace: '',
  },
  {
    name: 'a stream skips the last entry of a page',
    area: 'streams',
    store: 'shared',
    file: 'src/streams/broadcaster.ts',
    find: 'items.forEach((item, i) => {',
    replace: 'items.forEach((item, i) => {\n          if (i > 1) return;',
  },
  {
    name: 'a revert withdraws no notification',
    isQuick: true,
    area: 'delivery',
    store: 'memory',
    file: 'src/notifications/notification-rules.ts',
    find: "          changes.push({ type: 'withdraw', id: getNotificationId(type, event) });\n        break;",
    replace: '          void type;\n        break;',
  },
  {
    name: 'the cursor of notifications is not compared',
    area: 'delivery',
    store: 'shared',
    file: 'adapters/memory/account-store.ts',
    find: "if (cursor !== after) return { status: 'moved', cursor };",
    replace: '',
  },
  {
    name: 'a failed delivery counts as delivered',
    area: 'delivery',
    store: 'memory',
    file: 'src/notifications/delivery-dispatcher.ts',
    find: "return { status: 'retry', at: clock.now() + Math.ceil(delay), error: text } as const;",
    replace: "return { status: 'delivered' } as const;",
  },
  {
    name: 'a claim of a delivery never expires',
    area: 'delivery',
    store: 'memory',
    file: 'src/notifications/delivery-dispatcher.ts',
    find: 'const claimDuration = 2 * timeout;',
    replace: 'const claimDuration = 2000 * timeout;',
  },
  {
    name: 'a lease of the indexer never expires',
    area: 'leases',
    store: 'shared',
    file: 'src/chain/indexer-step.ts',
    find: 'const LEASE_TTL_MS = 15_000;',
    replace: 'const LEASE_TTL_MS = 15_000_000;',
  },
  {
    name: 'a lease of the sweep never expires',
    area: 'leases',
    store: 'shared',
    file: 'src/orders/expiry.ts',
    find: 'ttl: LEASE_INTERVALS * interval',
    replace: 'ttl: 20000 * interval',
  },
  {
    name: 'the worker of the dispatcher stops after a failure',
    area: 'log',
    store: 'shared',
    file: 'src/concurrency/lifecycle.ts',
    find: 'delay = retryDelay;',
    replace: 'return;',
  },
  {
    name: 'a busy order is lost',
    area: 'group commit',
    store: 'shared',
    file: 'src/orders/group-commit.ts',
    find: '.then((retry) => retry && add(retry), member.fail)',
    replace: '.then(() => {}, member.fail)',
  },
  {
    name: 'a replacement does not cancel the replaced order',
    area: 'cancellation',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: 'if (replaced !== undefined) cancelRow(replaced, order.creationDate);',
    replace: '',
  },
  {
    name: 'deliveries are attempted one after the other',
    isQuick: true,
    area: 'fairness',
    store: 'memory',
    file: 'src/notifications/delivery-dispatcher.ts',
    find: 'await isWaiting;',
    replace: 'await isWaiting; await Promise.all(inProgress.keys());',
  },
  {
    name: 'a notification does not wait for an earlier one of its target',
    area: 'delivery',
    store: 'memory',
    file: 'adapters/memory/deliveries.ts',
    find: 'const [row] = queue.pending.slice(0, 1);',
    replace: 'const row = queue.pending.slice(0, Number.POSITIVE_INFINITY).at(-1);',
  },
  {
    name: 'a stream of notifications lacks withdrawals',
    area: 'streams',
    store: 'memory',
    file: 'src/notifications/notification-stream.ts',
    find: 'const keysOf = entries.map(({ account }) => [account]);',
    replace: "const keysOf = entries.map(({ account, type }) => (type === 'withdrawn' ? [] : [account]));",
  },
  {
    name: 'a notification that is dated after the clock waits until its time',
    area: 'fairness',
    store: 'memory',
    file: 'adapters/memory/account-store.ts',
    find: 'Math.min(causedAt, addedAt)',
    replace: 'causedAt',
  },
  ...PLANTED_ACCOUNTS,
  ...PLANTED_UPSTREAM,
  ...PLANTED_FAIRNESS,
  ...PLANTED_RECEIVERS,
  ...PLANTED_ACTORS,
  ...PLANTED_AUCTIONS,
  ...PLANTED_PLACEMENTS,
  ...PLANTED_QUOTES,
  ...PLANTED_RETENTION,
  ...PLANTED_SUBSCRIPTIONS,
  ...PLANTED_TRANSACTIONS,
  ...PLANTED_SETTLEMENTS,
  ...PLANTED_SHORTFALLS,
  ...PLANTED_REPLAYS,
  ...PLANTED_STATISTICS,
];
