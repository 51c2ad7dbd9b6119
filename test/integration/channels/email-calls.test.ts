import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { Socket } from 'node:net';
import { emailChannel } from 'intentbook/channels';
import { describe, test, vi } from 'vitest';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';
import { until } from './channel-fixture.ts';
import { BODY, call, deliveryTo } from './delivery-fixture.ts';
import { mailRecipient } from './receivers.ts';

describe('email delivery', () => {
  const options = { smtp: 'smtp://127.0.0.1:1', from: 'books@example.org', publicUrl: 'https://api.example.org//' };
  /** The text of a mail without folded lines (RFC 2045). */
  const unfolded = (mail = '') => mail.replace(/=\r\n/g, '').replace(/=3D/g, '=').replaceAll('\r\n', '\n');

  test('has the message, the order, the chain, the time and the link that ends it', async () => {
    await using recipient = await mailRecipient();
    const metadata = { orderUid: '0x12', chainId: 100 };
    const body = JSON.stringify({ ...JSON.parse(BODY), metadata });
    const delivery = deliveryTo('alice@example.net', { body, unsubscribePath: '/accounts/1?token=2' });
    assert.deepEqual(await recipient.channel.deliver(delivery, call()), { status: 'delivered' });
    const mail = unfolded(recipient.mails[0]);
    const text =
      `Sold 1 WETH\n\nAccount: ${ALICES}\nOrder: 0x12\nChain: xdai (100)\nTime: 2023-11-14T22:13:20.000Z\n\n` +
      'To end these notifications, open: https://api.example.org/accounts/1?token=2\n';
    assert.ok(mail.endsWith(text), mail);
    assert.match(mail, /^Message-ID: <msg_1@example\.org>$/m);
    assert.match(mail, /^Subject: Order filled$/m);
    assert.match(mail, /^List-Unsubscribe: <https:\/\/api\.example\.org\/accounts\/1\?token=2>$/m);
  });

  test('has no order, no chain and no link without one', async () => {
    await using recipient = await mailRecipient();
    const body = JSON.stringify({ ...JSON.parse(BODY), type: 'affiliate_trade_completed', metadata: {} });
    await recipient.channel.deliver(deliveryTo('alice@example.net', { body }), call());
    const mail = unfolded(recipient.mails[0]);
    assert.ok(mail.endsWith(`Account: ${ALICES}\nTime: 2023-11-14T22:13:20.000Z\n`), mail);
    assert.match(mail, /^Subject: Affiliate trade completed$/m);
    assert.doesNotMatch(mail, /List-Unsubscribe/);
  });

  test('is preceded by an invitation that names the events', async () => {
    await using recipient = await mailRecipient();
    const { subscription } = deliveryTo('alice@example.net');
    const types = ['order_filled', 'order_expired'] as const;
    const invitation = { subscription: { ...subscription, types }, token: 'ab', path: '/confirm?token=ab' };
    assert.equal(await recipient.channel.invite?.(invitation, call()), undefined);
    const mail = unfolded(recipient.mails[0]);
    assert.ok(
      mail.includes(`The owner of ${ALICES} requests notifications to this address: order_filled, order_`),
      mail,
    );
    assert.ok(mail.includes('press its button:\n\nhttps://api.example.org/confirm?token=ab\n\nIf you did not'), mail);
    assert.match(mail, /^Subject: Confirm your notifications$/m);
    assert.match(mail, /^Auto-Submitted: auto-generated$/m);
    assert.ok(mail.endsWith('You will receive no further mail.\n'), mail);
  });

  test.each<[{ code: number; text: string }, object]>([
    [
      { code: 550, text: '5.1.1 unknown' },
      { status: 'gone', error: 'the mail server responded with 550' },
    ],
    [
      { code: 550, text: '5.1.6 moved' },
      { status: 'gone', error: 'the mail server responded with 550' },
    ],
    ...[
      '5.1.3 bad address syntax',
      '5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
      '5.2.1 The email account that you tried to reach is disabled',
      '5.0.0 User unknown',
      '5.1.0 <alice@example.net>: no such user',
      'No such user here',
      'User unknown in virtual mailbox table',
    ].map((text): [{ code: number; text: string }, object] => [
      { code: 550, text },
      { status: 'gone', error: 'the mail server responded with 550' },
    ]),
    ...[
      '5.1.11 other',
      '5.2.2 mailbox full',
      '5.7.1 no such user, by policy',
      'greylisted, unknown reason',
      '5.1.0 sender rejected',
      '5.0.0 try later',
    ].map((text): [{ code: number; text: string }, object] => [
      { code: 550, text },
      { status: 'failed', error: 'the mail server responded with 550' },
    ]),
    [
      { code: 550, text: '5.1.2 other' },
      { status: 'failed', error: 'the mail server responded with 550' },
    ],
    [
      { code: 450, text: '4.1.1 later' },
      { status: 'failed', error: 'the mail server responded with 450' },
    ],
  ])('rejected by %j', async (rejection, result) => {
    await using recipient = await mailRecipient();
    recipient.rejection = rejection;
    assert.deepEqual(await recipient.channel.deliver(deliveryTo('alice@example.net'), call()), result);
  });

  test('names no server that is unreachable', async () => {
    const channel = emailChannel(options);
    const result = { status: 'failed', error: 'the mail server is unreachable' };
    assert.deepEqual(await channel.deliver(deliveryTo('alice@example.net'), call()), result);
    const invitation = { subscription: deliveryTo('alice@example.net').subscription, token: 'ab', path: '/' };
    const message = 'the invitation was not sent: the mail server is unreachable';
    await assert.rejects(async () => channel.invite?.(invitation, call()), new Error(message));
  });

  test('closes its connection when it is aborted, and keeps no listener otherwise', async () => {
    await using recipient = await mailRecipient();
    const { signal } = new AbortController();
    await recipient.channel.deliver(deliveryTo('alice@example.net'), { signal });
    await until(() => getEventListeners(signal, 'abort').length === 0);
    recipient.behaviour = 'hangs';
    const controller = new AbortController();
    const pending = recipient.channel.deliver(deliveryTo('alice@example.net'), controller);
    await until(() => getEventListeners(controller.signal, 'abort').length === 1);
    controller.abort();
    assert.deepEqual(await pending, { status: 'failed', error: 'the mail server is unreachable' });
    await recipient.channel.deliver(deliveryTo('alice@example.net'), { signal: AbortSignal.abort() });
    assert.equal(recipient.mails.length, 1);
  });

  test.each([
    ['smtps://user:password@127.0.0.1', 465],
    ['smtp://user:password@127.0.0.1', 587],
    ['smtps://user:password@127.0.0.1:2465', 2465],
  ])('connects to the port of %s', async (smtp, port) => {
    const ports: unknown[] = [];
    const connect = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, target: unknown) {
      ports.push((target as [{ port: number }])[0].port); // as normalised by net.connect
      return this.destroy(new Error('unreachable'));
    });
    try {
      await emailChannel({ ...options, smtp }).deliver(deliveryTo('alice@example.net'), call());
    } finally {
      connect.mockRestore();
    }
    assert.deepEqual(ports, [port]);
  });

  test.each([
    ['alice@example.net', 'alice@example.net'],
    ["a.!#$%&'*+/=?^_`{|}~-1@EXAMPLE.net", "a.!#$%&'*+/=?^_`{|}~-1@example.net"],
    ['alice@bücher.example', 'alice@xn--bcher-kva.example'],
    [`${'a'.repeat(64)}@x.y`, `${'a'.repeat(64)}@x.y`],
    [`${'a'.repeat(65)}@x.y`, undefined],
    ['Alice <alice@example.net>', undefined],
    ['alice@example.net, bob@example.net', undefined],
    ['alice@', undefined],
    ['alice@.net', undefined],
    ['alice@a..b', undefined],
    ['alice', undefined],
  ])('accepts the target %s: %s', (target, parsed) => {
    assert.equal(emailChannel(options).parseTarget(target), parsed);
  });

  test.each<[Record<string, unknown>, RegExp]>([
    [{ ...options, smtp: 'https://example.org' }, /smtp must be an smtp or smtps URL/],
    [{ ...options, smtp: 'smtp:///path' }, /smtp must be an smtp or smtps URL/],
    [{ ...options, smtp: 5 }, /smtp must be an smtp or smtps URL/],
    [{ ...options, from: 'books' }, /from must be an e-mail address/],
    [{ ...options, from: undefined }, /from must be an e-mail address/],
    [{ ...options, publicUrl: 'api.example.org' }, /publicUrl must be an http or https URL/],
    [{ ...options, publicUrl: 'ftp://api.example.org' }, /publicUrl must be an http or https URL/],
    [{ ...options, publicUrl: 'https://api.example.org/?a' }, /without a query and a fragment/],
    [{ ...options, publicUrl: 'https://api.example.org/#a' }, /without a query and a fragment/],
    [{ ...options, user: 'x' }, /emailChannel: unknown option "user"/],
  ])('rejects the options %j', (invalid, message) => {
    assert.throws(() => emailChannel(invalid as unknown as typeof options), message);
  });

  test('describes its channel', () => {
    const channel = emailChannel({ ...options, smtp: 'smtps://user:pass@mail.example.org' });
    assert.deepEqual([channel.name, channel.signs, channel.confirmation], ['email', false, 'token']);
  });
});
