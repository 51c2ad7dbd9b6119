/**
 * Age of a notification at the creation of a subscription up to which it is delivered, in milliseconds. An account
 * store may read the log of an old book for the first time, and nothing of that past is sent.
 */
export const DELIVERY_WINDOW = 3_600_000;
