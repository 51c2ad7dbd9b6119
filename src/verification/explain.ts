import { keccak256Text } from '../crypto/keccak.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import { OrderBookError } from '../errors.ts';
import { appDataHash, EMPTY_DOCUMENT, ZERO_APP_DATA } from '../protocol/app-data.ts';
import { CHAINS, deployment, ENVIRONMENTS } from '../protocol/chains.ts';
import { type Domain, parseDomain } from '../protocol/eip712.ts';
import { type Address, bytesToHex, type Hex, parseHex, ZERO_ADDRESS } from '../protocol/hex.ts';
import { createOrderHasher, type OrderData, type OrderHasher } from '../protocol/order.ts';
import type { EcdsaSignature, SigningScheme } from '../protocol/signature.ts';
import { isEcdsa, parseEcdsaSignature, SIGNING_SCHEMES } from '../protocol/signature.ts';
import { parseUint256 } from '../protocol/uint256.ts';
import { createVerifier, parseOrderData, type SignedOrder, type Verifier } from './verifier.ts';

/** An order whose signature is to be explained: the body of a submission, with a document or a hash as `appData`. */
export interface ExplainedOrder extends Omit<SignedOrder, 'signature' | 'signingScheme'> {
  readonly signingScheme?: SigningScheme;
  /** The owner. Default: `metadata.signer` of the document. */
  readonly from?: string | null | undefined;
  readonly appDataHash?: string | null | undefined;
}

/** Options of an explanation. */
export interface ExplainOptions {
  /** The chain to which the order was sent. Default: any known chain. */
  readonly chainId?: number;
  /** The settlement contract for which the order was sent. Default: the production contract. */
  readonly settlementContract?: string;
  /**
   * Further fees that may have been signed, such as those of quotes. Atoms, decimal. The order's fee and 0 are always
   * tried.
   */
  readonly feeAmounts?: readonly string[];
  /** Backend for public key recovery. Default: as for `createVerifier`. */
  readonly backend?: RecoveryBackendOption;
}

/** A value that differs between the submitted order and the signature. */
export interface SignedDifference {
  readonly field: 'chainId' | 'settlementContract' | 'signingScheme' | keyof OrderData;
  /** The submitted value. */
  readonly sent: string;
  /** The signed value. */
  readonly signed: string;
}

/** The result of an explanation. */
export interface SignatureExplanation {
  /** Whether the owner has signed the submitted order; `undefined` if only the chain can verify it. */
  readonly matches: boolean | undefined;
  /** The result as a sentence for people. */
  readonly summary: string;
  /** The owner that the order names, if any. */
  readonly expected: Address | undefined;
  /** The signer, if the submitted order was signed. For another order the recovered address is meaningless. */
  readonly recovered: Address | undefined;
  /** The digest that should have been signed, 32 bytes; `undefined` if the order is malformed. */
  readonly digest: Hex | undefined;
  /** The domain of the digest. */
  readonly domain: Domain | undefined;
  /**
   * The changes that make the signature valid for the owner: empty if it is valid; `undefined` if no common mistake
   * explains it.
   */
  readonly differences: readonly SignedDifference[] | undefined;
}

/**
 * Explains a signature offline: its signer, and, if that is not the owner, which common mistakes make it the owner's.
 * It tries these mistakes, each alone and then any two together:
 * - another known chain, or the staging contract;
 * - the other ECDSA scheme, or the digest signed as text;
 * - a fee, a null or other receiver, the other kind, partial fills;
 * - the app data of `{}`, of none and of the re-serialised document.
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
  const claim = await parseClaimedSignature(order, options);
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
      : 'only the contract that owns the order can verify this signature';
  if (typeof parsed === 'string' || (expected === undefined && !offChain)) {
    const result = offChain
      ? { matches: false, summary: String(parsed) }
      : { matches: undefined, summary: onlyOnChain };
    return { ...known, ...result, recovered: undefined, differences: undefined };
  }

  const recovered = trial.signer(sent, parsed);
  const found = { ...known, recovered };
  if (expected === undefined) {
    const summary =
      recovered === undefined
        ? 'no key can be recovered from the signature'
        : `signed by ${recovered}; set \`from\` to compare it with the owner`;
    return { ...found, matches: recovered !== undefined, summary, differences: [] };
  }
  const match = findMatch(claim, (signing) => trial.signer(signing, parsed) === expected);
  if (match === undefined) {
    if (!offChain) return { ...found, matches: undefined, summary: onlyOnChain, differences: undefined };
    const other = recovered === undefined ? '' : `: signed by ${recovered}, or for an order with other differences`;
    return { ...found, matches: false, summary: `not signed by ${expected}${other}`, differences: undefined };
  }
  const { differences } = match;
  const summary =
    differences.length === 0
      ? `signed by ${expected} for chain ${match.domain.chainId}`
      : `signed with ${differences.map(({ field, sent, signed }) => `${field} ${signed} where ${sent} was sent`).join(' and ')}`;
  // If the chain was not given, the matching one is used.
  const resultDomain = claim.domainIsKnown ? domain : match.domain;
  const domainResult = { domain: resultDomain, digest: bytesToHex(trial.digest({ ...sent, domain: resultDomain })) };
  return { ...found, ...domainResult, matches: differences.length === 0, summary, differences };
}

/** `text`: the hex digits of the digest signed as a message, as some wallets do. */
type Scheme = SigningScheme | 'text';

/** A candidate for the signed data. */
interface Signing {
  readonly domain: Domain;
  readonly scheme: Scheme;
  readonly data: OrderData;
}

/** The submitted order, with alternative app data and fees. */
interface ClaimedSignature {
  readonly expected: Address | undefined;
  readonly scheme: SigningScheme;
  readonly sent: Signing;
  readonly domainIsKnown: boolean;
  readonly otherAppData: readonly Hex[];
  readonly otherFees: readonly bigint[];
}

async function parseClaimedSignature(
  order: ExplainedOrder,
  options: ExplainOptions,
): Promise<ClaimedSignature | string> {
  if (typeof order !== 'object' || order === null) return 'the order must be an object';
  const { appData, from, signingScheme: scheme = 'eip712' } = order;
  if (typeof appData !== 'string') return 'appData must be a document or 32 bytes of hex text';
  if (!SIGNING_SCHEMES.includes(scheme)) return `signingScheme must be one of ${SIGNING_SCHEMES.join(', ')}`;
  const named = parseHex(from, 20);
  if (named === undefined && from !== undefined && from !== null) return 'from must be 20 bytes of hex text';
  try {
    const given = parseHex(order.appDataHash, 32);
    const isHash = given === undefined && parseHex(appData, 32) !== undefined;
    const hash = isHash ? appData : appDataHash(appData);
    // Loaded here, so that a program which verifies signatures only does not contain the schema of app data.
    const { parseAppData } = await import('../protocol/parse-app-data.ts');
    const content = isHash ? undefined : parseAppData(appData);
    const signer = typeof content === 'object' ? content.signer : undefined;
    const data = parseOrderData({ ...order, appData: hash, signature: '0x', signingScheme: scheme });
    const domain = parseDomain({
      chainId: options.chainId ?? CHAINS[0]?.chainId ?? 1,
      settlementContract: (options.settlementContract ?? deployment('production').settlement) as Address, // read here
    });
    return {
      expected: named ?? signer,
      scheme,
      sent: { domain, scheme, data },
      domainIsKnown: options.chainId !== undefined,
      otherAppData: [
        ...(given === undefined ? [] : [given]),
        ...(isHash ? [] : [appDataHash(reserialise(appData))]),
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

function reserialise(document: string): string {
  try {
    return JSON.stringify(JSON.parse(document));
  } catch {
    return document;
  }
}

/** Creates functions that hash an order in any domain, and recover the signer. */
async function createTrial({ sent }: ClaimedSignature, { backend }: ExplainOptions) {
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
    signer(signing: Signing, signature: EcdsaSignature): Address | undefined {
      const { scheme } = signing;
      if (scheme === 'text') return verifier.recoverDigest(textDigest(digest(signing)), 'eip712', signature);
      return isEcdsa(scheme) ? verifier.recoverDigest(digest(signing), scheme, signature) : undefined;
    },
  };
}

/** Returns the digest that `personal_sign` signs for the 66 characters of a digest's hex text (EIP-191). */
function textDigest(digest: Uint8Array): Uint8Array {
  return keccak256Text(`\x19Ethereum Signed Message:\n66${bytesToHex(digest)}`);
}

/** A possible mistake: a change of the signed data. */
interface Mistake {
  /** Mistakes of one kind exclude each other. */
  readonly kind: 'domain' | 'scheme' | keyof OrderData;
  apply(signing: Signing): Signing;
}

/** Returns the smallest set of mistakes that explains a signature: none, one, or two. */
function findMatch(
  claim: ClaimedSignature,
  matches: (signing: Signing) => boolean,
): { readonly domain: Domain; readonly differences: readonly SignedDifference[] } | undefined {
  const { sent } = claim;
  const matched = (signing: Signing) => ({ domain: signing.domain, differences: differences(claim, signing) });
  if (matches(sent)) return matched(sent);
  const mistakes = listMistakes(claim);
  for (const mistake of mistakes) {
    const signing = mistake.apply(sent);
    if (matches(signing)) return matched(signing);
  }
  for (const [i, first] of mistakes.entries()) {
    for (const second of mistakes.slice(i + 1)) {
      if (first.kind === second.kind) continue;
      const signing = second.apply(first.apply(sent));
      if (matches(signing)) return matched(signing);
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
  const currentChain = ENVIRONMENTS.map((environment) => ({
    ...sent.domain,
    settlementContract: deployment(environment).settlement,
  }));
  const currentContract = CHAINS.map(({ chainId }) => ({ ...sent.domain, chainId }));
  const { receiver } = sent.data;
  return [
    ...[...currentChain, ...currentContract, ...domains].map(
      (domain): Mistake => ({ kind: 'domain', apply: (signing) => ({ ...signing, domain }) }),
    ),
    ...(['eip712', 'ethsign', 'text'] as const)
      .filter((scheme) => scheme !== sent.scheme)
      .map((scheme): Mistake => ({ kind: 'scheme', apply: (signing) => ({ ...signing, scheme }) })),
    ...otherFees.map((feeAmount) => createFieldMistake('feeAmount', { feeAmount })),
    // A quote's fee that was added to the sell amount after signing.
    ...otherFees
      .filter((fee) => fee > 0n && fee < sent.data.sellAmount)
      .map((feeAmount) => createFieldMistake('feeAmount', { feeAmount, sellAmount: sent.data.sellAmount - feeAmount })),
    ...[null, expected]
      .filter((other) => other !== undefined && (other ?? ZERO_ADDRESS) !== (receiver ?? ZERO_ADDRESS))
      .map((other) => createFieldMistake('receiver', { receiver: other ?? null })),
    createFieldMistake('kind', { kind: sent.data.kind === 'sell' ? 'buy' : 'sell' }),
    createFieldMistake('partiallyFillable', { partiallyFillable: !sent.data.partiallyFillable }),
    ...otherAppData.map((appData) => createFieldMistake('appData', { appData })),
  ];
}

function createFieldMistake(kind: keyof OrderData, change: Partial<OrderData>): Mistake {
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
    compare(field, sent.data[field], signed.data[field]); // the keys of OrderData
  return found;
}
