import type { Channel } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { TYPES } from '../../integration/channels/channel-fixture.ts';
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
async function fixture() {
  const { accounts, book, clock } = await accountFixture({ channels: [MAIL], maxInvitations: 10 });
  let nonce = 0n;
  return {
    async order(n: number) {
      const validTo = Math.floor(clock.now() / 1000) + 600;
      expect(await book.orders.submit(await signOrder(account(n), { validTo }))).toMatchObject({ status: 'accepted' });
    },
    /** Requests an invitation, and returns its state or the reason of the rejection. */
    async invite(n: number, target: string): Promise<string> {
      const signer = account(n);
      const deadline = Math.floor(clock.now() / 1000) + 60;
      const types = ['order_filled'] as const;
      nonce++;
      const message = { account: signer.address, channel: 'mail', target, types, nonce, deadline: BigInt(deadline) };
      const domain = { name: 'Service Affiliate', version: '1' };
      const signature = await signer.signTypedData({ domain, types: TYPES, primaryType: 'Subscription', message });
      const request = { channel: 'mail', target, types, nonce: String(nonce), deadline, signature };
      const created = accounts.subscriptions.create(signer.address, request);
      return created.then(
        ({ state }) => state,
        (failure: Error) => failure.message,
      );
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
