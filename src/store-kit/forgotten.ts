import type { NewNotification } from '../ports/notification-store.ts';
import type { Address } from '../protocol/hex.ts';

/** The notification to which the log entries of forgotten accounts refer. It is never listed. */
export const FORGOTTEN = {
  id: 'forgotten',
  account: '0x0000000000000000000000000000000000000000',
  type: 'order_cancelled',
  at: 0,
  body: JSON.stringify({
    id: 'forgotten',
    account: '0x0000000000000000000000000000000000000000',
    type: 'order_cancelled',
    timestamp: '1970-01-01T00:00:00.000Z',
    message: '',
    metadata: {},
  }),
} as const satisfies NewNotification;

/** Returns the text that the stored value of a referred trade contains if the account is its affiliate. */
export const getReferralText = (account: Address): string => `"affiliate":"${account}"`;

/** Prefix of the feeds whose progress markers are the values of referred trades. */
export const REFERRAL_FEEDS = 'affiliates ';
