import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { webhookChannel } from 'intentbook/channels';
import { createReceiver, verify } from './receiver.js';

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const notification = { type: 'order_filled', timestamp: '2026-01-01T00:00:00.000Z', message: 'filled' };

test('messages of the channel are verified, received once, and rejected with another secret', async () => {
  const received = [];
  const server = createReceiver(secret, (message) => received.push(message.type));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${server.address().port}/`;
  const channel = webhookChannel({ allow: ['127.0.0.0/8'] });
  const { signal } = new AbortController();
  const deliver = (key) => {
    const subscription = { target, secret: key };
    const delivery = { id: 'msg_1', now: Date.now(), subscription, body: JSON.stringify(notification) };
    return channel.deliver(delivery, { signal });
  };

  assert.equal(await channel.challenge(target, 'a challenge', { signal }), true);
  assert.deepEqual(await deliver(secret), { status: 'delivered' });
  assert.deepEqual(await deliver(secret), { status: 'delivered' }); // a repeated delivery
  assert.equal((await deliver('whsec_AAAA')).status, 'failed');
  assert.deepEqual(received, ['order_filled']);
  server.closeAllConnections();
  server.close();
});

test('a message that arrives again while it is handled is received once', async () => {
  let finish;
  let calls = 0;
  const server = createReceiver(secret, () => {
    calls++;
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const body = JSON.stringify(notification);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`msg_2.${timestamp}.${body}`).digest('base64');
  const headers = { 'webhook-id': 'msg_2', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  let arrived = 0;
  const bothArrived = new Promise((resolve) => {
    server.on('request', (request) => request.once('end', () => ++arrived === 2 && setImmediate(resolve)));
  });
  const send = () => fetch(`http://127.0.0.1:${server.address().port}/`, { method: 'POST', headers, body });
  const responses = [send(), send()];
  await bothArrived;
  finish();
  assert.deepEqual(
    (await Promise.all(responses)).map(({ status }) => status),
    [204, 204],
  );
  assert.equal(calls, 1);
  server.closeAllConnections();
  server.close();
});

test('invalid and incomplete messages do not end the receiver, and a failed one is delivered again', async (t) => {
  t.mock.method(console, 'error', () => {});
  let calls = 0;
  const server = createReceiver(secret, () => {
    calls++;
    if (calls === 1) throw new Error('the database is unreachable');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const target = `http://127.0.0.1:${port}/`;
  const send = async (body) => (await fetch(target, { method: 'POST', body })).status;
  assert.equal(await send('"type":"subscription.challenge"'), 401);
  assert.equal(await send('null'), 401);
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: receiver\r\ncontent-length: 9\r\n\r\n{');
  await once(socket, 'ready');
  await new Promise((resolve) => socket.end(resolve).once('error', resolve));
  await once(socket.resume(), 'close');

  const channel = webhookChannel({ allow: ['127.0.0.0/8'] });
  const delivery = {
    id: 'msg_1',
    now: Date.now(),
    subscription: { target, secret },
    body: JSON.stringify(notification),
  };
  const { signal } = new AbortController();
  assert.equal((await channel.deliver(delivery, { signal })).status, 'failed');
  assert.equal((await channel.deliver(delivery, { signal })).status, 'delivered');
  assert.equal(calls, 2);
  server.closeAllConnections();
  server.close();
});

test('no message is verified without a secret', () => {
  const [id, timestamp, body] = ['msg_1', String(Math.floor(Date.now() / 1000)), '{}'];
  const signature = createHmac('sha256', '').update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  assert.equal(verify(headers, body, ''), false);
});
