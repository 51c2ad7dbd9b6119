import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const HAS_NGINX = spawnSync('which', ['nginx']).status === 0;
const CONFIGURATION = readFileSync(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');

/** Starts nginx with the configuration of deploy in front of a server, on other ports. */
async function startNginx(): Promise<{ readonly url: string; stopServer(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-nginx-'));
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(429, { 'x-from': 'server' }).end('{"errorType":"RateLimited"}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const probe = createTcpServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const [upstream, port] = [server, probe].map((each) => (each.address() as AddressInfo).port);
  probe.close();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const text = CONFIGURATION.replace('127.0.0.1:8080', `127.0.0.1:${upstream}`)
    .replace('listen 8000', `listen 127.0.0.1:${port}`)
    .replace('rate=100r/s', 'rate=1r/m')
    .replace('burst=200', 'burst=3')
    .replace('http {', `http {\n  access_log off;\n  ${paths.join('\n  ')}`);
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'nginx.conf'), text);
  const globals = `daemon off; master_process off; pid ${folder}/pid;`;
  const args = ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf'), '-g', globals];
  const nginx = spawn('nginx', args, { stdio: 'ignore' });
  onTestFinished(async () => {
    nginx.kill();
    await once(nginx, 'exit');
    server.close();
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/orders/stream`).catch(() => undefined))) {
    if (nginx.exitCode !== null) throw new Error(`nginx has ended with ${nginx.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url,
    stopServer() {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe.skipIf(!HAS_NGINX)(`nginx${HAS_NGINX ? '' : ' (skipped: it is not installed)'}`, () => {
  it('responds itself with JSON and CORS headers, and leaves responses of the server as they are', async () => {
    const { url, stopServer } = await startNginx();
    const read = async (path: string, init?: RequestInit) => {
      const response = await fetch(url + path, init);
      const { errorType } = (await response.json()) as { readonly errorType: string };
      const { headers, status } = response;
      return [status, errorType, headers.get('access-control-allow-origin'), headers.get('x-from')];
    };
    expect(await read('/orders', { method: 'POST', body: 'x'.repeat(3_000_000) })).toEqual([
      413,
      'PayloadTooLarge',
      '*',
      null,
    ]);
    expect(await read('/orders')).toEqual([429, 'RateLimited', null, 'server']);
    const limited = await Promise.all(Array.from({ length: 6 }, () => read('/orders')));
    expect(limited).toContainEqual([429, 'RateLimited', '*', null]);
    stopServer();
    expect(await read('/orders/stream')).toEqual([502, 'InternalServerError', '*', null]);
  });
});
