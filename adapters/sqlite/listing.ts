import type { Address, OrderQuery, StoredOrder } from 'intentbook';
import type { SqliteStatement } from './driver.ts';
import type { OrderRow } from './rows.ts';
import { orderColumns, readOrder, STATES, toBytes } from './rows.ts';
import type { Session } from './session.ts';

/** A paged query: its text, and what is bound to it. */
export interface ListingSql {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Lists orders, newest first. Statements are kept: there is one for each combination of filters. */
export function listingOf({ prefix, prepare, read }: Session): (query: OrderQuery) => StoredOrder[] {
  const statements = new Map<string, SqliteStatement>();
  const hasPlaced = prepare(`SELECT 1 FROM ${prefix}orders WHERE onchain_user = ? LIMIT 1`).pluck();
  return (query) => {
    return read('list orders', () => {
      const { owner } = query;
      const mixed = owner !== undefined && hasPlaced.get(toBytes(owner)) !== undefined;
      const { sql, parameters } = mixed ? accountSql(prefix, owner, query) : listingSql(prefix, query);
      let statement = statements.get(sql);
      if (statement === undefined) {
        statement = prepare(sql).raw();
        statements.set(sql, statement);
      }
      return (statement.all(...parameters) as OrderRow[]).map(readOrder); // the columns selected
    });
  };
}

/**
 * Writes the query of a listing of an account that has placed orders on chain, which contracts own. Each arm walks an
 * index and gives up where the page ends, and only the page itself is read, by its row ids.
 */
export function accountSql(prefix: string, owner: Address, query: OrderQuery): ListingSql {
  const { offset = 0, limit } = query;
  const { owner: _, ...others } = query;
  const { conditions, parameters } = conditionsOf(others);
  const order = 'ORDER BY o.created DESC, o.uid DESC';
  const arm = (index: string, ...mine: string[]) =>
    `SELECT * FROM (SELECT o.id, o.created, o.uid FROM ${prefix}orders o INDEXED BY ${prefix}${index} ` +
    `WHERE ${[...mine, ...conditions].join(' AND ')} ${order} LIMIT ?)`;
  const owned = arm(listingIndex(query), 'o.owner = ?');
  const placed = arm('orders_onchain_user', 'o.onchain_user = ?', 'o.owner <> ?');
  const sql =
    `SELECT ${orderColumns(prefix)} FROM ${prefix}orders o NOT INDEXED WHERE o.id IN (SELECT id FROM (${owned} UNION ALL ${placed}) ` +
    `ORDER BY created DESC, uid DESC LIMIT ? OFFSET ?) ${order}`;
  const account = toBytes(owner);
  const enough = limit + offset;
  return { sql, parameters: [account, ...parameters, enough, account, account, ...parameters, enough, limit, offset] };
}

/**
 * Writes the query of a listing. It walks one index in the listing's own order, from the cursor on, and stops at the
 * end of the page, so that nothing is sorted and what the cursor has passed costs nothing. The index is named, so that
 * statistics that a host has gathered cannot change it.
 */
export function listingSql(prefix: string, query: OrderQuery): ListingSql {
  const { offset, limit } = query;
  const { conditions, parameters } = conditionsOf(query);
  const sql =
    `SELECT ${orderColumns(prefix)} FROM ${prefix}orders o INDEXED BY ${prefix}${listingIndex(query)}` +
    `${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}` +
    ` ORDER BY o.created DESC, o.uid DESC LIMIT ?${offset === undefined ? '' : ' OFFSET ?'}`;
  return { sql, parameters: [...parameters, limit, ...(offset === undefined ? [] : [offset])] };
}

function conditionsOf({ owner, sellToken, buyToken, status, after }: OrderQuery) {
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

/** The index that a listing walks. Those of live orders do not grow with the past. */
function listingIndex({ owner, sellToken, buyToken, status }: OrderQuery): string {
  const done = status?.is === 'cancelled' || status?.is === 'fulfilled';
  if (owner !== undefined) return status === undefined || done ? 'orders_owner' : 'orders_live_owner';
  if (status !== undefined) return done ? 'orders_done' : 'orders_live';
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
      return ['o.live = 1 AND o.valid_to < ?', now];
    case 'cancelled':
    case 'fulfilled':
      return [`o.live = 0 AND o.state = ${STATES.indexOf(is)}`];
  }
}
