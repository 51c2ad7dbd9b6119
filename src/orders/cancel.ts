import * as z from 'zod/mini';
import type { ErrorCode } from '../errors.ts';
import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { CancelRejection, Store } from '../ports/store.ts';
import { cancellationDigest, cancellationsDigest } from '../protocol/cancellation.ts';
import type { Hex } from '../protocol/hex.ts';
import { bytesToHex } from '../protocol/hex.ts';
import { hex, hexSchema, parseShape } from '../protocol/shape.ts';
import type { EcdsaScheme } from '../protocol/signature.ts';
import { ECDSA_SCHEMES, parseEcdsaSignature } from '../protocol/signature.ts';
import { UID_SIZE, unpackUid } from '../protocol/uid.ts';
import type { Verifier } from '../protocol/verifier.ts';
import type { SigningDomain } from './authenticate.ts';

/** How many UIDs one request may name. */
export const MAX_UIDS = 128;

/** One signature that cancels a list of orders: `OrderCancellations(bytes[] orderUids)`. */
export interface OrderCancellations {
  readonly orderUids: readonly string[];
  readonly signature: string;
  readonly signingScheme: EcdsaScheme;
}

/** One signature that cancels one order: `OrderCancellation(bytes orderUid)`, or the type above over a list of one. */
export interface OrderCancellation {
  readonly orderUid: string;
  readonly signature: string;
  readonly signingScheme: EcdsaScheme;
}

/** What became of a cancellation: all of its orders, or none. */
export type CancelResult =
  | { readonly status: 'cancelled'; readonly uids: readonly Hex[] }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

export interface CancelContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly verifier: Verifier;
  readonly domain: SigningDomain;
}

const authorisation = { signature: hex(), signingScheme: z.enum(ECDSA_SCHEMES) };
export const cancellations = /* @__PURE__ */ z.object({
  orderUids: z.array(hexSchema(UID_SIZE)).check(z.minLength(1, { error: 'must name an order' })),
  ...authorisation,
});
export const cancellation = /* @__PURE__ */ z.object({ orderUid: hexSchema(UID_SIZE), ...authorisation });

/**
 * Cancels orders by their owner's signature. The signature is judged first, then whether the orders exist, then their
 * state, so that nobody learns the state of somebody else's order (decision 2.21).
 */
export async function cancel(input: unknown, context: CancelContext): Promise<CancelResult> {
  const uids = authorise(input, context);
  if (uids instanceof OrderBookError) return { status: 'rejected', error: uids };
  const cancelledAt = context.clock.now();
  const outcome = await context.store.orders.cancel({ uids, now: Math.floor(cancelledAt / 1000), cancelledAt });
  if (outcome.status === 'cancelled') return { status: 'cancelled', uids };
  const code = CANCEL_ERRORS[outcome.reason];
  return { status: 'rejected', error: new OrderBookError(code, undefined, { uid: outcome.uid }) };
}

/** What a store's reason is called on the wire. */
export const CANCEL_ERRORS: Readonly<Record<CancelRejection, ErrorCode>> = {
  missing: 'OrderNotFound',
  fulfilled: 'OrderFullyExecuted',
  cancelled: 'AlreadyCancelled',
  expired: 'OrderExpired',
  'on-chain': 'OnChainOrder',
};

/** Finds the orders that a cancellation names, once its signature has proven to be by the owner of each. */
function authorise(input: unknown, { verifier, domain }: CancelContext): readonly Hex[] | OrderBookError {
  const single = typeof input === 'object' && input !== null && 'orderUid' in input;
  const request = single ? parseSingle(input) : parseBatch(input);
  if (request instanceof OrderBookError) return request;

  const { uids, signingScheme: scheme } = request;
  const { separator } = verifier.hasher;
  const [uid] = uids;
  // One UID may be signed for by the type for one or by the type for a list; a list by the latter only.
  const list = cancellationsDigest(separator, uids);
  const digests = single && uid !== undefined ? [list, cancellationDigest(separator, uid)] : [list];
  const meant = digests.at(-1) ?? list;
  const help = { scheme, digest: bytesToHex(meant), domain };

  const signature = parseEcdsaSignature(request.signature);
  if (typeof signature === 'string') return new OrderBookError('InvalidSignature', signature, help);
  const signers = digests.map((digest) => verifier.recoverDigest(digest, scheme, signature));
  if (signers.some((signer) => uids.every((each) => unpackUid(each).owner === signer))) return uids;

  const recovered = signers.at(-1);
  if (recovered === undefined) return new OrderBookError('InvalidSignature', 'no key fits this signature', help);
  const foreign = uids.find((each) => unpackUid(each).owner !== recovered) ?? '0x';
  const expected = unpackUid(foreign).owner;
  const description = `the signature is by ${recovered}, the order ${foreign} belongs to ${expected}`;
  return new OrderBookError('WrongOwner', description, { recovered, expected, uid: foreign, ...help });
}

interface Authorised {
  readonly uids: readonly Hex[];
  readonly signature: Hex;
  readonly signingScheme: EcdsaScheme;
}

function parseSingle(input: unknown): Authorised | OrderBookError {
  const request = parseShape(cancellation, input);
  return request instanceof OrderBookError ? request : { ...request, uids: [request.orderUid] };
}

function parseBatch(input: unknown): Authorised | OrderBookError {
  const count = countUids(input);
  if (count > MAX_UIDS) return tooManyUids(count);
  const request = parseShape(cancellations, input);
  return request instanceof OrderBookError ? request : { ...request, uids: request.orderUids };
}

function countUids(input: unknown): number {
  if (typeof input !== 'object' || input === null || !('orderUids' in input)) return 0;
  return Array.isArray(input.orderUids) ? input.orderUids.length : 0;
}

/** Rejects a list of UIDs that is too long, before any of them is decoded. */
export function tooManyUids(count: number): OrderBookError {
  return new OrderBookError('TooManyOrderUids', `${count} order UIDs, at most ${MAX_UIDS} are allowed`, {
    limit: MAX_UIDS,
    count,
  });
}
