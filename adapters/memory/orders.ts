import type {
  CancelOutcome,
  CancelRejection,
  CancelRequest,
  Hex,
  InsertOutcome,
  NewEvent,
  NewOrder,
  OrderChainEvent,
  OrderCounts,
  OrderCursor,
  OrderInsert,
  OrderQuery,
  OrderQuote,
  OrderScan,
  PruneRequest,
  ReinstateRequest,
  StoredOrder,
} from 'intentbook';
import type { OrderProgress, RowChange } from 'intentbook/store-kit';
import { checkCancellable, createExpiryEvent, emitsExpiry, getEndTime, getOrderStatus, unpackUid } from '#internal';
import type { MemoryAppData } from './app-data.ts';
import { getOrCreate } from './get-or-create.ts';
import { SortedList } from './sorted-list.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Row of an order: the inserted values and its current state. */
type Row = Omit<NewOrder, 'state' | 'quotaClass' | 'validTo' | 'quote'> &
  Mutable<Omit<StoredOrder, 'fullAppData'> & OrderProgress> & {
    cancelledOffChain: boolean;
    readonly placedOnChain: boolean;
  };

/** Creates orders with their indexes, without entries. All methods are synchronous, so each is one atomic step. */
export function createMemoryOrders({
  documents,
  record,
  projectNewOrder,
  listEventsOfOrder,
  getPlacementVersion,
}: {
  readonly documents: MemoryAppData;
  record(event: NewEvent): void;
  /** Applies chain events stored earlier to an order that was just inserted. */
  projectNewOrder(uid: Hex, at: number): void;
  listEventsOfOrder(uid: string): readonly OrderChainEvent[];
  /** Returns the version of an order that is placed on chain. */
  getPlacementVersion(): number;
}) {
  const rows = new Map<string, Row>();
  const byAge = new SortedList<Row>(newestFirst);
  const byAccount = new Map<string, SortedList<Row>>();
  // Orders that are neither cancelled nor filled, by owner and quota class, in the order of their expiry.
  const live = new Map<string, SortedList<Row>>();
  const expiring = new SortedList<Row>(soonestFirst);
  const expired = new SortedList<Row>(soonestFirst);
  // The signed `validTo` of deleted orders that were cancelled off chain, by UID.
  const tombstones = new Map<string, number>();

  const getLiveOrders = (row: { owner: string; quotaClass: string }) =>
    getOrCreate(live, `${row.owner} ${row.quotaClass}`, () => new SortedList<Row>(soonestFirst));

  function count(owner: string, quotaClass: string, now: number): number {
    const list = getLiveOrders({ owner, quotaClass });
    return list.length - list.firstWhere((row) => row.validTo >= now);
  }

  function addLive(row: Row): void {
    if (row.expiryRecorded) expired.add(row);
    if (!isLive(row)) return;
    getLiveOrders(row).add(row);
    expiring.add(row);
  }

  function removeLive(row: Row): void {
    getLiveOrders(row).remove(row);
    expiring.remove(row);
    expired.remove(row);
  }

  function revertExpiry(row: Row, at: number): void {
    expired.remove(row);
    row.expiryRecorded = false;
    if (!emitsExpiry(row, listEventsOfOrder(row.uid))) return;
    record({ type: 'reinstated', uid: row.uid, owner: row.owner, at });
  }

  function cancelRow(row: Row, at: number): void {
    if (row.expiryRecorded) revertExpiry(row, at);
    removeLive(row);
    row.state = 'cancelled';
    row.invalidated = true;
    row.cancelledOffChain = true;
    row.version++;
    record({ type: 'cancelled', uid: row.uid, owner: row.owner, at });
  }

  function insertOne({ order, document, quota, replaces }: OrderInsert): InsertOutcome {
    const now = Math.floor(order.creationDate / 1000);
    if (rows.has(order.uid) || tombstones.has(order.uid)) return { status: 'duplicate' };
    const replaced = replaces === undefined ? undefined : rows.get(replaces);
    if (replaces !== undefined) {
      const reason = checkCancellable(replaced, now);
      if (reason !== undefined) return { status: 'notReplaceable', reason };
    }
    if (quota !== undefined) {
      // The count does not include an order whose expiry is recorded.
      const freed = replaced?.quotaClass === order.quotaClass && isLive(replaced) ? 1 : 0;
      const used = count(order.owner, order.quotaClass, now) - freed;
      if (used >= quota) return { status: 'quotaExceeded', quota, count: used };
    }

    if (replaced !== undefined) cancelRow(replaced, order.creationDate);
    addRow({ ...order, ...INITIAL_STATE, quote: order.quote ?? null });
    documents.refer(order.appData, getEndTime(order), document);
    record({ type: 'created', uid: order.uid, owner: order.owner, at: order.creationDate });
    projectNewOrder(order.uid, order.creationDate);
    return { status: 'inserted' };
  }

  function addRow(row: Row): void {
    rows.set(row.uid, row);
    byAge.add(row);
    for (const account of getAccounts(row))
      getOrCreate(byAccount, account, () => new SortedList<Row>(newestFirst)).add(row);
    addLive(row);
  }

  function removeRow(row: Row): void {
    rows.delete(row.uid);
    byAge.remove(row);
    for (const account of getAccounts(row)) byAccount.get(account)?.remove(row);
    removeLive(row);
  }

  /** Applies a change that follows from chain events. */
  function change(change: RowChange): void {
    if (change.type === 'insert') {
      const { order, progress } = change;
      const version = getPlacementVersion();
      addRow({ ...order, ...INITIAL_STATE, ...progress, quote: order.quote ?? null, placedOnChain: true, version });
      documents.refer(order.appData, getEndTime(order));
      return;
    }
    const row = rows.get(change.uid);
    if (row === undefined) throw new Error('a chain event changes an order that does not exist');
    // The positions in the lists depend on the values that change.
    removeRow(row);
    if (change.type === 'delete') {
      leaveTombstone(row);
      return;
    }
    Object.assign(row, change.progress);
    row.version++;
    addRow(row);
  }

  function cancel({ uids, now, cancelledAt }: CancelRequest): CancelOutcome {
    const unique = [...new Set(uids)];
    const records = unique.map((uid) => rows.get(uid));
    const reject = (isReported: (reason: CancelRejection) => boolean): CancelOutcome | undefined => {
      for (const [i, uid] of unique.entries()) {
        const reason = checkCancellable(records[i], now);
        if (reason !== undefined && isReported(reason)) return { status: 'rejected', uid, reason };
      }
      return undefined;
    };
    const rejected = reject((reason) => reason === 'missing') ?? reject(() => true);
    if (rejected !== undefined) return rejected;
    for (const row of records) if (row !== undefined) cancelRow(row, cancelledAt);
    return { status: 'cancelled' };
  }

  function expire(now: number, limit: number): number {
    const past = expiring.firstWhere(({ validTo }) => validTo >= now);
    const due = expiring.slice(0, Math.min(limit, past));
    for (const row of due) {
      removeLive(row);
      row.expiryRecorded = true;
      expired.add(row);
      if (emitsExpiry(row, listEventsOfOrder(row.uid))) record(createExpiryEvent(row.uid, row.validTo));
    }
    return due.length;
  }

  function reinstate({ validFrom, at, limit }: ReinstateRequest): number {
    const start = expired.firstWhere(({ validTo }) => validTo >= validFrom);
    const due = expired.slice(start, start + limit);
    for (const row of due) {
      revertExpiry(row, at);
      addLive(row);
    }
    return due.length;
  }

  /** Keeps an order from being inserted again after its row was removed, if it was cancelled off chain. */
  function leaveTombstone({ uid, cancelledOffChain }: Row): void {
    if (cancelledOffChain) tombstones.set(uid, unpackUid(uid).validTo);
  }

  function releaseTombstones(before: number, limit: number): void {
    const old = [...tombstones].filter(([, validTo]) => validTo < before).slice(0, limit);
    for (const [uid] of old) tombstones.delete(uid);
  }

  function endedBefore(before: number): Row[] {
    return [...byAge.from(0)].filter((row) => getEndTime(row) < before && !isLive(row));
  }

  function prune({ before, limit, tombstonesBefore }: PruneRequest): number {
    if (tombstonesBefore !== undefined) releaseTombstones(tombstonesBefore, limit);
    const old = endedBefore(before).slice(-limit);
    for (const row of old) {
      removeRow(row);
      leaveTombstone(row);
    }
    return old.length;
  }

  function list(query: OrderQuery): StoredOrder[] {
    return scan(query, Number.POSITIVE_INFINITY).orders;
  }

  function scan(query: OrderQuery, examine: number): OrderScan {
    const source = query.owner === undefined ? byAge : byAccount.get(query.owner);
    const orders: StoredOrder[] = [];
    if (source === undefined) return { orders };
    const { after } = query;
    let skip = query.offset ?? 0;
    let examined = 0;
    const start = after === undefined ? 0 : source.firstWhere((row) => newestFirst(row, after) > 0);
    let last: OrderCursor | undefined;
    for (const row of source.from(start)) {
      if (orders.length === query.limit || examined === examine)
        return last === undefined ? { orders } : { orders, next: last };
      examined++;
      last = { creationDate: row.creationDate, uid: row.uid };
      if (!matches(row, query)) continue;
      if (skip > 0) skip--;
      else orders.push(toStoredOrder(row, query.quotes === true ? row.quote : null));
    }
    return { orders };
  }

  function toStoredOrder(row: Row, quote = row.quote): StoredOrder {
    const { uid, body, version, creationDate, validTo, state, invalidated, executedSellAmount, executedBuyAmount } =
      row;
    const { executedFeeAmount, executedFee, executedFeeToken, placement } = row;
    const fullAppData = documents.get(row.appData) ?? null;
    return {
      uid,
      body,
      version,
      creationDate,
      validTo,
      state,
      invalidated,
      executedSellAmount,
      executedBuyAmount,
      executedFeeAmount,
      executedFee,
      executedFeeToken,
      fullAppData,
      placement,
      quote,
    };
  }

  return {
    insert: (inserts: readonly OrderInsert[]): InsertOutcome[] => inserts.map(insertOne),
    get(uids: readonly string[]): StoredOrder[] {
      const found = [...new Set(uids)].map((uid) => rows.get(uid)).filter((row) => row !== undefined);
      return found.map((row) => toStoredOrder(row));
    },
    list,
    scan,
    filterPlaced: (account: string, uids: readonly Hex[]): Hex[] =>
      uids.filter((uid) => rows.get(uid)?.onchainUser === account),
    cancel,
    addQuote(uid: string, quote: OrderQuote): boolean {
      const row = rows.get(uid);
      if (row === undefined || row.quote !== null) return false;
      row.quote = quote;
      row.version++;
      return true;
    },
    count: (owner: string, now: number): OrderCounts => ({
      open: count(owner, 'open', now),
      pending: count(owner, 'pending', now),
    }),
    expire,
    reinstate,
    prune,
    total: (before?: number): number => (before === undefined ? byAge.length : endedBefore(before).length),
    find: (uid: string): Row | undefined => rows.get(uid),
    change,
  };
}

const INITIAL_STATE = {
  version: 1,
  invalidated: false,
  executedSellAmount: '0',
  executedBuyAmount: '0',
  executedFeeAmount: '0',
  executedFee: '0',
  executedFeeToken: null,
  placement: null,
  onchainUser: null,
  expiryRecorded: false,
  cancelledOffChain: false,
  placedOnChain: false,
} as const;

/** Returns the accounts whose listings contain an order: its owner, and the account that placed it on chain. */
function getAccounts({ owner, onchainUser }: Row): string[] {
  return onchainUser === null || onchainUser === owner ? [owner] : [owner, onchainUser];
}

const isLive = ({ state, expiryRecorded }: Row) =>
  !expiryRecorded && (state === 'open' || state === 'presignaturePending');

function newestFirst(a: OrderCursor, b: OrderCursor): number {
  return b.creationDate - a.creationDate || (a.uid < b.uid ? 1 : a.uid > b.uid ? -1 : 0);
}

function soonestFirst(a: Row, b: Row): number {
  return a.validTo - b.validTo || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);
}

function matches(row: Row, query: OrderQuery): boolean {
  return (
    (query.owner === undefined || getAccounts(row).includes(query.owner)) &&
    (query.sellToken === undefined || row.sellToken === query.sellToken) &&
    (query.buyToken === undefined || row.buyToken === query.buyToken) &&
    (query.status === undefined ||
      (row.expiryRecorded ? 'expired' : getOrderStatus(row, query.status.now)) === query.status.is)
  );
}
