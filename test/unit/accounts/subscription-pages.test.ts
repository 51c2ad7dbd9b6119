import type { Channel } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { getUnsubscribePath } from '../../../src/notifications/hashed-ids.ts';
import { accountFixture } from './account-api-fixture.ts';
import { ALICES } from './accounts-fixture.ts';

const PATH = `/accounts/${ALICES}/subscriptions`;
const PAGE = { headers: { accept: 'text/html,*/*;q=0.8' } };

const channel: Channel = {
  name: 'mail',
  signs: false,
  confirmation: 'token',
  parseTarget: (target) => target,
  deliver: async () => ({ status: 'delivered' }),
};

/** An account interface with one subscription of Alice. */
async function fixture() {
  const { store, clock, send } = await accountFixture({ channels: [channel] });
  const now = clock.now();
  const subscription = {
    id: 'ab'.repeat(16),
    account: ALICES,
    channel: 'mail',
    target: 'a@b.example',
    types: ['order_filled'],
    state: 'active',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    createdAt: now,
  } as const;
  await store.subscriptions.create({
    subscription,
    nonce: { account: ALICES, nonce: '1', expiresAt: now },
    quota: 1,
    now,
  });
  return { store, send, link: getUnsubscribePath(subscription).unsubscribePath ?? '' };
}

describe('pages of links in messages', () => {
  test.each([
    ['a wrong token', `${PATH}/confirm?token=x`, 'This link is unknown or expired.'],
    ['no token', `${PATH}/confirm`, 'This link is unknown or expired.'],
    ['a wrong token of a subscription', `${PATH}/unsubscribe?id=${'ab'.repeat(16)}&token=x`, 'This link is not valid.'],
  ])('show a sentence for %s, and change nothing', async (_, path, sentence) => {
    const { send, store } = await fixture();
    const response = await send('POST', path, PAGE);
    expect([response.status, response.header('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(response.text).toContain(`<title>Link not valid</title><h1>Link not valid</h1><p>${sentence}</p></html>`);
    expect(response.header('cache-control')).toBe('no-store');
    const json = await send('POST', path);
    expect([json.status, json.header('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
    expect(await store.subscriptions.list(ALICES)).toHaveLength(1);
  });

  test('show nothing of the address of the page', async () => {
    const { send } = await fixture();
    const response = await send('POST', `${PATH}/confirm?token=%3Cscript%3Ealert(1)%3C/script%3E`, PAGE);
    expect([response.status, response.text.includes('script')]).toEqual([404, false]);
  });

  test('show the end of a subscription, also when the button is pressed twice', async () => {
    const { send, link, store } = await fixture();
    const opened = await send('GET', link, PAGE);
    expect([opened.status, opened.text.includes('<button>Unsubscribe</button>')]).toEqual([200, true]);
    expect(await store.subscriptions.list(ALICES)).toHaveLength(1);
    for (let i = 0; i < 2; i++) {
      const response = await send('POST', link, PAGE);
      expect([response.status, response.text.includes('<h1>Notifications ended</h1>')]).toEqual([200, true]);
    }
    expect(await store.subscriptions.list(ALICES)).toEqual([]);
  });
});
