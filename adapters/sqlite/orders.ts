import type {
  CancelOutcome,
  EncodedOrder,
  Hex,
  InsertOutcome,
  NewDocument,
  OrderInsert,
  StoredOrder,
} from 'intentbook';
import { StoreError } from 'intentbook';
import { checkCancellable, getEndTime } from 'intentbook/store-kit';
import { getQuotaClass, getScheme } from '#internal';
import type { EventTable } from './events.ts';
import type { LogReinstatement } from './expiry.ts';
import type { OrderProjectionTable, OwnerCounts } from './order-projection.ts';
import { fromOrders, isExpiryRecorded, prepareAggregateQuery, prepareOrderByUid, STATES, toBytes } from './rows.ts';
import type { BookOperations, SqliteSession } from './session.ts';

/** Columns that are needed to check and cancel an order. */
type CancellableOrderRow = readonly [
  id: number,
  owner: Buffer,
  state: number,
  validTo: number,
  scheme: number,
  quotaClass: number,
  expiryRecorded: number,
];

/** Creates the operations of `OrderStore` on single orders. Each is synchronous and one atomic step. */
export function createOrderTable(
  session: SqliteSession,
  owners: OwnerCounts,
  documents: AppDataTable,
  events: EventTable,
  projection: OrderProjectionTable,
  projectNewOrder: (uid: Hex, at: number) => void,
  logReinstatement: LogReinstatement,
): Required<Pick<BookOperations['orders'], 'insert' | 'get' | 'getEncoded' | 'cancel' | 'addQuote'>> {
  const { prefix: p, prepare, write, join } = session;
  const exists = prepare(
    `SELECT 1 FROM ${p}orders WHERE uid = ? UNION ALL SELECT 1 FROM ${p}tombstones WHERE uid = ?`,
  ).pluck();
  const find = prepare(
    `SELECT id, owner, state, valid_to, signing_scheme, quota_class, ${isExpiryRecorded} FROM ${p}orders WHERE uid = ?`,
  ).raw();
  const cancelRow = prepare(
    `UPDATE ${p}orders SET state = ${STATES.indexOf('cancelled')}, live = 0, invalidated = 1, ` +
      'cancelled_off_chain = 1, version = version + 1 WHERE id = ?',
  );
  const insertQuote = prepare(
    `INSERT OR IGNORE INTO ${p}order_quotes (order_id, body, metadata) SELECT id, ?, ? FROM ${p}orders WHERE uid = ?`,
  );
  const incrementVersion = prepare(`UPDATE ${p}orders SET version = version + 1 WHERE uid = ?`);
  function findOrder(hex: Hex): CancellableOrder | undefined {
    const uid = toBytes(hex);
    const row = find.get(uid) as CancellableOrderRow | undefined; // the columns selected
    return row && toCancellableOrder(uid, row);
  }

  function cancelOne(order: CancellableOrder, at: number): void {
    const { id, uid, owner, signingScheme, quotaClass, expiryRecorded } = order;
    cancelRow.run(id);
    if (expiryRecorded) logReinstatement(uid, owner, signingScheme, at);
    else owners.remove(owner, quotaClass);
    events.append('cancelled', uid, owner, at);
  }

  function insertOne({ order, document, quota, replaces }: OrderInsert): InsertOutcome {
    const now = Math.floor(order.creationDate / 1000);
    const uid = toBytes(order.uid);
    const owner = toBytes(order.owner);
    if (exists.get(uid, uid) !== undefined) return { status: 'duplicate' };
    const replaced = replaces === undefined ? undefined : findOrder(replaces);
    if (replaces !== undefined) {
      const reason = checkCancellable(replaced, now);
      if (reason !== undefined) return { status: 'notReplaceable', reason };
    }
    if (quota !== undefined) {
      // The count does not include an order whose expiry is recorded.
      const freed = replaced?.quotaClass === order.quotaClass && !replaced.expiryRecorded ? 1 : 0;
      if (owners.upperBound(owner, order.quotaClass) - freed >= quota) {
        const count = owners.count(owner, order.quotaClass, now) - freed;
        if (count >= quota) return { status: 'quotaExceeded', quota, count };
      }
    }
    if (replaced !== undefined) cancelOne(replaced, order.creationDate);
    projection.insert(order, uid, owner); // the row, and the owner's counter
    documents.refer(order.appData, getEndTime(order), document);
    events.append('created', uid, owner, order.creationDate);
    projectNewOrder(order.uid, order.creationDate); // applies chain events that were indexed before the order arrived
    return { status: 'inserted' };
  }

  return {
    insert(inserts, options) {
      const transaction = options?.transaction;
      const work = () => inserts.map(insertOne);
      if (transaction !== undefined) return join('insert orders', transaction, work);
      try {
        return write('insert orders', work);
      } catch (error) {
        return toUnknownOutcomes(error, inserts);
      }
    },

    ...createOrderReads(session),

    cancel: ({ uids, now, cancelledAt }) =>
      write('cancel orders', () => {
        const records: CancellableOrder[] = [];
        let rejected: CancelOutcome | undefined;
        for (const uid of new Set(uids)) {
          const order = findOrder(uid);
          const reason = checkCancellable(order, now);
          // A missing order takes precedence over other reasons.
          if (order === undefined) return { status: 'rejected', uid, reason: 'missing' };
          if (reason !== undefined) rejected ??= { status: 'rejected', uid, reason };
          records.push(order);
        }
        if (rejected !== undefined) return rejected;
        for (const order of records) cancelOne(order, cancelledAt);
        return { status: 'cancelled' };
      }),

    addQuote: (hex, { body, metadata }) =>
      write('add a quote to an order', () => {
        const uid = toBytes(hex);
        const isAdded = insertQuote.run(body, metadata, uid).changes > 0;
        if (isAdded) incrementVersion.run(uid);
        return isAdded;
      }),
  };
}

type CancellableOrder = ReturnType<typeof toCancellableOrder>;

function toCancellableOrder(uid: Buffer, row: CancellableOrderRow) {
  const [id, owner, state, validTo, scheme, quotaClass, expiryRecorded] = row;
  return {
    id,
    uid,
    owner,
    validTo,
    /** The owner's counters do not include an order whose expiry is recorded. */
    expiryRecorded: expiryRecorded === 1,
    state: STATES[state] as (typeof STATES)[number], // the table checks the range
    signingScheme: getScheme(scheme),
    quotaClass: getQuotaClass(quotaClass),
  };
}

/** Returns unknown outcomes if a commit failed without a result. @throws any other error. */
export function toUnknownOutcomes(error: unknown, inserts: readonly OrderInsert[]): InsertOutcome[] {
  if (!(error instanceof StoreError) || error.code !== 'OutcomeUnknown') throw error;
  return inserts.map(() => ({ status: 'unknown' }));
}

/** Creates the reads of orders by their UIDs. */
function createOrderReads(session: SqliteSession) {
  const { read } = session;
  const selectOne = prepareOrderByUid(session);
  const inList = 'IN (SELECT unhex(substr(value, 3)) FROM json_each(?))';
  const select = prepareAggregateQuery(session, fromOrders(session.prefix, inList), true);

  function getEncoded(uids: readonly Hex[]): EncodedOrder[] {
    const [only] = uids;
    if (only !== undefined && uids.length === 1) {
      const order = read('read an order', () => selectOne(only));
      return order === undefined ? [] : [{ order, encodedBody: undefined }];
    }
    return read('read orders', () => {
      const unique = [...new Set(uids)];
      const orders: EncodedOrder[] = [];
      for (let start = 0; start < unique.length; start += BATCH_SIZE) {
        orders.push(...select.all(JSON.stringify(unique.slice(start, start + BATCH_SIZE))));
      }
      return orders;
    });
  }

  return {
    get: (uids: readonly Hex[]): StoredOrder[] => getEncoded(uids).map(({ order }) => order),
    getEncoded,
  };
}

/** Orders of one query at most: their bodies are parts of one block of memory. */
const BATCH_SIZE = 128;

/** Table of app-data documents by hash. */
export type AppDataTable = ReturnType<typeof createAppDataTable>;

/** Seconds that a document is needed longer than its orders, so that most orders do not change its row. */
const MARGIN = 604_800;

/** Creates the operations on documents. `put` runs in its own transaction. */
export function createAppDataTable({ prefix: p, prepare, read, write }: SqliteSession) {
  const selectDocument = prepare(`SELECT document FROM ${p}documents WHERE hash = ?`).pluck();
  const selectUse = prepare(`SELECT used_until FROM ${p}documents WHERE hash = ?`).pluck();
  const insert = prepare(`INSERT INTO ${p}documents (hash, document, referenced, used_until) VALUES (?, ?, ?, ?)`);
  const markReferenced = prepare(`UPDATE ${p}documents SET referenced = 1, used_until = ? WHERE hash = ?`);
  const deleteOldest = prepare(
    `DELETE FROM ${p}documents WHERE id IN (SELECT id FROM ${p}documents INDEXED BY ${p}documents_unreferenced ` +
      'WHERE referenced = 0 ORDER BY id DESC LIMIT -1 OFFSET ?)',
  );

  return {
    /**
     * Marks a hash as referenced by an order until a time in seconds since 1970, and stores its document. The first
     * write wins. Must run within a transaction.
     */
    refer(hash: Hex, until: number, document: NewDocument | undefined): void {
      const bytes = toBytes(hash);
      const usedUntil = selectUse.get(bytes) as number | undefined; // an integer column; 0 before the first order
      if (usedUntil !== undefined && usedUntil <= until) markReferenced.run(until + MARGIN, bytes);
      if (usedUntil === undefined && document !== undefined) insert.run(bytes, document.document, 1, until + MARGIN);
    },
    put: ({ hash, document }: NewDocument, keep?: number): 'stored' | 'known' =>
      write('store a document', () => {
        const bytes = toBytes(hash);
        if (selectUse.get(bytes) !== undefined) return 'known';
        insert.run(bytes, document, 0, 0);
        if (keep !== undefined) deleteOldest.run(keep);
        return 'stored';
      }),
    // A NOT NULL text.
    get: (hash: Hex): string | undefined =>
      read('read a document', () => selectDocument.get(toBytes(hash)) as string | undefined),
  };
}
