import * as z from 'zod/mini';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { DeadlineError, withDeadline } from '../concurrency/abort.ts';
import { keccak256Text } from '../crypto/keccak.ts';
import { OrderBookError } from '../errors.ts';
import type { Channel } from '../ports/channel.ts';
import { NOTIFICATION_TYPES, type NotificationType } from '../ports/notification-store.ts';
import type { InvitationLimit, Subscription } from '../ports/subscription-store.ts';
import { affiliateDomainSeparator, formatExpectedDomain } from '../protocol/affiliate.ts';
import { formatValue } from '../protocol/format-value.ts';
import { type Address, bytesToHex, type Hex } from '../protocol/hex.ts';
import { numberError, parseShape } from '../protocol/shape.ts';
import { subscriptionDigest } from '../protocol/subscription.ts';
import { formatIsoDate } from '../records/order-json.ts';
import { assertOptionsObject } from '../validation/options.ts';
import { requireAccount } from '../validation/parameters.ts';
import { getUnsubscribeToken } from './hashed-ids.ts';

/**
 * The signature of an account that authorises a request: `Subscription` as typed data. See
 * docs/internals/decisions.md#d5-8.
 */
export interface SubscriptionProof {
  /** Decimal: any number that the account has not used before. */
  readonly nonce: string;
  /** Expiry of the signature in seconds since 1970; at most one day ahead. */
  readonly deadline: number;
  readonly signature: string;
}

/** A request for a new subscription. */
export interface SubscriptionRequest extends SubscriptionProof {
  readonly channel: string;
  readonly target: string;
  readonly types: readonly NotificationType[];
}

/** A subscription as shown to its account. */
export interface SubscriptionView {
  readonly id: string;
  readonly account: Address;
  readonly channel: string;
  readonly target: string;
  readonly types: readonly NotificationType[];
  /** `pending` until it is confirmed. `suspended` after a day of failures: the same request activates it again. */
  readonly state: 'pending' | 'active' | 'suspended';
  readonly createdAt: string;
  /** Time of the first failed attempt since the last successful one. Absent if none has failed. */
  readonly failingSince?: string;
}

/** A new subscription. Only this response contains the secret. */
export interface CreatedSubscription extends SubscriptionView {
  /** The key with which deliveries are signed. Not shown again. */
  readonly secret?: string;
  /** Where the subscriber confirms the subscription, if required. */
  readonly confirm?: string;
}

/** The sender of a request for a subscription. */
export interface SubscriptionCaller {
  /** Identifies the client, such as its IP address: it requests at most 10 invitations a day. Default: no limit. */
  readonly client?: string | undefined;
}

/** Subscription methods. They reject with an `AccountError` or `OrderBookError`. */
export interface SubscriptionApi {
  /** Creates a subscription. Rejects with an `AccountError` of status 503 if notifications are off. */
  create(account: string, request: SubscriptionRequest, caller?: SubscriptionCaller): Promise<CreatedSubscription>;
  /**
   * Lists an account's subscriptions. The proof is signed over the `audience` as `target`, and empty `channel` and
   * `types`. Its deadline is at most five minutes ahead.
   */
  list(account: string, proof: SubscriptionProof): Promise<SubscriptionView[]>;
  /** Removes a subscription. The proof is signed over its id as `target`, and empty `channel` and `types`. */
  remove(account: string, id: string, proof: SubscriptionProof): Promise<void>;
  /** Confirms a subscription by the token of its invitation, also repeatedly. Returns the active subscription. */
  confirm(token: string): Promise<SubscriptionView>;
  /** Removes a subscription, if it exists, with the token of its messages. Rejects with 404 for a wrong token. */
  unsubscribe(account: string, id: string, token: string): Promise<void>;
}

/** The parsed options of subscriptions. */
export interface SubscriptionSettings {
  readonly domainName: string | undefined;
  /** The signed `target` of a list. */
  readonly audience: string;
  /** Maximum number of subscriptions per account. */
  readonly quota: number;
  /** Maximum number of invitations that a channel sends in a day. */
  readonly maxInvitations: number;
}

const SECONDS = numberError('must be whole seconds since 1970');
const TYPES = { error: `must have 1 to ${NOTIFICATION_TYPES.length} elements` };

/** Schemas inside functions, so that bundlers can remove them when unused. */
const PROOF = /* @__PURE__ */ (() =>
  z.object({
    nonce: z.string().check(
      z.regex(/^\d{1,78}$/, { error: 'must be a decimal number', abort: true }),
      z.refine((text) => BigInt(text) < 2n ** 256n, { error: 'must fit in 256 bits' }),
    ),
    deadline: z.int(SECONDS).check(z.minimum(0, SECONDS)),
    signature: z.string().check(z.minLength(1, { error: 'must not be empty' })),
  }))();
const REQUEST = /* @__PURE__ */ (() =>
  z.object({
    channel: z.string().check(z.maxLength(32, { error: 'must have at most 32 characters' })),
    target: z.string().check(z.maxLength(2048, { error: 'must have at most 2048 characters' })),
    types: z
      .array(z.enum(NOTIFICATION_TYPES))
      .check(z.minLength(1, TYPES), z.maxLength(NOTIFICATION_TYPES.length, TYPES)),
    ...PROOF.shape,
  }))();

/** Maximum validity of a signature, in seconds. */
const MAX_PROOF_VALIDITY = 86_400;
/** Maximum validity of a signature that lists subscriptions, in seconds. It can be used repeatedly. */
const LIST_PROOF_VALIDITY = 300;
/** Milliseconds that a nonce is kept after its signature has expired: a clock that is set back accepts it again. */
const NONCE_MARGIN = 86_400_000;
/** Time in which a token can be confirmed, in milliseconds. */
const TOKEN_TTL = 86_400_000;

/** Milliseconds after the deadline of a challenge for which its subscription can stay pending, if a process dies. */
const CHALLENGE_MARGIN = 60_000;

/** Milliseconds in which invitations count against their limits. */
const INVITATION_PERIOD = 86_400_000;
/** Maximum numbers of invitations to one target, of one account and of one client within the period. */
const INVITATIONS_PER_TARGET = 3;
const INVITATIONS_PER_ACCOUNT = 10;
const INVITATIONS_PER_CLIENT = 10;
/** Parts of the invitations of a channel that one domain, and that all accounts without orders can use. */
const SHARE_OF_DOMAIN = 0.5;
const SHARE_WITHOUT_ORDERS = 0.9;

/** The parts that subscriptions use. */
type SubscriptionContext = Omit<AccountTools, 'books' | 'tokens' | 'random' | 'observer'> &
  SubscriptionSettings & {
    readonly channels: ReadonlyMap<string, Channel>;
    /** Returns whether an account has an order in a book. */
    readonly hasOrders: (account: Address) => Promise<boolean>;
    readonly random: (size: number) => Uint8Array;
  };

export function createSubscriptions(context: SubscriptionContext): SubscriptionApi {
  const { store, channels, clock, random } = context;
  const verifyProof = createProofCheck(context);
  const { createConfirmation, startConfirmation } = createConfirmations(context);

  return {
    async create(accountText, request, caller = {}) {
      assertOptionsObject('subscriptions.create', caller, 'client');
      context.assertStarted();
      const account = requireAccount(accountText);
      const { parsed, channel, target } = parseRequest(request, channels);
      await verifyProof(account, parsed, parsed);

      const token = bytesToHex(random(32)).slice(2);
      const isInvited = channel.confirmation === 'token';
      // Without signatures, the secret authorises the unsubscribe links only, and is not shown.
      const secret = channel.signs || isInvited ? `whsec_${btoa(String.fromCharCode(...random(32)))}` : null;
      const now = clock.now();
      const subscription: Subscription = {
        id: bytesToHex(random(16)).slice(2),
        account,
        channel: channel.name,
        target,
        secret,
        types: [...new Set(parsed.types)],
        state: channel.confirmation === 'none' ? 'active' : 'pending',
        createdAt: now,
      };
      const confirmation = createConfirmation(channel, token, now);
      // Stored before anything is sent, so that a signature sends one challenge or invitation.
      const outcome = await store.subscriptions.create({
        subscription,
        nonce: createNonce(account, parsed),
        quota: context.quota,
        now,
        // Channels without a target at this point send nothing before the subscriber contacts them.
        ...(isInvited && target !== ''
          ? { invitation: await createInvitationLimits(context, subscription, caller.client) }
          : {}),
        ...(confirmation === undefined ? {} : { confirmation }),
      });
      if (outcome.status === 'used') throw NONCE_USED;
      if (outcome.status === 'quotaExceeded') {
        throw new AccountError(409, `The account must have at most ${outcome.quota} subscriptions`);
      }
      if (outcome.status === 'limited') throw createLimitedError(outcome.by);
      const show = (shown: Subscription) => toCreatedSubscription(shown, channel);
      if (outcome.status === 'updated') return show(outcome.subscription);
      if (confirmation === undefined) return show(subscription);
      try {
        const confirm = await startConfirmation(channel, subscription, token);
        if (isInvited) return { ...show(subscription), ...(confirm !== undefined && { confirm }) };
        const confirmed = await store.subscriptions.confirm({ tokenHash: confirmation.tokenHash, now: clock.now() });
        if (confirmed === undefined) throw NOT_FOUND; // removed by the account
        return show(confirmed);
      } catch (rejected) {
        const isUnsent = !((rejected as Error).cause instanceof DeadlineError); // else it may arrive
        await store.subscriptions.remove({ id: subscription.id, account, isUnsent });
        throw rejected;
      }
    },

    async list(accountText, proof) {
      context.assertStarted();
      const account = requireAccount(accountText);
      const listed = { channel: '', target: context.audience, types: [] };
      await verifyProof(account, listed, parseProof(proof), LIST_PROOF_VALIDITY);
      return (await store.subscriptions.list(account)).map(toSubscriptionView);
    },

    async remove(accountText, id, proof) {
      context.assertStarted();
      const account = requireAccount(accountText);
      const parsed = parseProof(proof);
      await verifyProof(account, { channel: '', target: id, types: [] }, parsed);
      if (!ID.test(id)) throw NOT_FOUND;
      const outcome = await store.subscriptions.remove({ id, account, nonce: createNonce(account, parsed) });
      if (outcome === 'used') throw NONCE_USED;
      if (outcome === 'missing') throw NOT_FOUND;
    },

    async confirm(token) {
      context.assertStarted();
      const confirmed = await store.subscriptions.confirm({ tokenHash: hashToken(token), now: clock.now() });
      if (confirmed === undefined) throw new AccountError(404, 'The token is unknown or expired');
      return toSubscriptionView(confirmed);
    },

    async unsubscribe(accountText, id, token) {
      context.assertStarted();
      const account = requireAccount(accountText);
      const subscription = (await store.subscriptions.list(account)).find((each) => each.id === id);
      // It may have been removed by the same link: a repeated request has the same result.
      if (subscription === undefined) return;
      const expected = getUnsubscribeToken(subscription);
      // Compares hashes, so that the duration reveals nothing about the token.
      if (expected === undefined || hashToken(expected) !== hashToken(token)) throw NOT_FOUND;
      await store.subscriptions.remove({ id, account });
    },
  };
}

function parseRequest(request: unknown, channels: SubscriptionContext['channels']) {
  const parsed = parseShape(REQUEST, request, 'InvalidParameter');
  if (parsed instanceof OrderBookError) throw parsed;
  const channel = channels.get(parsed.channel);
  if (channel === undefined) {
    const names = [...channels.keys()].join(', ') || 'none. This server sends no messages';
    throw new AccountError(400, `channel: must be one of the configured channels: ${names}`);
  }
  const target = channel.parseTarget(parsed.target);
  if (target === undefined) throw new AccountError(400, `target: is not a valid target of the channel ${channel.name}`);
  return { parsed, channel, target };
}

/** Creates the function that verifies the signature of a request, and its deadline. */
function createProofCheck({ clock, domainName, verify }: Pick<SubscriptionContext, 'clock' | 'domainName' | 'verify'>) {
  let separator: Uint8Array | undefined;

  return async function verifyProof(
    account: Address,
    signed: { readonly channel: string; readonly target: string; readonly types: readonly string[] },
    proof: z.output<typeof PROOF>,
    maxValidity = MAX_PROOF_VALIDITY,
  ): Promise<void> {
    const now = Math.floor(clock.now() / 1000);
    if (proof.deadline < now) throw new AccountError(401, 'The signature is past its deadline');
    if (proof.deadline > now + maxValidity)
      throw new AccountError(400, `deadline: must be at most ${maxValidity} seconds ahead`);
    separator ??= affiliateDomainSeparator(domainName);
    const numbers = { nonce: BigInt(proof.nonce), deadline: BigInt(proof.deadline) };
    const digest = subscriptionDigest(separator, { account, ...signed, ...numbers });
    const result = await verify(account, digest, proof.signature);
    if (result.status === 'invalid') {
      const target = signed.channel === '' ? `, with the target ${formatValue(signed.target)}` : '';
      const expected = formatExpectedDomain(domainName) + target;
      throw new AccountError(401, `Subscription has invalid signature ${expected}`);
    }
    if (result.status === 'unverifiable') throw new AccountError(503, 'Contract signatures cannot be verified now', 5);
  };
}

async function createInvitationLimits(
  { maxInvitations, hasOrders }: Pick<SubscriptionContext, 'maxInvitations' | 'hasOrders'>,
  { account, target, createdAt }: Subscription,
  client?: string,
) {
  const at = target.lastIndexOf('@');
  return {
    since: createdAt - INVITATION_PERIOD,
    perTarget: INVITATIONS_PER_TARGET,
    perAccount: INVITATIONS_PER_ACCOUNT,
    client,
    perClient: INVITATIONS_PER_CLIENT,
    domain: at < 0 ? undefined : target.slice(at + 1),
    perDomain: Math.ceil(maxInvitations * SHARE_OF_DOMAIN),
    perChannel: (await hasOrders(account)) ? maxInvitations : Math.ceil(maxInvitations * SHARE_WITHOUT_ORDERS),
  };
}

const createNonce = (account: Address, { nonce, deadline }: z.output<typeof PROOF>) => ({
  account,
  nonce: String(BigInt(nonce)),
  expiresAt: (deadline + 1) * 1000 + NONCE_MARGIN,
});

/** Creates the functions that let the target of a new subscription confirm it. */
function createConfirmations(context: Pick<SubscriptionContext, 'clock' | 'random' | 'deadline' | 'onFailure'>) {
  const { clock, random } = context;

  /** Returns the confirmation that a new subscription waits for, if any. */
  function createConfirmation({ confirmation }: Channel, token: string, now: number) {
    if (confirmation === 'none') return undefined;
    if (confirmation === 'token') return { tokenHash: hashToken(token), expiresAt: now + TOKEN_TTL };
    // The target receives the token as its challenge, and must not confirm without returning it.
    const unsent = bytesToHex(random(32)).slice(2);
    return { tokenHash: hashToken(unsent), expiresAt: now + context.deadline + CHALLENGE_MARGIN };
  }

  /** Sends the challenge or the token to the target. Returns text for the subscriber, if any. */
  async function startConfirmation(
    channel: Channel,
    subscription: Subscription,
    token: string,
  ): Promise<string | undefined> {
    const callChannel = <T>(work: (signal: AbortSignal) => Promise<T>, timeout = context.deadline) =>
      withDeadline(clock, timeout, work);
    if (channel.confirmation === 'echo') {
      const challenge = async (signal: AbortSignal) => channel.challenge?.(subscription.target, token, { signal });
      const echoed = await callChannel(challenge).catch(() => false); // a failure of the target is a missing echo
      if (echoed !== true) throw new AccountError(400, NO_ECHO);
    }
    if (channel.confirmation !== 'token') return undefined;
    const path = `/accounts/${subscription.account}/subscriptions/confirm?token=${token}`;
    try {
      // The same timeout as for a delivery, because mail servers may be slow.
      return await callChannel(
        async (signal) => channel.invite?.({ subscription, token, path }, { signal }),
        3 * context.deadline,
      );
    } catch (failure) {
      context.onFailure(failure);
      throw new AccountError(503, 'The confirmation could not be sent', 30, { cause: failure });
    }
  }

  return { createConfirmation, startConfirmation };
}

/** Returns a new subscription with the secret of its signatures, which is shown once. */
function toCreatedSubscription(subscription: Subscription, { signs }: Channel) {
  const { secret } = subscription;
  return { ...toSubscriptionView(subscription), ...(signs && secret !== null ? { secret } : {}) };
}

function createLimitedError(by: InvitationLimit): AccountError {
  const reasons = {
    pending: 'An invitation to this target waits for its confirmation',
    target: 'Too many invitations were sent to this target today',
    account: 'Too many invitations were requested for this account today',
    client: 'Too many invitations were requested by this client today',
    domain: 'Too many invitations were sent to this domain today',
    channel: 'Too many invitations were sent over this channel today',
  };
  return new AccountError(429, reasons[by], 3600);
}

const NONCE_USED = /* @__PURE__ */ new AccountError(409, 'The nonce was used before');
const NOT_FOUND = /* @__PURE__ */ new AccountError(404, 'Subscription not found');

/** The same for each failure, so that a client cannot explore the network of the operator. */
const NO_ECHO =
  'The target has not echoed its challenge, or its address is private and not in `allow` (`--webhook-allow`) of the operator';

/** The form of an id. PostgreSQL rejects a query of a text with a NUL character. */
const ID = /^[0-9a-f]{32}$/;

/** Hashes a token. Only hashes are stored, so that a reader of the store cannot confirm subscriptions. */
export const hashToken = (token: string): Hex => bytesToHex(keccak256Text(token));

function parseProof(proof: SubscriptionProof): z.output<typeof PROOF> {
  const parsed = parseShape(PROOF, proof, 'InvalidParameter');
  if (parsed instanceof OrderBookError) throw parsed;
  return parsed;
}

function toSubscriptionView({ secret: _, createdAt, failingSince, ...shown }: Subscription): SubscriptionView {
  const failing = failingSince === undefined ? {} : { failingSince: formatIsoDate(failingSince) };
  return { ...shown, createdAt: formatIsoDate(createdAt), ...failing };
}
