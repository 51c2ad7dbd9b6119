import { keccak256Text } from '../crypto/keccak.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import { OrderBookError } from '../errors.ts';
import { appDataHash, EMPTY_DOCUMENT, parseAppData, ZERO_APP_DATA } from './app-data.ts';
import { CHAINS, deployment, ENVIRONMENTS } from './chains.ts';
import type { Domain } from './eip712.ts';
import { parseDomain } from './eip712.ts';
import type { Address, Hex } from './hex.ts';
import { bytesToHex, parseHex, ZERO_ADDRESS } from './hex.ts';
import type { OrderData, OrderHasher } from './order.ts';
import { createOrderHasher } from './order.ts';
import type { EcdsaSignature, SigningScheme } from './signature.ts';
import { isEcdsa, parseEcdsaSignature } from './signature.ts';
import { parseUint256 } from './uint256.ts';
import type { SignedOrder, Verifier } from './verifier.ts';
import { createVerifier, orderData } from './verifier.ts';

/** An order whose signature is to be explained: the body of a submission, its `appData` a document or a hash. */
export interface ExplainedOrder extends Omit<SignedOrder, 'signature' | 'signingScheme'> {
  readonly signingScheme?: SigningScheme;
  /** The owner. Without one, `metadata.signer` of the document is taken. */
  readonly from?: string | null | undefined;
  readonly appDataHash?: string | null | undefined;
}

/** What is known of where an order was meant for. */
export interface ExplainOptions {
  /** Where the order was sent. Absent: any known chain may be the right one. */
  readonly chainId?: number;
  /** The contract it was sent for. Default: the production one. */
  readonly settlementContract?: string;
  /** Fees that may have been signed besides the order's own and 0: those of the quotes it was made from. Atoms, decimal. */
  readonly feeAmounts?: readonly string[];
  /** Where public keys are recovered. Default: as `createVerifier` does. */
  readonly backend?: RecoveryBackendOption;
}

/** Something that was signed otherwise than it was sent. */
export interface SignedDifference {
  readonly field: 'chainId' | 'settlementContract' | 'signingScheme' | keyof OrderData;
  /** As the order says it, or as it was sent. */
  readonly sent: string;
  /** As the signature has it. */
  readonly signed: string;
}

/** What a signature says about an order. */
export interface SignatureExplanation {
  /** Whether the owner has signed the order as it was sent; `undefined` when only a chain can tell. */
  readonly matches: boolean | undefined;
  /** The whole in a sentence, for people. */
  readonly summary: string;
  /** The owner that the order claims, when it claims one. */
  readonly expected: Address | undefined;
  /** Who has signed, if it was this order. A different order recovers to an address that is nobody's. */
  readonly recovered: Address | undefined;
  /** What should have been signed, 32 bytes; `undefined` when the order is malformed. */
  readonly digest: Hex | undefined;
  /** The domain that the digest is of. */
  readonly domain: Domain | undefined;
  /**
   * What must be changed for the signature to be the owner's: nothing when it is, `undefined` when none of the usual
   * mistakes explains it.
   */
  readonly differences: readonly SignedDifference[] | undefined;
}

/**
 * Explains a signature, offline: who has made it, and, when that is not the owner, which of the usual mistakes would
 * make it theirs. Tried are other known chains, the staging contract, the other ECDSA scheme, the digest signed as text,
 * a fee, a null or other receiver, the kind, partial filling, and the app data of `{}`, of none and of the document
 * serialised anew; each alone, then any two together.
 *
 * @example
 * const { summary } = await explainSignature(order, order.signature, { chainId: 11155111 });
 * // "signed with chainId 1 where 11155111 was sent"
 */
export async function explainSignature(
  order: ExplainedOrder,
  signature: string,
  options: ExplainOptions = {},
): Promise<SignatureExplanation> {
  const unknown = { expected: undefined, recovered: undefined, digest: undefined, domain: undefined };
  const claim = parseClaimedSignature(order, options);
  if (typeof claim === 'string') return { matches: false, summary: claim, ...unknown, differences: undefined };
  const { expected, sent, scheme } = claim;
  const { domain } = sent;
  const trial = await createTrial(claim, options);
  const digest = bytesToHex(trial.digest(sent));
  const known = { expected, digest, domain };

  const bytes = parseHex(signature);
  const parsed = bytes === undefined ? 'the signature is not hex text' : parseEcdsaSignature(bytes);
  const offChain = isEcdsa(scheme);
  const onlyOnChain =
    scheme === 'presign'
      ? 'a presign order carries no signature: its owner signs on chain'
      : 'only the contract that owns the order can judge this signature';
  if (typeof parsed === 'string' || (expected === undefined && !offChain)) {
    const verdict = offChain
      ? { matches: false, summary: String(parsed) }
      : { matches: undefined, summary: onlyOnChain };
    return { ...known, ...verdict, recovered: undefined, differences: undefined };
  }

  const recovered = trial.signer(sent, parsed);
  const found = { ...known, recovered };
  if (expected === undefined) {
    const summary = `signed by ${recovered ?? 'nobody'}; with \`from\` it could be compared`;
    return { ...found, matches: recovered !== undefined, summary, differences: [] };
  }
  const match = findMatch(claim, (signing) => trial.signer(signing, parsed) === expected);
  if (match === undefined) {
    if (!offChain) return { ...found, matches: undefined, summary: onlyOnChain, differences: undefined };
    const other = recovered === undefined ? '' : `: by ${recovered}, or for an order that differs more than is usual`;
    return { ...found, matches: false, summary: `not signed by ${expected}${other}`, differences: undefined };
  }
  const { differences } = match;
  const summary =
    differences.length === 0
      ? `signed by ${expected} for chain ${match.domain.chainId}`
      : `signed with ${differences.map(({ field, sent, signed }) => `${field} ${signed} where ${sent} was sent`).join(' and ')}`;
  // Where the chain was not said, the one that fits is the one.
  const place = claim.domainIsKnown ? domain : match.domain;
  const placed = { domain: place, digest: bytesToHex(trial.digest({ ...sent, domain: place })) };
  return { ...found, ...placed, matches: differences.length === 0, summary, differences };
}

/** `text`: the digest's hex digits signed as a message, which some wallets make of it. */
type Scheme = SigningScheme | 'text';

/** One way in which an order may have been signed. */
interface Signing {
  readonly domain: Domain;
  readonly scheme: Scheme;
  readonly data: OrderData;
}

/** An order as it was sent, with what else its document may have been. */
interface ClaimedSignature {
  readonly expected: Address | undefined;
  readonly scheme: SigningScheme;
  readonly sent: Signing;
  readonly domainIsKnown: boolean;
  readonly otherAppData: readonly Hex[];
  readonly otherFees: readonly bigint[];
}

function parseClaimedSignature(order: ExplainedOrder, options: ExplainOptions): ClaimedSignature | string {
  try {
    const { appData } = order;
    const scheme = order.signingScheme ?? 'eip712';
    const given = parseHex(order.appDataHash, 32);
    const isHash = given === undefined && parseHex(appData, 32) !== undefined;
    const hash = isHash ? appData : appDataHash(appData);
    const content = isHash ? undefined : parseAppData(appData);
    const signer = typeof content === 'object' ? content.signer : undefined;
    const data = orderData({ ...order, appData: hash, signature: '0x', signingScheme: scheme });
    const domain = parseDomain({
      chainId: options.chainId ?? CHAINS[0]?.chainId ?? 1,
      settlementContract: (options.settlementContract ?? deployment('production').settlement) as Address, // read here
    });
    return {
      expected: parseHex(order.from ?? signer, 20),
      scheme,
      sent: { domain, scheme, data },
      domainIsKnown: options.chainId !== undefined,
      otherAppData: [
        ...(given === undefined ? [] : [given]),
        ...(isHash ? [] : [appDataHash(reserialised(appData))]),
        appDataHash(EMPTY_DOCUMENT),
        ZERO_APP_DATA,
      ],
      otherFees: [0n, ...(options.feeAmounts ?? []).map(parseUint256).filter((fee) => typeof fee === 'bigint')],
    };
  } catch (error) {
    if (error instanceof OrderBookError) return error.message;
    throw error;
  }
}

function reserialised(document: string): string {
  try {
    return JSON.stringify(JSON.parse(document));
  } catch {
    return document;
  }
}

/** Hashes an order in any domain, and recovers who has signed it so. */
interface Trial {
  digest(signing: Signing): Uint8Array;
  signer(signing: Signing, signature: EcdsaSignature): Address | undefined;
}

async function createTrial({ sent }: ClaimedSignature, { backend }: ExplainOptions): Promise<Trial> {
  const verifier: Verifier = await createVerifier({ ...sent.domain, ...(backend === undefined ? {} : { backend }) });
  const hashers = new Map<string, OrderHasher>();
  function digest({ domain, data }: Signing): Uint8Array {
    const key = `${domain.chainId} ${domain.settlementContract}`;
    const hasher = hashers.get(key) ?? createOrderHasher(domain);
    hashers.set(key, hasher);
    return hasher.digest(data);
  }
  return {
    digest,
    signer(signing, signature) {
      const { scheme } = signing;
      if (scheme === 'text') return verifier.recoverDigest(textDigest(digest(signing)), 'eip712', signature);
      return isEcdsa(scheme) ? verifier.recoverDigest(digest(signing), scheme, signature) : undefined;
    },
  };
}

/** The digest that `personal_sign` signs for the hex text of a digest, 66 characters of it (EIP-191). */
function textDigest(digest: Uint8Array): Uint8Array {
  return keccak256Text(`\x19Ethereum Signed Message:\n66${bytesToHex(digest)}`);
}

/** A mistake that may have been made: what it changes about the signing. */
interface Mistake {
  /** Mistakes of one kind exclude each other. */
  readonly kind: 'domain' | 'scheme' | keyof OrderData;
  apply(signing: Signing): Signing;
}

/** The fewest mistakes that explain a signature: none, one, or two. */
function findMatch(
  claim: ClaimedSignature,
  fits: (signing: Signing) => boolean,
): { readonly domain: Domain; readonly differences: readonly SignedDifference[] } | undefined {
  const { sent } = claim;
  const matched = (signing: Signing) => ({ domain: signing.domain, differences: differences(claim, signing) });
  if (fits(sent)) return matched(sent);
  const mistakes = listMistakes(claim);
  for (const mistake of mistakes) {
    const signing = mistake.apply(sent);
    if (fits(signing)) return matched(signing);
  }
  for (const [i, first] of mistakes.entries()) {
    for (const second of mistakes.slice(i + 1)) {
      if (first.kind === second.kind) continue;
      const signing = second.apply(first.apply(sent));
      if (fits(signing)) return matched(signing);
    }
  }
  return undefined;
}

function listMistakes({ sent, expected, otherAppData, otherFees }: ClaimedSignature): readonly Mistake[] {
  const domains = CHAINS.flatMap((chain) =>
    ENVIRONMENTS.map((environment) => ({
      chainId: chain.chainId,
      settlementContract: deployment(environment, chain).settlement,
    })),
  );
  const here = ENVIRONMENTS.map((environment) => ({
    ...sent.domain,
    settlementContract: deployment(environment).settlement,
  }));
  const elsewhere = CHAINS.map(({ chainId }) => ({ ...sent.domain, chainId }));
  const { receiver } = sent.data;
  return [
    ...[...here, ...elsewhere, ...domains].map(
      (domain): Mistake => ({ kind: 'domain', apply: (signing) => ({ ...signing, domain }) }),
    ),
    ...(['eip712', 'ethsign', 'text'] as const)
      .filter((scheme) => scheme !== sent.scheme)
      .map((scheme): Mistake => ({ kind: 'scheme', apply: (signing) => ({ ...signing, scheme }) })),
    ...otherFees.map((feeAmount) => signedOtherwise('feeAmount', { feeAmount })),
    // A fee of a quote that was added to the sell amount before sending, but not before signing.
    ...otherFees
      .filter((fee) => fee > 0n && fee < sent.data.sellAmount)
      .map((feeAmount) => signedOtherwise('feeAmount', { feeAmount, sellAmount: sent.data.sellAmount - feeAmount })),
    ...[null, expected]
      .filter((other) => other !== undefined && (other ?? ZERO_ADDRESS) !== (receiver ?? ZERO_ADDRESS))
      .map((other) => signedOtherwise('receiver', { receiver: other ?? null })),
    signedOtherwise('kind', { kind: sent.data.kind === 'sell' ? 'buy' : 'sell' }),
    signedOtherwise('partiallyFillable', { partiallyFillable: !sent.data.partiallyFillable }),
    ...otherAppData.map((appData) => signedOtherwise('appData', { appData })),
  ];
}

function signedOtherwise(kind: keyof OrderData, change: Partial<OrderData>): Mistake {
  return { kind, apply: (signing) => ({ ...signing, data: { ...signing.data, ...change } }) };
}

function differences({ sent, domainIsKnown }: ClaimedSignature, signed: Signing): readonly SignedDifference[] {
  const found: SignedDifference[] = [];
  const compare = (field: SignedDifference['field'], before: unknown, after: unknown) => {
    if (before !== after) found.push({ field, sent: String(before), signed: String(after) });
  };
  if (domainIsKnown) compare('chainId', sent.domain.chainId, signed.domain.chainId);
  compare('settlementContract', sent.domain.settlementContract, signed.domain.settlementContract);
  compare(
    'signingScheme',
    sent.scheme,
    signed.scheme === 'text' ? 'ethsign over the hex text of the digest' : signed.scheme,
  );
  for (const field of Object.keys(sent.data) as (keyof OrderData)[])
    compare(field, sent.data[field], signed.data[field]); // its own keys
  return found;
}
