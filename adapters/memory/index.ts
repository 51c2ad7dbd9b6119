import type {
  CancelOutcome,
  CancelRefusal,
  CancelRequest,
  Domain,
  InsertOutcome,
  NewEvent,
  NewOrder,
  OrderCounts,
  OrderCursor,
  OrderInsert,
  OrderQuery,
  Store,
  StoreContext,
  StoredEvent,
  StoredOrder,
} from 'intentbook';
import { StoreError } from 'intentbook';
import type { OrderProgress, RowChange } from 'intentbook/adapter';
import {
  assertSameDomain,
  expiryOf,
  judgeCancellation,
  leasesInMemory,
  orderStatus,
  tellsExpiry,
  versionWhenPlaced,
} from 'intentbook/adapter';
import { memoryAuctions } from './auctions.ts';
import { memoryChain } from './chain.ts';
import { memoryQuotes } from './quotes.ts';
import { SortedList } from './sorted.ts';

export { memoryAccountStore } from './accounts.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A row: what was inserted, and what has become of it. */
type Row = Omit<NewOrder, 'state' | 'budget' | 'validTo' | 'quote'> &
  Mutable<Omit<StoredOrder, 'fullAppData'> & OrderProgress> & {
    cancelledOffChain: boolean;
    readonly placedOnChain: boolean;
  };

/**
 * A store that keeps everything in memory and forgets it with the process. For tests, for trying things out, and as
 * the oracle that other stores are compared with.
 */
export function memoryStore(): Store {
  const rows = new Map<string, Row>();
  const byAge = new SortedList<Row>(newestFirst);
  const byOwner = new Map<string, SortedList<Row>>();
  const documents = new Map<string, string>();
  const quotes = memoryQuotes();
  const auctions = memoryAuctions();
  // Hashes of documents to which no order refers, the oldest first.
  const unreferenced = new Set<string>();
  const log: StoredEvent[] = [];
  // Orders that are neither cancelled nor filled, by owner and budget, the first to expire first.
  const living = new Map<string, SortedList<Row>>();
  const expiring = new SortedList<Row>(soonestFirst);
  let recorded: Domain | undefined;
  let opened: StoreContext | undefined;

  const leases = leasesInMemory(() => context().clock.now());

  function context(): StoreContext {
    if (opened === undefined) throw new StoreError('Closed', 'the memory store is not open');
    return opened;
  }

  const livingOf = (row: { owner: string; budget: string }) =>
    entry(living, `${row.owner} ${row.budget}`, () => new SortedList<Row>(soonestFirst));

  function count(owner: string, budget: string, now: number): number {
    const list = livingOf({ owner, budget });
    return list.length - list.firstWhere((row) => row.validTo >= now);
  }

  function record(event: NewEvent): void {
    log.push({ id: log.length + 1, ...event });
  }

  function addLiving(row: Row): void {
    if (!isLiving(row)) return;
    livingOf(row).add(row);
    expiring.add(row);
  }

  function removeLiving(row: Row): void {
    livingOf(row).remove(row);
    expiring.remove(row);
  }

  function cancelRow(row: Row, at: number): void {
    removeLiving(row);
    row.state = 'cancelled';
    row.invalidated = true;
    row.cancelledOffChain = true;
    row.version++;
    record({ type: 'cancelled', uid: row.uid, owner: row.owner, at });
  }

  function insertOne({ order, document, cap, replaces }: OrderInsert): InsertOutcome {
    const now = Math.floor(order.creationDate / 1000);
    if (rows.has(order.uid)) return { status: 'duplicate' };
    const replaced = replaces === undefined ? undefined : rows.get(replaces);
    if (replaces !== undefined) {
      const reason = judgeCancellation(replaced, now);
      if (reason !== undefined) return { status: 'irreplaceable', reason };
    }
    if (cap !== undefined) {
      const freed = replaced?.budget === order.budget ? 1 : 0;
      const used = count(order.owner, order.budget, now) - freed;
      if (used >= cap) return { status: 'capped', limit: cap, count: used };
    }

    if (replaced !== undefined) cancelRow(replaced, order.creationDate);
    addRow({ ...order, ...UNTOUCHED, quote: order.quote ?? null });
    if (document !== undefined && !documents.has(document.hash)) documents.set(document.hash, document.document);
    unreferenced.delete(order.appData);
    record({ type: 'created', uid: order.uid, owner: order.owner, at: order.creationDate });
    chain.fold(order.uid, order.creationDate);
    return { status: 'inserted' };
  }

  function addRow(row: Row): void {
    rows.set(row.uid, row);
    byAge.add(row);
    for (const account of accountsOf(row)) entry(byOwner, account, () => new SortedList<Row>(newestFirst)).add(row);
    addLiving(row);
  }

  function removeRow(row: Row): void {
    rows.delete(row.uid);
    byAge.remove(row);
    for (const account of accountsOf(row)) byOwner.get(account)?.remove(row);
    removeLiving(row);
  }

  const chain = memoryChain({
    find: (uid) => rows.get(uid),
    record,
    placedBy: (account) => [...(byOwner.get(account)?.from(0) ?? [])].map(({ uid }) => uid),
    change(change: RowChange) {
      if (change.type === 'insert') {
        const { order, progress } = change;
        const version = versionWhenPlaced(log.length);
        addRow({ ...order, ...UNTOUCHED, ...progress, quote: order.quote ?? null, placedOnChain: true, version });
        unreferenced.delete(order.appData);
        return;
      }
      const row = rows.get(change.uid);
      if (row === undefined) throw new Error('a fact changes an order that is not there');
      // Its places in the lists depend on what changes.
      removeRow(row);
      if (change.type === 'delete') return;
      Object.assign(row, change.progress);
      row.version++;
      addRow(row);
    },
  });

  function cancel({ uids, now, cancelledAt }: CancelRequest): CancelOutcome {
    const unique = [...new Set(uids)];
    const found = unique.map((uid) => rows.get(uid));
    const refuse = (wanted: (reason: CancelRefusal) => boolean): CancelOutcome | undefined => {
      for (const [i, uid] of unique.entries()) {
        const reason = judgeCancellation(found[i], now);
        if (reason !== undefined && wanted(reason)) return { status: 'refused', uid, reason };
      }
      return undefined;
    };
    const refused = refuse((reason) => reason === 'missing') ?? refuse(() => true);
    if (refused !== undefined) return refused;
    for (const row of found) if (row !== undefined) cancelRow(row, cancelledAt);
    return { status: 'cancelled' };
  }

  function expire(now: number, limit: number): number {
    const due = [...expiring.from(0)].slice(
      0,
      Math.min(
        limit,
        expiring.firstWhere(({ validTo }) => validTo >= now),
      ),
    );
    for (const row of due) {
      removeLiving(row);
      row.swept = true;
      if (tellsExpiry(row, chain.factsOf(row.uid))) record(expiryOf(row.uid, row.validTo));
    }
    return due.length;
  }

  function prune(before: number, limit: number): number {
    const old = [...byAge.from(0)]
      .filter((row) => row.creationDate < before * 1000 && row.validTo < before && !isLiving(row))
      .slice(-limit);
    for (const row of old) removeRow(row);
    return old.length;
  }

  function list(query: OrderQuery): StoredOrder[] {
    const source = query.owner === undefined ? byAge : byOwner.get(query.owner);
    const page: StoredOrder[] = [];
    if (source === undefined) return page;
    const { after } = query;
    let skip = query.offset ?? 0;
    const start = after === undefined ? 0 : source.firstWhere((row) => newestFirst(row, after) > 0);
    for (const row of source.from(start)) {
      if (page.length === query.limit) break;
      if (!matches(row, query)) continue;
      if (skip > 0) skip--;
      else page.push({ ...stored(row), quote: null });
    }
    return page;
  }

  function stored(row: Row): StoredOrder {
    const { uid, body, version, creationDate, validTo, state, invalidated, executedSellAmount, executedBuyAmount } =
      row;
    const { executedFeeAmount, executedFee, executedFeeToken, placement, quote } = row;
    const fullAppData = documents.get(row.appData) ?? null;
    return {
      ...{ uid, body, version, creationDate, validTo, state, invalidated, executedSellAmount, executedBuyAmount },
      ...{ executedFeeAmount, executedFee, executedFeeToken, fullAppData, placement, quote },
    };
  }

  return {
    traits: { name: 'memory', durable: false, writers: 'single', hostTransaction: false },
    async open(next) {
      if (opened !== undefined) throw new StoreError('WriterActive', 'this memory store is in use by another book');
      const { domain } = next;
      recorded ??= { chainId: domain.chainId, settlementContract: domain.settlementContract };
      assertSameDomain(recorded, domain);
      opened = next;
    },
    async close() {
      opened = undefined;
    },
    async check() {
      context();
    },
    orders: {
      async insert(inserts, options) {
        context();
        if (options?.transaction !== undefined) {
          throw new StoreError('Unsupported', 'the memory store has no transactions to join');
        }
        return inserts.map(insertOne);
      },
      async get(uids) {
        context();
        return [...new Set(uids)].flatMap((uid) => {
          const row = rows.get(uid);
          return row === undefined ? [] : [stored(row)];
        });
      },
      async list(query) {
        context();
        return list(query);
      },
      async cancel(request) {
        context();
        return cancel(request);
      },
      async count(owner, now): Promise<OrderCounts> {
        context();
        return { open: count(owner, 'open', now), pending: count(owner, 'pending', now) };
      },
      async expire(now, limit) {
        context();
        return expire(now, limit);
      },
      async prune(before, limit) {
        context();
        return prune(before, limit);
      },
    },
    appData: {
      async put({ hash, document }, keep = Number.POSITIVE_INFINITY) {
        context();
        if (documents.has(hash)) return 'known';
        documents.set(hash, document);
        unreferenced.add(hash);
        for (const oldest of unreferenced) {
          if (unreferenced.size <= keep) break;
          unreferenced.delete(oldest);
          documents.delete(oldest);
        }
        return 'stored';
      },
      async get(hash) {
        context();
        return documents.get(hash);
      },
    },
    quotes: {
      async insert(quote) {
        context();
        return quotes.insert(quote);
      },
      async match(query) {
        context();
        return quotes.match(query);
      },
      async prune(now, limit) {
        context();
        return quotes.prune(now, limit);
      },
    },
    events: {
      async last() {
        context();
        return log.length;
      },
      async after(id, limit) {
        context();
        return log.slice(id, id + limit);
      },
      watch: () => () => {},
    },
    leases: {
      acquire: (request) => leases.acquire(request),
      async release(lease) {
        context();
        await leases.release(lease);
      },
    },
    chain: {
      async progress() {
        context();
        return chain.progress();
      },
      async apply(batch) {
        context();
        return chain.apply(batch);
      },
      async rollback(request) {
        context();
        return chain.rollback(request);
      },
      async trades(query) {
        context();
        return chain.trades(query);
      },
      async firstTrade(token) {
        context();
        return chain.firstTrade(token);
      },
      async settlements(transactionHash) {
        context();
        return chain.settlements(transactionHash);
      },
      async settlementsOfAuction(auctionId) {
        context();
        return chain.settlementsOfAuction(auctionId);
      },
    },
    auctions: {
      async insert(auction, keep) {
        context();
        return auctions.insert(auction, keep);
      },
      async get(id) {
        context();
        return auctions.get(id);
      },
      async record(competition, keep) {
        context();
        return auctions.record(competition, keep);
      },
      async competition(auctionId) {
        context();
        return auctions.competition(auctionId);
      },
      async competitions(limit) {
        context();
        return auctions.competitions(limit);
      },
    },
  };
}

/** What an order has been through when it is inserted. */
const UNTOUCHED = {
  version: 1,
  invalidated: false,
  executedSellAmount: '0',
  executedBuyAmount: '0',
  executedFeeAmount: '0',
  executedFee: '0',
  executedFeeToken: null,
  placement: null,
  onchainUser: null,
  swept: false,
  cancelledOffChain: false,
  placedOnChain: false,
} as const;

/** Whose listings an order is in: its owner's, and that of whoever placed it on chain. */
function accountsOf({ owner, onchainUser }: Row): string[] {
  return onchainUser === null || onchainUser === owner ? [owner] : [owner, onchainUser];
}

const isLiving = ({ state, swept }: Row) => !swept && (state === 'open' || state === 'presignaturePending');

function newestFirst(a: OrderCursor, b: OrderCursor): number {
  return b.creationDate - a.creationDate || (a.uid < b.uid ? 1 : a.uid > b.uid ? -1 : 0);
}

function soonestFirst(a: Row, b: Row): number {
  return a.validTo - b.validTo || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);
}

function matches(row: Row, query: OrderQuery): boolean {
  return (
    (query.owner === undefined || accountsOf(row).includes(query.owner)) &&
    (query.sellToken === undefined || row.sellToken === query.sellToken) &&
    (query.buyToken === undefined || row.buyToken === query.buyToken) &&
    (query.status === undefined || (row.swept ? 'expired' : orderStatus(row, query.status.now)) === query.status.is)
  );
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
