import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { telegramChannel } from 'intentbook/channels';
import { describe, test, vi } from 'vitest';
import { channelFixture, receiver, until } from './channel-fixture.ts';

/** A test double of the bot API. It returns updates once and accepts messages by script. */
async function botApi() {
  const server = await receiver();
  const updates: object[] = [];
  const sent: { chat_id: string; text: string }[] = [];
  let answers: ((response: ServerResponse) => void)[] = [];
  const polls: ServerResponse[] = [];
  server.behave((body, response) => {
    const { path } = server.received.at(-1) ?? { path: '' };
    const reply = (status: number, value: object) => void response.writeHead(status).end(JSON.stringify(value));
    if (path.endsWith('/getUpdates')) {
      if (updates.length > 0) reply(200, { ok: true, result: updates.splice(0) });
      else polls.push(response);
      return;
    }
    const [next, ...others] = answers;
    answers = others;
    if (next !== undefined) return next(response);
    sent.push(JSON.parse(body));
    reply(200, { ok: true, result: {} });
  });
  return {
    server,
    sent,
    update(text: string) {
      const update = { update_id: 7, message: { text, chat: { id: 4711 } } };
      const poll = polls.shift();
      if (poll === undefined) updates.push(update);
      else poll.end(JSON.stringify({ ok: true, result: [update] }));
    },
    next: (...more: typeof answers) => void answers.push(...more),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const rejection =
  (error_code: number, parameters = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(error_code).end(JSON.stringify({ ok: false, error_code, parameters }));

describe('Telegram channel', () => {
  test('sends to a user who opened the link, retries after a rejection and never leaks its token', async () => {
    await using api = await botApi();
    const channel = telegramChannel({ token: '123:secret', bot: 'intentbook_bot', api: api.server.url });
    await using fixture = await channelFixture(channel);
    const created = await fixture.subscribe('telegram', '');
    const [, token] = /^https:\/\/t\.me\/intentbook_bot\?start=([0-9a-f]{64})$/.exec(created['confirm'] ?? '') ?? [];
    assert.equal(created['state'], 'pending');
    assert.ok(token);
    await fixture.notify('before');
    api.update('/start nonsense');
    api.update(`/start ${token}`);
    await until(() =>
      fixture.accounts.deliveries.list({ state: 'pending' }).then(() => api.server.received.length >= 2),
    );
    let tries = 0;
    await until(async () => {
      await fixture.notify(`try ${tries++}`);
      return api.sent.length > 0;
    });
    assert.equal(api.sent[0]?.chat_id, '4711');
    assert.match(api.sent[0]?.text ?? '', /^filled: try/);
    api.next(rejection(429, { retry_after: 0.01 }), rejection(500));
    await fixture.notify('later');
    await until(() => api.sent.some(({ text }) => text === 'filled: later'));
    assert.ok(!JSON.stringify(await fixture.accounts.deliveries.list({ state: 'delivered' })).includes('secret'));
  });

  test('removes a subscription after the user has blocked the bot', async () => {
    await using api = await botApi();
    const channel = telegramChannel({ token: '1:x', bot: 'intentbook_bot', api: api.server.url });
    await using fixture = await channelFixture(channel);
    const created = await fixture.subscribe('telegram', '');
    api.update(`/start ${created['confirm']?.split('start=')[1]}`);
    api.next(rejection(403));
    await until(async () => {
      await fixture.notify(`n ${Math.random()}`);
      return api.server.received.some(({ path }) => path.endsWith('/sendMessage'));
    });
    await until(async () => (await fixture.accounts.deliveries.list({ state: 'pending' })).length === 0);
    await fixture.notify('more');
    assert.deepEqual(await fixture.accounts.deliveries.list({ state: 'pending' }), []);
  });

  test.each([
    [400, { description: 'Bad Request: chat not found' }, 'gone', 1],
    [400, { description: 'Bad Request: group chat was deactivated' }, 'gone', 1],
    [400, { description: 'Bad Request', parameters: { migrate_to_chat_id: null } }, 'failed', 1],
    [400, { description: 'Bad Request: message is too long' }, 'failed', 1],
    [400, { description: 'group upgraded', parameters: { migrate_to_chat_id: -100 } }, 'delivered', 2],
  ])('status %d with %j is %s', async (error_code, more, status, calls) => {
    await using server = await receiver();
    let sent = 0;
    server.behave((body, response) => {
      sent++;
      const moved = JSON.parse(body).chat_id === '-100';
      response.end(JSON.stringify(moved ? { ok: true, result: {} } : { ok: false, error_code, ...more }));
    });
    const channel = telegramChannel({ token: '1:x', bot: 'intentbook_bot', api: server.url });
    const delivery = {
      id: 'd',
      now: 0,
      body: '{"message":"text"}',
      subscription: { id: 's', target: '5', secret: null },
    };
    const result = await channel.deliver(delivery as never, { signal: new AbortController().signal } as never);
    assert.deepEqual([result.status, sent], [status, calls]);
  });

  test('reports a failure of its polls once, and again after a poll that succeeded', async () => {
    await using server = await receiver();
    const script = [409, 409, 409, 500, 200, 500];
    server.behave((_body, response) => {
      const status = script.shift();
      if (status === undefined) return; // a long poll
      response.writeHead(status).end(JSON.stringify({ ok: status === 200, result: [], error_code: status }));
    });
    const { setTimeout: wait } = globalThis;
    const timers = vi.spyOn(globalThis, 'setTimeout');
    timers.mockImplementation(((work: () => void, ms: number) => wait(work, ms === 5_000 ? 1 : ms)) as typeof wait);
    const channel = telegramChannel({ token: '1:x', bot: 'intentbook_bot', api: server.url });
    const reported: string[] = [];
    channel.start?.({ confirm: async () => true, report: (failure) => reported.push((failure as Error).message) });
    await until(() => server.received.length === 7);
    await channel.stop?.();
    timers.mockRestore();
    const statuses = reported.map((text) => text.replace('the bot API responded with ', ''));
    assert.deepEqual(statuses, ['409', '500', '500']);
  });

  test.each([
    [{ retry_after: 9 }, 9_000],
    [{ retry_after: 0.01 }, 5_000],
    [{ retry_after: 1e9 }, 3_600_000],
    [{ retry_after: 'soon' }, 5_000],
  ])('polls again after the wait of %j', async (parameters, expected) => {
    await using server = await receiver();
    server.behave((_body, response) => {
      if (server.received.length === 1) rejection(429, parameters)(response); // the second is a long poll
    });
    const { setTimeout: wait } = globalThis;
    const waits: number[] = [];
    const timers = vi.spyOn(globalThis, 'setTimeout');
    timers.mockImplementation(((work: () => void, ms: number) => {
      if (ms >= 5_000) waits.push(ms);
      return wait(work, ms >= 5_000 ? 1 : ms);
    }) as typeof wait);
    const channel = telegramChannel({ token: '1:x', bot: 'intentbook_bot', api: server.url });
    channel.start?.({ confirm: async () => true, report: () => {} });
    await until(() => server.received.length === 2);
    await channel.stop?.();
    timers.mockRestore();
    assert.ok(waits.includes(expected), `the waits are ${waits}`);
  });
});
