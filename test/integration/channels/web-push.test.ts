import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webPushChannel } from 'intentbook/channels';
import { describe, test } from 'vitest';
import webPush from 'web-push';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';
import { authorization, channelFixture, until } from './channel-fixture.ts';
import { call, deliveryTo } from './delivery-fixture.ts';

const { publicKey, privateKey } = webPush.generateVAPIDKeys();
const OPTIONS = { subject: 'mailto:us@example.org', publicKey, privateKey };
const point = () => {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  return ecdh.getPublicKey('base64url');
};
const KEYS = { p256dh: point(), auth: randomBytes(16).toString('base64url') };
const target = (endpoint: string, keys: object = KEYS) => JSON.stringify({ endpoint, keys });

/** A push service that responds with a status and counts its requests. */
async function service(status: number, headers: Record<string, string> = {}) {
  const state = { requests: 0, headers: {} as IncomingHttpHeaders };
  const server = createServer((request, response) => {
    state.requests++;
    state.headers = request.headers;
    request.resume().on('end', () => {
      response.writeHead(status, headers);
      if (headers['content-length'] === undefined) response.end();
      else response.flushHeaders();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/push`, // a listening server has an address
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

const subscriptions = async (fixture: Awaited<ReturnType<typeof channelFixture>>) =>
  (
    await fixture.http.send('GET', `/accounts/${ALICES}/subscriptions`, { headers: await authorization() })
  ).json() as unknown[];

describe('web push channel', () => {
  test.each([404, 410])('removes the subscription of an expired browser endpoint, %i', async (status) => {
    await using push = await service(status);
    await using fixture = await channelFixture(webPushChannel({ ...OPTIONS, allow: ['127.0.0.1/32'] }));
    await fixture.subscribe('webpush', target(push.url));
    await fixture.notify('one');
    await until(async () => (await subscriptions(fixture)).length === 0);
    assert.equal(push.requests, 1);
  });

  test('counts with its status, although the body of the response does not end', async () => {
    await using push = await service(201, { 'content-length': '100' });
    const channel = webPushChannel({ ...OPTIONS, allow: ['127.0.0.1/32'] });
    assert.deepEqual(await channel.deliver(deliveryTo(target(push.url)), call()), { status: 'delivered' });
  });

  test('does not follow redirects', async () => {
    await using inner = await service(201);
    await using outer = await service(307, { location: inner.url });
    await using fixture = await channelFixture(webPushChannel({ ...OPTIONS, allow: ['127.0.0.1/32'] }));
    await fixture.subscribe('webpush', target(outer.url));
    await fixture.notify('one');
    await until(async () => (await fixture.accounts.deliveries.list({ state: 'dead' })).length === 1);
    assert.equal(inner.requests, 0);
  });

  test.each(['https://127.0.0.1:1/', 'https://169.254.169.254/', 'https://[::ffff:10.0.0.1]/', 'https://localhost/'])(
    'does not send to %s',
    async (endpoint) => {
      const hosts = [new URL(endpoint).hostname];
      await using fixture = await channelFixture(webPushChannel({ ...OPTIONS, hosts }));
      await fixture.subscribe('webpush', target(endpoint));
      await fixture.notify('one');
      await until(async () => (await fixture.accounts.deliveries.list({ state: 'dead' })).length === 1);
      const [dead] = await fixture.accounts.deliveries.list({ state: 'dead' });
      assert.equal(dead?.error, 'the target is not on the public internet, and not in `allow` of the channel');
    },
  );

  const good = 'https://push.example.org/1';
  const hosts = ['push.example.org'];
  const offCurve = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]).toString('base64url');
  test.each([
    'not JSON',
    'null',
    '[]',
    '"https://push.example.org"',
    target('http://push.example.org/1'),
    target('https://me:secret@push.example.org/1'),
    target('ftp://push.example.org/1'),
    JSON.stringify({ endpoint: good }),
    target(good, { ...KEYS, p256dh: offCurve }),
    target(good, { ...KEYS, p256dh: KEYS.auth }),
    target(good, { ...KEYS, auth: 'AAAA' }),
    target(good, { ...KEYS, auth: 7 }),
  ])('rejects a subscription for %s', (text) => {
    assert.equal(webPushChannel({ ...OPTIONS, hosts }).parseTarget(text), undefined);
  });

  test('normalises its target and ignores other members', () => {
    const subscription = JSON.stringify({
      expirationTime: null,
      keys: { p256dh: `${KEYS.p256dh}=`, auth: `${KEYS.auth}==`, more: 1 },
      endpoint: 'HTTPS://Push.Example.org/1#again',
    });
    const { parseTarget } = webPushChannel({ ...OPTIONS, hosts });
    assert.equal(parseTarget(subscription), JSON.stringify({ endpoint: good, keys: KEYS }));
  });

  test.each([
    ['https://fcm.googleapis.com/fcm/send/1', true],
    ['https://updates.push.services.mozilla.com/wpush/v2/1', true],
    ['https://web.push.apple.com/1', true],
    ['https://db5p.notify.windows.com/w/1', true],
    ['https://a.example.net/1', true],
    ['https://example.net/1', false],
    ['https://push.example.org/1', false],
    ['https://fcm.googleapis.com.example.org/1', false],
    ['https://evilnotify.windows.com/1', false],
  ])('accepts %s only if it is a known push service: %s', (endpoint, accepted) => {
    const { parseTarget } = webPushChannel({ ...OPTIONS, hosts: ['*.example.net'] });
    assert.equal(parseTarget(target(endpoint)) !== undefined, accepted);
  });

  test.each([
    ['https://fcm.googleapis.com/fcm/send/1', true],
    ['http://10.1.2.3/1', true],
    ['https://[fd00::1]/1', true],
    ['http://10.2.0.1/1', false],
    ['http://93.184.216.34/1', false],
    ['http://localhost/1', false],
    ['ftp://10.1.2.3/1', false],
    ['https://push.example.org/1', false],
    ['http://fcm.googleapis.com/fcm/send/1', false],
  ])('with allowed private addresses accepts %s: %s', (endpoint, accepted) => {
    const { parseTarget } = webPushChannel({ ...OPTIONS, allow: ['10.1.0.0/16', 'fd00::/64'] });
    assert.equal(parseTarget(target(endpoint)) !== undefined, accepted);
  });

  test('compares host names without regard to case', () => {
    const { parseTarget } = webPushChannel({ ...OPTIONS, hosts: ['Push.Example.ORG', '*.Example.net'] });
    for (const host of ['push.example.org', 'a.example.net']) assert.ok(parseTarget(target(`https://${host}/1`)));
  });

  test.each([
    [{ subject: 'us@example.org' }, /subject must be/],
    [{ publicKey: offCurve }, /publicKey must be/],
    [{ privateKey: 'hush' }, /privateKey must be/],
    [{ hosts: ['https://push.example.org'] }, /hosts must be/],
    [{ allow: ['localhost'] }, /not a valid address/],
    [{ pubicKey: 'x' }, /unknown option "pubicKey".*publicKey/],
  ])('rejects the options %o without naming a secret', (changes, message) => {
    assert.throws(
      () => webPushChannel({ ...OPTIONS, ...changes }),
      (error: Error) => message.test(error.message) && !error.message.includes('hush'),
    );
  });

  test.each<[number, Record<string, string>, object]>([
    [200, {}, { status: 'delivered' }],
    [299, {}, { status: 'delivered' }],
    [300, {}, { status: 'failed', error: 'responded with 300' }],
    [404, {}, { status: 'gone', error: 'responded with 404' }],
    [410, {}, { status: 'gone', error: 'responded with 410' }],
    [429, { 'retry-after': '9' }, { status: 'failed', error: 'responded with 429', retryAfter: 9 }],
  ])('with response %d %j', async (status, headers, result) => {
    await using push = await service(status, headers);
    const channel = webPushChannel({ ...OPTIONS, allow: ['127.0.0.1/32'] });
    const delivered = await channel.deliver(deliveryTo(target(push.url), { id: 'msg_abc' }), call());
    assert.deepEqual(delivered, result);
    // A retry replaces the earlier message of the same topic. News of yesterday are not delivered.
    assert.deepEqual(
      [push.headers['topic'], push.headers['ttl'], push.headers['content-encoding']],
      ['abc', '86400', 'aes128gcm'],
    );
  });

  test.each([
    'mailto:us@example.org',
    'mailto:us@mail.example.org?subject=push',
    'https://example.org',
    'https://example.org/contact',
    'https://example.org:8443/?a=b#c',
    'https://xn--bcher-kva.example',
  ])('accepts the subject %s', (subject) => {
    const channel = webPushChannel({ ...OPTIONS, subject });
    assert.deepEqual([channel.name, channel.signs, channel.confirmation], ['webpush', false, 'none']);
  });

  // Apple rejects the messages of a host that is not public with 403 BadJwtToken.
  const local = ['mailto:us@localhost', 'mailto:us@relay.local', 'https://localhost', 'https://localhost:8080/a.b'];
  const invalid = ['mailto:', 'mailto:us@', 'http://example.org', 'https://', ' https://example.org', 'https:// x'];
  test.each([...invalid, ...local, 'https://intranet/push.html', 'https://book.localhost', 'mailto:us@[::1]'])(
    'rejects the subject "%s"',
    (subject) => {
      assert.throws(() => webPushChannel({ ...OPTIONS, subject }), /subject must be/);
    },
  );

  test('rejects a private key of another public key', () => {
    const other = webPush.generateVAPIDKeys();
    for (const key of [
      other.privateKey,
      Buffer.alloc(32).toString('base64url'),
      Buffer.alloc(32, 255).toString('base64url'),
    ]) {
      const create = () => webPushChannel({ ...OPTIONS, privateKey: key });
      assert.throws(
        create,
        (error: Error) => /privateKey must be the key of publicKey/.test(error.message) && !error.message.includes(key),
      );
    }
  });

  test('accepts keys with padding, and rejects other text and lengths', () => {
    assert.doesNotThrow(() => webPushChannel({ ...OPTIONS, privateKey: `${privateKey}=` }));
    for (const key of [`${privateKey}A`, privateKey.slice(1), `${privateKey} `, `+${privateKey.slice(1)}`, 7]) {
      const options = { ...OPTIONS, privateKey: key as string }; // also another type
      assert.throws(() => webPushChannel(options), /privateKey must be 32 bytes/);
    }
    const compressed = Buffer.concat([Buffer.of(2), Buffer.from(publicKey, 'base64url').subarray(1)]);
    const options = { ...OPTIONS, publicKey: compressed.toString('base64url') };
    assert.throws(() => webPushChannel(options), /publicKey must be a P-256 point/);
  });

  test.each([
    [['a b'], 'a b'],
    [['ok.example', '*.'], '*.'],
    [['push.example/path'], 'push.example/path'],
  ])('rejects the hosts %j and names the first invalid one', (invalid, name) => {
    const message = `webPushChannel: hosts must be host names, got "${name}"`;
    assert.throws(() => webPushChannel({ ...OPTIONS, hosts: invalid }), new TypeError(message));
  });
});
