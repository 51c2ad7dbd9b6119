import { type OrderToSign, orderTypedData, orderUid, signingDomain } from 'intentbook/sign';
import type { SequentialModel } from 'intentbook/testing';
import type { WireOrder } from '../../support/orders.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';

/** Number of orders that an owner may have open. */
export const QUOTA = 2;

/** The last order replaces the first one. */
const ORDERS = 5;
const REPLACEMENT = ORDERS - 1;

/** A call of a client, about the order with an index. */
export interface Call {
  readonly op: 'submit' | 'cancel' | 'read' | 'list';
  readonly order: number;
}

/** An owner, whose orders only one history uses. */
export interface Owner {
  readonly address: string;
  readonly uids: readonly string[];
  readonly orders: readonly WireOrder[];
  readonly cancellations: readonly object[];
}

/** Signs the orders and cancellations of an owner. @param n - Identifies the owner. */
export async function createOwner(n: number): Promise<Owner> {
  const signer = account(1_000_000 + n);
  const validTo = Math.floor(Date.now() / 1000) + 7200;
  const orders: WireOrder[] = [];
  const uids: string[] = [];
  for (let i = 0; i < ORDERS; i++) {
    const replaced = i === REPLACEMENT ? { replacedOrder: { uid: uids[0] } } : undefined;
    const appData = replaced === undefined ? '{}' : JSON.stringify({ metadata: replaced });
    const order = await signOrder(signer, { validTo, appData, buyAmount: String(1000 + i) });
    orders.push(order);
    uids.push(orderUid(orderTypedData(signingDomain({ chainId: SEPOLIA }), order as OrderToSign), signer.address));
  }
  const cancellations = await Promise.all(
    uids.map(async (uid) => {
      const orderUids = [uid];
      return { orderUids, ...(await signCancellation(signer, { orderUids })) };
    }),
  );
  return { address: signer.address, uids, orders, cancellations };
}

/** The orders of an owner, with their status. */
type Orders = Readonly<Record<number, 'open' | 'cancelled'>>;

/** The sequential specification of the orders of one owner. `failed`: the server has denied any effect. */
export const OWNER_MODEL: SequentialModel<Orders, Call, string> = {
  initial: {},
  step(orders, { op, order }, output) {
    if (output === 'failed') return [orders];
    const outcomes = op === 'submit' ? submit(orders, order) : [runOther(orders, op, order)];
    const possible = outcomes.filter(([expected]) => output === undefined || output === expected);
    return possible.map(([, after]) => after);
  },
};

type Outcome = readonly [output: string, orders: Orders];

/** Returns the possible outcomes. A replacement that breaks several rules may be rejected for any of them. */
function submit(orders: Orders, order: number): readonly Outcome[] {
  const replaced = order === REPLACEMENT ? orders[0] : undefined;
  const rejections: Outcome[] = [];
  if (orders[order] !== undefined) rejections.push(['DuplicatedOrder', orders]);
  if (order === REPLACEMENT && replaced === undefined) rejections.push(['OrderNotFound', orders]);
  if (replaced === 'cancelled') rejections.push(['AlreadyCancelled', orders]);
  const open = Object.values(orders).filter((each) => each === 'open').length - (replaced === 'open' ? 1 : 0);
  if (open >= QUOTA) rejections.push(['TooManyLimitOrders', orders]);
  if (rejections.length > 0) return rejections;
  const changes: Orders = order === REPLACEMENT ? { 0: 'cancelled', [order]: 'open' } : { [order]: 'open' };
  return [['accepted', { ...orders, ...changes }]];
}

function runOther(orders: Orders, op: Exclude<Call['op'], 'submit'>, order: number): Outcome {
  if (op === 'list') return [showList(Object.entries(orders)), orders];
  const status = orders[order];
  if (op === 'read') return [status ?? 'none', orders];
  if (status === undefined) return ['OrderNotFound', orders];
  if (status === 'cancelled') return ['AlreadyCancelled', orders];
  return ['cancelled', { ...orders, [order]: 'cancelled' }];
}

/** Formats the orders of a list, independent of their order. */
export function showList(entries: readonly (readonly [order: string | number, status: string])[]): string {
  return entries
    .map((entry) => entry.join(' '))
    .sort()
    .join();
}
