import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { ChannelHost } from 'intentbook';
import { telegramChannel, webhookChannel } from 'intentbook/channels';
import { describe, test } from 'vitest';
import { createAddressGuard, post } from '../../../adapters/channels/http-post.ts';
import { receiver, until } from './channel-fixture.ts';
import { BODY, call, deliveryTo, responding } from './delivery-fixture.ts';

const LOOPBACK = { allow: ['127.0.0.1/32'] };
describe('webhook delivery', () => {
  const channel = webhookChannel(LOOPBACK);

  test('is signed over its id, time and body', async () => {
    await using target = await receiver();
    assert.deepEqual(await channel.deliver(deliveryTo(target.url), call()), { status: 'delivered' });
    const [request] = target.received;
    const body = `{"type":"order_filled","timestamp":"2023-11-14T22:13:20.000Z","data":${BODY}}`;
    const signature = createHmac('sha256', 'a key').update(`msg_1.1700000000.${body}`).digest('base64');
    assert.equal(request?.body, body);
    const { headers } = request;
    assert.deepEqual(
      [headers['webhook-id'], headers['webhook-timestamp'], headers['webhook-signature']],
      ['msg_1', '1700000000', `v1,${signature}`],
    );
    assert.deepEqual([headers['content-type'], headers['user-agent']], ['application/json', 'intentbook']);
    assert.equal(headers['content-length'], String(Buffer.byteLength(body)));
  });

  test.each<[number, Record<string, string>, object]>([
    [200, {}, { status: 'delivered' }],
    [299, {}, { status: 'delivered' }],
    [300, {}, { status: 'failed', error: 'responded with 300' }],
    [410, {}, { status: 'gone', error: 'responded with 410' }],
    [429, { 'retry-after': '7' }, { status: 'failed', error: 'responded with 429', retryAfter: 7 }],
    [503, { 'retry-after': '0' }, { status: 'failed', error: 'responded with 503' }],
    [503, { 'retry-after': '-1' }, { status: 'failed', error: 'responded with 503' }],
    [503, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, { status: 'failed', error: 'responded with 503' }],
  ])('with response %d %j', async (status, headers, result) => {
    await using target = await receiver();
    target.behave(responding(status, '', headers));
    assert.deepEqual(await channel.deliver(deliveryTo(target.url), call()), result);
  });

  test.each([
    [200, 'the word, in a text', true],
    [199, 'word', false],
    [299, 'word', true],
    [300, 'word', false],
    [200, 'wor', false],
  ])('is preceded by a challenge, answered with %d "%s"', async (status, body, isAccepted) => {
    await using target = await receiver();
    target.behave((_, response) => {
      // A status below 200 is informational and needs a raw response.
      if (status < 200) response.socket?.end(`HTTP/1.1 ${status} No\r\ncontent-length: 4\r\n\r\n${body}`);
      else responding(status, body)(_, response);
    });
    const answer = channel.challenge?.(target.url, 'word', call()).catch(() => false);
    assert.equal(await answer, isAccepted);
    assert.equal(target.received[0]?.body, '{"type":"subscription.challenge","challenge":"word"}');
  });

  test('counts with its status, although the body of the response does not end', async () => {
    await using target = await receiver();
    target.behave((_, response) => void response.writeHead(202, { 'content-length': '100' }).write('endless'));
    assert.deepEqual(await channel.deliver(deliveryTo(target.url), call()), { status: 'delivered' });
    target.behave((_, response) => void response.writeHead(200).write('the word, and more'));
    assert.equal(await channel.challenge?.(target.url, 'word', call()), true);
  });

  test.each([
    ['https://example.org', 'https://example.org/'],
    ['http://EXAMPLE.org/a?b', 'http://example.org/a?b'],
    ['https://example.org:443/a#b', 'https://example.org/a'],
    ['https://example.org/#', 'https://example.org/'],
    ['https://me@example.org/', undefined],
    ['https://:secret@example.org/', undefined],
    ['ftp://example.org/', undefined],
    ['example.org', undefined],
  ])('accepts the target %s: %s', (target, parsed) => {
    assert.equal(channel.parseTarget(target), parsed);
  });

  test('is counted by host and port', () => {
    assert.equal(channel.getHost?.('https://example.org:444/a'), 'example.org:444');
    assert.deepEqual([channel.name, channel.signs, channel.confirmation], ['webhook', true, 'echo']);
  });
});

describe('response to a webhook', () => {
  const guard = createAddressGuard(LOOPBACK.allow, 'test');
  const request = (url: string) => post({ url, headers: {}, body: 'x', guard, expected: 'word', ...call() });

  test('is read up to 4096 bytes', async () => {
    await using target = await receiver();
    target.behave(responding(200, 'a'.repeat(4095)));
    assert.equal((await request(target.url)).body.length, 4095);
    target.behave((_, response) => void response.writeHead(201).write('b'.repeat(5000)));
    assert.deepEqual(await request(target.url), { status: 201, body: 'b'.repeat(4096) });
  });

  test('that breaks off has its status', async () => {
    await using target = await receiver();
    target.behave((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('short');
      setImmediate(() => response.destroy());
    });
    assert.equal((await request(target.url)).status, 200);
  });

  test.each([
    ['7', 7],
    ['Wed, 21 Oct 2015 07:28:30 GMT', 30],
    ['Wed, 21 Oct 2015 07:27:00 GMT', undefined],
    ['soon', undefined],
    ['-1', undefined],
  ])('with Retry-After %s is repeated after %s seconds', async (retryAfter, seconds) => {
    await using target = await receiver();
    const date = 'Wed, 21 Oct 2015 07:28:00 GMT';
    target.behave((_, response) => void response.writeHead(503, { 'retry-after': retryAfter, date }).end());
    assert.equal((await request(target.url)).retryAfter, seconds);
  });

  test('is not awaited after an abort', async () => {
    await using target = await receiver();
    target.behave('hang');
    const controller = new AbortController();
    const pending = post({ url: target.url, headers: {}, body: 'x', guard, signal: controller.signal });
    controller.abort(new Error('late'));
    await assert.rejects(pending);
  });

  test('is not requested from a private address in brackets', async () => {
    const closed = createAddressGuard([], 'test');
    for (const url of ['http://[::1]:1/', 'http://127.0.0.1:1/', 'http://[::ffff:127.0.0.1]:1/']) {
      await assert.rejects(post({ url, headers: {}, body: 'x', guard: closed, ...call() }), /not on the public/);
    }
  });
});

describe('Telegram delivery', () => {
  const options = { token: '1:secret', bot: 'a_bot' };

  test('sends the message to the chat, without previews of links', async () => {
    await using api = await receiver();
    api.behave(responding(200, '{"ok":true}'));
    const channel = telegramChannel({ ...options, api: api.url });
    assert.deepEqual(await channel.deliver(deliveryTo('4711'), call()), { status: 'delivered' });
    const [request] = api.received;
    assert.equal(request?.path, '/bot1:secret/sendMessage');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.deepEqual(JSON.parse(request.body), {
      chat_id: '4711',
      text: 'Sold 1 WETH',
      link_preview_options: { is_disabled: true },
    });
  });

  test.each<[number, string, object]>([
    [403, '{"ok":false,"error_code":403}', { status: 'gone', error: 'the bot API responded with 403' }],
    [400, '{"ok":false,"error_code":400}', { status: 'failed', error: 'the bot API responded with 400' }],
    [502, '<html>', { status: 'failed', error: 'the bot API responded with 502' }],
    [200, '<html>', { status: 'failed', error: 'the bot API responded with 200' }],
    [200, 'null', { status: 'failed', error: 'the bot API responded with 200' }],
    [200, '{"ok":false}', { status: 'failed', error: 'the bot API responded with 200' }],
    [
      429,
      '{"ok":false,"error_code":429,"parameters":{"retry_after":3}}',
      { status: 'failed', error: 'the bot API responded with 429', retryAfter: 3 },
    ],
  ])('with response %d %s', async (status, body, result) => {
    await using api = await receiver();
    api.behave(responding(status, body));
    const channel = telegramChannel({ ...options, api: api.url });
    assert.deepEqual(await channel.deliver(deliveryTo('1'), call()), result);
  });

  test('counts with its status, although the body of the response breaks off', async () => {
    await using api = await receiver();
    const channel = telegramChannel({ ...options, api: api.url });
    for (const [status, result] of [
      [200, { status: 'delivered' }],
      [500, { status: 'failed', error: 'the bot API responded with 500' }],
    ] as const) {
      api.behave((_, response) => {
        response.writeHead(status, { 'content-length': '100' }).write('{"ok":');
        setImmediate(() => response.destroy());
      });
      assert.deepEqual(await channel.deliver(deliveryTo('1'), call()), result);
    }
  });

  test('names no token if the bot API is unreachable', async () => {
    const channel = telegramChannel({ ...options, api: 'http://127.0.0.1:1' });
    await assert.rejects(channel.deliver(deliveryTo('1'), call()), new Error('the bot API is unreachable'));
  });

  test('follows no redirect, which would receive the token', async () => {
    await using api = await receiver();
    await using other = await receiver();
    api.behave(responding(307, '', { location: other.url }));
    const channel = telegramChannel({ ...options, api: api.url });
    await assert.rejects(channel.deliver(deliveryTo('1'), call()), /unreachable/);
    assert.deepEqual(other.received, []);
  });

  test('has no target before the user has started the bot', async () => {
    const channel = telegramChannel(options);
    assert.deepEqual([channel.parseTarget(''), channel.parseTarget('4711')], ['', undefined]);
    assert.deepEqual([channel.name, channel.signs, channel.confirmation], ['telegram', false, 'token']);
    const invitation = { subscription: deliveryTo('').subscription, token: 'ab', path: '/' };
    assert.equal(await channel.invite?.(invitation, call()), 'https://t.me/a_bot?start=ab');
  });

  test.each<[Record<string, unknown>, RegExp]>([
    [{ ...options, token: '' }, /token must be the token of a bot/],
    [{ ...options, token: 5 }, /token must be the token of a bot/],
    [{ ...options, bot: 'ab' }, /bot must be the name of a bot/],
    [{ ...options, bot: 'a bot' }, /bot must be the name of a bot/],
    [{ ...options, bot: 'a'.repeat(65) }, /bot must be the name of a bot/],
    [{ token: '1:x' }, /bot must be the name of a bot/],
    [{ ...options, api: 'api.telegram.org' }, /api must be an http or https URL/],
    [{ ...options, api: 'ftp://api.telegram.org' }, /api must be an http or https URL/],
    [{ ...options, tokens: 'x' }, /telegramChannel: unknown option "tokens"/],
  ])('rejects the options %j', (invalid, message) => {
    assert.throws(() => telegramChannel(invalid as unknown as typeof options), message);
  });
});

describe('Telegram updates', () => {
  const START = 'ab'.repeat(32);

  /** A bot API whose polls return the given results, then wait. */
  async function polled(...results: unknown[]) {
    const api = await receiver();
    api.behave((_, response) => {
      const next = results.shift();
      if (next !== undefined) response.end(JSON.stringify(next));
    });
    const confirmed: [string, string][] = [];
    const reported: unknown[] = [];
    const host: ChannelHost = {
      confirm: async (token, target) => confirmed.push([token, target]) > 0,
      report: (failure) => void reported.push(failure),
    };
    const channel = telegramChannel({ token: '1:x', bot: 'a_bot', api: api.url });
    return { api, channel, host, confirmed, reported };
  }
  const update = (update_id: number, text?: string) => ({ update_id, message: { text, chat: { id: 4711 } } });

  test('confirm the tokens of users that start the bot, each update once', async () => {
    const { api, channel, host, confirmed, reported } = await polled(
      { ok: true, result: [update(7), update(8, `/start ${START}`), update(9, `/start ${START}0`), { update_id: 10 }] },
      { ok: true, result: [] },
    );
    channel.start?.(host);
    channel.start?.(host);
    await until(() => api.received.length === 3);
    await channel.stop?.();
    assert.deepEqual([confirmed, reported], [[[START, '4711']], []]);
    assert.deepEqual(
      api.received.map(({ body }) => JSON.parse(body)),
      [0, 11, 11].map((offset) => ({ offset, timeout: 25, allowed_updates: ['message'] })),
    );
    await api[Symbol.asyncDispose]();
  });

  test('are requested again if a confirmation fails', async () => {
    const start = { ok: true, result: [update(7), update(8, `/start ${START}`), update(9)] };
    const { api, channel, host, confirmed, reported } = await polled(start, start);
    const failure = new Error('the store is unavailable');
    let attempts = 0;
    channel.start?.({
      ...host,
      confirm(...call) {
        attempts++;
        return attempts === 1 ? Promise.reject(failure) : host.confirm(...call);
      },
    });
    await until(() => api.received.length === 3);
    await channel.stop?.();
    assert.deepEqual([confirmed, reported], [[[START, '4711']], [failure]]);
    const offsets = api.received.map(({ body }) => JSON.parse(body).offset);
    assert.deepEqual(offsets, [0, 8, 10]);
    await api[Symbol.asyncDispose]();
  });

  test.each([
    [{ ok: false, error_code: 409 }, 'the bot API responded with 409'],
    [{ ok: true, result: 'none', error_code: 1 }, 'the bot API responded with 1'],
  ])('report the response %j and pause until the channel stops', async (response, message) => {
    const { api, channel, host, reported } = await polled(response);
    channel.start?.(host);
    await until(() => reported.length === 1);
    await channel.stop?.();
    assert.deepEqual([reported, api.received.length], [[new Error(message)], 1]);
    await api[Symbol.asyncDispose]();
  });

  test('are read again after a restart', async () => {
    const { api, channel, host, reported } = await polled();
    channel.start?.(host);
    await until(() => api.received.length === 1);
    await channel.stop?.();
    channel.start?.(host);
    await until(() => api.received.length === 2);
    await channel.stop?.();
    assert.deepEqual(reported, []);
    await api[Symbol.asyncDispose]();
  });

  test('are left to another process with `listen: false`', async () => {
    await using api = await receiver();
    const channel = telegramChannel({ token: '1:x', bot: 'a_bot', api: api.url, listen: false });
    channel.start?.({ confirm: async () => true, report: () => {} });
    await channel.stop?.();
    assert.deepEqual(api.received, []);
  });
});
