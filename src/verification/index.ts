/**
 * Verification of signatures, and explanations of those that fail.
 *
 * @module
 */

export type { ExplainedOrder, ExplainOptions, SignatureExplanation, SignedDifference } from './explain.ts';
export { explainSignature } from './explain.ts';
export type {
  Recovered,
  RecoveryObservation,
  SignedDigest,
  SignedOrder,
  Verifier,
  VerifierOptions,
} from './verifier.ts';
export { createVerifier, observedVerifier } from './verifier.ts';
