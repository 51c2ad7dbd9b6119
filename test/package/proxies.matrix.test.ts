import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

/** A proxy with its configuration of deploy, on other ports. */
interface Proxy {
  readonly program: string;
  readonly file: string;
  adapt(configuration: string, folder: string, upstream: number, port: number): string;
  args(folder: string, file: string): readonly string[];
}

const NGINX: Proxy = {
  program: 'nginx',
  file: 'nginx.conf',
  adapt(configuration, folder, upstream, port) {
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    mkdirSync(join(folder, 'logs'));
    return configuration
      .replace('127.0.0.1:8080', `127.0.0.1:${upstream}`)
      .replace('listen 8000', `listen 127.0.0.1:${port}`)
      .replace('rate=100r/s', 'rate=1r/m')
      .replace('burst=200', 'burst=3')
      .replace('http {', `http {\n  access_log off;\n  ${paths.join('\n  ')}`);
  },
  args(folder, file) {
    const globals = `daemon off; master_process off; pid ${folder}/pid;`;
    return ['-p', folder, '-e', 'stderr', '-c', file, '-g', globals];
  },
};

const CADDY: Proxy = {
  program: 'caddy',
  file: 'Caddyfile',
  adapt: (configuration, _, upstream, port) =>
    configuration
      .replace('127.0.0.1:8080', `127.0.0.1:${upstream}`)
      .replace('orders.example.org', `{\n\tadmin off\n}\nhttp://127.0.0.1:${port}`),
  args: (_, file) => ['run', '--adapter', 'caddyfile', '--config', file],
};

/** A server that limits all requests, and can stop and start again at its port. */
async function startServer() {
  let port = 0;
  let stop = () => {};
  async function start(): Promise<void> {
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(429, { 'x-from': 'server' }).end('{"errorType":"RateLimited"}'));
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port; // a listening server has an address
    stop = () => {
      server.close();
      server.closeAllConnections();
    };
  }
  await start();
  onTestFinished(() => stop());
  return { port, start, stop: () => stop() };
}

/** Starts a proxy in front of a server. */
async function startProxy({ program, file, adapt, args }: Proxy) {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-proxy-'));
  const server = await startServer();
  const probe = createTcpServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo; // a listening server has an address
  probe.close();
  const configuration = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
  writeFileSync(join(folder, file), adapt(configuration, folder, server.port, port));
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder };
  const proxy = spawn(program, args(folder, join(folder, file)), { stdio: 'ignore', env });
  onTestFinished(async () => {
    proxy.kill();
    if (proxy.exitCode === null) await once(proxy, 'exit');
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/orders/stream`).catch(() => undefined))) {
    if (proxy.exitCode !== null) throw new Error(`${program} has ended with ${proxy.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  /** Returns the status, the error code, the allowed origin and the sender of a response. */
  async function read(path: string, init?: RequestInit) {
    const response = await fetch(url + path, init);
    const { errorType } = (await response.json()) as { readonly errorType: string };
    const { headers, status } = response;
    return [status, errorType, headers.get('access-control-allow-origin'), headers.get('x-from')];
  }
  return { server, read };
}

const LARGE = { method: 'POST', body: 'x'.repeat(3_000_000) };
const FROM_SERVER = [429, 'RateLimited', null, 'server'];

describe.each([NGINX, CADDY])('$program proxy', (proxy) => {
  const isInstalled = spawnSync('which', [proxy.program]).status === 0;
  const reason = isInstalled ? '' : ' (skipped: it is not installed)';

  it.skipIf(!isInstalled)(`responds with JSON and CORS headers while there is no server${reason}`, async () => {
    const { server, read } = await startProxy(proxy);
    expect(await read('/orders/stream')).toEqual(FROM_SERVER);
    server.stop();
    expect(await read('/orders/stream')).toEqual([502, 'InternalServerError', '*', null]);
    await server.start();
    expect(await read('/orders/stream')).toEqual(FROM_SERVER);
  });

  it.skipIf(!isInstalled)(
    `rejects large bodies and many requests in JSON, or leaves it to the server${reason}`,
    async () => {
      const { read } = await startProxy(proxy);
      const isLimiting = proxy === NGINX;
      expect(await read('/orders', LARGE)).toEqual(isLimiting ? [413, 'PayloadTooLarge', '*', null] : FROM_SERVER);
      expect(await read('/orders')).toEqual(FROM_SERVER);
      const many = await Promise.all(Array.from({ length: 6 }, () => read('/orders')));
      expect(many).toContainEqual(isLimiting ? [429, 'RateLimited', '*', null] : FROM_SERVER);
    },
  );
});
