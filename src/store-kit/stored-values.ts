import type { DeliveryState } from '../ports/delivery-store.ts';
import type { QuotaClass } from '../ports/order-record.ts';
import type { Subscription } from '../ports/subscription-store.ts';
import type { SigningScheme } from '../protocol/signature.ts';

/** Codes are indexes in these lists. Both databases have them in rows: append only. */
export const SCHEMES = ['eip712', 'ethsign', 'presign', 'eip1271'] as const satisfies readonly SigningScheme[];
export const QUOTA_CLASSES = ['open', 'pending'] as const satisfies readonly QuotaClass[];
export const KINDS = ['sell', 'buy'] as const;
export const QUOTE_KINDS = ['standard', 'onchainPresign', 'onchainEip1271'] as const;
export const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'dropped'] as const satisfies readonly DeliveryState[];

/** Returns the quota class with a code. The table checks the range. */
export const getQuotaClass = (code: number) => QUOTA_CLASSES[code] as QuotaClass;
/** Returns the signing scheme with a code. The table checks the range. */
export const getScheme = (code: number) => SCHEMES[code] as (typeof SCHEMES)[number];

/** A subscription as databases return it: its types are JSON. */
export type SubscriptionRow = Omit<Subscription, 'types' | 'failingSince'> & {
  readonly types: string;
  readonly failingSince: number | null;
};

export function readSubscription({ types, failingSince, ...row }: SubscriptionRow): Subscription {
  const subscription = { ...row, types: JSON.parse(types) };
  return failingSince === null ? subscription : { ...subscription, failingSince };
}
