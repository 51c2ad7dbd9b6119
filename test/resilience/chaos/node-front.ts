import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { startNode } from '../faults/node.ts';

/** The name under which the server knows its node. Only the hosts file of the server contains it. */
export const NODE_NAME = 'node.chaos.test';

/** Milliseconds between two blocks. */
const BLOCK_TIME = 2_000;

/** A node behind HTTPS. */
export interface NodeFront extends AsyncDisposable {
  readonly url: string;
  /** File with the certificates that the server trusts. */
  readonly authorities: string;
  /** `hang`: accepts connections and does not respond. `close`: closes them. `expired`: has an old certificate. */
  behave(mode: 'work' | 'hang' | 'close' | 'expired'): void;
}

/** Starts a node with a certificate, and with another one that has expired. */
export async function startNodeFront(folder: string): Promise<NodeFront> {
  const [key, valid, expired] = ['key', 'valid', 'expired'].map((name) => join(folder, `node.${name}`)) as [
    string,
    string,
    string,
  ];
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  const names = ['-subj', `/CN=${NODE_NAME}`, '-addext', `subjectAltName=DNS:${NODE_NAME}`];
  run('req', '-x509', ...kind, '-out', valid, '-days', '2', ...names);
  run('x509', '-in', valid, '-signkey', key, '-days', '-1', '-out', expired);
  const read = (cert: string) => ({ key: readFileSync(key), cert: readFileSync(cert) });
  const contexts = { valid: read(valid), expired: read(expired) };
  const chain = scriptedChain();
  chain.mine(...Array.from({ length: 200 }, () => []));
  const mining = setInterval(() => chain.mine([]), BLOCK_TIME);
  const node = await startNode(chain, () => undefined);
  const open = new Set<Socket>();
  let mode = 'work';
  const server = createServer(contexts.valid, (client) => {
    if (mode === 'hang') return;
    const upstream = connect(Number(new URL(node.url).port), '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    if (mode === 'close') socket.destroy();
  });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `https://${NODE_NAME}:${(server.address() as AddressInfo).port}`, // it listens
    authorities: valid,
    behave(next) {
      mode = next;
      server.setSecureContext(contexts[next === 'expired' ? 'expired' : 'valid']);
      for (const socket of open) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(mining);
      for (const socket of open) socket.destroy();
      server.close();
      await node[Symbol.asyncDispose]();
    },
  };
}
