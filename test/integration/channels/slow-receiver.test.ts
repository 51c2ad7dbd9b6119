import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'vitest';
import { createAddressGuard, post, type Resolve } from '../../../adapters/channels/http-post.ts';

const PROGRAM = `require('node:http').createServer((_, response) => response.end('received'))
  .listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })`;

// A kernel drops the first packet of a connection while the queue of a server is full. The second packet follows after
// a second, as far as a slow network can delay the first one.
test('a receiver with a second address that is unreachable may take a second to connect', async () => {
  const server = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  const port = Number(line);
  server.kill('SIGSTOP');
  const waiting = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  try {
    await once(waiting[0] as (typeof waiting)[0], 'connect');
    setTimeout(() => server.kill('SIGCONT'), 400);
    const addresses = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ];
    const resolve: Resolve = (_hostname, _options, callback) => callback(null, addresses);
    const posted = await post({
      url: `http://hooks.example.org:${port}/`,
      headers: {},
      body: '',
      expected: 'received',
      signal: AbortSignal.timeout(10_000),
      guard: createAddressGuard(['127.0.0.0/8'], 'test'),
      resolve,
    });
    assert.deepEqual([posted.status, posted.body], [200, 'received']);
  } finally {
    for (const socket of waiting) socket.destroy();
    server.kill('SIGKILL');
  }
});
