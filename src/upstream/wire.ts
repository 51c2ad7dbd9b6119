import type { OrderInsert } from '../ports/store.ts';
import type { UpstreamOrder } from '../ports/upstream.ts';
import { type Address, bytesToHex, packUid } from '../protocol/hex.ts';
import type { OrderHasher } from '../protocol/order.ts';
import { parseAppData } from '../protocol/parse-app-data.ts';
import { getInteractions } from '../protocol/trampoline.ts';
import { toNewOrder } from '../records/order-json.ts';
import type { OrderBody } from '../records/wire-order.ts';

/** The members of a stored body that an order in wire format has. */
const SUBMITTED = [
  'sellToken',
  'buyToken',
  'receiver',
  'sellAmount',
  'buyAmount',
  'validTo',
  'feeAmount',
  'kind',
  'partiallyFillable',
  'sellTokenBalance',
  'buyTokenBalance',
  'signingScheme',
  'signature',
] as const satisfies readonly (keyof OrderBody)[];

/** Renders an admitted order as it is submitted to the other book, with its document: that book may not have it. */
export function toCreation(
  { order, document }: OrderInsert,
  quoteId: number | undefined,
): Readonly<Record<string, unknown>> {
  const body = JSON.parse(order.body) as OrderBody; // rendered when the order was admitted
  const members = Object.fromEntries(SUBMITTED.map((name) => [name, body[name]]));
  const appData =
    document === undefined ? { appData: order.appData } : { appData: document.document, appDataHash: order.appData };
  return { ...members, ...appData, from: order.owner, ...(quoteId === undefined ? {} : { quoteId }) };
}

/** Returns whether an order of the other book is the order that was submitted: a UID does not contain the signature. */
export function isSameOrder({ order }: OrderInsert, found: UpstreamOrder): boolean {
  return order.uid === found.uid && order.owner === found.owner && order.signingScheme === found.signingScheme;
}

/** What the orders of this book have in common. */
export interface OrderOrigin {
  readonly hasher: OrderHasher;
  readonly settlementContract: Address;
  readonly hooksTrampoline: Address;
}

/**
 * Converts an order of the other book to a record of this one.
 *
 * @returns `undefined` if its UID is not that of its terms: it is signed for another chain or contract.
 */
export function toInsert(order: UpstreamOrder, origin: OrderOrigin): OrderInsert | undefined {
  const { uid, owner, signingScheme, signature, creationDate, fullAppData, userValidTo, quote } = order;
  const { hasher, settlementContract, hooksTrampoline } = origin;
  const expected = packUid({ digest: bytesToHex(hasher.digest(order)), owner, validTo: order.validTo });
  if (uid !== expected) return undefined;
  const content = fullAppData === undefined ? undefined : parseAppData(fullAppData);
  const known = typeof content === 'object' ? content : undefined;
  const record = toNewOrder(
    {
      uid,
      owner,
      data: order,
      signingScheme,
      signature,
      creationDate,
      settlementContract,
      interactions: known === undefined ? { pre: [], post: [] } : getInteractions(known.hooks, hooksTrampoline),
      validFrom: known?.validFrom,
      ...(order.class === 'liquidity' && { class: 'liquidity' as const }),
    },
    userValidTo === undefined ? {} : { validTo: userValidTo },
  );
  const document = fullAppData === undefined ? {} : { document: { hash: order.appData, document: fullAppData } };
  return { order: quote === undefined ? record : { ...record, quote }, ...document };
}

/** Describes why the UID of an order is not that of its terms here. */
export function describeDomain({ settlementContract: contract }: UpstreamOrder, origin: OrderOrigin): string {
  return contract === undefined || contract === origin.settlementContract ? 'another domain' : `settled by ${contract}`;
}

/** Returns whether an order has ended by the word of the other book. */
export const hasEnded = ({ status }: Pick<UpstreamOrder, 'status'>) =>
  status === 'fulfilled' || status === 'cancelled' || status === 'expired';
