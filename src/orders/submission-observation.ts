import type { ErrorCode } from '../errors.ts';
import type { SubmitResult } from './submit.ts';

/** A finished submission of one or more orders. */
export interface SubmissionObservation {
  readonly accepted: number;
  /** The code of each rejected order. */
  readonly rejected: readonly ErrorCode[];
  /** Milliseconds from the call until all orders were stored or rejected. */
  readonly ms: number;
}

/** Summarizes the results of a submission. */
export function toSubmissionObservation(results: readonly SubmitResult[], ms: number): SubmissionObservation {
  const rejected = results.flatMap((result) => (result.status === 'rejected' ? [result.error.code] : []));
  return { accepted: results.length - rejected.length, rejected: rejected, ms };
}
