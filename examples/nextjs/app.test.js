import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';

const next = 'node_modules/next/dist/bin/next';
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('the built application serves the book', async () => {
  execFileSync(process.execPath, [next, 'build'], { env, stdio: 'pipe' });
  const port = await freePort();
  const server = spawn(process.execPath, [next, 'start', '--port', String(port)], { env });
  try {
    await new Promise((resolve) => server.stdout.on('data', (text) => String(text).includes('Ready') && resolve()));
    const response = await fetch(`http://127.0.0.1:${port}/sepolia/api/v1/version`);
    assert.match(await response.text(), /11155111/);
    const stream = await fetch(`http://127.0.0.1:${port}/sepolia/api/v1/orders/stream`);
    const reading = stream.text(); // rejects if the stream is cut
    server.kill('SIGTERM');
    assert.match(await reading, /^: stream/);
  } finally {
    server.kill();
  }
});

test('a hot reload keeps the book and its streams', async () => {
  const file = 'app/sepolia/[...path]/route.js';
  const code = readFileSync(file, 'utf8');
  const port = await freePort();
  const server = spawn(process.execPath, [next, 'dev', '--port', String(port)], { env });
  let output = '';
  server.stdout.on('data', (text) => (output += text));
  const printed = async (text) => {
    while (!output.includes(text)) await new Promise((resolve) => server.stdout.once('data', resolve));
  };
  const url = `http://127.0.0.1:${port}/sepolia/api/v1`;
  try {
    await printed('Ready');
    const stream = await fetch(`${url}/orders/stream`);
    const reader = stream.body.getReader();
    assert.match(new TextDecoder().decode((await reader.read()).value), /^: stream/);
    writeFileSync(file, `${code}\nconsole.log('reloaded');\n`);
    // The module is evaluated again with the next request after its compilation.
    while (!output.includes('reloaded')) assert.match(await (await fetch(`${url}/version`)).text(), /11155111/);
    let isOpen = true;
    reader.closed.then(
      () => (isOpen = false),
      () => (isOpen = false),
    );
    assert.match(await (await fetch(`${url}/version`)).text(), /11155111/);
    assert.equal(isOpen, true);
    await reader.cancel();
  } finally {
    writeFileSync(file, code);
    server.kill();
  }
});
