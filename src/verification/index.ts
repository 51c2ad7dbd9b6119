/**
 * Verification of signatures, and explanations of those that fail.
 *
 * @module
 */

export type { ExplainedOrder, ExplainOptions, SignatureExplanation, SignedDifference } from './explain.ts';
export { explainSignature } from './explain.ts';
export type { SignedDigest } from './recover-many.ts';
export type { Recovered, SignedOrder, Verifier, VerifierOptions } from './verifier.ts';
export { createVerifier } from './verifier.ts';
