import type { Channel, Subscription } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { AccountError } from '../../../src/account-tools/account-error.ts';
import type { WalletVerification } from '../../../src/account-tools/wallet-signature.ts';
import { keccak256Text } from '../../../src/crypto/keccak.ts';
import { getUnsubscribePath, getUnsubscribeToken } from '../../../src/notifications/hashed-ids.ts';
import type { SubscriptionRequest } from '../../../src/notifications/subscriptions.ts';
import { createSubscriptions } from '../../../src/notifications/subscriptions.ts';
import { affiliateDomainSeparator } from '../../../src/protocol/affiliate.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { SUBSCRIPTION_TYPE, subscriptionDigest } from '../../../src/protocol/subscription.ts';
import { manualClock } from '../../support/clock.ts';
import { ALICES, accountFixture, ALICE as SIGNER } from './accounts-fixture.ts';

const NO_ECHO =
  'The target has not echoed its challenge, or its address is private and not in `allow` (`--webhook-allow`) of the operator';
const NOW = 1_700_000_000_500;
const SECONDS = 1_700_000_000;
const DAY = 86_400;
const ALICE: Hex = `0x${'a1'.repeat(20)}`;
const BOB: Hex = `0x${'b0'.repeat(20)}`;
const separator = affiliateDomainSeparator('book');

const SUBSCRIPTION_FIELDS = SUBSCRIPTION_TYPE.slice('Subscription('.length, -1)
  .split(',')
  .map((field) => {
    const [type = '', name = ''] = field.split(' ');
    return { name, type };
  });

let nonces = 0;
const proof = (changes: object = {}) => ({
  nonce: String(++nonces),
  deadline: SECONDS + 60,
  signature: '0x01',
  ...changes,
});
const request = (changes: Partial<SubscriptionRequest> = {}): SubscriptionRequest => ({
  channel: 'hook',
  target: 'https://a.example',
  types: ['order_filled'],
  ...proof(),
  ...changes,
});

interface Choice {
  readonly channels?: Readonly<Record<string, Partial<Channel>>>;
  readonly quota?: number;
  readonly maxInvitations?: number;
  readonly verification?: () => WalletVerification;
}

/** Subscriptions over a memory store. Random bytes count upwards from 0 in each call. */
async function fixture({ channels = { hook: {} }, quota = 10, maxInvitations = 100, verification }: Choice = {}) {
  const clock = manualClock(NOW);
  const store = memoryAccountStore();
  await store.open({ clock });
  const digests: Uint8Array[] = [];
  const failures: unknown[] = [];
  const created: Subscription[] = [];
  const removed: string[] = [];
  let calls = 0;
  const configured = Object.entries(channels).map(([name, members]): [string, Channel] => [
    name,
    {
      name,
      signs: false,
      confirmation: 'none',
      parseTarget: (target) => (target === 'invalid' ? undefined : target),
      deliver: async () => ({ status: 'delivered' }),
      ...members,
    },
  ]);
  const subscriptions = createSubscriptions({
    hasOrders: async () => false,
    store: {
      ...store,
      subscriptions: {
        ...store.subscriptions,
        async create(given) {
          created.push(given.subscription);
          return store.subscriptions.create(given);
        },
        async remove(given) {
          removed.push(given.id);
          return store.subscriptions.remove(given);
        },
      },
    },
    channels: new Map(configured),
    async verify(_, digest) {
      digests.push(digest);
      return verification?.() ?? { status: 'valid', signature: '0x01' };
    },
    domainName: 'book',
    audience: 'api.example.org',
    clock,
    quota,
    maxInvitations,
    deadline: 1000,
    random: (size) => {
      calls++;
      return Uint8Array.from({ length: size }, (_, i) => (calls + i) % 256);
    },
    assertStarted: () => {},
    onFailure: (failure) => void failures.push(failure),
  });
  return { ...subscriptions, clock, store, digests, failures, created, removed };
}

const getFailure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error('the call must fail')),
    (failure: unknown) => failure,
  );
const error = (status: 400 | 401 | 404 | 409 | 429 | 503, message: string, retryAfter?: number) =>
  expect.objectContaining({ constructor: AccountError, status, message, retryAfter });

describe('new subscription', () => {
  test('has an unguessable id, and a secret that is shown if the channel signs', async () => {
    const { create, created } = await fixture({ channels: { hook: { signs: true } } });
    const types = ['order_filled', 'order_expired', 'order_filled'] as const;
    const view = {
      id: '030405060708090a0b0c0d0e0f101112',
      account: ALICE,
      channel: 'hook',
      target: 'https://a.example',
      types: ['order_filled', 'order_expired'],
      state: 'active',
      createdAt: '2023-11-14T22:13:20.500Z',
    };
    const secret = `whsec_${btoa(String.fromCharCode(...Array.from({ length: 32 }, (_, i) => i + 2)))}`;
    expect(await create(ALICE, request({ types }))).toEqual({ ...view, secret });
    expect(created[0]?.secret).toBe(secret);
  });

  test('has no secret if nothing is signed or confirmed', async () => {
    const { create, created } = await fixture();
    expect(await create(ALICE, request())).not.toHaveProperty('secret');
    expect(created[0]?.secret).toBeNull();
  });

  test('is authorised by a signature over channel, target and types', async () => {
    const { create, digests } = await fixture();
    const { nonce, deadline, ...rest } = request();
    await create(ALICE, { ...rest, nonce: '0042', deadline });
    const { channel, target, types } = rest;
    const signed = { account: ALICE, channel, target, types, nonce: 42n, deadline: BigInt(deadline) };
    expect(digests).toEqual([subscriptionDigest(separator, signed)]);
  });

  test.each([
    [
      'an unknown channel',
      { channel: 'fax' },
      error(400, 'channel: must be one of the configured channels: hook, mail'),
    ],
    ['an invalid target', { target: 'invalid' }, error(400, 'target: is not a valid target of the channel hook')],
    ['a past deadline', { deadline: SECONDS - 1 }, error(401, 'The signature is past its deadline')],
    ['a far deadline', { deadline: SECONDS + DAY + 1 }, error(400, 'deadline: must be at most 86400 seconds ahead')],
  ])('with %s is rejected', async (_, changes, failure) => {
    const { create, digests, store } = await fixture({ channels: { hook: {}, mail: {} } });
    expect(await getFailure(create(ALICE, request(changes)))).toEqual(failure);
    expect([digests, await store.subscriptions.list(ALICE)]).toEqual([[], []]);
  });

  test.each([SECONDS, SECONDS + DAY])('with the deadline %i is accepted', async (deadline) => {
    const { create } = await fixture();
    expect(await create(ALICE, request({ deadline }))).toMatchObject({ state: 'active' });
  });

  test('names no channel if none is configured', async () => {
    const { create } = await fixture({ channels: {} });
    const message = 'channel: must be one of the configured channels: none. This server sends no messages';
    expect(await getFailure(create(ALICE, request()))).toEqual(error(400, message));
  });

  test.each([
    [{ nonce: '-1' }, 'nonce must be a decimal number'],
    [{ nonce: '9'.repeat(79) }, 'nonce must be a decimal number'],
    [{ nonce: String(2n ** 256n) }, 'nonce must fit in 256 bits'],
    [{ deadline: 1.5 }, 'deadline must be whole seconds since 1970, got 1.5'],
    [{ deadline: -1 }, 'deadline must be whole seconds since 1970, got -1'],
    [{ deadline: '1800000000' }, 'deadline must be a number, got "1800000000"'],
    [{ nonce: 5 }, 'nonce must be a string, got 5'],
    [{ types: 'order_filled' }, 'types must be an array, got "order_filled"'],
    [{ signature: '' }, 'signature must not be empty'],
    [{ channel: 'x'.repeat(33) }, 'channel must have at most 32 characters'],
    [{ target: 'x'.repeat(2049) }, 'target must have at most 2048 characters'],
    [{ types: [] }, 'types must have 1 to 7 elements'],
    [{ types: ['order_filled', 'order_sold'] }, /^types\.1 must be one of order_/],
    [{ target: undefined }, 'target is missing'],
  ])('requires valid members: case %#', async (changes, message) => {
    const { create } = await fixture();
    // An untyped client.
    const failure = await getFailure(create(ALICE, { ...request(), ...changes } as SubscriptionRequest));
    expect(failure).toMatchObject({
      code: 'InvalidParameter',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });

  test('accepts the largest nonce', async () => {
    const { create } = await fixture();
    expect(await create(ALICE, request({ nonce: String(2n ** 256n - 1n) }))).toMatchObject({ state: 'active' });
  });

  test.each([
    [
      { status: 'invalid' },
      error(
        401,
        'Subscription has invalid signature for the domain "book" (`domainName` of `client.account`), version "1"',
      ),
    ],
    [{ status: 'unverifiable', reason: 'no chain' }, error(503, 'Contract signatures cannot be verified now', 5)],
  ] as const)('with the verification %j is rejected', async (verification, failure) => {
    const { create, store } = await fixture({ verification: () => verification as WalletVerification });
    expect(await getFailure(create(ALICE, request()))).toEqual(failure);
    expect(await store.subscriptions.list(ALICE)).toEqual([]);
  });

  test('cannot use a nonce again, also if the clock is set back after its deadline', async () => {
    const { create, clock, store } = await fixture();
    const used = request({ nonce: '7', deadline: SECONDS + 10 });
    await create(ALICE, used);
    const failure = error(409, 'The nonce was used before');
    expect(await getFailure(create(ALICE, { ...used, nonce: '07' }))).toEqual(failure);
    clock.set((SECONDS + 10) * 1000 + 999); // the last millisecond in which the signature is valid
    expect(await getFailure(create(ALICE, used))).toEqual(failure);
    clock.set((SECONDS + 11) * 1000);
    expect(await getFailure(create(ALICE, used))).toEqual(error(401, 'The signature is past its deadline'));
    clock.set((SECONDS + 10 + DAY) * 1000);
    expect(await store.retention.pruneNonces(clock.now(), 10)).toBe(0);
    clock.set(NOW);
    expect(await getFailure(create(ALICE, used))).toEqual(failure);
    expect(await store.retention.pruneNonces((SECONDS + 12 + DAY) * 1000, 10)).toBe(1);
  });

  test('above the limit of the account is rejected', async () => {
    const { create } = await fixture({ quota: 1 });
    await create(ALICE, request());
    const failure = error(409, 'The account must have at most 1 subscriptions');
    expect(await getFailure(create(ALICE, request({ target: 'other' })))).toEqual(failure);
    expect(await create(BOB, request())).toMatchObject({ state: 'active' });
  });
});

describe('subscription with an echo', () => {
  test('is stored if the target returns the challenge before the deadline', async () => {
    const challenges: unknown[] = [];
    const challenge: Channel['challenge'] = async (...given) => {
      challenges.push(given);
      return true;
    };
    const { create } = await fixture({ channels: { hook: { confirmation: 'echo', challenge } } });
    expect(await create(ALICE, request())).toMatchObject({ state: 'active' });
    const token = Array.from({ length: 32 }, (_, i) => (i + 1).toString(16).padStart(2, '0')).join('');
    expect(challenges).toEqual([['https://a.example', token, { signal: expect.any(AbortSignal) }]]);
  });

  test.each<[string, Channel['challenge']]>([
    ['returns something else', async () => false],
    ['fails', () => Promise.reject(new Error('offline'))],
    ['has no challenge', undefined],
  ])('is rejected if the target %s', async (_, challenge) => {
    const channel = { confirmation: 'echo', ...(challenge && { challenge }) } as const;
    const { create, store } = await fixture({ channels: { hook: channel } });
    const failure = error(400, NO_ECHO);
    expect(await getFailure(create(ALICE, request()))).toEqual(failure);
    expect(await store.subscriptions.list(ALICE)).toEqual([]);
  });

  test('sends one challenge per signature, also after a failure and at the same time', async () => {
    const answers: ((isEchoed: boolean) => void)[] = [];
    const challenge = () => new Promise<boolean>((resolve) => void answers.push(resolve));
    const { create } = await fixture({ channels: { hook: { confirmation: 'echo', challenge } } });
    const signed = request();
    const first = getFailure(create(ALICE, signed));
    const used = error(409, 'The nonce was used before');
    expect(await getFailure(create(ALICE, signed))).toEqual(used);
    answers[0]?.(false);
    expect(await first).toEqual(error(400, NO_ECHO));
    expect(await getFailure(create(ALICE, signed))).toEqual(used);
    expect(answers).toHaveLength(1);
  });

  test('sends no challenge above the quota, in which waiting challenges count', async () => {
    const answers: ((isEchoed: boolean) => void)[] = [];
    const challenge = () => new Promise<boolean>((resolve) => void answers.push(resolve));
    const { create, list } = await fixture({ quota: 1, channels: { hook: { confirmation: 'echo', challenge } } });
    const first = create(ALICE, request());
    const exceeded = error(409, 'The account must have at most 1 subscriptions');
    expect(await getFailure(create(ALICE, request()))).toEqual(exceeded);
    expect(await list(ALICE, proof())).toMatchObject([{ state: 'pending' }]);
    answers[0]?.(true);
    expect(await first).toMatchObject({ state: 'active' });
    expect([answers.length, await list(ALICE, proof())]).toMatchObject([1, [{ state: 'active' }]]);
  });

  test('is not confirmed by the word of the challenge', async () => {
    let confirming: Promise<unknown> = Promise.resolve();
    const channels: Choice['channels'] = {
      hook: {
        confirmation: 'echo',
        async challenge(_, word) {
          confirming = getFailure(confirm(word));
          await confirming;
          return false;
        },
      },
    };
    const { create, confirm } = await fixture({ channels });
    expect(await getFailure(create(ALICE, request()))).toMatchObject({ status: 400 });
    expect(await confirming).toEqual(error(404, 'The token is unknown or expired'));
  });

  test('is rejected if it was removed before the target returned the challenge', async () => {
    const answers: ((isEchoed: boolean) => void)[] = [];
    const challenge = () => new Promise<boolean>((resolve) => void answers.push(resolve));
    const { create, list, remove } = await fixture({ channels: { hook: { confirmation: 'echo', challenge } } });
    const failure = getFailure(create(ALICE, request()));
    const [pending] = await list(ALICE, proof());
    await remove(ALICE, pending?.id ?? '', proof());
    answers[0]?.(true);
    expect(await failure).toEqual(error(404, 'Subscription not found'));
  });

  test('is rejected if the target needs longer than the deadline', async () => {
    const challenge = () => new Promise<never>(() => {});
    const { create, clock } = await fixture({ channels: { hook: { confirmation: 'echo', challenge } } });
    const failure = getFailure(create(ALICE, request()));
    for (let i = 0; i < 10; i++) await Promise.resolve();
    clock.advance(1000);
    expect(await failure).toEqual(error(400, NO_ECHO));
  });
});

describe('subscription with an invitation', () => {
  const mail = (invite?: Channel['invite']) =>
    ({ mail: { confirmation: 'token', ...(invite && { invite }) } }) as const;
  const invited = (changes: Partial<SubscriptionRequest> = {}) =>
    request({ channel: 'mail', target: 'a@b', ...changes });

  test('is pending until its token is confirmed, once', async () => {
    const invitations: Parameters<NonNullable<Channel['invite']>>[] = [];
    const invite: Channel['invite'] = async (...given) => {
      invitations.push(given);
      return 'open the link';
    };
    const { create, confirm, created } = await fixture({ channels: mail(invite) });
    const view = await create(ALICE, invited());
    expect(view).toMatchObject({ state: 'pending', confirm: 'open the link' });
    expect(view).not.toHaveProperty('secret'); // it authorises the unsubscribe links only
    const [{ subscription, token, path } = { token: '' }, call] = invitations[0] ?? [];
    expect([subscription, call]).toEqual([created[0], { signal: expect.any(AbortSignal) }]);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(path).toBe(`/accounts/${ALICE}/subscriptions/confirm?token=${token}`);
    expect(await confirm(token)).toMatchObject({ id: view.id, state: 'active' });
    expect(await confirm(token)).toMatchObject({ id: view.id, state: 'active' });
  });

  test('can be confirmed for a day', async () => {
    const tokens: string[] = [];
    const invite: Channel['invite'] = async ({ token }) => {
      tokens.push(token);
      return undefined;
    };
    const { create, confirm, clock } = await fixture({ channels: mail(invite) });
    expect(await create(ALICE, invited())).not.toHaveProperty('confirm');
    await create(ALICE, invited({ target: 'c@d' }));
    clock.set(NOW + DAY * 1000);
    expect(await confirm(tokens[1] ?? '')).toMatchObject({ state: 'active' });
    clock.set(NOW + DAY * 1000 + 1);
    expect(await getFailure(confirm(tokens[0] ?? ''))).toEqual(error(404, 'The token is unknown or expired'));
  });

  test('is sent by the channel alone if that has no function for it', async () => {
    const { create, failures } = await fixture({ channels: mail() });
    expect(await create(ALICE, invited())).toMatchObject({ state: 'pending' });
    expect(failures).toEqual([]);
  });

  test('is removed if the invitation cannot be sent', async () => {
    const cause = new Error('the mail server is offline');
    const { create, failures, store } = await fixture({ channels: mail(() => Promise.reject(cause)) });
    expect(await getFailure(create(ALICE, invited()))).toEqual(error(503, 'The confirmation could not be sent', 30));
    expect([failures, await store.subscriptions.list(ALICE)]).toEqual([[cause], []]);
  });

  test('is not limited for its target by those that could not be sent', async () => {
    let isOffline = true;
    const invite = async () => {
      if (isOffline) throw new Error('the mail server is offline');
      return undefined;
    };
    const { create } = await fixture({ channels: mail(invite), maxInvitations: 2 });
    for (let i = 0; i < 4; i++)
      expect(await getFailure(create(ALICE, invited()))).toEqual(error(503, 'The confirmation could not be sent', 30));
    isOffline = false;
    expect(await create(ALICE, invited())).toMatchObject({ state: 'pending' });
  });

  test('counts for its target if sending it has taken too long', async () => {
    const { create, clock } = await fixture({ channels: mail(() => new Promise(() => {})), maxInvitations: 1 });
    const failure = getFailure(create(ALICE, invited()));
    for (let i = 0; i < 20; i++) await Promise.resolve();
    clock.advance(3000);
    await failure;
    const message = 'Too many invitations were sent to this domain today';
    expect(await getFailure(create(ALICE, invited()))).toEqual(error(429, message, 3600));
  });

  test('has three times the deadline of a challenge', async () => {
    const { create, clock, failures } = await fixture({ channels: mail(() => new Promise(() => {})) });
    const failure = getFailure(create(ALICE, invited()));
    for (let i = 0; i < 20; i++) await Promise.resolve();
    clock.advance(2999);
    expect(failures).toEqual([]);
    clock.advance(1);
    expect(await failure).toEqual(error(503, 'The confirmation could not be sent', 30));
  });

  test('is not sent while another one to the target waits', async () => {
    const { create } = await fixture({ channels: mail() });
    await create(ALICE, invited());
    const message = 'An invitation to this target waits for its confirmation';
    expect(await getFailure(create(BOB, invited()))).toEqual(error(429, message, 3600));
    expect(await create(BOB, invited({ target: 'c@d' }))).toMatchObject({ state: 'pending' });
  });

  test('is sent to one target three times in a day', async () => {
    const { create, store, clock } = await fixture({ channels: mail() });
    for (let i = 0; i < 3; i++) {
      const { id } = await create(ALICE, invited());
      await store.subscriptions.remove({ id, account: ALICE });
    }
    const message = 'Too many invitations were sent to this target today';
    expect(await getFailure(create(ALICE, invited()))).toEqual(error(429, message, 3600));
    clock.set(NOW + DAY * 1000 + 1);
    expect(await create(ALICE, invited({ deadline: SECONDS + DAY + 9 }))).toMatchObject({ state: 'pending' });
  });

  test('is counted for all targets of the channel', async () => {
    const { create } = await fixture({ channels: mail(), maxInvitations: 2 });
    await create(ALICE, invited());
    await create(ALICE, invited({ target: 'c@d' }));
    const message = 'Too many invitations were sent over this channel today';
    expect(await getFailure(create(ALICE, invited({ target: 'e@f' })))).toEqual(error(429, message, 3600));
  });

  test('does not count for a channel whose target is unknown before the confirmation', async () => {
    const { create } = await fixture({ channels: mail(), maxInvitations: 1 });
    for (const account of [ALICE, BOB]) {
      expect(await create(account, invited({ target: '' }))).toMatchObject({ state: 'pending' });
    }
  });
});

test('a channel without confirmation sends no invitations, and has no limits of them', async () => {
  const invite = () => Promise.reject(new Error('not called'));
  const { create, failures } = await fixture({ channels: { hook: { invite } }, maxInvitations: 1 });
  for (let i = 0; i < 4; i++) expect(await create(ALICE, request())).toMatchObject({ state: 'active' });
  expect(failures).toEqual([]);
});

describe('own subscriptions', () => {
  test('are listed with a signature over the audience', async () => {
    const { create, list, digests } = await fixture({ channels: { hook: { signs: true } } });
    const { secret, ...view } = await create(ALICE, request());
    await create(BOB, request());
    const { nonce, ...rest } = proof();
    expect(await list(ALICE, { ...rest, nonce })).toEqual([view]); // without the secret
    const terms = { account: ALICE, channel: '', target: 'api.example.org', types: [] };
    const signed = { ...terms, nonce: BigInt(nonce), deadline: BigInt(rest.deadline) };
    expect(digests.at(-1)).toEqual(subscriptionDigest(separator, signed));
  });

  test('are not listed with a signature for another audience', async () => {
    const deadline = Math.floor(Date.parse('2024-01-01') / 1000);
    const list = async (audience: string | undefined, target: string) => {
      await using fixture = await accountFixture(audience === undefined ? {} : { audience });
      const { accounts, clock } = fixture;
      clock.set(deadline * 1000);
      const message = { account: ALICES, channel: '', target, types: [], nonce: 1n, deadline: BigInt(deadline) };
      const signature = await SIGNER.signTypedData?.({
        domain: { name: 'Service Affiliate', version: '1' },
        types: { Subscription: SUBSCRIPTION_FIELDS },
        primaryType: 'Subscription',
        message,
      });
      return await accounts.subscriptions.list(ALICES, { nonce: '1', deadline, signature: signature ?? '' });
    };
    expect(await list('a.example', 'a.example')).toEqual([]);
    expect(await list(undefined, 'Service Affiliate')).toEqual([]);
    const expected =
      'for the domain "Service Affiliate" (`domainName` of `client.account`), version "1", with the target "a.example"';
    const rejected = error(401, `Subscription has invalid signature ${expected}`);
    for (const target of ['b.example', 'A.example', 'Service Affiliate', '']) {
      expect(await getFailure(list('a.example', target))).toEqual(rejected);
    }
  });

  test('are listed with a signature that ends at most five minutes ahead, also repeatedly', async () => {
    const { list, clock } = await fixture();
    const last = proof({ deadline: SECONDS + 300 });
    expect([await list(ALICE, last), await list(ALICE, last)]).toEqual([[], []]);
    const message = 'deadline: must be at most 300 seconds ahead';
    expect(await getFailure(list(ALICE, proof({ deadline: SECONDS + 301 })))).toEqual(error(400, message));
    clock.set((SECONDS + 301) * 1000);
    expect(await getFailure(list(ALICE, last))).toEqual(error(401, 'The signature is past its deadline'));
  });

  test('are removed with a signature over the id', async () => {
    const { create, remove, store, digests } = await fixture();
    const { id } = await create(ALICE, request());
    const { nonce, ...rest } = proof();
    await remove(ALICE, id, { ...rest, nonce });
    expect(await store.subscriptions.list(ALICE)).toEqual([]);
    const signed = { account: ALICE, channel: '', target: id, types: [] };
    expect(digests.at(-1)).toEqual(
      subscriptionDigest(separator, { ...signed, nonce: BigInt(nonce), deadline: BigInt(rest.deadline) }),
    );
  });

  test('are not removed with a used nonce, or by another account', async () => {
    const { create, remove, store } = await fixture();
    const { id } = await create(ALICE, request({ nonce: '5' }));
    const used = error(409, 'The nonce was used before');
    expect(await getFailure(remove(ALICE, id, proof({ nonce: '5' })))).toEqual(used);
    expect(await getFailure(remove(BOB, id, proof()))).toEqual(error(404, 'Subscription not found'));
    expect(await store.subscriptions.list(ALICE)).toHaveLength(1);
  });

  test('are not looked up by a malformed id, which a database may reject', async () => {
    const { remove, removed } = await fixture();
    for (const id of ['', 'a\0b', 'A'.repeat(32), 'a'.repeat(33)]) {
      expect(await getFailure(remove(ALICE, id, proof()))).toEqual(error(404, 'Subscription not found'));
    }
    expect(removed).toEqual([]);
  });

  test('require a proof', async () => {
    const { list, remove } = await fixture();
    const failure = { code: 'InvalidParameter', message: 'nonce must be a decimal number' };
    expect(await getFailure(list(ALICE, proof({ nonce: 'x' })))).toMatchObject(failure);
    expect(await getFailure(remove(ALICE, 'id', proof({ nonce: 'x' })))).toMatchObject(failure);
  });
});

describe('unsubscribe link', () => {
  test('removes its subscription, and no other one', async () => {
    const { create, unsubscribe, created, store } = await fixture({ channels: { hook: { signs: true } } });
    const first = await create(ALICE, request());
    const second = await create(ALICE, request({ target: 'other' }));
    const [firstToken, secondToken] = created.map((each) => getUnsubscribeToken(each) ?? '');
    const missing = error(404, 'Subscription not found');
    expect(await getFailure(unsubscribe(ALICE, second.id, firstToken ?? ''))).toEqual(missing);
    await unsubscribe(BOB, second.id, secondToken ?? '');
    expect(await store.subscriptions.list(ALICE)).toHaveLength(2);
    for (let i = 0; i < 2; i++) await unsubscribe(ALICE, second.id, secondToken ?? '');
    expect((await store.subscriptions.list(ALICE)).map(({ id }) => id)).toEqual([first.id]);
  });

  test('does not exist for a subscription without a secret', async () => {
    const { create, unsubscribe } = await fixture();
    const { id } = await create(ALICE, request());
    expect(await getFailure(unsubscribe(ALICE, id, ''))).toEqual(error(404, 'Subscription not found'));
    // What a token of the text `null` would be: everybody could compute it.
    const guessed = bytesToHex(keccak256Text(`unsubscribe null ${id}`)).slice(2, 34);
    expect(await getFailure(unsubscribe(ALICE, id, guessed))).toEqual(error(404, 'Subscription not found'));
  });

  test('has a token of 16 bytes from the secret and the id', () => {
    const subscription: Subscription = {
      id: 'x',
      account: ALICE,
      channel: 'mail',
      target: 'a@b',
      secret: 's',
      types: [],
      state: 'active',
      createdAt: NOW,
    };
    const token = bytesToHex(keccak256Text('unsubscribe s x')).slice(2, 34);
    const unsubscribePath = `/accounts/${ALICE}/subscriptions/unsubscribe?id=x&token=${token}`;
    expect(getUnsubscribePath(subscription)).toEqual({ unsubscribePath });
    expect(getUnsubscribePath({ ...subscription, secret: null })).toEqual({});
  });
});
