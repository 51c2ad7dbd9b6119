import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';

const PROGRAM = fileURLToPath(new URL('container.mjs', import.meta.url));

/** Separate namespaces of process ids, mounts and time. The ids and the host name of all containers are equal. */
const NAMESPACES = ['--pid', '--mount-proc', '--mount', '--time', '--fork', '--kill-child'];

/** How the first of two containers ends, and the second one takes over. */
export const TAKEOVERS = ['crash', 'pause', 'overlap'] as const;
export type Takeover = (typeof TAKEOVERS)[number];

/** Attempts of the second container to open the file of a running one. They take longer than the lease. */
const OVERLAPPING_ATTEMPTS = 50;

/** Result of a round. */
export interface ContainerRound {
  /** Whether the first container was paused within a write, whose lock the second one cannot take. */
  readonly isLocked: boolean;
  /** Number of acknowledged orders. */
  readonly acknowledged: number;
  /** Violations of the guarantees. */
  readonly problems: readonly string[];
}

/** Returns the reason for which this machine allows no containers. */
export function findContainerObstacle(): string | undefined {
  const { status, stderr, error } = spawnSync('unshare', [...NAMESPACES, 'true'], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return `unshare is missing or not permitted: ${error?.message ?? stderr.trim()}`;
}

interface Container {
  readonly accepted: { readonly uid: string; readonly since: number }[];
  /** Number of attempts to open the file. */
  readonly attempts: () => number;
  readonly failures: string[];
  /** When it has opened the file, in milliseconds since 1970. */
  readonly opened: () => number | undefined;
  /** Waits until a condition holds. It is checked after each line. */
  until(condition: () => boolean): Promise<void>;
  /** Sends a signal to the program. */
  send(signal: NodeJS.Signals): void;
  readonly exited: Promise<unknown>;
}

function startContainer(path: string, number: number): Container {
  const time = ['--boottime', String(number * 1000), '--monotonic', String(number * 777)];
  const child = spawn('unshare', [...NAMESPACES, ...time, process.execPath, PROGRAM, path, String(number)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const accepted: { readonly uid: string; readonly since: number }[] = [];
  const failures: string[] = [];
  const waiting = new Set<() => void>();
  let [attempts, errors] = [0, ''];
  let opened: number | undefined;
  child.stderr.on('data', (text: Buffer) => (errors += String(text)));
  createInterface(child.stdout).on('line', (line) => {
    const [step, value = '', since] = line.split(' ');
    if (step === 'accepted') accepted.push({ uid: value, since: Number(since) });
    else if (step === 'failed') failures.push(value);
    else if (step === 'waiting') attempts++;
    else if (step === 'open') opened = Number(value);
    for (const check of [...waiting]) check();
  });
  const exited = once(child, 'exit');
  return {
    accepted,
    failures,
    exited,
    attempts: () => attempts,
    opened: () => opened,
    until: (condition) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!condition()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        child.once('exit', () => reject(new Error(`the container has ended: ${errors}`)));
        check();
      }),
    send(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
      if (children !== '') process.kill(Number(children), signal);
    },
  };
}

/** Runs two containers on one file. The second one waits until it can open the file of the first one. */
export async function runContainers(takeover: Takeover, orders: number): Promise<ContainerRound> {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-containers-'));
  const path = join(folder, 'book.sqlite');
  const problems: string[] = [];
  const containers: Container[] = [];
  const start = () => {
    const container = startContainer(path, containers.length + 1);
    containers.push(container);
    return container;
  };
  try {
    const first = start();
    await first.until(() => first.accepted.length > 0);
    const second = start();
    await second.until(() => second.attempts() > 0 || second.opened() !== undefined);
    await first.until(() => first.accepted.length >= orders);
    if (takeover === 'overlap') await second.until(() => second.attempts() >= OVERLAPPING_ATTEMPTS || isOpen(second));
    if (isOpen(second)) problems.push('a running writer was replaced');
    const end = Date.now();
    first.send(takeover === 'pause' ? 'SIGSTOP' : takeover === 'crash' ? 'SIGKILL' : 'SIGTERM');
    const attempts = second.attempts() + OVERLAPPING_ATTEMPTS;
    await second.until(() => second.accepted.length >= orders || (!isOpen(second) && second.attempts() > attempts));
    const isLocked = !isOpen(second);
    if (isLocked && takeover !== 'pause') problems.push(`the file cannot be opened after a ${takeover}`);
    if (isLocked) {
      first.send('SIGKILL');
      await second.until(() => second.accepted.length >= orders);
    }
    const since = second.opened() ?? 0;
    if (since < end) problems.push(`a running writer was replaced ${end - since} ms before its end`);
    if (takeover === 'pause' && !isLocked) {
      const before = first.failures.length;
      first.send('SIGCONT');
      await first.until(() => first.failures.length > before);
      await second.until(() => second.accepted.length >= 2 * orders);
      first.send('SIGKILL');
    }
    await first.exited;
    second.send('SIGTERM');
    await second.exited;
    const late = first.accepted.filter((each) => each.since > since);
    if (late.length > 0)
      problems.push(`two writers: the first one has accepted ${late.length} orders after the second one`);
    if (second.failures.length > 0) problems.push(`the second writer has failed: ${second.failures.join()}`);
    const acknowledged = containers.flatMap(({ accepted }) => accepted.map(({ uid }) => uid));
    problems.push(...checkFile(path, acknowledged));
    return { isLocked, acknowledged: acknowledged.length, problems };
  } finally {
    for (const each of containers) each.send('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

const isOpen = (container: Container) => container.opened() !== undefined;

function checkFile(path: string, acknowledged: readonly string[]): string[] {
  const database = new Database(path, { readonly: true });
  try {
    const uids = database.prepare(`SELECT '0x' || lower(hex(uid)) FROM orders`).pluck().all();
    const stored = new Set(uids);
    const lost = acknowledged.filter((uid) => !stored.has(uid));
    const state = database.pragma('integrity_check', { simple: true });
    return [
      ...(lost.length > 0 ? [`${lost.length} acknowledged orders are lost`] : []),
      ...(state === 'ok' ? [] : [`the file is damaged: ${String(state)}`]),
    ];
  } finally {
    database.close();
  }
}
