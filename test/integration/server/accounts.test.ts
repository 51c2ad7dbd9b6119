import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Hex } from 'intentbook';
import type { RunningServer, ServeOptions } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { describe, test } from 'vitest';
import webPush from 'web-push';
import { parseCommand } from '../../../apps/cli/parse.ts';
import { account, signCancellation, signOrder } from '../../support/orders.ts';
import { proof, until } from '../channels/channel-fixture.ts';
import { confirmationOf, mailRecipient } from '../channels/receivers.ts';
import { temporaryFile } from '../stores/temporary.ts';

const ALICE = account(1);

interface Sent {
  readonly id: number;
  readonly event: string;
  readonly data: unknown;
}

/** Reads events from a stream up to a number. */
async function events(url: string, wanted: number, lastEventId?: number): Promise<Sent[]> {
  const controller = new AbortController();
  const headers = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) };
  const response = await fetch(url, { headers, signal: controller.signal });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  assert.equal(response.headers.get('x-accel-buffering'), 'no');
  const decoder = new TextDecoder();
  const seen: Sent[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const [event, data] = [field('event'), field('data')];
      if (event === undefined || data === undefined) continue;
      seen.push({ id: Number(field('id')), event, data: JSON.parse(data) });
    }
    if (seen.length >= wanted) break;
  }
  controller.abort();
  return seen;
}

async function place(server: RunningServer, sellAmount: string): Promise<Hex> {
  const validTo = Math.floor(Date.now() / 1000) + 600;
  const body = JSON.stringify(await signOrder(ALICE, { validTo, sellAmount }));
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${server.url}/api/v1/orders`, { method: 'POST', headers, body });
  assert.equal(response.status, 201);
  return (await response.json()) as Hex;
}

async function cancel(server: RunningServer, uid: Hex): Promise<void> {
  const orderUids = [uid];
  const result = await server.book.orders.cancel({ orderUids, ...(await signCancellation(ALICE, { orderUids })) });
  assert.equal(result.status, 'cancelled');
}

describe('event stream after a server restart', () => {
  test('delivers every event once to a client with its last event id', async () => {
    using file = temporaryFile();
    const options: ServeOptions = { port: 0, db: join(file.directory, 'book.sqlite') };
    const orders = `/api/v1/orders/stream?owner=${ALICE.address}`;
    const notifications = `/accounts/${ALICE.address}/notifications/stream`;
    const uids: Hex[] = [];

    const first = await serve(options);
    const receiving = [events(first.url + orders, 2, 0), events(first.url + notifications, 1, 0)];
    uids.push(await place(first, '1'));
    await cancel(first, uids[0] as Hex);
    const [receivedOrders = [], receivedNotifications = []] = await Promise.all(receiving);
    uids.push(await place(first, '2'));
    await cancel(first, uids[1] as Hex);
    const left = fetch(first.url + orders);
    await left;
    await first.close();

    const second = await serve(options);
    uids.push(await place(second, '3'));
    const lastOrder = receivedOrders.at(-1)?.id ?? 0;
    const lastNotification = receivedNotifications.at(-1)?.id ?? 0;
    receivedOrders.push(...(await events(second.url + orders, 3, lastOrder)));
    receivedNotifications.push(...(await events(second.url + notifications, 1, lastNotification)));
    assert.deepEqual(
      receivedOrders.map(({ id, event, data }) => [id, event, (data as { uid: Hex }).uid]),
      [
        [1, 'order', uids[0]],
        [2, 'order', uids[0]],
        [3, 'order', uids[1]],
        [4, 'order', uids[1]],
        [5, 'order', uids[2]],
      ],
    );
    assert.deepEqual(
      receivedNotifications.map(({ id, event, data }) => [id, event, (data as { metadata: object }).metadata]),
      [0, 1].map((i) => [i + 1, 'notification', { orderUid: uids[i], chainId: 11155111, env: 'production' }]),
    );
    const listed = await fetch(`${second.url}/accounts/${ALICE.address}/notifications`);
    assert.equal(((await listed.json()) as unknown[]).length, 2);
    await second.close();
  });
});

describe('account interface of a server', () => {
  test('can be disabled, with notifications only or completely', async () => {
    const path = `/accounts/${ALICE.address}/notifications`;
    for (const [options, status] of [
      [{}, 200],
      [{ notifications: 'off' }, 503],
      [{ accounts: 'off' }, 503],
    ] as const) {
      const server = await serve({ port: 0, db: ':memory:', ...options });
      assert.equal((await fetch(server.url + path)).status, status);
      await server.close();
    }
  });

  test('reads the environment variable of the contract', () => {
    const command = parseCommand(['serve'], { CMS_ENABLED: 'false' });
    assert.ok(command.name === 'serve');
    assert.equal(command.options.notifications, 'off');
    const usual = parseCommand(['serve', '--accounts', 'x.sqlite'], { CMS_ENABLED: 'true' });
    assert.ok(usual.name === 'serve');
    assert.deepEqual([usual.options.notifications, usual.options.accounts], [undefined, 'x.sqlite']);
  });

  test.each([
    ['/api/v1/orders/stream?owner=x', undefined],
    [`/api/v1/orders/stream?owner=${ALICE.address}&uid=0x12`, undefined],
    ['/api/v1/orders/stream?uid=0x12', undefined],
    [`/api/v1/orders/stream?owner=${ALICE.address}`, 'x'],
    ['/accounts/x/notifications/stream', undefined],
  ])('rejects the stream %s after %s', async (path, lastEventId) => {
    const server = await serve({ port: 0, db: ':memory:' });
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    assert.equal((await fetch(server.url + path, { headers })).status, 400);
    await server.close();
  });
});

test('server with a mail server and web push keys notifies accounts over both channels', async () => {
  await using mail = await mailRecipient();
  const { publicKey: vapidPublicKey, privateKey: vapidPrivateKey } = webPush.generateVAPIDKeys();
  const { port } = mail as unknown as { port: number }; // of its port
  const server = await serve({
    port: 0,
    db: ':memory:',
    smtp: `smtp://127.0.0.1:${port}`,
    mailFrom: 'books@example.org',
    publicUrl: 'https://api.example.org',
    vapidSubject: 'mailto:us@example.org',
    vapidPublicKey,
    vapidPrivateKey,
  });
  const post = async (channel: string, target: string) => {
    const body = JSON.stringify(await proof(channel, target, ['order_cancelled']));
    const headers = { 'content-type': 'application/json' };
    return fetch(`${server.url}/accounts/${ALICE.address}/subscriptions`, { method: 'POST', headers, body });
  };
  assert.equal((await post('email', 'alice@example.net')).status, 201);
  assert.equal((await fetch(server.url + confirmationOf(mail.mails[0] ?? ''), { method: 'POST' })).status, 200);
  await cancel(server, await place(server, '1'));
  await until(() => mail.mails.length === 2);
  assert.match(mail.mails[1] ?? '', /^Subject: Order cancelled\r$/m);
  const rejected = await post('webpush', '{}');
  assert.deepEqual(
    [rejected.status, await rejected.json()],
    [400, { message: 'target: is not a valid target of the channel webpush' }],
  );
  await server.close();
});
