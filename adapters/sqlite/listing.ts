import type { Address, OrderQuery, StoredOrder } from 'intentbook';
import type { SqliteStatement } from './driver.ts';
import type { OrderRow } from './rows.ts';
import { orderColumns, readOrder, STATES, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** SQL of a paged query and its parameters. */
export interface ListingSql {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Creates the listing of orders, newest first. Statements are cached, one for each combination of filters. */
export function createListing({ prefix, prepare, read }: SqliteSession): (query: OrderQuery) => StoredOrder[] {
  const statements = new Map<string, SqliteStatement>();
  const hasPlaced = prepare(`SELECT 1 FROM ${prefix}orders WHERE onchain_user = ? LIMIT 1`).pluck();
  return (query) => {
    return read('list orders', () => {
      const { owner } = query;
      const hasPlacements = owner !== undefined && hasPlaced.get(toBytes(owner)) !== undefined;
      const { sql, parameters } = hasPlacements ? accountSql(prefix, owner, query) : listingSql(prefix, query);
      let statement = statements.get(sql);
      if (statement === undefined) {
        statement = prepare(sql).raw();
        statements.set(sql, statement);
      }
      return (statement.all(...parameters) as OrderRow[]).map(readOrder); // the columns selected
    });
  };
}

/** Returns the query of a listing for an account with orders placed on chain, whose owner is a contract. */
export function accountSql(prefix: string, owner: Address, query: OrderQuery): ListingSql {
  const account = toBytes(owner);
  return mergedSql(prefix, query, [
    { index: listingIndex(query), where: 'o.owner = ?', values: [account] },
    { index: 'orders_onchain_user', where: 'o.onchain_user = ? AND o.owner <> ?', values: [account, account] },
  ]);
}

/**
 * Returns the query of a listing. The query reads one index in the order of the listing, from the cursor to the end of
 * the page. It sorts nothing, and orders before the cursor cost nothing. The index is named, so that statistics
 * gathered by a host cannot change the plan.
 *
 * Only expired orders are in two indexes: those whose expiry is recorded, and those that the next sweep will find.
 */
export function listingSql(prefix: string, query: OrderQuery): ListingSql {
  const { owner, status, offset, limit } = query;
  if (status?.is === 'expired' && owner === undefined) {
    return mergedSql(prefix, query, [
      { index: 'orders_expired', where: 'o.live = 0 AND o.state < 2', values: [] },
      { index: 'orders_expiring', where: 'o.live = 1 AND o.valid_to < ?', values: [status.now] },
    ]);
  }
  const { conditions, parameters } = getConditions(query);
  const sql =
    `SELECT ${orderColumns(prefix)} FROM ${prefix}orders o INDEXED BY ${prefix}${listingIndex(query)}` +
    `${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}` +
    ` ORDER BY o.created DESC, o.uid DESC LIMIT ?${offset === undefined ? '' : ' OFFSET ?'}`;
  return { sql, parameters: [...parameters, limit, ...(offset === undefined ? [] : [offset])] };
}

/** One part of a merged listing: the index and an additional condition. */
interface ListingPart {
  readonly index: string;
  readonly where: string;
  readonly values: readonly unknown[];
}

/** Merges two parts. Each stops at the end of the page, and only the rows of the page are read, by row id. */
function mergedSql(prefix: string, query: OrderQuery, parts: readonly ListingPart[]): ListingSql {
  const { offset = 0, limit } = query;
  const { owner: _, ...others } = query;
  const { conditions, parameters } = getConditions(others);
  const order = 'ORDER BY o.created DESC, o.uid DESC';
  const selects = parts.map(
    ({ index, where }) =>
      `SELECT * FROM (SELECT o.id, o.created, o.uid FROM ${prefix}orders o INDEXED BY ${prefix}${index} ` +
      `WHERE ${[where, ...conditions].join(' AND ')} ${order} LIMIT ?)`,
  );
  const sql =
    `SELECT ${orderColumns(prefix)} FROM ${prefix}orders o NOT INDEXED WHERE o.id IN (SELECT id FROM ` +
    `(${selects.join(' UNION ALL ')}) ORDER BY created DESC, uid DESC LIMIT ? OFFSET ?) ${order}`;
  const values = parts.flatMap((part) => [...part.values, ...parameters, limit + offset]);
  return { sql, parameters: [...values, limit, offset] };
}

function getConditions({ owner, sellToken, buyToken, status, after }: OrderQuery) {
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
