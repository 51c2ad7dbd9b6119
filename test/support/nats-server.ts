import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this machine has nats-server (Debian: `apt-get install nats-server`). */
export const HAS_NATS = spawnSync('nats-server', ['--version']).status === 0;

/** A NATS server with JetStream on a free port, whose files survive its process. */
export interface NatsServer {
  readonly url: string;
  /** Starts the process. With a password, clients need the user `book`. */
  start(password?: string): Promise<void>;
  /** Kills the process. */
  kill(): Promise<void>;
  /** Kills the process and removes the files. */
  close(): Promise<void>;
}

/** Creates a server, not yet started. */
export async function natsServer(): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-nats-'));
  const port = await findPort();
  const log = join(folder, 'log');
  let child: ChildProcess | undefined;

  async function kill(): Promise<void> {
    if (child === undefined) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    child = undefined;
  }

  return {
    url: `nats://127.0.0.1:${port}`,
    async start(password) {
      rmSync(log, { force: true });
      const credentials = password === undefined ? [] : ['--user', 'book', '--pass', password];
      const flags = ['-js', '-a', '127.0.0.1', '-p', String(port), '-sd', folder, '-l', log];
      const started = spawn('nats-server', [...flags, ...credentials]);
      child = started;
      while (!readLog(log).includes('Server is ready')) {
        if (started.exitCode !== null) throw new Error(`nats-server ended: ${readLog(log)}`);
        await new Promise(setImmediate);
      }
    },
    kill,
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readLog(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // not yet written
  }
}

async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  await new Promise((resolve) => server.close(resolve));
  return port;
}
