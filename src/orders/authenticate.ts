import { checkNamedOwner } from '../admission/checks.ts';
import type { KnownDocument } from '../admission/documents.ts';
import type { ParsedCreation, VerifiedOrder } from '../admission/verified-order.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import { OrderBookError } from '../errors.ts';
import type { SigningDomain } from '../protocol/eip712.ts';
import { type Address, bytesToHex, type Hex, packUid, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { OrderData, OrderHasher } from '../protocol/order.ts';
import { type EcdsaSignature, isEcdsa, parseSignature, type Signature } from '../protocol/signature.ts';
import { getInteractions } from '../protocol/trampoline.ts';
import type { AdmissionContext } from './admission.ts';

/** The search for the domain of a signature. Only wrong signatures need it. */
const otherSigner = lazy(() => import('./signer-error.ts'));

/** An order whose signature has not been checked yet. */
export interface UnverifiedOrder {
  readonly creation: ParsedCreation;
  readonly document: KnownDocument;
  readonly data: OrderData;
  readonly digest: Uint8Array;
  readonly signature: Signature;
  /** The owner that the request names, if any. */
  readonly expected: Address | undefined;
}

/**
 * Determines the claimed owner and the signed data of an order. See docs/internals/decisions.md#d2-3.
 *
 * @returns The order, or `AppdataFromMismatch`, `MissingFrom` or `InvalidSignature`.
 */
export function parseUnverifiedOrder(
  creation: ParsedCreation,
  document: KnownDocument,
  hasher: OrderHasher,
  domain: SigningDomain,
): UnverifiedOrder | OrderBookError {
  const { from, signingScheme: scheme } = creation;
  const { signer } = document.content;
  const mismatch = checkNamedOwner(from, signer);
  if (mismatch !== undefined) return mismatch;
  const expected = from ?? signer;
  // No contract has the zero address, so no such order can be signed.
  if ((expected === undefined || expected === ZERO_ADDRESS) && !isEcdsa(scheme)) {
    const description = `\`from\` must be given for ${scheme} orders, because the signature does not contain the owner`;
    return new OrderBookError('MissingFrom', description, { scheme });
  }
  const data = toOrderData(creation, document.hash);
  const digest = hasher.digest(data);
  const signature = parseSignature(scheme, creation.signature);
  if (typeof signature === 'string') {
    return new OrderBookError('InvalidSignature', signature, { scheme, digest: bytesToHex(digest), domain });
  }
  return { creation, document, data, digest, signature, expected };
}

/** Checks the signatures of many orders against their owners. Contract signatures are checked later, on chain. */
export async function authenticate(
  orders: readonly (UnverifiedOrder | OrderBookError)[],
  context: Pick<AdmissionContext, 'verifier' | 'domain' | 'hooksTrampoline'>,
): Promise<(VerifiedOrder | OrderBookError)[]> {
  const signed = orders.filter(
    (order): order is EcdsaUnverifiedOrder => !(order instanceof OrderBookError) && isSigned(order),
  );
  const recovered = await context.verifier.recoverDigests(
    signed.map(({ digest, signature }) => ({ digest, scheme: signature.scheme, signature })),
  );
  const signers = recovered.values();
  return Promise.all(
    orders.map((order) => {
      if (order instanceof OrderBookError) return order;
      return checkSigner(order, isSigned(order) ? signers.next().value : undefined, context, orders.length);
    }),
  );
}

type EcdsaUnverifiedOrder = UnverifiedOrder & {
  readonly signature: EcdsaSignature & { readonly scheme: 'eip712' | 'ethsign' };
};

function isSigned(order: UnverifiedOrder): order is EcdsaUnverifiedOrder {
  return isEcdsa(order.signature.scheme);
}

function checkSigner(
  order: UnverifiedOrder,
  recovered: Address | undefined,
  context: Pick<AdmissionContext, 'verifier' | 'domain' | 'hooksTrampoline'>,
  count: number,
): VerifiedOrder | OrderBookError | Promise<OrderBookError> {
  const { domain, hooksTrampoline } = context;
  const { creation, document, data, digest, signature, expected } = order;
  const { scheme } = signature;
  const owner = isEcdsa(scheme) ? recovered : expected;
  const details = { scheme, digest: bytesToHex(digest), domain };
  if (owner === undefined)
    return new OrderBookError('InvalidSignature', 'no key can be recovered from the signature', details);
  if (isSigned(order) && expected !== undefined && expected !== owner) {
    const data = { recovered: owner, expected, ...details };
    return otherSigner.use(({ createSignerError }) => createSignerError(order, data, context, count));
  }
  return {
    creation,
    data,
    owner,
    document,
    uid: packUid({ digest: details.digest, owner, validTo: data.validTo }),
    signingScheme: creation.signingScheme,
    signature: signature.hex,
    settlementContract: domain.verifyingContract,
    interactions: getInteractions(document.content.hooks, hooksTrampoline),
    validFrom: document.content.validFrom,
  };
}

function toOrderData(creation: ParsedCreation, appData: Hex): OrderData {
  return {
    sellToken: creation.sellToken,
    buyToken: creation.buyToken,
    receiver: creation.receiver,
    sellAmount: creation.sellAmount,
    buyAmount: creation.buyAmount,
    validTo: creation.validTo,
    appData,
    feeAmount: 0n, // orders with another fee are rejected earlier
    kind: creation.kind,
    partiallyFillable: creation.partiallyFillable,
    sellTokenBalance: creation.sellTokenBalance,
    buyTokenBalance: creation.buyTokenBalance,
  };
}
