import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const cli = join(dirname(createRequire(import.meta.url).resolve('intentbook/package.json')), 'dist/cli.js');
const config = new URL('intentbook.json', import.meta.url);

test('the configuration is valid, and the server serves its book until SIGTERM', async (t) => {
  // Its own folder for the files of the books.
  const cwd = mkdtempSync(join(tmpdir(), 'intentbook-server-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  cpSync(config, join(cwd, 'intentbook.json'));
  const args = ['--config', 'intentbook.json', '--port', '0'];
  const checked = spawnSync(process.execPath, [cli, 'check', ...args], { cwd, encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);

  const server = spawn(process.execPath, [cli, 'serve', ...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill('SIGKILL'));
  let output = '';
  for await (const text of server.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text;
    if (/http:\/\/127\.0\.0\.1:\d+/.test(output)) break;
  }
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
  assert.match(await (await fetch(`${url}/api/v1/version`)).text(), /11155111/);
  assert.equal((await fetch(`${url}/api/v1/orders`)).status, 200);
  server.stdout.resume();
  server.kill('SIGTERM');
  assert.deepEqual(await once(server, 'exit'), [0, null]);
});
