import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webhookChannel } from 'intentbook/channels';
import { Webhook } from 'standardwebhooks';
import { describe, test } from 'vitest';
import { createAddressGuard, post, type Resolve } from '../../../adapters/channels/http-post.ts';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';
import { authorization, channelFixture, proof, receiver, until } from './channel-fixture.ts';
import { call, deliveryTo } from './delivery-fixture.ts';

const LOOPBACK = { allow: ['127.0.0.1/32'] };
const PATH = `/accounts/${ALICES}/subscriptions`;

describe('webhook channel', () => {
  test('verifies its target and sends messages signed with the secret that was shown once', async () => {
    await using target = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    const created = await fixture.subscribe('webhook', `${target.url}/hook`);
    assert.deepEqual([created['state'], created['target']], ['active', `${target.url}/hook`]);
    assert.match(created['secret'] ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/);
    await fixture.notify('one');
    await until(() => target.received.length === 2);
    const [challenge, delivered] = target.received;
    assert.equal((JSON.parse(challenge?.body ?? '{}') as { type: string }).type, 'subscription.challenge');
    assert.ok(delivered);
    const payload = JSON.parse(delivered.body) as { type: string; timestamp: string; data: { id: string } };
    assert.deepEqual(
      [payload.type, payload.timestamp, payload.data.id],
      ['order_filled', '2023-11-14T22:13:20.000Z', 'one'],
    );
    // The reference library of Standard Webhooks verifies it and rejects messages older than five minutes.
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = delivered.headers;
    const headers = { 'webhook-id': `${id}`, 'webhook-timestamp': `${at}`, 'webhook-signature': `${signature}` };
    const webhook = new Webhook(created['secret'] ?? '');
    assert.deepEqual(webhook.verify(delivered.body, headers), payload);
    assert.throws(() => webhook.verify(`${delivered.body} `, headers));
    assert.throws(() => webhook.verify(delivered.body, { ...headers, 'webhook-id': `${id}0` }));
  });

  test('stops after repeated timeouts and resumes when an operator replays', async () => {
    await using target = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    await fixture.subscribe('webhook', target.url);
    target.behave(500);
    await fixture.notify('one', 'two');
    await until(async () => (await fixture.accounts.deliveries.list({ state: 'dead' })).length === 2);
    const [first] = await fixture.accounts.deliveries.list({ state: 'dead' });
    assert.deepEqual([first?.error, first?.attempts], ['responded with 500', 8]);
    target.behave('echo');
    assert.equal(await fixture.accounts.deliveries.replay(), 2);
    await until(() => target.received.length === 3);
  });

  test('keeps the subscription after 404 Not Found', async () => {
    await using target = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    await fixture.subscribe('webhook', target.url);
    target.behave(404);
    await fixture.notify('one');
    await until(async () => (await fixture.accounts.deliveries.list({ state: 'dead' })).length === 1);
    const listed = await fixture.http.send('GET', PATH, { headers: await authorization() });
    assert.equal((listed.json() as unknown[]).length, 1);
  });

  test('removes the subscription after 410 Gone', async () => {
    await using target = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    await fixture.subscribe('webhook', target.url);
    target.behave(410);
    await fixture.notify('one');
    await until(async () => {
      const listed = await fixture.http.send('GET', PATH, { headers: await authorization() });
      return (listed.json() as unknown[]).length === 0;
    });
    assert.equal((await fixture.http.send('GET', PATH, { headers: await authorization() })).text, '[]');
  });

  test('rejects a target that does not echo the challenge', async () => {
    await using target = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    for (const behaviour of [
      500,
      'hang',
      (_: string, response: { end(text: string): void }) => response.end('ok'),
    ] as const) {
      target.behave(behaviour);
      const answer = await fixture.http.send('POST', PATH, {
        body: await proof('webhook', target.url, ['order_filled']),
      });
      assert.deepEqual(
        [answer.status, answer.json()],
        [
          400,
          {
            message:
              'The target has not echoed its challenge, or its address is private and not in `allow` (`--webhook-allow`) of the operator',
          },
        ],
      );
    }
  });

  test('reads a Retry-After without a zone as UTC, and compares it with the clock of the receiver', async () => {
    await using target = await receiver();
    target.behave((_body, response) => {
      const date = 'Fri May  1 12:01:30 2026';
      response.writeHead(503, { date, 'retry-after': 'Fri, 01 May 2026 12:02:00 GMT' }).end();
    });
    const { TZ } = process.env;
    process.env['TZ'] = 'America/Los_Angeles';
    try {
      const guard = createAddressGuard(LOOPBACK.allow, 'test');
      const { signal } = new AbortController();
      const posted = await post({ url: target.url, headers: {}, body: '{}', signal, guard });
      assert.deepEqual([posted.status, posted.retryAfter], [503, 30]);
    } finally {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    }
  });

  // The body is not read: a receiver may send none, or one that does not end.
  test.each<[statuses: readonly number[], result: 'delivered' | 'failed' | 'gone']>([
    [[200, 201, 202, 204, 205, 206, 226, 299], 'delivered'],
    [
      [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 408, 413, 421, 425, 429, 500, 502, 503, 504],
      'failed',
    ],
    [[410], 'gone'],
  ])('with the statuses %j is %s, also with a body that does not end', async (statuses, result) => {
    await using target = await receiver();
    const channel = webhookChannel(LOOPBACK);
    for (const status of statuses) {
      target.behave((_body, response) => {
        response.writeHead(status, { location: target.url });
        // These have no body.
        if (status === 204 || status === 304) response.end();
        else response.write('{"');
      });
      const delivered = await channel.deliver(deliveryTo(target.url), call());
      assert.deepEqual([status, delivered.status], [status, result]);
    }
    assert.equal(target.received.length, statuses.length);
  });

  test('does not follow redirects', async () => {
    await using inner = await receiver();
    await using outer = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    await fixture.subscribe('webhook', outer.url);
    outer.behave((_body, response) => void response.writeHead(307, { location: inner.url }).end());
    await fixture.notify('one');
    await until(async () => (await fixture.accounts.deliveries.list({ state: 'dead' })).length === 1);
    assert.deepEqual(inner.received, []);
  });
});

test('a request to a target that switches the protocol fails at once', async () => {
  const server = createServer(({ socket }) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const guard = createAddressGuard(['127.0.0.0/8'], 'test');
  const request = { url: `http://127.0.0.1:${port}/`, headers: {}, body: '', signal: AbortSignal.timeout(5000), guard };
  await assert.rejects(post(request), /switched to another protocol/);
  server.close();
});

describe('webhook target outside the public internet', () => {
  test.each([
    'http://127.0.0.1:1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::1]/',
    'http://localhost/',
    'http://10.1.2.3/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://[fd00::1]/',
    'http://[64:ff9b::a00:1]/',
    'http://0.0.0.0/',
  ])('rejects %s', async (url) => {
    await using fixture = await channelFixture(webhookChannel());
    const answer = await fixture.http.send('POST', PATH, { body: await proof('webhook', url, ['order_filled']) });
    assert.equal(answer.status, 400);
    const request = {
      url,
      headers: {},
      body: '',
      signal: AbortSignal.timeout(5000),
      guard: createAddressGuard([], 'test'),
    };
    await assert.rejects(post(request), /not on the public internet/);
  });

  test('is rejected where its name resolves to one, even with other public addresses', async () => {
    const server = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number }; // a listening server has an address
    const call = { url: `http://localhost:${port}/`, headers: {}, body: '', signal: AbortSignal.timeout(5000) };
    await assert.rejects(post({ ...call, guard: createAddressGuard([], 'test') }), /not on the public internet/);
    const posted = await post({ ...call, guard: createAddressGuard(['127.0.0.0/8', '::1'], 'test') });
    assert.equal(posted.status, 200);
    server.close();
  });

  test.each([
    ['first', ['10.0.0.1', '93.184.216.34']],
    ['last', ['93.184.216.34', '10.0.0.1']],
    ['in the middle', ['93.184.216.34', 'fd00::1', '2606:4700::1111']],
  ])('is rejected if a private address is %s among the addresses of a name', async (_, addresses) => {
    const resolved = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const resolve: Resolve = (_name, _options, callback) => callback(null, resolved);
    const call = { url: 'http://example.org/', headers: {}, body: '', signal: AbortSignal.timeout(5000) };
    await assert.rejects(
      post({ ...call, guard: createAddressGuard([], 'test'), resolve }),
      /not on the public internet/,
    );
  });

  test.each([
    ['127.0.0.1', false, true],
    ['::ffff:127.0.0.1', false, true],
    ['169.254.1.1', false, false],
    ['::ffff:169.254.169.254', false, false],
    ['fe80::1', false, false],
    ['172.15.0.1', true, true],
    ['172.16.0.1', false, true],
    ['100.64.0.1', false, true],
    ['224.0.0.1', false, true],
    ['8.8.8.8', true, true],
    ['::ffff:8.8.8.8', true, true],
    ['2606:4700::1111', true, true],
    ['2001:db8::1', false, true],
    ['2002:a00:1::', false, true],
    ['::', false, true],
    ['an invalid address', false, false],
    ['9.255.255.255', true, true],
    ['10.0.0.0', false, true],
    ['10.255.255.255', false, true],
    ['0.255.255.255', false, true],
    ['100.63.255.255', true, true],
    ['100.128.0.0', true, true],
    ['172.31.255.255', false, true],
    ['172.32.0.0', true, true],
    ['192.0.0.8', false, true],
    ['192.0.2.1', false, true],
    ['192.88.99.1', false, true],
    ['192.168.255.255', false, true],
    ['198.17.255.255', true, true],
    ['198.19.255.255', false, true],
    ['198.51.100.1', false, true],
    ['203.0.113.1', false, true],
    ['239.255.255.255', false, true],
    ['255.255.255.255', false, true],
    ['169.253.255.255', true, true],
    ['2001:0:1::', false, true],
    ['2001:200::1', true, true],
    ['3fff:fff::1', false, true],
    ['4000::1', false, true],
    ['febf::1', false, false],
    ['fec0::1', false, true],
    ['fd00::1%eth0', false, true],
    ['::ffff:0a00:0001', false, true],
    ['::fffe:808:808', false, true],
    ['0:0:0:0:0:ffff:808:808', true, true],
  ])('%s: %s, and %s if everything is allowed', (address, usually, opened) => {
    assert.equal(createAddressGuard([], 'test').allows(address), usually);
    assert.equal(createAddressGuard(['0.0.0.0/0', '::/0'], 'test').allows(address), opened);
  });

  test('allows single addresses and whole ranges, of that family only', () => {
    const guard = createAddressGuard(['10.0.0.1', 'fd00::1', '127.0.0.0/8', 'fd12::/128'], 'test');
    const allowed = ['10.0.0.1', 'fd00::1', '127.255.255.255', 'fd12::'];
    assert.deepEqual(allowed.filter(guard.allows), allowed);
    assert.deepEqual(['10.0.0.2', 'fd00::2', 'fd12::1', '::a00:1'].filter(guard.allows), []);
    assert.equal(createAddressGuard(['0.0.0.0/0'], 'test').allows('fd00::1'), false);
  });

  test('rejects an invalid range in the allow list', () => {
    assert.throws(() => webhookChannel({ allow: ['localhost'] }), /not a valid address or address range/);
    for (const range of [
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
      '10.0.0.0/1.5',
      '10.0.0.0/x',
      '::/129',
      '',
    ]) {
      const message = `webhookChannel: allow: "${range}" is not a valid address or address range`;
      assert.throws(() => webhookChannel({ allow: [range] }), new TypeError(message));
    }
  });
});

describe('subscription routes', () => {
  test('create, list and remove subscriptions with account signatures, each used once', async () => {
    await using target = await receiver();
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    const body = await proof('webhook', target.url, ['order_filled', 'order_expired']);
    const created = await fixture.http.send('POST', PATH, { body });
    assert.equal(created.status, 201, created.text);
    const again = await fixture.http.send('POST', PATH, { body });
    assert.deepEqual([again.status, again.json()], [409, { message: 'The nonce was used before' }]);
    const { secret: _, ...shown } = created.json() as { secret: string; id: string };
    const listed = await fixture.http.send('GET', PATH, { headers: await authorization() });
    assert.deepEqual(listed.json(), [shown]);
    assert.equal(listed.header('cache-control'), 'no-store');
    const remove = (headers: Record<string, string>) =>
      fixture.http.send('DELETE', `${PATH}?id=${shown.id}`, { headers });
    assert.equal((await remove(await authorization('another'))).status, 401);
    assert.equal((await remove(await authorization())).status, 401, 'reading is not removing');
    const right = await authorization(shown.id);
    assert.equal((await remove(right)).status, 200);
    assert.equal((await remove(right)).status, 409);
    assert.equal((await remove(await authorization(shown.id))).status, 404);
  });

  test('reject invalid subscriptions with the reason', async () => {
    await using fixture = await channelFixture(webhookChannel(LOOPBACK));
    const url = 'https://example.org/';
    const now = Math.floor(Date.now() / 1000);
    const good = await proof('webhook', url, ['order_filled']);
    const cases: readonly (readonly [object, number, RegExp])[] = [
      [{ ...good, target: 'https://example.com/' }, 401, /invalid signature/],
      [{ ...good, types: ['order_expired'] }, 401, /invalid signature/],
      [await proof('webhook', url, ['order_filled'], { deadline: now - 1 }), 401, /past its deadline/],
      [await proof('webhook', url, ['order_filled'], { deadline: now + 90_000 }), 400, /at most 86400 seconds ahead/],
      [await proof('pigeon', url, ['order_filled']), 400, /must be one of the configured channels: webhook/],
      [await proof('webhook', 'ftp://example.org', ['order_filled']), 400, /not a valid target of the channel webhook/],
      [
        await proof('webhook', 'https://me:secret@example.org', ['order_filled']),
        400,
        /not a valid target of the channel/,
      ],
      [{ ...good, types: [] }, 400, /types/],
      [{ ...good, types: ['cms'] }, 400, /types/],
      [{ ...good, nonce: 1 }, 400, /nonce/],
      [{ ...good, nonce: '1'.repeat(78).replace(/^1/, '9') }, 400, /nonce/],
      [{ ...good, signature: '0x' }, 401, /invalid signature|verified/],
      [{}, 400, /channel/],
    ];
    for (const [body, status, message] of cases) {
      const answer = await fixture.http.send('POST', PATH, { body });
      const shown = JSON.stringify(body);
      assert.ok(answer.status === status || (status === 401 && answer.status === 503), `${answer.status} for ${shown}`);
      assert.match((answer.json() as { message: string }).message, message, shown);
    }
    assert.equal((await fixture.http.send('GET', PATH)).status, 401);
    const token = await fixture.http.send('POST', `${PATH}/confirm?token=abc`);
    assert.equal(token.status, 404);
  });
});
