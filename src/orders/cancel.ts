import { cancellation, cancellations } from '../admission/cancellation-schema.ts';
import { OrderBookError } from '../errors.ts';
import { StoreError } from '../ports/store.ts';
import { cancellationDigest, cancellationsDigest } from '../protocol/cancellation.ts';
import { type Domain, domainSeparator } from '../protocol/eip712.ts';
import { bytesToHex, type Hex, unpackUid } from '../protocol/hex.ts';
import { parseShape } from '../protocol/shape.ts';
import { type EcdsaScheme, parseEcdsaSignature } from '../protocol/signature.ts';
import type { AdmissionContext } from './admission.ts';
import { CANCEL_ERRORS, createTooManyUidsError, MAX_UIDS } from './cancel-errors.ts';
import { findSignedDomain } from './signer-error.ts';

/** A list of orders to cancel, with one signature: `OrderCancellations(bytes[] orderUids)`. */
export interface OrderCancellations {
  readonly orderUids: readonly string[];
  readonly signature: string;
  readonly signingScheme: EcdsaScheme;
}

/** One order to cancel, with a signature of `OrderCancellation(bytes orderUid)` or of the list type with one UID. */
export interface OrderCancellation {
  readonly orderUid: string;
  readonly signature: string;
  readonly signingScheme: EcdsaScheme;
}

/** The result of a cancellation: all of its orders, or none. */
export type CancelResult =
  | { readonly status: 'cancelled'; readonly uids: readonly Hex[] }
  | { readonly status: 'rejected'; readonly error: OrderBookError }
  /** The outcome of the write is unknown: all of the orders are cancelled, or none. */
  | { readonly status: 'unknown'; readonly error: OrderBookError };

type CancelParts = Pick<AdmissionContext, 'store' | 'clock' | 'verifier' | 'domain' | 'relay'>;

/**
 * Cancels orders by their owner's signature. Checks the signature first, then the existence of the orders, then their
 * state. So a stranger does not learn the state of an order. See docs/internals/decisions.md#d2-21.
 */
export async function cancel(input: unknown, context: CancelParts): Promise<CancelResult> {
  const uids = await parseAuthorised(input, context);
  if (uids instanceof OrderBookError) return { status: 'rejected', error: uids };
  if (context.relay !== undefined) return context.relay.cancel(input, uids);
  const cancelledAt = context.clock.now();
  const request = { uids, now: Math.floor(cancelledAt / 1000), cancelledAt };
  const outcome = await context.store.orders.cancel(request).catch((failure: unknown) => {
    if (failure instanceof StoreError && failure.code === 'OutcomeUnknown') return undefined;
    throw failure;
  });
  if (outcome === undefined)
    return { status: 'unknown', error: new OrderBookError('OutcomeUnknown', undefined, { uids }) };
  if (outcome.status === 'cancelled') return { status: 'cancelled', uids };
  const code = CANCEL_ERRORS[outcome.reason];
  return { status: 'rejected', error: new OrderBookError(code, undefined, { uid: outcome.uid }) };
}

/** Returns the UIDs of a cancellation if its signature is by the owner of each order. */
async function parseAuthorised(input: unknown, context: CancelParts): Promise<readonly Hex[] | OrderBookError> {
  const { verifier, domain } = context;
  const single = typeof input === 'object' && input !== null && 'orderUid' in input;
  const request = single ? parseSingle(input) : parseBatch(input);
  if (request instanceof OrderBookError) return request;

  const { uids, signingScheme: scheme } = request;
  const { separator } = verifier.hasher;
  const [uid] = uids;
  // The single route accepts both signature types, the list route only the list type.
  const list = cancellationsDigest(separator, uids);
  const digests = single && uid !== undefined ? [list, cancellationDigest(separator, uid)] : [list];
  const expectedDigest = digests.at(-1) ?? list;
  const details = { scheme, digest: bytesToHex(expectedDigest), domain };

  const signature = parseEcdsaSignature(request.signature);
  if (typeof signature === 'string') return new OrderBookError('InvalidSignature', signature, details);
  const signers = digests.map((digest) => verifier.recoverDigest(digest, scheme, signature));
  if (signers.some((signer) => uids.every((each) => unpackUid(each).owner === signer))) return uids;

  const recovered = signers.at(-1);
  if (recovered === undefined)
    return new OrderBookError('InvalidSignature', 'no key can be recovered from the signature', details);
  const foreign = uids.find((each) => unpackUid(each).owner !== recovered) ?? '0x';
  const expected = unpackUid(foreign).owner;
  const digest = (other: Domain) =>
    single ? cancellationDigest(domainSeparator(other), foreign) : cancellationsDigest(domainSeparator(other), uids);
  // The digest of a long list costs more than a recovery.
  const found =
    uids.length === 1 ? await findSignedDomain(expected, { ...signature, scheme }, digest, context) : undefined;
  const description = found ?? `the signature is by ${recovered}, the order ${foreign} belongs to ${expected}`;
  return new OrderBookError('WrongOwner', description, { recovered, expected, uid: foreign, ...details });
}

interface ParsedCancellation {
  readonly uids: readonly Hex[];
  readonly signature: Hex;
  readonly signingScheme: EcdsaScheme;
}

function parseSingle(input: unknown): ParsedCancellation | OrderBookError {
  const request = parseShape(cancellation, input);
  return request instanceof OrderBookError ? request : { ...request, uids: [request.orderUid] };
}

function parseBatch(input: unknown): ParsedCancellation | OrderBookError {
  const count = countUids(input);
  if (count > MAX_UIDS) return createTooManyUidsError(count);
  const request = parseShape(cancellations, input);
  return request instanceof OrderBookError ? request : { ...request, uids: request.orderUids };
}

function countUids(input: unknown): number {
  if (typeof input !== 'object' || input === null || !('orderUids' in input)) return 0;
  return Array.isArray(input.orderUids) ? input.orderUids.length : 0;
}
