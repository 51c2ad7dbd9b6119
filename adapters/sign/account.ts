import { assertMembers, format, toAmount, toHex, toSeconds, toText } from './checks.ts';
import type { AccountDomain, Hex, TypedData } from './types.ts';

/** The EIP-712 type that authorises changes of the subscriptions of an account. */
export const SUBSCRIPTION_TYPES = {
  Subscription: [
    { name: 'account', type: 'address' },
    { name: 'channel', type: 'string' },
    { name: 'target', type: 'string' },
    { name: 'types', type: 'string[]' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;

/** The EIP-712 type that binds an affiliate code to a wallet. */
export const AFFILIATE_CODE_TYPES = {
  AffiliateCode: [
    { name: 'walletAddress', type: 'address' },
    { name: 'code', type: 'string' },
    { name: 'chainId', type: 'uint256' },
  ],
} as const;

/** A request that concerns the subscriptions of an account, before it is signed. */
export interface SubscriptionToSign {
  readonly account: string;
  /** The channel of a new subscription, such as `webhook`. Default: empty, for a list and a removal. */
  readonly channel?: string;
  /** The target of a new subscription, the id of the subscription to remove, or the audience of a list. */
  readonly target: string;
  /** The types of notifications of a new subscription. Default: empty, for a list and a removal. */
  readonly types?: readonly string[];
  /** Number below 2^256 that the account uses once. */
  readonly nonce: string | bigint;
  /** Last second in which the signature is accepted, in seconds since 1970. */
  readonly deadline: number;
}

/** Typed data of a request that concerns subscriptions. */
export type SubscriptionTypedData = TypedData<
  typeof SUBSCRIPTION_TYPES,
  'Subscription',
  {
    readonly account: Hex;
    readonly channel: string;
    readonly target: string;
    readonly types: readonly string[];
    readonly nonce: bigint;
    readonly deadline: bigint;
  },
  AccountDomain
>;

/** Typed data of an affiliate code. */
export type AffiliateCodeTypedData = TypedData<
  typeof AFFILIATE_CODE_TYPES,
  'AffiliateCode',
  { readonly walletAddress: Hex; readonly code: string; readonly chainId: bigint },
  AccountDomain
>;

/**
 * Creates the EIP-712 domain of the account interface: of subscriptions and affiliate codes.
 *
 * @param name - The name of the deployment. Default: `Service Affiliate`. Production and the sandbox have the name
 * `CoW Swap Affiliate`.
 */
export function accountDomain(name = 'Service Affiliate'): AccountDomain {
  return { name: toText('name', name), version: '1' };
}

/**
 * Creates the typed data with which an account creates, lists or removes subscriptions.
 *
 * ```ts
 * const terms = { channel: 'webhook', target: 'https://example.com/hook', types: ['order_filled'] };
 * const proof = { nonce: String(Date.now()), deadline: Math.floor(Date.now() / 1000) + 600 };
 * const typedData = subscriptionTypedData(accountDomain(), { account: account.address, ...terms, ...proof });
 * const signature = await account.signTypedData(typedData);
 * await accounts.subscriptions.create(account.address, { ...terms, ...proof, signature });
 * ```
 *
 * @throws TypeError naming the member that is malformed.
 */
export function subscriptionTypedData(domain: AccountDomain, subscription: SubscriptionToSign): SubscriptionTypedData {
  assertMembers('subscriptionTypedData', subscription, MEMBERS);
  const { account, channel = '', target, types = [], nonce, deadline } = subscription;
  if (!Array.isArray(types)) throw new TypeError(`types must be a list, got ${format(types)}`);
  return {
    domain,
    types: SUBSCRIPTION_TYPES,
    primaryType: 'Subscription',
    message: {
      account: toHex('account', account, 20),
      channel: toText('channel', channel),
      target: toText('target', target),
      types: types.map((type, i) => toText(`types[${i}]`, type)),
      nonce: toAmount('nonce', nonce),
      deadline: BigInt(toSeconds('deadline', deadline)),
    },
  };
}

const MEMBERS: readonly (keyof SubscriptionToSign)[] = ['account', 'channel', 'target', 'types', 'nonce', 'deadline'];

/** Every affiliate code is registered for Ethereum mainnet, independent of the chain of the trades. */
const AFFILIATE_CHAIN_ID = 1n;

/**
 * Creates the typed data with which a wallet registers an affiliate code.
 *
 * @param code - 5 to 20 letters, digits, `_` and `-`. It is trimmed and converted to upper case.
 * @throws TypeError if the address or the code is malformed.
 */
export function affiliateCodeTypedData(
  domain: AccountDomain,
  walletAddress: string,
  code: string,
): AffiliateCodeTypedData {
  const text = toText('code', code).trim();
  if (!/^[A-Za-z0-9_-]{5,20}$/.test(text)) {
    throw new TypeError(`code must be 5 to 20 letters, digits, "_" and "-", got ${format(code)}`);
  }
  return {
    domain,
    types: AFFILIATE_CODE_TYPES,
    primaryType: 'AffiliateCode',
    message: {
      walletAddress: toHex('walletAddress', walletAddress, 20),
      code: text.toUpperCase(),
      chainId: AFFILIATE_CHAIN_ID,
    },
  };
}
