import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, startPostgres } from '../../support/postgres-server.ts';
import type { LongShare } from '../long/suite.ts';
import { startAlerts } from './alerts.ts';
import type { ChaosTarget, Fault, FaultSigns } from './faults.ts';
import { FAULTS } from './faults.ts';
import { startLoad } from './load.ts';
import { startNodeFront } from './node-front.ts';
import { type SupervisedServer, superviseServer } from './supervised-server.ts';

/** Chains of the books. The first one has a node, and no orders, which its node would have to check. */
const CHAINS = [11155111, 1, 8453, 100, 42161, 137, 43114, 56, 59144, 232, 9745, 57073];
/** Time in which a fault must be visible, and in which the server must serve again, in milliseconds. */
const LIMIT = 60_000;
const POLL = 200;
/** Time of a fault that is short, or that has no alert, in milliseconds. */
const SHORT = 1_000;

/** Name of the result that compares memory and disk with those before all faults. */
export const AFTER_ALL = 'after all faults';

/** A step: one fault or two at once, and whether they last until they are visible. */
export interface ChaosStep {
  readonly faults: readonly Fault[];
  readonly lasts: boolean;
}

export interface ChaosPlan {
  readonly store: 'SQLite' | 'PostgreSQL';
  readonly steps: Iterable<ChaosStep>;
}

/** What a step has shown. */
export interface ChaosResult {
  readonly name: string;
  readonly problems: readonly string[];
  /** Milliseconds until all signs were seen, and from the end of the fault until all books accepted an order. */
  readonly visible: number;
  readonly recovery: number;
}

/** Returns the reason for which this machine cannot run the faults. */
export function findChaosObstacle(): string | undefined {
  const programs = ['prlimit', 'openssl'].filter((name) => spawnSync('which', [name]).status !== 0);
  if (programs.length > 0) return `${programs.join(' and ')} not installed`;
  return spawnSync('unshare', ['--mount', 'true']).status === 0 ? undefined : 'unshare is not permitted';
}

/** Returns the faults of a store. */
export const faultsOf = (store: ChaosPlan['store']) => FAULTS.filter((fault) => (fault.store ?? store) === store);

/** Runs a server with 12 books, a load and the shipped alerts, and performs the steps one after the other. */
export async function runChaos(plan: ChaosPlan, share: Pick<LongShare, 'count' | 'note'>): Promise<ChaosResult[]> {
  const closers: (() => unknown)[] = [];
  try {
    return await runSteps(plan, share, (close) => closers.push(close));
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

async function runSteps(
  { store, steps }: ChaosPlan,
  share: Pick<LongShare, 'count' | 'note'>,
  defer: (close: () => unknown) => void,
): Promise<ChaosResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-chaos-'));
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  defer(() => rmSync(folder, { recursive: true, force: true }));
  const use = <T extends AsyncDisposable>(resource: T): T => {
    defer(() => resource[Symbol.asyncDispose]());
    return resource;
  };
  if (store === 'SQLite') {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512m', 'intentbook', disk]);
    if (mounted.status !== 0) throw new Error(`mount: ${mounted.stderr}`);
    defer(() => spawnSync('umount', ['--lazy', disk]));
  }
  const node = use(await startNodeFront(folder));
  const postgres = store === 'SQLite' ? undefined : await startPostgres({ max_connections: '60' });
  if (postgres !== undefined) defer(() => postgres.dispose());
  const [port, metricsPort] = [await freePort(), await freePort()];
  const books = CHAINS.map((chain, i) => ({
    chain,
    path: `/b${i}`,
    ...(postgres === undefined ? { db: join(disk, `book${i === 0 ? 'rpc' : i - 1}.sqlite`) } : {}),
    ...(i === 0 ? { rpc: [node.url] } : {}),
  }));
  const config = {
    port,
    metricsPort,
    rateLimit: 'off',
    accounts: postgres?.url ?? join(disk, 'accounts.sqlite'),
    defaults: { maxOpenOrders: 'off', ...(postgres && { postgres: postgres.url, migrate: true }) },
    books,
  };
  writeFileSync(join(folder, 'intentbook.json'), JSON.stringify(config));
  const server = use(
    superviseServer({ folder, port, config: join(folder, 'intentbook.json'), authorities: node.authorities }),
  );
  await until(async () => (await server.probe('/ready?all'))?.status === 200, server);
  const alerts = use(await startAlerts(folder, metricsPort));
  const loaded = books.slice(1).map(({ path, chain }) => ({ path, chainId: chain }));
  const load = startLoad(server.url, loaded);
  defer(() => load.stop());
  const target: ChaosTarget = { server, node, port, store: postgres === undefined ? { folder: disk } : { postgres } };
  const readMetrics = async () => {
    try {
      return await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    } catch {
      return '';
    }
  };

  const isFiring = async (name: string) => (await alerts.firing())?.includes(name) ?? true;

  /** Waits until a fault is visible. Returns the signs that are missing. */
  async function watch(signs: FaultSigns, since: number): Promise<string[]> {
    const { ready, log, metric, alert, further = [] } = signs;
    const missing = new Map<string, () => Promise<boolean>>([
      [`/ready ${ready}`, async () => ((await server.probe('/ready?all'))?.status ?? 'none') === ready],
    ]);
    if (log !== undefined) missing.set(`log ${log}`, async () => log.test(server.output().slice(since)));
    if (metric !== undefined) missing.set(`metric ${metric}`, async () => metric.test(await readMetrics()));
    if (alert === undefined) await sleep(SHORT);
    else for (const name of [alert, ...further]) missing.set(`alert ${name}`, () => isFiring(name));
    await until(async () => {
      for (const [name, isVisible] of missing) if (await isVisible()) missing.delete(name);
      return missing.size === 0;
    });
    return [...missing.keys()];
  }

  /** Waits until each book accepts orders. */
  async function recover(): Promise<string[]> {
    let missing: string[] = ['/ready?all'];
    await until(async () => {
      if ((await server.probe('/ready?all'))?.status === 200) missing = await load.submitEach();
      return missing.length === 0;
    });
    return missing;
  }

  const isNodeUsed = async () => /^intentbook_chain_up\{.*\} 1$/m.test(await readMetrics());

  const results: ChaosResult[] = [];
  const before = server.usage();
  for (const { faults, lasts } of steps) {
    const name = faults.map((fault) => fault.name).join(' + ');
    const since = server.output().length;
    const started = performance.now();
    const ends: (() => void | Promise<void>)[] = [];
    for (const fault of faults) ends.push(await fault.begin(target));
    const problems: string[] = [];
    const [only] = faults;
    if (lasts && faults.length === 1 && only !== undefined) {
      problems.push(...(await watch(only.signs, since)).map((sign) => `is not visible: ${sign}`));
    } else await sleep(SHORT);
    const ended = performance.now();
    for (const end of ends.reverse()) await end();
    problems.push(...(await recover()).map((what) => `does not recover: ${what}`));
    const recovery = performance.now() - ended;
    // On PostgreSQL, the lease of an indexer that was killed ends after 15 seconds.
    if (!(await until(isNodeUsed))) problems.push('does not recover: the node');
    problems.push(...(await load.verify()));
    for (const { signs } of faults) {
      const isOver = async () => signs.alert === undefined || !(await alerts.firing())?.includes(signs.alert);
      if (!(await until(isOver))) problems.push(`does not end: the alert ${signs.alert}`);
    }
    const { descriptors } = before;
    // Idle connections of clients and to the database are closed later.
    const isFreed = await until(async () => server.usage().descriptors <= descriptors + loaded.length * 4);
    if (!isFreed) problems.push(`${server.usage().descriptors} descriptors, ${descriptors} before`);
    share.count('steps');
    results.push({ name, problems, visible: ended - started, recovery });
    if (problems.length > 0) share.note(`output of ${name}`, server.output().slice(since).slice(-4_000));
  }
  const after = server.usage();
  const logs = store === 'SQLite' ? readdirSync(disk).filter((file) => file.endsWith('-wal')) : [];
  const largest = Math.max(0, ...logs.map((file) => statSync(join(disk, file)).size)) / 2 ** 20;
  const problems: string[] = [];
  if (after.memory > before.memory * 2) problems.push(`${after.memory} MiB of memory, ${before.memory} before`);
  if (largest > 64) problems.push(`a write-ahead log of ${largest} MiB`);
  results.push({ name: AFTER_ALL, problems, visible: 0, recovery: 0 });
  for (const [kind, number] of Object.entries(load.counts)) share.count(kind, number);
  share.count('starts', server.starts());
  share.note('memory MiB', `${before.memory} before, ${after.memory} after`);
  share.note('descriptors', `${before.descriptors} before, ${after.descriptors} after`);
  share.note('largest -wal MiB', largest);
  return results;
}

/** Waits until a condition holds. Returns whether it does before the limit. */
async function until(condition: () => Promise<boolean>, server?: SupervisedServer): Promise<boolean> {
  const end = performance.now() + LIMIT;
  while (!(await condition())) {
    if (performance.now() < end) await sleep(POLL);
    else if (server === undefined) return false;
    else throw new Error(`the server does not start: ${server.output()}`);
  }
  return true;
}
