import type { OrderQuery, StoredOrder } from 'intentbook';
import type { OrderRow } from './rows.ts';
import { orderColumns, readOrder, STATES, toBytes } from './rows.ts';
import type { Run } from './running.ts';
import type { Session } from './session.ts';

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
 * Writes the query of a listing. For each combination of filters there is one index to read the page off, from the
 * cursor on, in the order of the listing: it begins with columns that are compared for equality, so that nothing is
 * sorted, and what the cursor has passed costs nothing.
 *
 * PostgreSQL cannot be told which index that is. So only the filters that it begins with are written as operators. The
 * others stand together in one expression, which no index answers, and which the planner expects to let half of the
 * rows through rather than nearly none.
 */
export function listingSql(schema: string, query: OrderQuery): ListingSql {
  const { owner, sellToken, buyToken, status, after, offset, limit } = query;
  const conditions: string[] = [];
  const others: string[] = [];
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const account = owner === undefined ? undefined : bind(toBytes(owner));
  const indexed = indexedFilters(query);
  const where = (filter: Filter, condition: string) => (indexed.includes(filter) ? conditions : others).push(condition);

  if (sellToken !== undefined) where('sellToken', `o.sell_token = ${bind(toBytes(sellToken))}`);
  if (buyToken !== undefined) where('buyToken', `o.buy_token = ${bind(toBytes(buyToken))}`);
  if (status !== undefined) {
    if (isDone(status)) {
      if (indexed.includes('status')) conditions.push('NOT o.live');
      where('status', `o.state = ${codeOf(status.is)}`);
    } else {
      conditions.push('o.live');
      others.push(validity(status.is, bind(status.now)));
      if (status.is !== 'expired') others.push(`o.state = ${codeOf(status.is)}`);
    }
  }
  if (after !== undefined) {
    conditions.push(`(o.created, o.uid) < (${bind(after.creationDate)}, ${bind(toBytes(after.uid))})`);
  }

  const order = 'ORDER BY o.created DESC, o.uid DESC';
  const select = (indexable: readonly string[], rest: readonly string[]) => {
    const all = [...indexable, ...conditions];
    const unindexed = [...rest, ...others];
    if (unindexed.length > 0) all.push(`coalesce(${unindexed.join(' AND ')}, false)`);
    return `SELECT * FROM ${schema}.orders o${all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`} ${order}`;
  };
  const most = bind(limit);
  const skipped = offset === undefined || offset === 0 ? undefined : bind(offset);
  const page = `LIMIT ${most}::bigint${skipped === undefined ? '' : ` OFFSET ${skipped}::bigint`}`;
  const reach = `LIMIT ${most}::bigint${skipped === undefined ? '' : ` + ${skipped}::bigint`}`;
  // What an account owns, and what it has placed on chain for a contract to own: a page of each at most, off two indexes.
  const orders =
    account === undefined
      ? `(${select([], [])} ${page}) o`
      : `((${select([`o.owner = ${account}`], [])} ${reach}) UNION ALL ` +
        `(${select([`o.onchain_user = ${account}`], [`o.owner <> ${account}`])} ${reach}) ` +
        `ORDER BY created DESC, uid DESC ${page}) o`;
  const text = `SELECT ${orderColumns(schema)} FROM ${orders} ${order}`;
  return { text, values };
}

type Filter = 'sellToken' | 'buyToken' | 'status';
type Status = NonNullable<OrderQuery['status']>;

const isDone = ({ is }: Status) => is === 'cancelled' || is === 'fulfilled';

/** What the index of a listing begins with, an account aside. Those of live orders do not grow with the past. */
function indexedFilters({ owner, sellToken, buyToken, status }: OrderQuery): readonly Filter[] {
  if (owner !== undefined) return [];
  if (status !== undefined && isDone(status)) return ['status'];
  if (status !== undefined && sellToken !== undefined && buyToken !== undefined) return ['sellToken', 'buyToken'];
  if (sellToken !== undefined) return ['sellToken'];
  return buyToken === undefined ? [] : ['buyToken'];
}

/** The code of a state. `expired` is none, and not asked for. */
const codeOf = (is: Status['is']) => (is === 'expired' ? -1 : STATES.indexOf(is));

function validity(is: Status['is'], now: string): string {
  return is === 'expired' ? `o.valid_to < ${now}` : `o.valid_to >= ${now}`;
}
