import { type Metadata, NO_METADATA } from '../protocol/metadata.ts';
import { parseAppData } from '../protocol/parse-app-data.ts';
import type { Order, OrderBody } from './wire-order.ts';

/** The keys of a document that auctions use. A letter of a key may be escaped. */
const USED_KEYS = /"(?:partnerFee|wrappers|flashloan)"|\\u/;

/** Reads the metadata of an order. Few documents have keys that auctions use, so the others are not parsed. */
export function readMetadata(fullAppData: string | null): Metadata {
  if (fullAppData === null || !USED_KEYS.test(fullAppData)) return NO_METADATA;
  const content = parseAppData(fullAppData);
  return typeof content === 'string' ? NO_METADATA : content;
}

/** Returns the required balance and allowance of an open order, in atoms. `undefined` if it cannot be determined. */
export function fundsNeeded(order: Omit<OrderBody, 'validFrom'> & Pick<Order, 'fullAppData'>): bigint | undefined {
  return order.sellTokenBalance === 'erc20' ? getSpending(order, readMetadata(order.fullAppData)) : undefined;
}

/** Like `fundsNeeded`, for every source of the sell token. */
export function getSpending(
  order: Omit<OrderBody, 'validFrom'>,
  { wrappers, flashloan }: Metadata,
): bigint | undefined {
  const { signingScheme, interactions, partiallyFillable, sellAmount, feeAmount } = order;
  // A contract may acquire the funds during its signature check, and a hook while it runs.
  if (signingScheme === 'eip1271' || interactions.pre.length > 0) return undefined;
  // They provide the funds before the settlement, as in the checks of a submission.
  if (wrappers.length > 0 || flashloan !== undefined) return undefined;
  return partiallyFillable ? 1n : BigInt(sellAmount) + BigInt(feeAmount);
}
