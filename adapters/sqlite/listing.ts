import type { Address, EncodedOrder, Hex, OrderCursor, OrderQuery, OrderScan, StoredOrder } from 'intentbook';
import type { SqliteStatement } from './database-driver.ts';
import { type OrderRowsQuery, prepareAggregateQuery, STATES, toBytes, toHexText } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** SQL of a paged query and its parameters. */
export interface ListingSql {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** A page of a listing, down to a position. */
export type BoundedQuery = OrderQuery & { readonly through?: OrderCursor };

/** Creates the listing of orders. Statements are cached, one for each combination of filters. */
export function createListing(session: SqliteSession) {
  const { prefix, prepare, read } = session;
  const pages = new Map<string, OrderRowsQuery>();
  const frontiers = new Map<string, SqliteStatement>();
  const hasPlaced = prepare(`SELECT 1 FROM ${prefix}orders WHERE onchain_user = ? LIMIT 1`).pluck();
  const hasPlacements = (owner: Address | undefined) =>
    owner !== undefined && hasPlaced.get(toBytes(owner)) !== undefined;

  function readPage(query: BoundedQuery, placements: boolean): EncodedOrder[] {
    const { owner, quotes = false } = query;
    const ids = placements && owner !== undefined ? accountSql(prefix, owner, query) : listingSql(prefix, query);
    const from = pageSql(prefix, ids.sql, quotes);
    const page = findOrAdd(pages, from, () => prepareAggregateQuery(session, from, quotes));
    return page.all(...ids.parameters);
  }

  /** Returns the newest position up to which every index of a listing was examined. `undefined`: to the end. */
  function findFrontier(query: OrderQuery, placements: boolean, examine: number): OrderCursor | undefined {
    let frontier: readonly [created: number, uid: Hex] | undefined;
    for (const index of getScannedIndexes(query, placements)) {
      const { sql, parameters } = frontierSql(prefix, index, query, examine);
      const statement = findOrAdd(frontiers, sql, () => prepare(sql).raw());
      const row = statement.get(...parameters) as readonly [created: number, uid: Hex] | undefined; // as selected
      if (row !== undefined && (frontier === undefined || isNewer(row, frontier))) frontier = row;
    }
    return frontier && { creationDate: frontier[0], uid: frontier[1] };
  }

  return {
    list: (query: OrderQuery): StoredOrder[] =>
      read('list orders', () => readPage(query, hasPlacements(query.owner)).map(({ order }) => order)),
    /** Examines at most `examine` entries of each index that the listing reads. */
    scan: (query: OrderQuery, examine: number): OrderScan =>
      read('list orders', () => {
        const placements = hasPlacements(query.owner);
        const frontier = findFrontier(query, placements, examine);
        const page = readPage(frontier === undefined ? query : { ...query, through: frontier }, placements);
        const last = page.length === query.limit ? page.at(-1)?.order : undefined;
        const next = last === undefined ? frontier : { creationDate: last.creationDate, uid: last.uid };
        const found = {
          orders: page.map(({ order }) => order),
          encodedBodies: page.map(({ encodedBody }) => encodedBody),
        };
        return next === undefined ? found : { ...found, next };
      }),
  };
}

function findOrAdd<T>(prepared: Map<string, T>, sql: string, prepare: () => T): T {
  const found = prepared.get(sql) ?? prepare();
  prepared.set(sql, found);
  return found;
}

const isNewer = (a: readonly [number, Hex], b: readonly [number, Hex]) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);

/** An index of a listing, and a condition that it supports. */
interface ListingIndex {
  readonly index: string;
  readonly where: string;
  readonly values: readonly unknown[];
}

/**
 * Returns the indexes in which a listing may skip entries. Empty if every entry matches. The sweep keeps the index of
 * orders whose expiry is not recorded short.
 */
function getScannedIndexes(query: OrderQuery, placements: boolean): readonly ListingIndex[] {
  const { owner, sellToken, buyToken, status } = query;
  const hasTokens = sellToken !== undefined || buyToken !== undefined;
  const index = listingIndex(query);
  const live = index === 'orders_live' || index === 'orders_live_owner';
  if (owner !== undefined) {
    if (!hasTokens && status === undefined) return [];
    const account = toBytes(owner);
    const own = { index, where: `o.owner = ?${live ? ' AND o.live = 1' : ''}`, values: [account] };
    return placements ? [own, { index: 'orders_onchain_user', where: 'o.onchain_user = ?', values: [account] }] : [own];
  }
  if (status?.is === 'expired') {
    return hasTokens ? [{ index: 'orders_expired', where: 'o.live = 0 AND o.state < 2', values: [] }] : [];
  }
  if (live) return [{ index, where: 'o.live = 1', values: [] }];
  if (status === undefined) {
    const isPair = sellToken !== undefined && buyToken !== undefined;
    return isPair ? [{ index, where: 'o.sell_token = ?', values: [toBytes(sellToken)] }] : [];
  }
  if (!hasTokens) return [];
  return [{ index, where: `o.live = 0 AND o.state = ${STATES.indexOf(status.is)}`, values: [] }];
}

/** Returns the query of the last entry to examine. It reads the index only. */
function frontierSql(prefix: string, scanned: ListingIndex, { after }: OrderQuery, examine: number): ListingSql {
  const { index, where, values } = scanned;
  const sql =
    `SELECT o.created, ${toHexText('o.uid')} FROM ${prefix}orders o INDEXED BY ${prefix}${index} WHERE ${where}` +
    `${after === undefined ? '' : ' AND (o.created, o.uid) < (?, ?)'} ` +
    'ORDER BY o.created DESC, o.uid DESC LIMIT 1 OFFSET ?';
  const cursor = after === undefined ? [] : [after.creationDate, toBytes(after.uid)];
  return { sql, parameters: [...values, ...cursor, examine - 1] };
}

/** Creates the lookup of the orders that an account has placed on chain, among given ones. */
export function createPlacedLookup({
  prefix,
  prepare,
  read,
}: SqliteSession): (account: Address, uids: readonly Hex[]) => Hex[] {
  const hasPlaced = prepare(`SELECT 1 FROM ${prefix}orders WHERE onchain_user = ? LIMIT 1`).pluck();
  const isPlaced = prepare(`SELECT 1 FROM ${prefix}orders WHERE uid = ? AND onchain_user = ?`).pluck();
  return (account, uids) =>
    read('read orders placed on chain', () => {
      const user = toBytes(account);
      // Most accounts have placed no order, which one lookup shows.
      if (hasPlaced.get(user) === undefined) return [];
      return uids.filter((uid) => isPlaced.get(toBytes(uid), user) !== undefined);
    });
}

/**
 * Returns the `FROM` of the rows of a page, in its order: `CROSS JOIN` keeps it.
 *
 * @param ids - The query of their ids.
 */
export function pageSql(prefix: string, ids: string, quotes: boolean): string {
  const join = quotes ? ` LEFT JOIN ${prefix}order_quotes q ON q.order_id = o.id` : '';
  return `FROM (${ids}) p CROSS JOIN ${prefix}orders o ON o.id = p.id${join}`;
}

/** Returns the query of the row ids of a listing for an account with orders placed on chain, owned by a contract. */
export function accountSql(prefix: string, owner: Address, query: BoundedQuery): ListingSql {
  const account = toBytes(owner);
  return mergedSql(prefix, query, [
    { index: listingIndex(query), where: 'o.owner = ?', values: [account] },
    { index: 'orders_onchain_user', where: 'o.onchain_user = ? AND o.owner <> ?', values: [account, account] },
  ]);
}

/**
 * Returns the query of the row ids of a listing. The query reads one index in the order of the listing, from the
 * cursor to the end of the page. It sorts nothing, and orders before the cursor cost nothing. The index is named, so
 * that statistics gathered by a host cannot change the plan.
 *
 * Only expired orders are in two indexes: those whose expiry is recorded, and those that the next sweep will find.
 */
export function listingSql(prefix: string, query: BoundedQuery): ListingSql {
  const { owner, status, offset, limit } = query;
  if (status?.is === 'expired' && owner === undefined) {
    return mergedSql(prefix, query, [
      { index: 'orders_expired', where: 'o.live = 0 AND o.state < 2', values: [] },
      { index: 'orders_expiring', where: 'o.live = 1 AND o.valid_to < ?', values: [status.now] },
    ]);
  }
  const { conditions, parameters } = getConditions(query);
  const sql =
    `SELECT o.id FROM ${prefix}orders o INDEXED BY ${prefix}${listingIndex(query)}` +
    `${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}` +
    ` ORDER BY o.created DESC, o.uid DESC LIMIT ?${offset === undefined ? '' : ' OFFSET ?'}`;
  return { sql, parameters: [...parameters, limit, ...(offset === undefined ? [] : [offset])] };
}

/** Merges two parts. Each stops at the end of the page. */
function mergedSql(prefix: string, query: BoundedQuery, parts: readonly ListingIndex[]): ListingSql {
  const { offset = 0, limit } = query;
  const { owner: _, ...others } = query;
  const { conditions, parameters } = getConditions(others);
  const order = 'ORDER BY o.created DESC, o.uid DESC';
  const selects = parts.map(
    ({ index, where }) =>
      `SELECT * FROM (SELECT o.id, o.created, o.uid FROM ${prefix}orders o INDEXED BY ${prefix}${index} ` +
      `WHERE ${[where, ...conditions].join(' AND ')} ${order} LIMIT ?)`,
  );
  const sql = `SELECT id FROM (${selects.join(' UNION ALL ')}) ORDER BY created DESC, uid DESC LIMIT ? OFFSET ?`;
  const values = parts.flatMap((part) => [...part.values, ...parameters, limit + offset]);
  return { sql, parameters: [...values, limit, offset] };
}

function getConditions({ owner, sellToken, buyToken, status, after, through }: BoundedQuery) {
  const conditions: string[] = [];
  const parameters: unknown[] = [];
  const where = (condition: string, ...values: unknown[]) => {
    conditions.push(condition);
    parameters.push(...values);
  };
  if (owner !== undefined) where('o.owner = ?', toBytes(owner));
  if (sellToken !== undefined) where('o.sell_token = ?', toBytes(sellToken));
  if (buyToken !== undefined) where('o.buy_token = ?', toBytes(buyToken));
  if (status !== undefined) where(...statusCondition(status));
  if (after !== undefined) where('(o.created, o.uid) < (?, ?)', after.creationDate, toBytes(after.uid));
  if (through !== undefined) where('(o.created, o.uid) >= (?, ?)', through.creationDate, toBytes(through.uid));
  return { conditions, parameters };
}

/** Returns the index that a listing reads. The indexes of live orders do not grow with the history. */
function listingIndex({ owner, sellToken, buyToken, status }: OrderQuery): string {
  const live = status?.is === 'open' || status?.is === 'presignaturePending';
  if (owner !== undefined) return live ? 'orders_live_owner' : 'orders_owner';
  if (status !== undefined) return live ? 'orders_live' : 'orders_done';
  if (sellToken !== undefined) return 'orders_sell';
  if (buyToken !== undefined) return 'orders_buy';
  return 'orders_newest';
}

function statusCondition({ is, now }: NonNullable<OrderQuery['status']>): [string, ...unknown[]] {
  switch (is) {
    case 'open':
    case 'presignaturePending':
      return [`o.live = 1 AND o.state = ${STATES.indexOf(is)} AND o.valid_to >= ?`, now];
    case 'expired':
      return ['o.state < 2 AND (o.live = 0 OR o.valid_to < ?)', now];
    case 'cancelled':
    case 'fulfilled':
      return [`o.live = 0 AND o.state = ${STATES.indexOf(is)}`];
  }
}
