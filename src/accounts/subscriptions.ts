import * as z from 'zod/mini';
import { withDeadline } from '../concurrency/deadline.ts';
import { keccak256Text } from '../crypto/keccak.ts';
import { OrderBookError } from '../errors.ts';
import { formatIsoDate } from '../orders/order-json.ts';
import type { AccountStore, NotificationType, Subscription } from '../ports/account-store.ts';
import { NOTIFICATION_TYPES } from '../ports/account-store.ts';
import type { Channel } from '../ports/channel.ts';
import type { Clock } from '../ports/clock.ts';
import { affiliateDomainSeparator } from '../protocol/affiliate.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { bytesToHex } from '../protocol/hex.ts';
import { parseShape } from '../protocol/shape.ts';
import { subscriptionDigest } from '../protocol/subscription.ts';
import { AccountError } from './account-error.ts';
import { requireAccount } from './notification-list.ts';
import type { WalletVerifier } from './wallet-signature.ts';

/** What proves that an account wants something: `Subscription` as typed data, signed by it (decision 5.8). */
export interface SubscriptionProof {
  /** Decimal, any number that the account has not used before. */
  readonly nonce: string;
  /** Seconds since 1970 after which the signature is worth nothing; a day ahead at most. */
  readonly deadline: number;
  readonly signature: string;
}

/** A wish to be told. */
export interface SubscriptionRequest extends SubscriptionProof {
  readonly channel: string;
  readonly target: string;
  readonly types: readonly NotificationType[];
}

/** A subscription as its account sees it. */
export interface SubscriptionView {
  readonly id: string;
  readonly account: Address;
  readonly channel: string;
  readonly target: string;
  readonly types: readonly NotificationType[];
  /** `pending` until it is confirmed. */
  readonly state: 'pending' | 'active';
  readonly createdAt: string;
}

/** A subscription as its account sees it once: with the secret of a webhook, which is not shown again. */
export interface CreatedSubscription extends SubscriptionView {
  /** What deliveries are signed with. Shown here and never again. */
  readonly secret?: string;
  /** Where to go to confirm it, when that is for the subscriber to do. */
  readonly confirm?: string;
}

/** The verbs on subscriptions. Rejections reject with an `AccountError` or `OrderBookError`. */
export interface SubscriptionApi {
  create(account: string, request: SubscriptionRequest): Promise<CreatedSubscription>;
  /** Reads an account's subscriptions, by a proof over empty `channel`, `target` and `types`. */
  list(account: string, proof: SubscriptionProof): Promise<SubscriptionView[]>;
  /** Removes one, by a proof whose `target` is its id and whose `channel` and `types` are empty. */
  remove(account: string, id: string, proof: SubscriptionProof): Promise<void>;
  /** Uses up the token that an invitation has brought. @returns what is active now. */
  confirm(token: string): Promise<SubscriptionView>;
}

export interface SubscriptionsContext {
  readonly store: AccountStore;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly verify: WalletVerifier;
  readonly domainName: string | undefined;
  readonly clock: Clock;
  /** How many an account may have. */
  readonly cap: number;
  /** Milliseconds that a target has to answer. */
  readonly deadline: number;
  readonly random: (size: number) => Uint8Array;
  readonly started: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Made inside functions that bundlers know to be free of effects. */
const PROOF = /* @__PURE__ */ (() =>
  z.object({
    nonce: z.string().check(
      z.regex(/^\d{1,78}$/, { error: 'must be a decimal number', abort: true }),
      z.refine((text) => BigInt(text) < 2n ** 256n, { error: 'must fit in 256 bits' }),
    ),
    deadline: z.int({ error: 'must be seconds since 1970' }).check(z.minimum(0)),
    signature: z.string().check(z.minLength(1)),
  }))();
const REQUEST = /* @__PURE__ */ (() =>
  z.object({
    channel: z.string().check(z.maxLength(32)),
    target: z.string().check(z.maxLength(2048)),
    types: z.array(z.enum(NOTIFICATION_TYPES)).check(z.minLength(1), z.maxLength(NOTIFICATION_TYPES.length)),
    ...PROOF.shape,
  }))();

/** Seconds that a signature may be good for. */
const LONGEST_PROOF = 86_400;
/** Milliseconds that a token may be brought back. */
const TOKEN_LIFE = 86_400_000;

export function createSubscriptions(context: SubscriptionsContext): SubscriptionApi {
  const { store, channels, clock, random } = context;
  let separator: Uint8Array | undefined;

  async function authorise(
    account: Address,
    signed: { readonly channel: string; readonly target: string; readonly types: readonly string[] },
    proof: z.output<typeof PROOF>,
  ): Promise<void> {
    const now = Math.floor(clock.now() / 1000);
    if (proof.deadline < now) throw new AccountError(401, 'The signature is past its deadline');
    if (proof.deadline > now + LONGEST_PROOF) throw new AccountError(400, 'deadline: must be a day ahead at most');
    separator ??= affiliateDomainSeparator(context.domainName);
    const numbers = { nonce: BigInt(proof.nonce), deadline: BigInt(proof.deadline) };
    const digest = subscriptionDigest(separator, { account, ...signed, ...numbers });
    const verdict = await context.verify(account, digest, proof.signature);
    if (verdict.status === 'invalid') throw new AccountError(401, 'Subscription has invalid signature');
    if (verdict.status === 'unverifiable') throw new AccountError(503, 'Contract signatures cannot be verified now', 5);
  }

  const nonceOf = (account: Address, { nonce, deadline }: z.output<typeof PROOF>) => ({
    account,
    nonce: String(BigInt(nonce)),
    expiresAt: (deadline + 1) * 1000,
  });

  /** Asks the target, or sends the token out. @returns what the subscriber is shown. */
  async function approach(channel: Channel, subscription: Subscription, token: string): Promise<string | undefined> {
    const ask = <T>(work: (signal: AbortSignal) => Promise<T>, deadline = context.deadline) =>
      withDeadline(clock, deadline, work);
    if (channel.confirmation === 'echo') {
      const echoed = await ask(async (signal) => channel.challenge?.(subscription.target, token, { signal })).catch(
        () => false, // whatever is wrong with it is the target's own
      );
      if (echoed !== true) throw new AccountError(400, 'The target has not echoed its challenge');
    }
    if (channel.confirmation !== 'token') return undefined;
    const path = `/accounts/${subscription.account}/subscriptions/confirm?token=${token}`;
    try {
      // As long as a delivery: mail servers take their time.
      return await ask(
        async (signal) => channel.invite?.({ subscription, token, path }, { signal }),
        3 * context.deadline,
      );
    } catch (failure) {
      context.onFailure(failure);
      throw new AccountError(503, 'The confirmation could not be sent', 30);
    }
  }

  return {
    async create(of, request) {
      context.started();
      const account = requireAccount(of);
      const shaped = parseShape(REQUEST, request, 'InvalidParameter');
      if (shaped instanceof OrderBookError) throw shaped;
      const channel = channels.get(shaped.channel);
      if (channel === undefined) {
        const known = [...channels.keys()].join(', ') || 'none';
        throw new AccountError(400, `channel: is not one of those that are served: ${known}`);
      }
      const target = channel.parseTarget(shaped.target);
      if (target === undefined) throw new AccountError(400, `target: is none of the channel ${channel.name}`);
      await authorise(account, shaped, shaped);

      const token = bytesToHex(random(32)).slice(2);
      const secret = channel.signs ? `whsec_${btoa(String.fromCharCode(...random(32)))}` : null;
      const pending = channel.confirmation === 'token';
      const subscription: Subscription = {
        id: bytesToHex(random(16)).slice(2),
        account,
        channel: channel.name,
        target,
        secret,
        types: [...new Set(shaped.types)],
        state: pending ? 'pending' : 'active',
        createdAt: clock.now(),
      };
      // A target that has to answer at once is asked before anything is stored; a token has to be there before it is used.
      if (!pending) await approach(channel, subscription, token);
      const now = clock.now();
      const outcome = await store.subscriptions.create({
        subscription,
        nonce: nonceOf(account, shaped),
        cap: context.cap,
        now,
        ...(pending ? { confirmation: { tokenHash: hashOf(token), expiresAt: now + TOKEN_LIFE } } : {}),
      });
      if (outcome.status === 'used') throw USED;
      if (outcome.status === 'capped') {
        throw new AccountError(409, `The account has as many subscriptions as allowed: ${outcome.limit}`);
      }
      const shown = { ...show(subscription), ...(secret === null ? {} : { secret }) };
      if (!pending) return shown;
      try {
        const confirm = await approach(channel, subscription, token);
        return confirm === undefined ? shown : { ...shown, confirm };
      } catch (rejected) {
        await store.subscriptions.remove({ id: subscription.id, account, now: clock.now() });
        throw rejected;
      }
    },

    async list(of, proof) {
      context.started();
      const account = requireAccount(of);
      await authorise(account, { channel: '', target: '', types: [] }, shapedProof(proof));
      return (await store.subscriptions.list(account)).map(show);
    },

    async remove(of, id, proof) {
      context.started();
      const account = requireAccount(of);
      const shaped = shapedProof(proof);
      await authorise(account, { channel: '', target: id, types: [] }, shaped);
      const request = { id, account, nonce: nonceOf(account, shaped), now: clock.now() };
      const outcome = await store.subscriptions.remove(request);
      if (outcome === 'used') throw USED;
      if (outcome === 'missing') throw new AccountError(404, 'Subscription not found');
    },

    async confirm(token) {
      context.started();
      const confirmed = await store.subscriptions.confirm({ tokenHash: hashOf(token), now: clock.now() });
      if (confirmed === undefined) throw new AccountError(404, 'The token is unknown, used or past its time');
      return show(confirmed);
    },
  };
}

const USED = /* @__PURE__ */ new AccountError(409, 'The nonce was used before');

/** Tokens are stored as hashes: who reads the store cannot confirm. */
export const hashOf = (token: string): Hex => bytesToHex(keccak256Text(token));

function shapedProof(proof: SubscriptionProof): z.output<typeof PROOF> {
  const shaped = parseShape(PROOF, proof, 'InvalidParameter');
  if (shaped instanceof OrderBookError) throw shaped;
  return shaped;
}

function show({ id, account, channel, target, types, state, createdAt }: Subscription): SubscriptionView {
  return { id, account, channel, target, types, state, createdAt: formatIsoDate(createdAt) };
}
