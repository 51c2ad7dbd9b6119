/**
 * Orders: their submission (`submit` of `submit.ts`), reads, lists, cancellation and expiry.
 *
 * @module
 */

export type { CancelResult, OrderCancellation, OrderCancellations } from './cancel.ts';
export { createTooManyUidsError, MAX_UIDS } from './cancel-errors.ts';
export type { EncodedPage, EncodedReadOptions } from './list-orders.ts';
export { createOrders, type OrderApi } from './orders.ts';
export { createOrderCache } from './read.ts';
export type { PruneObservation, RetentionOptions } from './retention-options.ts';
export { parseRetention } from './retention-options.ts';
export type { SimulateOptions, SimulateResult } from './simulation.ts';
export type { SubmissionObservation, SubmitOptions, SubmitResult } from './submit.ts';
