import { crc32 } from 'node:zlib';
import type { Address, NewOrder, OrderCounts, QuotaClass } from 'intentbook';
import { type KnownOrder, type OrderProgress, type RowChange, unpackUid } from 'intentbook/store-kit';
import { getQuotaClass, getScheme, QUOTA_CLASSES, SCHEMES } from '#internal';
import { bufferToHex, isExpiryRecorded, STATES, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Order rows with the effects of chain events. All methods run within a transaction. */
export type OrderProjectionTable = ReturnType<typeof createOrderProjectionTable>;

type OrderStateRow = readonly [
  uid: Buffer,
  body: string,
  scheme: number,
  quotaClass: number,
  cancelledOffChain: number,
  placedOnChain: number,
  validTo: number,
  expiryRecorded: number,
];
type CountedRow = readonly [id: number, owner: Buffer, live: number, quotaClass: number, isPlaced: number];

/** Creates the operations on order rows. */
export function createOrderProjectionTable(session: SqliteSession, owners: OwnerCounts) {
  const { prefix: p, prepare } = session;
  const add = createOrderInsert(session, owners);
  const removeQuote = prepare(`DELETE FROM ${p}order_quotes WHERE order_id = ?`);
  const selectOrder = prepare(
    'SELECT uid, body, signing_scheme, quota_class, cancelled_off_chain, placed_on_chain, valid_to, ' +
      `${isExpiryRecorded} FROM ${p}orders WHERE uid = ?`,
  ).raw();
  const selectCounted = prepare(
    `SELECT id, owner, live, quota_class, onchain_user IS NOT NULL FROM ${p}orders WHERE uid = ?`,
  ).raw();
  const update = prepare(
    `UPDATE ${p}orders SET version = version + ?, state = ?, live = ?, invalidated = ?, quota_class = ?, valid_to = ?, ` +
      'executed_sell_amount = ?, executed_buy_amount = ?, executed_fee_amount = ?, executed_fee = ?, ' +
      'executed_fee_token = ?, placement = ?, onchain_user = ? WHERE id = ?',
  );
  const markTrades = prepare(
    `UPDATE ${p}chain_events SET onchain_user = ? WHERE uid = ? AND type = 0 AND onchain_user IS NOT ?`,
  );
  const remove = prepare(`DELETE FROM ${p}orders WHERE id = ?`);
  const addTombstone = prepare(
    `INSERT OR IGNORE INTO ${p}tombstones (uid, valid_to) ` +
      `SELECT uid, ? FROM ${p}orders WHERE id = ? AND cancelled_off_chain = 1`,
  );

  /** Writes the state that follows from chain events, and updates the owner's counters. */
  function writeProgress(uid: Buffer, to: OrderProgress, versions: number): void {
    const row = selectCounted.get(uid) as CountedRow | undefined; // the columns selected
    if (row === undefined) throw new Error('a chain event changes an order that does not exist');
    const [id, owner, live, quotaClass, wasPlaced] = row;
    const isLive = !to.expiryRecorded && (to.state === 'open' || to.state === 'presignaturePending');
    if (live === 1) owners.remove(owner, getQuotaClass(quotaClass));
    if (isLive) owners.add(owner, to.quotaClass);
    const user = to.onchainUser === null ? null : toBytes(to.onchainUser);
    update.run(
      versions,
      STATES.indexOf(to.state),
      isLive ? 1 : 0,
      to.invalidated ? 1 : 0,
      QUOTA_CLASSES.indexOf(to.quotaClass),
      to.validTo,
      to.executedSellAmount,
      to.executedBuyAmount,
      to.executedFeeAmount,
      to.executedFee,
      to.executedFeeToken === null ? null : toBytes(to.executedFeeToken),
      to.placement,
      user,
      id,
    );
    if (user !== null || wasPlaced === 1) markTrades.run(user, uid, user);
  }

  return {
    /** Inserts a row without executions. */
    insert: (order: NewOrder, uid: Buffer, owner: Buffer): void => add(order, uid, owner, false, 1),

    find(bytes: Buffer): KnownOrder | undefined {
      const row = selectOrder.get(bytes) as OrderStateRow | undefined; // the columns selected
      return row && toKnownOrder(row);
    },

    /** @param version - Returns the version of an inserted row. */
    change(change: RowChange, version: () => number): void {
      switch (change.type) {
        case 'insert': {
          const uid = toBytes(change.order.uid);
          add(change.order, uid, toBytes(change.order.owner), true, version());
          writeProgress(uid, change.progress, 0);
          break;
        }
        case 'update':
          writeProgress(toBytes(change.uid), change.progress, 1);
          break;
        case 'delete': {
          const uid = toBytes(change.uid);
          const row = selectCounted.get(uid) as CountedRow | undefined; // the columns selected
          if (row === undefined) throw new Error('a chain event removes an order that does not exist');
          const [id, owner, live, quotaClass] = row;
          if (live === 1) owners.remove(owner, getQuotaClass(quotaClass));
          markTrades.run(null, uid, null);
          addTombstone.run(unpackUid(change.uid).validTo, id);
          removeQuote.run(id);
          remove.run(id);
          break;
        }
      }
    },
  };
}

/** Creates the insert of an order with its quote. The order counts as a live one of its owner. */
function createOrderInsert({ prefix: p, prepare }: SqliteSession, owners: OwnerCounts) {
  const insert = prepare(
    `INSERT INTO ${p}orders (uid, owner, sell_token, buy_token, created, valid_to, signing_scheme, state, quota_class, ` +
      'live, app_data, body, checksum, placed_on_chain, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)',
  );
  const insertQuote = prepare(`INSERT INTO ${p}order_quotes (order_id, body, metadata) VALUES (?, ?, ?)`);

  return (order: NewOrder, uid: Buffer, owner: Buffer, placedOnChain: boolean, version: number): void => {
    const { lastInsertRowid } = insert.run(
      uid,
      owner,
      toBytes(order.sellToken),
      toBytes(order.buyToken),
      order.creationDate,
      order.validTo,
      SCHEMES.indexOf(order.signingScheme),
      STATES.indexOf(order.state),
      QUOTA_CLASSES.indexOf(order.quotaClass),
      toBytes(order.appData),
      order.body,
      crc32(order.body),
      placedOnChain ? 1 : 0,
      version,
    );
    if (order.quote !== undefined) insertQuote.run(lastInsertRowid, order.quote.body, order.quote.metadata);
    owners.add(owner, order.quotaClass);
  };
}

function toKnownOrder(row: OrderStateRow): KnownOrder {
  const [uid, body, scheme, quotaClass, cancelledOffChain, placedOnChain, validTo, expiryRecorded] = row;
  return {
    uid: bufferToHex(uid),
    body,
    cancelledOffChain: cancelledOffChain === 1,
    placedOnChain: placedOnChain === 1,
    validTo,
    expiryRecorded: expiryRecorded === 1,
    signingScheme: getScheme(scheme),
    quotaClass: getQuotaClass(quotaClass),
  };
}

/** Numbers of live orders by owner. */
export type OwnerCounts = ReturnType<typeof createOwnerCounts>;

/** Maximum number of live but expired orders, of all owners, that a count reads to subtract those of one owner. */
const MAX_EXPIRED_SCAN = 1000;

/**
 * Creates the counters. They do not depend on the time, so expired orders are subtracted when a count is read. The
 * engine records expiries within seconds, so few orders are expired and still live. If these are many, the owner's
 * live orders are counted instead. Neither way grows with an owner's history.
 */
export function createOwnerCounts({ prefix: p, prepare, read }: SqliteSession) {
  const selectCounts = prepare(`SELECT live_open, live_pending FROM ${p}owners WHERE owner = ?`).raw();
  const expired = prepare(
    'SELECT count(*), count(CASE WHEN owner = ? AND quota_class = ? THEN 1 END) FROM ' +
      `(SELECT owner, quota_class FROM ${p}orders INDEXED BY ${p}orders_expiring WHERE live = 1 AND valid_to < ? LIMIT ?)`,
  ).raw();
  const valid = prepare(
    `SELECT count(*) FROM ${p}orders INDEXED BY ${p}orders_live_owner ` +
      'WHERE live = 1 AND owner = ? AND quota_class = ? AND valid_to >= ?',
  ).pluck();
  const insert = prepare(
    `INSERT INTO ${p}owners (owner, live_open, live_pending) VALUES (?, ?, ?) ON CONFLICT (owner) ` +
      'DO UPDATE SET live_open = live_open + excluded.live_open, live_pending = live_pending + excluded.live_pending',
  );
  const subtract = prepare(
    `UPDATE ${p}owners SET live_open = live_open - ?, live_pending = live_pending - ? WHERE owner = ?`,
  );

  /** Returns an upper bound without counting: it includes expired orders whose expiry is not recorded yet. */
  function upperBound(owner: Buffer, quotaClass: QuotaClass): number {
    const row = selectCounts.get(owner) as readonly number[] | undefined; // two counters, by quota class
    return row?.[QUOTA_CLASSES.indexOf(quotaClass)] ?? 0;
  }

  /** @param now - Seconds since 1970. */
  function count(owner: Buffer, quotaClass: QuotaClass, now: number): number {
    const code = QUOTA_CLASSES.indexOf(quotaClass);
    const all = upperBound(owner, quotaClass);
    if (all === 0) return 0;
    const [found, own] = expired.get(owner, code, now, MAX_EXPIRED_SCAN) as [number, number]; // two counts
    if (found < MAX_EXPIRED_SCAN) return all - own;
    return valid.get(owner, code, now) as number; // count(*)
  }

  return {
    upperBound,
    count,
    read: (address: Address, now: number): OrderCounts =>
      read('count orders', () => {
        const owner = toBytes(address);
        return { open: count(owner, 'open', now), pending: count(owner, 'pending', now) };
      }),
    /** Must run within a transaction. */
    add: (owner: Buffer, quotaClass: QuotaClass): void => void insert.run(owner, ...toCounts(quotaClass)),
    /** Must run within a transaction. */
    remove: (owner: Buffer, quotaClass: QuotaClass): void => void subtract.run(...toCounts(quotaClass), owner),
  };
}

/** Returns one order as values of the two counters. */
const toCounts = (quotaClass: QuotaClass) => (quotaClass === 'open' ? [1, 0] : [0, 1]);
