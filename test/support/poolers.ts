import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, unprivileged } from './postgres-server.ts';

/** A program in front of a server. */
export interface FrontProgram {
  readonly url: string;
  stop(): Promise<void>;
}

/** Returns the names of the programs that are not installed. */
export function findMissingPrograms(...names: readonly string[]): string[] {
  return names.filter(
    (name) => spawnSync(name, [name === 'haproxy' ? '-v' : '--version'], { stdio: 'ignore' }).status !== 0,
  );
}

/**
 * Starts PgBouncer in front of a server on this machine.
 *
 * @param connectQuery - SQL that runs on each connection to the server. Default: none.
 */
export async function startPgBouncer(
  target: number,
  mode: 'session' | 'transaction',
  connectQuery?: string,
): Promise<FrontProgram> {
  const port = await freePort();
  return start('pgbouncer', port, (folder) => {
    const users = join(folder, 'users.txt');
    writeFileSync(users, '"postgres" ""\n', { mode: 0o644 });
    return [
      '[databases]',
      `* = host=127.0.0.1 port=${target} user=postgres${connectQuery === undefined ? '' : ` connect_query='${connectQuery}'`}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `auth_file = ${users}`,
      `pool_mode = ${mode}`,
      'max_client_conn = 500',
      `default_pool_size = ${mode === 'session' ? 60 : 12}`,
      'server_login_retry = 1',
    ].join('\n');
  });
}

/** Starts HAProxy, which leads to the first server that is a primary. */
export async function startHaproxy(targets: readonly number[]): Promise<FrontProgram> {
  const port = await freePort();
  return start('haproxy', port, () =>
    [
      'defaults',
      '  mode tcp',
      '  timeout connect 1s',
      '  timeout client 1h',
      '  timeout server 1h',
      'listen postgres',
      `  bind 127.0.0.1:${port}`,
      '  option tcp-check',
      '  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
      ...targets.map((target, i) => `  server s${i} 127.0.0.1:${target} check${i > 0 ? ' backup' : ''}`),
      '',
    ].join('\n'),
  );
}

async function start(program: string, port: number, configure: (folder: string) => string): Promise<FrontProgram> {
  const folder = mkdtempSync(join(tmpdir(), `intentbook-${program}-`));
  chmodSync(folder, 0o755);
  const file = join(folder, 'configuration');
  writeFileSync(file, configure(folder), { mode: 0o644 });
  const args = program === 'haproxy' ? ['-db', '-f', file] : [file];
  let isReady = false;
  let stopped = false;
  let ended = Promise.resolve();
  let child = run();
  /** Runs the program, and again when it ends, like a service manager. */
  function run() {
    const started = spawn(program, args, { ...unprivileged(), stdio: 'ignore' });
    ended = new Promise((resolve) => {
      started.once('exit', () => {
        if (!stopped && isReady) child = run();
        resolve();
      });
    });
    started.unref();
    return started;
  }
  for (let i = 0; !(await accepts(port)); i++) {
    if (i > 100 || child.exitCode !== null) throw new Error(`${program} did not start`);
    await sleep(50);
  }
  isReady = true;
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      stopped = true;
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
