import type { NewOrder } from '../ports/order-record.ts';

/**
 * Returns the time until which an order needs its document, in seconds since 1970. The block of an order that is placed
 * on chain can be later than the end of the order.
 */
export function getDocumentUse({ validTo, creationDate }: Pick<NewOrder, 'validTo' | 'creationDate'>): number {
  return Math.max(validTo, Math.floor(creationDate / 1000));
}
