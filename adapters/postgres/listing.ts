import type { OrderQuery, StoredOrder } from 'intentbook';
import type { OrderRow } from './rows.ts';
import { orderColumns, readOrder, STATES, toBytes } from './rows.ts';
import type { Run, Session } from './session.ts';

/** A paged query: its text, and what is bound to it. */
export interface ListingSql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Lists orders, newest first. There is one statement for each combination of filters. */
export function listingOf({ schema, prepare }: Session): (run: Run, query: OrderQuery) => Promise<StoredOrder[]> {
  return async (run, query) => {
    const { text, values } = listingSql(schema, query);
    return (await run(prepare<OrderRow>(text), ...values)).map(readOrder);
  };
}

/**
 * Writes the query of a listing. For each combination of filters there is an index that begins with columns which are
 * compared for equality and goes on in the order of the listing, so that a page is read off it from the cursor on:
 * nothing is sorted, and what the cursor has passed costs nothing.
 */
export function listingSql(schema: string, query: OrderQuery): ListingSql {
  const { owner, sellToken, buyToken, status, after, offset, limit } = query;
  const conditions: string[] = [];
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const account = owner === undefined ? undefined : bind(toBytes(owner));

  if (sellToken !== undefined) conditions.push(`o.sell_token = ${bind(toBytes(sellToken))}`);
  if (buyToken !== undefined) conditions.push(`o.buy_token = ${bind(toBytes(buyToken))}`);
  if (status !== undefined) conditions.push(statusCondition(status, bind));
  if (after !== undefined) {
    conditions.push(`(o.created, o.uid) < (${bind(after.creationDate)}, ${bind(toBytes(after.uid))})`);
  }

  const where = (...mine: string[]) => {
    const all = [...mine, ...conditions];
    return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`;
  };
  // What an account owns, and what it has placed on chain for a contract to own: two indexes, merged in their order.
  const orders =
    account === undefined
      ? `${schema}.orders o${where()}`
      : `(SELECT * FROM ${schema}.orders o${where(`o.owner = ${account}`)} UNION ALL ` +
        `SELECT * FROM ${schema}.orders o${where(`o.onchain_user = ${account}`, `o.owner <> ${account}`)}) o`;
  const skip = offset === undefined || offset === 0 ? '' : ` OFFSET ${bind(offset)}`;
  const text = `SELECT ${orderColumns(schema)} FROM ${orders} ORDER BY o.created DESC, o.uid DESC LIMIT ${bind(limit)}${skip}`;
  return { text, values };
}

function statusCondition({ is, now }: NonNullable<OrderQuery['status']>, bind: (value: unknown) => string): string {
  switch (is) {
    case 'open':
    case 'presignaturePending':
      return `o.live AND o.state = ${STATES.indexOf(is)} AND o.valid_to >= ${bind(now)}`;
    case 'expired':
      return `o.live AND o.valid_to < ${bind(now)}`;
    case 'cancelled':
    case 'fulfilled':
      return `NOT o.live AND o.state = ${STATES.indexOf(is)}`;
  }
}
