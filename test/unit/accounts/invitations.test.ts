import type { ApiRequest, Channel } from 'intentbook';
import { createAccountApi } from 'intentbook/accounts';
import { describe, expect, test } from 'vitest';
import { TYPES } from '../../integration/channels/channel-fixture.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { account, signOrder } from '../../support/orders.ts';
import { accountFixture } from './account-api-fixture.ts';

/** A channel that confirms with a token, as that of mails. */
const MAIL: Channel = {
  name: 'mail',
  signs: false,
  confirmation: 'token',
  parseTarget: (target) => target,
  deliver: async () => ({ status: 'delivered' }),
};

/** An account interface whose channel sends ten invitations a day: five to a domain, nine without orders. */
async function fixture(maxInvitations = 10) {
  const { accounts, book, clock } = await accountFixture({ channels: [MAIL], maxInvitations });
  const identifyClient = ({ header }: ApiRequest) => header('x-client');
  const http = directFixture(createAccountApi(accounts, { identifyClient }), () => clock.now() / 1000);
  let nonce = 0n;
  return {
    async order(n: number) {
      const validTo = Math.floor(clock.now() / 1000) + 600;
      expect(await book.orders.submit(await signOrder(account(n), { validTo }))).toMatchObject({ status: 'accepted' });
    },
    /** Requests an invitation, and returns its state or the reason of the rejection. */
    async invite(n: number, target: string, client?: string): Promise<string> {
      const signer = account(n);
      const deadline = Math.floor(clock.now() / 1000) + 60;
      const types = ['order_filled'] as const;
      nonce++;
      const message = { account: signer.address, channel: 'mail', target, types, nonce, deadline: BigInt(deadline) };
      const domain = { name: 'Service Affiliate', version: '1' };
      const signature = await signer.signTypedData({ domain, types: TYPES, primaryType: 'Subscription', message });
      const request = { channel: 'mail', target, types, nonce: String(nonce), deadline, signature };
      const headers = client === undefined ? {} : { 'x-client': client };
      const path = `/accounts/${signer.address}/subscriptions`;
      const response = await http.send('POST', path, { body: request, headers });
      const { state, message: reason } = response.json() as Record<string, string>;
      expect(response.status).toBe(state === undefined ? 429 : 201);
      return state ?? reason ?? '';
    },
  };
}

describe('invitations of a channel', () => {
  test('are for half of them to one domain', async () => {
    const { invite } = await fixture();
    for (let n = 0; n < 5; n++) expect(await invite(n, `user${n}@one.example`)).toBe('pending');
    expect(await invite(5, 'user@one.example')).toBe('Too many invitations were sent to this domain today');
    expect(await invite(5, 'user@two.example')).toBe('pending');
  });

  test('are ten for a client with any number of wallets, and unlimited for a mount without addresses', async () => {
    const { invite } = await fixture(1_000);
    for (let n = 0; n < 10; n++) expect(await invite(n, `user${n}@one.example`, 'a')).toBe('pending');
    expect(await invite(10, 'user@two.example', 'a')).toBe('Too many invitations were requested by this client today');
    expect(await invite(10, 'user@two.example', 'b')).toBe('pending');
    for (let n = 20; n < 31; n++) expect(await invite(n, `user${n}@three.example`)).toBe('pending');
  });

  test('are ten for an account, from any number of clients', async () => {
    const { invite } = await fixture(1_000);
    for (let n = 0; n < 10; n++) expect(await invite(1, `user@d${n}.example`, `client ${n}`)).toBe('pending');
    expect(await invite(1, 'user@x.example', 'other')).toBe(
      'Too many invitations were requested for this account today',
    );
  });

  test('are reserved for accounts with orders at the end', async () => {
    const { invite, order } = await fixture();
    await order(20);
    for (let n = 0; n < 9; n++) expect(await invite(n, `user@d${n}.example`)).toBe('pending');
    const exhausted = 'Too many invitations were sent over this channel today';
    expect(await invite(9, 'user@d9.example')).toBe(exhausted);
    expect(await invite(20, 'user@d10.example')).toBe('pending');
    expect(await invite(20, 'user@d11.example')).toBe(exhausted);
  });
});
