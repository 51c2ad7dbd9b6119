import type { KnownDocument } from '../app-data/documents.ts';
import { OrderBookError } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { bytesToHex } from '../protocol/hex.ts';
import type { OrderData, OrderHasher } from '../protocol/order.ts';
import type { EcdsaSignature, Signature } from '../protocol/signature.ts';
import { isEcdsa, parseSignature } from '../protocol/signature.ts';
import { getInteractions } from '../protocol/trampoline.ts';
import { packUid } from '../protocol/uid.ts';
import type { Verifier } from '../protocol/verifier.ts';
import type { ParsedCreation } from './creation.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** The domain, as a rejection shows it. */
export interface SigningDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Address;
}

/** What authentication works with. */
export interface AuthenticationContext {
  readonly verifier: Verifier;
  readonly domain: SigningDomain;
  /** The contract that hooks run through. */
  readonly hooksTrampoline: Address;
}

/** An order whose signature is still to be held against its owner. */
export interface UnverifiedOrder {
  readonly creation: ParsedCreation;
  readonly document: KnownDocument;
  readonly data: OrderData;
  readonly digest: Uint8Array;
  readonly signature: Signature;
  /** Who says to be the owner, where somebody does. */
  readonly expected: Address | undefined;
}

/**
 * Finds out who claims to own an order (decisions 2.3 to 2.7).
 *
 * @returns the claim, or `AppdataFromMismatch`, `MissingFrom` or `InvalidSignature`.
 */
export function parseUnverifiedOrder(
  creation: ParsedCreation,
  document: KnownDocument,
  hasher: OrderHasher,
  domain: SigningDomain,
): UnverifiedOrder | OrderBookError {
  const { from, signingScheme: scheme } = creation;
  const { signer } = document.content;
  if (from !== undefined && signer !== undefined && from !== signer) {
    return new OrderBookError('AppdataFromMismatch', `from is ${from}, metadata.signer is ${signer}`, { from, signer });
  }
  const expected = from ?? signer;
  if (expected === undefined && !isEcdsa(scheme)) {
    const description = `a ${scheme} order must say \`from\`, its signature does not`;
    return new OrderBookError('MissingFrom', description, { scheme });
  }
  const data = signedData(creation, document.hash);
  const digest = hasher.digest(data);
  const signature = parseSignature(scheme, creation.signature);
  if (typeof signature === 'string') {
    return new OrderBookError('InvalidSignature', signature, { scheme, digest: bytesToHex(digest), domain });
  }
  return { creation, document, data, digest, signature, expected };
}

/** Holds signatures against owners, many at once. Contract signatures are left to the chain. */
export async function authenticate(
  claims: readonly (UnverifiedOrder | OrderBookError)[],
  context: AuthenticationContext,
): Promise<(VerifiedOrder | OrderBookError)[]> {
  const signed = claims.filter(
    (claim): claim is EcdsaUnverifiedOrder => !(claim instanceof OrderBookError) && isSigned(claim),
  );
  const recovered = await context.verifier.recoverDigests(
    signed.map(({ digest, signature }) => ({ digest, scheme: signature.scheme, signature })),
  );
  const signers = new Map(signed.map((claim, i) => [claim as UnverifiedOrder, recovered[i]]));
  return claims.map((claim) =>
    claim instanceof OrderBookError ? claim : checkSigner(claim, signers.get(claim), context),
  );
}

type EcdsaUnverifiedOrder = UnverifiedOrder & {
  readonly signature: EcdsaSignature & { readonly scheme: 'eip712' | 'ethsign' };
};

function isSigned(claim: UnverifiedOrder): claim is EcdsaUnverifiedOrder {
  return isEcdsa(claim.signature.scheme);
}

function checkSigner(
  claim: UnverifiedOrder,
  recovered: Address | undefined,
  { domain, hooksTrampoline }: AuthenticationContext,
): VerifiedOrder | OrderBookError {
  const { creation, document, data, digest, signature, expected } = claim;
  const { scheme } = signature;
  const owner = isEcdsa(scheme) ? recovered : expected;
  const help = { scheme, digest: bytesToHex(digest), domain };
  if (owner === undefined) return new OrderBookError('InvalidSignature', 'no key fits this signature', help);
  if (expected !== undefined && expected !== owner) {
    const description = `the signature is by ${owner}, not by ${expected}`;
    return new OrderBookError('InvalidSignature', description, { recovered: owner, expected, ...help });
  }
  return {
    creation,
    data,
    owner,
    document,
    uid: packUid({ digest: help.digest, owner, validTo: data.validTo }),
    signature: signature.hex,
    interactions: getInteractions(document.content.hooks, hooksTrampoline),
  };
}

function signedData(creation: ParsedCreation, appData: Hex): OrderData {
  return {
    sellToken: creation.sellToken,
    buyToken: creation.buyToken,
    receiver: creation.receiver,
    sellAmount: creation.sellAmount,
    buyAmount: creation.buyAmount,
    validTo: creation.validTo,
    appData,
    feeAmount: 0n, // any other fee has been rejected before
    kind: creation.kind,
    partiallyFillable: creation.partiallyFillable,
    sellTokenBalance: creation.sellTokenBalance,
    buyTokenBalance: creation.buyTokenBalance,
  };
}
