import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { NODE_NAME } from './node-front.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Time before a restart, in milliseconds, as `RestartSec` of the unit. */
const RESTART_DELAY = 200;

/** A response to a probe, or `undefined` without one. */
export type Probe = { readonly status: number; readonly body: string } | undefined;

/** The built server below a supervisor that starts it again whenever it ends, as `Restart=always` of the unit. */
export interface SupervisedServer extends AsyncDisposable {
  readonly url: string;
  /** The folder of the installed package. */
  readonly package: string;
  /** The hosts file of the server, which has the name of its node. */
  readonly hosts: string;
  /** The difference of its clock, in milliseconds. */
  setClock(difference: number): void;
  /** The output of all processes. */
  readonly output: () => string;
  /** The number of starts. */
  readonly starts: () => number;
  readonly pid: () => number | undefined;
  /** Suppresses restarts, until the result is called. */
  hold(): () => void;
  /** Requests a path on a new connection. */
  probe(path: string): Promise<Probe>;
  /** Descriptors and resident MiB of the process. */
  readonly usage: () => { readonly descriptors: number; readonly memory: number };
}

export interface ServerPlace {
  readonly folder: string;
  readonly port: number;
  readonly config: string;
  /** File with the certificates that the server trusts. */
  readonly authorities: string;
}

/** Installs the built package and starts the server. It has the files of the machine, except for its names. */
export function superviseServer({ folder, port, config, authorities }: ServerPlace): SupervisedServer {
  const installed = join(folder, 'node_modules', 'intentbook');
  mkdirSync(installed, { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  cpSync(join(ROOT, 'dist'), join(installed, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  const [hosts, resolver, clock] = ['hosts', 'resolv.conf', 'clock'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(hosts, `127.0.0.1 localhost ${NODE_NAME}\n`);
  writeFileSync(resolver, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
  writeFileSync(clock, '0');
  const script = `mount --bind ${hosts} /etc/hosts; mount --bind ${resolver} /etc/resolv.conf; exec "$@"`;
  const preload = ['--import', join(import.meta.dirname, 'faulty-process.mjs')];
  const program = [process.execPath, ...preload, join(installed, 'dist', 'cli.js'), 'serve', '--config', config];
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('INTENTBOOK_'));
  const env = { ...Object.fromEntries(inherited), NODE_EXTRA_CA_CERTS: authorities, CHAOS_CLOCK: clock };

  let [text, starts, holds] = ['', 0, 0];
  let isEnded = false;
  let child: ChildProcess | undefined;
  let gone: Promise<unknown> = Promise.resolve();
  let restart: NodeJS.Timeout | undefined;

  function start(): void {
    if (isEnded || holds > 0 || child !== undefined) return;
    starts++;
    const started = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', ...program], {
      env,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        text += chunk;
      });
    }
    child = started;
    gone = new Promise((resolve) => {
      started.once('exit', (code, signal) => {
        text += `\n[ended with ${code ?? signal}]\n`;
        child = undefined;
        restart = setTimeout(start, RESTART_DELAY);
        resolve(undefined);
      });
    });
  }
  start();

  return {
    url: `http://127.0.0.1:${port}`,
    package: installed,
    hosts,
    setClock: (difference) => writeFileSync(clock, String(difference)),
    output: () => text,
    starts: () => starts,
    pid: () => child?.pid,
    hold() {
      holds++;
      return () => {
        holds--;
        start();
      };
    },
    probe: (path) =>
      new Promise((resolve) => {
        const sent = get({ host: '127.0.0.1', port, path, agent: false, timeout: 15_000 }, (response) => {
          let body = '';
          response.on('data', (chunk) => {
            body += chunk;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
          response.on('error', () => resolve(undefined));
        });
        sent.on('timeout', () => sent.destroy()).on('error', () => resolve(undefined));
      }),
    usage() {
      const status = readFileSync(`/proc/${child?.pid}/status`, 'utf8');
      const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
      return { descriptors: readdirSync(`/proc/${child?.pid}/fd`).length, memory: Math.round(Number(kib) / 1024) };
    },
    async [Symbol.asyncDispose]() {
      isEnded = true;
      clearTimeout(restart);
      child?.kill('SIGCONT');
      child?.kill('SIGKILL');
      await gone;
    },
  };
}
