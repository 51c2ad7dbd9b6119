import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished, test } from 'vitest';
import { createRpc } from '../../../apps/sandbox/rpc.ts';

/** A node that responds with a text, or not at all. */
async function fixture(respond: (response: ServerResponse) => void, timeout?: number) {
  const server = createServer((_, response) => respond(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const rpc = createRpc(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeout);
  onTestFinished(() => {
    rpc.close();
    server.closeAllConnections();
    server.close();
  });
  return rpc;
}

test('rejects each request of a batch whose response is not a list of results', async () => {
  const error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}';
  for (const text of ['<html>', error, '']) {
    const rpc = await fixture((response) => response.end(text));
    const results = await Promise.allSettled([rpc.call('eth_chainId'), rpc.call('eth_blockNumber')]);
    const messages = results.map((each) => (each.status === 'rejected' ? each.reason.message : 'resolved'));
    const message = `the node returned an invalid response: ${text}`;
    assert.deepEqual(messages, [message, message]);
  }
});

test('rejects a request that the node does not answer in time', async () => {
  const rpc = await fixture(() => {}, 100);
  await assert.rejects(rpc.call('eth_chainId'), { name: 'RpcError', message: /did not respond within 100 ms/ });
});

test('rejects the requests in progress and later ones when it closes', async () => {
  const rpc = await fixture(() => {});
  const sent = rpc.call('eth_chainId');
  await new Promise((resolve) => setImmediate(resolve));
  rpc.close();
  const closed = { name: 'RpcError', message: 'the connection to the node is closed' };
  await assert.rejects(sent, closed);
  await assert.rejects(rpc.call('eth_chainId'), closed);
});
