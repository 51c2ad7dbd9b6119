/**
 * Verification of signatures, and explanations of those that fail.
 *
 * @module
 */

export type { ExplainedOrder, ExplainOptions, SignatureExplanation, SignedDifference } from './explain.ts';
export { explainSignature } from './explain.ts';
export { observedVerifier, type RecoveryObservation } from './observed-verifier.ts';
export type { SignedDigest } from './recover-many.ts';
export { createVerifier, type Recovered, type SignedOrder, type Verifier, type VerifierOptions } from './verifier.ts';
