import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookChannel } from 'intentbook/channels';
import { createReceiver } from './receiver.js';

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
