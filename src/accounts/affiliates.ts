import * as z from 'zod/mini';
import { withDeadline } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import { formatIsoDate } from '../orders/order-json.ts';
import type { Affiliate, AffiliateStore } from '../ports/account-store.ts';
import type { AffiliateStatistics, StatisticsAnswer } from '../ports/affiliates.ts';
import type { Clock } from '../ports/clock.ts';
import { affiliateDigest, affiliateDomainSeparator } from '../protocol/affiliate.ts';
import type { Address } from '../protocol/hex.ts';
import { bytesToHex, parseHex } from '../protocol/hex.ts';
import { hexSchema, parseShape } from '../protocol/shape.ts';
import { assertKnownOptions } from '../validation/options.ts';
import { AccountError } from './account-error.ts';
import { requireAccount } from './notification-list.ts';
import type { WalletVerifier } from './wallet-signature.ts';

/** The body of `POST /affiliate/{wallet_address}`. */
export interface AffiliateRegistration {
  readonly walletAddress: string;
  /** 5 to 20 letters, digits, `_` and `-`; trimmed and turned to upper case, in which form it is signed. */
  readonly code: string;
  /** `AffiliateCode` as typed data (EIP-712), hex: 65 bytes by a key, or whatever a contract wallet takes. */
  readonly signedMessage: string;
}

/** A code that is bound to a wallet. */
export interface RegisteredAffiliate {
  readonly walletAddress: Address;
  readonly code: string;
  /** ISO 8601 in UTC with milliseconds. */
  readonly createdAt: string;
}

/** What became of binding a code. Rejections are returned, with the status and message of decision 5.3. */
export type RegistrationResult =
  | { readonly status: 'registered'; readonly affiliate: RegisteredAffiliate }
  | { readonly status: 'rejected'; readonly error: AccountError | OrderBookError };

/** What affiliates and those who come by their codes are promised. Shown beside each code. */
export interface AffiliateTerms {
  /** Dollars. */
  readonly rewardAmount: number;
  /** Dollars to be traded for a reward. */
  readonly triggerVolume: number;
  readonly timeCapDays: number;
  /** Dollars. */
  readonly volumeCap: number;
  /** Parts of a hundred. */
  readonly revenueSplitAffiliatePct: number;
  readonly revenueSplitTraderPct: number;
  readonly revenueSplitDaoPct: number;
}

/** How affiliate codes are bound, and what they promise. */
export interface AffiliatesOptions {
  /** The `name` of the domain that is signed under. Default `Service Affiliate`. */
  readonly domainName?: string;
  /** Shown beside each code. Default: nothing is. */
  readonly terms?: AffiliateTerms;
  /** Where statistics come from. Default: nowhere, and they are answered with 503. */
  readonly statistics?: AffiliateStatistics;
}

/** The verbs on affiliate codes. */
export interface AffiliateApi {
  readonly terms: AffiliateTerms | undefined;
  /**
   * Binds a code to the wallet that has signed it. Rejections are returned, with the status and message of the wire; only
   * failures reject.
   *
   * @param walletAddress the wallet of the path, which the registration must be of.
   */
  register(walletAddress: string, registration: AffiliateRegistration): Promise<RegistrationResult>;
  /** The code of a wallet. Rejects with `InvalidParameter` when it is no address. */
  get(walletAddress: string): Promise<RegisteredAffiliate | undefined>;
  /** A code, in either case. Rejects with `InvalidParameter` when it cannot be one. */
  byCode(code: string): Promise<RegisteredAffiliate | undefined>;
  /** Rejects with an `AccountError` of 503 when there is nobody to ask, or no answer. */
  statistics(kind: keyof AffiliateStatistics, address: string): Promise<StatisticsAnswer | undefined>;
}

export interface AffiliatesContext {
  readonly store: AffiliateStore;
  readonly verify: WalletVerifier;
  readonly clock: Clock;
  /** Milliseconds that the source of statistics has to answer. */
  readonly deadline: number;
  readonly onFailure: (failure: unknown) => void;
  /** Throws when the interface is not started. */
  readonly started: () => void;
}

const OPTIONS = ['domainName', 'terms', 'statistics'] as const satisfies readonly (keyof AffiliatesOptions)[];

/** Letters of other alphabets have upper cases in this one, so the shape is judged before. */
const CODE = /^[A-Za-z0-9_-]{5,20}$/;

/** The shape of the body. */
export const affiliateRegistration = /* @__PURE__ */ (() =>
  z.object({
    walletAddress: hexSchema(20),
    code: z
      .string()
      .check(z.trim(), z.regex(CODE, { error: 'must be 5 to 20 letters, digits, "_" and "-"' }), z.toUpperCase()),
    signedMessage: z.string().check(z.minLength(1, { error: 'must be hex text' })),
  }))();

/** @throws TypeError naming the option that is unknown or malformed. */
export function createAffiliates(options: AffiliatesOptions, context: AffiliatesContext): AffiliateApi {
  assertKnownOptions('createAccounts, affiliates', options, OPTIONS);
  const { domainName, terms, statistics } = options;
  if (domainName !== undefined && (typeof domainName !== 'string' || domainName === '')) {
    throw new TypeError('createAccounts: affiliates.domainName must be a text');
  }
  const { store, verify, clock, deadline, onFailure, started } = context;
  let separator: Uint8Array | undefined;

  async function register(
    of: string,
    registration: unknown,
  ): Promise<RegisteredAffiliate | AccountError | OrderBookError> {
    const wallet = parseHex(of, 20);
    if (wallet === undefined) return new AccountError(400, 'walletAddress: must be 0x and 40 hex digits');
    const shaped = parseShape(affiliateRegistration, registration, 'InvalidParameter');
    if (shaped instanceof OrderBookError) return shaped;
    const { walletAddress, code, signedMessage } = shaped;
    if (walletAddress !== wallet) return new AccountError(400, 'Affiliate wallet address mismatch');
    separator ??= affiliateDomainSeparator(domainName);
    const digest = affiliateDigest(separator, { walletAddress, code });
    const verdict = await verify(walletAddress, digest, signedMessage);
    if (verdict.status === 'invalid') return new AccountError(401, 'Affiliate has invalid signature');
    if (verdict.status === 'unverifiable') return unverifiable(verdict.reason);
    const createdAt = clock.now();
    const signature = { digest: bytesToHex(digest), signedMessage: verdict.signature };
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
    async register(walletAddress, registration) {
      started();
      const outcome = await register(walletAddress, registration);
      return outcome instanceof Error
        ? { status: 'rejected', error: outcome }
        : { status: 'registered', affiliate: outcome };
    },
    async get(walletAddress) {
      const wallet = requireAccount(walletAddress);
      started();
      const found = await store.byWallet(wallet);
      return found && toRegisteredAffiliate(found);
    },
    async byCode(text) {
      if (!CODE.test(text.trim())) {
        throw new OrderBookError('InvalidParameter', 'code: must be 5 to 20 letters, digits, "_" and "-"');
      }
      started();
      const found = await store.byCode(text.trim().toUpperCase());
      return found && toRegisteredAffiliate(found);
    },
    async statistics(kind, address) {
      const account = requireAccount(address);
      if (statistics?.[kind] === undefined) throw new AccountError(503, 'Affiliate statistics are not configured');
      try {
        // Called as a member: an implementation may need its `this`.
        return await withDeadline(clock, deadline, async (signal) => statistics[kind]?.(account, { signal }));
      } catch (failure) {
        onFailure(failure);
        throw new AccountError(503, 'Affiliate statistics are not available', 1);
      }
    },
  };
}

function unverifiable(reason: 'no chain' | 'no answer'): AccountError {
  return reason === 'no chain'
    ? new AccountError(503, 'Signatures of contract wallets cannot be verified here')
    : new AccountError(503, 'The signature could not be verified right now', 1);
}

function toRegisteredAffiliate({ walletAddress, code, createdAt }: Affiliate): RegisteredAffiliate {
  return { walletAddress, code, createdAt: formatIsoDate(createdAt) };
}
