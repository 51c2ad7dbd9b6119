import * as z from 'zod/mini';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { withDeadline } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import type { AffiliateStatistics, PayoutSource, StatisticsResponse } from '../ports/affiliate-statistics.ts';
import type { Affiliate } from '../ports/affiliate-store.ts';
import { affiliateDigest, affiliateDomainSeparator, formatExpectedDomain } from '../protocol/affiliate.ts';
import { formatValue } from '../protocol/format-value.ts';
import { type Address, bytesToHex, parseHex } from '../protocol/hex.ts';
import { hexSchema, parseShape } from '../protocol/shape.ts';
import { formatIsoDate } from '../records/order-json.ts';
import { assertKnownOptions } from '../validation/options.ts';
import { requireAccount } from '../validation/parameters.ts';

/** The body of `POST /affiliate/{wallet_address}`. */
export interface AffiliateRegistration {
  readonly walletAddress: string;
  /** 5 to 20 letters, digits, `_` and `-`. It is trimmed and converted to upper case, and signed in this form. */
  readonly code: string;
  /**
   * Signature of `AffiliateCode` as typed data (EIP-712), hex: 65 bytes for ECDSA, any length for a contract wallet.
   */
  readonly signedMessage: string;
}

/** A code that is bound to a wallet. */
export interface RegisteredAffiliate {
  readonly walletAddress: Address;
  readonly code: string;
  /** ISO 8601 in UTC with milliseconds. */
  readonly createdAt: string;
}

/** The result of a registration. Rejections are returned. See docs/internals/decisions.md#d5-3. */
export type RegistrationResult =
  | { readonly status: 'registered'; readonly affiliate: RegisteredAffiliate }
  | { readonly status: 'rejected'; readonly error: AccountError | OrderBookError };

/** The terms for affiliates and referred traders, shown with each code. */
export interface AffiliateTerms {
  /** US dollars. */
  readonly rewardAmount: number;
  /** Traded volume for a reward, in US dollars. */
  readonly triggerVolume: number;
  readonly timeCapDays: number;
  /** US dollars. */
  readonly volumeCap: number;
  /** Percent. */
  readonly revenueSplitAffiliatePct: number;
  readonly revenueSplitTraderPct: number;
  readonly revenueSplitDaoPct: number;
}

/** Options of affiliate codes. */
export interface AffiliatesOptions {
  /** The `name` of the signing domain. Default: `Service Affiliate`. */
  readonly domainName?: string;
  /** Shown with each code. Default: none. */
  readonly terms?: AffiliateTerms;
  /** Terms of single codes, by code in upper case. Other codes have `terms`. Default: none. */
  readonly termsByCode?: Readonly<Record<string, AffiliateTerms>>;
  /**
   * Source of statistics, or `own`: they are computed from the trades of the books, which requires `terms`. Default:
   * none, and their routes respond with 503.
   */
  readonly statistics?: AffiliateStatistics | 'own';
  /** Payouts that the operator has recorded, for own statistics. Default: none. */
  readonly payouts?: PayoutSource;
}

/** Methods for affiliate codes. */
export interface AffiliateApi {
  readonly terms: AffiliateTerms | undefined;
  /** Returns the terms of a code: its own, otherwise `terms`. */
  getTerms(code: string): AffiliateTerms | undefined;
  /**
   * Binds a code to the wallet that has signed it. Rejections are returned with the status and message of the HTTP
   * interface; only failures reject.
   *
   * @param walletAddress - The wallet of the path, which must be that of the registration.
   */
  register(walletAddress: string, registration: AffiliateRegistration): Promise<RegistrationResult>;
  /** Returns the code of a wallet. Rejects with `InvalidParameter` for an invalid address. */
  get(walletAddress: string): Promise<RegisteredAffiliate | undefined>;
  /** Returns a code, in either case. Rejects with `InvalidParameter` for an invalid code. */
  byCode(code: string): Promise<RegisteredAffiliate | undefined>;
  /**
   * Returns statistics. Rejects with `InvalidParameter` for an unknown kind or an invalid address, and with an
   * `AccountError` of status 503 if there is no source or if it fails.
   */
  statistics(
    kind: keyof AffiliateStatistics,
    address: string,
    options?: StatisticsOptions,
  ): Promise<StatisticsResponse | undefined>;
}

/** Options of a query of statistics. */
export interface StatisticsOptions {
  /** Whether all trades are requested. Default: false, at most 50. */
  readonly all?: boolean;
}

const OPTIONS = [
  'domainName',
  'terms',
  'termsByCode',
  'statistics',
  'payouts',
] as const satisfies readonly (keyof AffiliatesOptions)[];

/** Checked before the conversion to upper case, because some letters of other alphabets have ASCII upper-case forms. */
const CODE = /^[A-Za-z0-9_-]{5,20}$/;

const STATISTICS = ['affiliate', 'trader', 'traderActivity'] as const satisfies readonly (keyof AffiliateStatistics)[];

const TERMS = [
  'rewardAmount',
  'triggerVolume',
  'timeCapDays',
  'volumeCap',
  'revenueSplitAffiliatePct',
  'revenueSplitTraderPct',
  'revenueSplitDaoPct',
] as const satisfies readonly (keyof AffiliateTerms)[];

export const affiliateRegistration = /* @__PURE__ */ (() =>
  z.object({
    walletAddress: hexSchema(20),
    code: z
      .string()
      .check(z.trim(), z.regex(CODE, { error: 'must be 5 to 20 letters, digits, "_" and "-"' }), z.toUpperCase()),
    signedMessage: z.string().check(z.minLength(1, { error: 'must be hex text' })),
  }))();

function assertOptions(options: AffiliatesOptions): void {
  assertKnownOptions('createAccounts, affiliates', options, OPTIONS);
  const { domainName, terms, termsByCode = {} } = options;
  if (domainName !== undefined && (typeof domainName !== 'string' || domainName === '')) {
    throw new TypeError('createAccounts: affiliates.domainName must be a non-empty string');
  }
  if (options.statistics === 'own' && terms === undefined) {
    throw new TypeError("createAccounts: affiliates.statistics 'own' requires affiliates.terms");
  }
  if (terms !== undefined) assertTerms('affiliates.terms', terms);
  for (const [code, own] of Object.entries(termsByCode)) {
    if (!CODE.test(code) || code !== code.toUpperCase()) {
      const expected = '5 to 20 capital letters, digits, "_" and "-"';
      throw new TypeError(
        `createAccounts: a code of affiliates.termsByCode must be ${expected}, got ${formatValue(code)}`,
      );
    }
    assertTerms(`affiliates.termsByCode.${code}`, own);
  }
}

/**
 * Creates the affiliate methods.
 *
 * @param ownStatistics - Returns the statistics of the books, for `statistics: 'own'`.
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createAffiliateApi(
  options: AffiliatesOptions,
  tools: AccountTools,
  ownStatistics: () => AffiliateStatistics,
): AffiliateApi {
  assertOptions(options);
  const { domainName, terms, termsByCode = {} } = options;
  const { verify, clock, deadline, onFailure, observer, assertStarted } = tools;
  const store = tools.store.affiliates;
  const getStatistics = () => (options.statistics === 'own' ? ownStatistics() : options.statistics);
  let separator: Uint8Array | undefined;

  async function register(
    accountText: string,
    registration: unknown,
  ): Promise<RegisteredAffiliate | AccountError | OrderBookError> {
    const wallet = parseHex(accountText, 20);
    if (wallet === undefined) return new AccountError(400, 'walletAddress: must be 0x and 40 hex digits');
    const parsed = parseShape(affiliateRegistration, registration, 'InvalidParameter');
    if (parsed instanceof OrderBookError) return parsed;
    const { walletAddress, code, signedMessage } = parsed;
    if (walletAddress !== wallet) return new AccountError(400, 'Affiliate wallet address mismatch');
    separator ??= affiliateDomainSeparator(domainName);
    const digest = affiliateDigest(separator, { walletAddress, code });
    const result = await verify(walletAddress, digest, signedMessage);
    if (result.status === 'invalid') {
      return new AccountError(401, `Affiliate has invalid signature ${formatExpectedDomain(domainName)}`);
    }
    if (result.status === 'unverifiable') return createUnverifiableError(result.reason);
    const createdAt = clock.now();
    const signature = { digest: bytesToHex(digest), signedMessage: result.signature };
    const { status } = await store.register({ walletAddress, code, createdAt, ...signature });
    switch (status) {
      case 'registered':
        return toRegisteredAffiliate({ walletAddress, code, createdAt });
      case 'bound':
      case 'used':
        return new AccountError(409, 'Affiliate wallet address already bound to a code');
      case 'taken':
        return new AccountError(409, 'Affiliate code already taken');
    }
  }

  return {
    terms,
    getTerms: (code) => (Object.hasOwn(termsByCode, code) ? termsByCode[code] : terms),
    async register(walletAddress, registration) {
      assertStarted();
      const outcome = await register(walletAddress, registration);
      return outcome instanceof Error
        ? { status: 'rejected', error: outcome }
        : { status: 'registered', affiliate: outcome };
    },
    async get(walletAddress) {
      const wallet = requireAccount(walletAddress);
      assertStarted();
      const affiliate = await store.byWallet(wallet);
      return affiliate && toRegisteredAffiliate(affiliate);
    },
    async byCode(text) {
      if (typeof text !== 'string' || !CODE.test(text.trim())) {
        throw new OrderBookError('InvalidParameter', 'code: must be 5 to 20 letters, digits, "_" and "-"');
      }
      assertStarted();
      const affiliate = await store.byCode(text.trim().toUpperCase());
      return affiliate && toRegisteredAffiliate(affiliate);
    },
    async statistics(kind, address, query = {}) {
      assertKnownOptions('statistics', query, ['all']);
      const { all = false } = query;
      if (!STATISTICS.includes(kind)) {
        throw new OrderBookError('InvalidParameter', `kind: must be one of ${STATISTICS.join(', ')}`);
      }
      const account = requireAccount(address);
      const statistics = getStatistics();
      if (statistics?.[kind] === undefined) throw new AccountError(503, 'Affiliate statistics are not configured');
      try {
        // Called as a method, because an implementation may use `this`.
        return await observer.measure('affiliateStatistics', options.statistics === 'own' ? 'own' : 'configured', () =>
          withDeadline(clock, deadline, async (signal) => statistics[kind]?.(account, { signal, all })),
        );
      } catch (failure) {
        if (failure instanceof AccountError) throw failure;
        onFailure(failure);
        throw new AccountError(503, 'Affiliate statistics are not available', 1);
      }
    },
  };
}

/** @throws TypeError naming a member that is unknown, missing or invalid. Rewards would be computed from it. */
function assertTerms(name: string, terms: AffiliateTerms): void {
  assertKnownOptions(`createAccounts, ${name}`, terms, TERMS);
  for (const member of TERMS) {
    const value: unknown = terms[member];
    const most = member.endsWith('Pct') ? 100 : Number.MAX_SAFE_INTEGER;
    if (typeof value === 'number' && value >= 0 && value <= most) continue;
    const expected = `a number from 0 to ${most}`;
    throw new TypeError(`createAccounts: ${name}.${member} must be ${expected}, got ${formatValue(value)}`);
  }
}

function createUnverifiableError(reason: 'no chain' | 'no response'): AccountError {
  return reason === 'no chain'
    ? new AccountError(503, 'Signatures of contract wallets cannot be verified here')
    : new AccountError(503, 'The signature could not be verified right now', 1);
}

function toRegisteredAffiliate({ walletAddress, code, createdAt }: Affiliate): RegisteredAffiliate {
  return { walletAddress, code, createdAt: formatIsoDate(createdAt) };
}
