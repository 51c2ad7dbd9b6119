import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { migratePostgres, postgresAccountStore, postgresStore } from 'intentbook/postgres';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import type { SpawnedServer } from '../../../integration/server/spawn.ts';
import { spawnProgram } from '../../../integration/server/spawn.ts';
import { temporarySchema } from '../../../support/postgres.ts';
import type { Attack } from '../fairness/attacks.ts';
import { ATTACKS, CONNECTIONS, createService } from '../fairness/attacks.ts';
import type { FairnessSize } from '../fairness/fill.ts';
import { fillAccounts, fillBook, subscribe } from '../fairness/fill.ts';
import type { Operation, Victim, VictimTimes } from '../fairness/victim.ts';
import { createVictim, OPERATIONS } from '../fairness/victim.ts';
import { attackWebhooks } from '../fairness/webhook-attack.ts';
import { UID } from '../load-routes.ts';
import type { LongShare, LongSuite } from '../suite.ts';

/** Factor by which an attacker may raise the 99th percentile of another client. */
const MAX_FACTOR = 5;
/** The full size, and the least time of a measurement in milliseconds. */
const SIZE: FairnessSize = { orders: 120_000, trades: 30_000, notifications: 100_000 };
const LEAST_TIME = 1_500;
/** Time after which a book knows that a service does not respond, in milliseconds. */
const ONSET = 2_000;
/** Time that the last requests of an attacker may take, in milliseconds. */
const LAST_REQUESTS = 1_000;
/** Time of a cell, with the operations that end later, as a multiple of its measurement. */
const OVERHEAD = 3;
/** Share of the time of a store in which cells above the limit are measured again. */
const SECOND_SHARE = 0.25;
/** Maximum time of such a measurement, as a multiple of the first one. */
const SECOND_TIME = 4;
/** Table with the results. `INTENTBOOK_WRITE=1` replaces it. */
const PAGE = join(import.meta.dirname, '../../../../docs/reference/costs.md');
const CLI = join(import.meta.dirname, '../../../../dist/cli.js');

type Percentiles = Readonly<Record<Operation, number>>;

/** The times of one measurement, and the requests of the attacker in it. */
interface Measurement extends VictimTimes {
  readonly sent: number;
  readonly rejected: number;
}

interface Measured {
  readonly p99: Percentiles;
  readonly samples: number;
  readonly failed: number;
  readonly sent: number;
}

/** The largest factor of an attack, and the operation that has it. */
interface Cell extends Measured {
  readonly factor: number;
  readonly operation: Operation;
}

export const suite: LongSuite = {
  description:
    'an attacker within the default limits, or a failing service, delays no other client more than five times',
  async run(share) {
    // A short run measures every n-th attack, beginning with one that the seed selects.
    const cells = 2 * ATTACKS.length * CONNECTIONS.length;
    const step = Math.max(1, Math.ceil((cells * LEAST_TIME * OVERHEAD) / share.milliseconds));
    const attacks = ATTACKS.filter((_, i) => i % step === share.seed % step);
    const stores = await runStores(share, SIZE, attacks, CONNECTIONS);
    const table = formatTable(stores, share.milliseconds);
    writeFileSync(join(share.folder, 'table.md'), table);
    if (process.env['INTENTBOOK_WRITE'] === '1') writeTable(table);
    const above = stores.flatMap(({ rows }) =>
      rows.flatMap(({ cells }) => cells.filter(({ factor }) => factor > MAX_FACTOR)),
    );
    share.note('cells above the limit', above.length);
    if (above.length > 0) throw new Error(`${above.length} cells are above the limit of ${MAX_FACTOR}:\n${table}`);
  },
};

/** The results of a store. */
export interface StoreResult {
  readonly store: 'SQLite' | 'PostgreSQL';
  readonly base: Percentiles;
  readonly rows: readonly { readonly attack: Attack; readonly cells: readonly Cell[] }[];
}

/** Measures all attacks on a server with each store. */
export async function runStores(
  { milliseconds, folder, count, note }: Pick<LongShare, 'milliseconds' | 'folder' | 'count' | 'note'>,
  size: FairnessSize,
  attacks: readonly Attack[],
  connections: readonly number[],
): Promise<StoreResult[]> {
  const end = Date.now() + milliseconds;
  const results: StoreResult[] = [];
  const measurements = attacks.length * (connections.length + 1);
  const second = SECOND_SHARE * measurements;
  let left = 2 * (measurements + second);
  const service = await createService();
  await using victim = await createVictim();
  await using schema = await temporarySchema();
  const database = `fairness_${process.pid}`;
  const url = schema.url.replace(/[^/]*$/, database);
  await schema.query(`CREATE DATABASE ${database}`);
  try {
    for (const store of ['SQLite', 'PostgreSQL'] as const) {
      const places = await fill(store, { folder, size, service: service.url, victim, url });
      const server = await startServer(places, service.url);
      try {
        const port = Number(new URL(server.url).port);
        const drawTime = () => Math.max(LEAST_TIME, (end - Date.now()) / left--);
        const context = { port, victim, service };
        service.state.mode = 'fails'; // at once: the base does not wait for it
        await measure(context, undefined, 1, 2_000); // the first requests load modules
        const bases: Measurement[] = [];
        const measured: { attack: Attack; connections: number; all: Measurement[] }[] = [];
        for (const attack of attacks) {
          // The speed of the machine changes, so the base is measured before each attack.
          service.state.mode = 'fails';
          bases.push(await measure(context, undefined, 1, drawTime()));
          for (const each of connections) {
            measured.push({ attack, connections: each, all: [await measure(context, attack, each, drawTime())] });
            count('cells');
          }
        }
        const base = summarize(bases).p99;
        // One pause of the machine is a percentile of few operations. Further ones distinguish it from unfairness.
        const above = measured.filter(({ all }) => compare(summarize(all), base).factor > MAX_FACTOR);
        const times = Math.min(SECOND_TIME, second / above.length);
        for (const { attack, connections: each, all } of above)
          all.push(await measure(context, attack, each, times * Math.max(LEAST_TIME, (end - Date.now()) / left)));
        left -= second;
        note(`cells measured again, ${store}`, above.length);
        const rows = attacks.map((attack) => {
          const own = measured.filter((each) => each.attack === attack);
          return { attack, cells: own.map(({ all }) => compare(summarize(all), base)) };
        });
        note(
          `failed operations of others, ${store}`,
          rows.flatMap(({ cells }) => cells).reduce((sum, { failed }) => sum + failed, 0),
        );
        results.push({ store, base, rows });
      } finally {
        await server.end('SIGTERM');
      }
    }
  } finally {
    service.close();
    await schema.query(`DROP DATABASE ${database} WITH (FORCE)`);
  }
  return results;
}

interface Places {
  readonly db: readonly string[];
  readonly accounts: string;
}

async function fill(
  store: StoreResult['store'],
  {
    folder,
    size,
    service,
    victim,
    url,
  }: {
    readonly folder: string;
    readonly size: FairnessSize;
    readonly service: string;
    readonly victim: Victim;
    readonly url: string;
  },
): Promise<Places> {
  const isFile = store === 'SQLite';
  const [book, accounts] = [join(folder, 'fairness.sqlite'), join(folder, 'fairness-accounts.sqlite')];
  if (isFile)
    for (const path of [book, accounts])
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
  else await migratePostgres({ url });
  const bookStore = isFile ? sqliteStore({ path: book, synchronous: 'OFF' }) : postgresStore({ url });
  const accountStore = isFile ? sqliteAccountStore({ path: accounts }) : postgresAccountStore({ url, migrate: true });
  await fillBook(bookStore, size);
  await fillAccounts(accountStore, size, service);
  const again = isFile ? sqliteAccountStore({ path: accounts }) : postgresAccountStore({ url, migrate: true });
  await again.open({ clock: { now: Date.now, after: () => () => {} } });
  await subscribe(again, victim.account, victim.target, Date.now());
  await again.close();
  return isFile ? { db: ['--db', book], accounts } : { db: ['--postgres', url, '--migrate'], accounts: url };
}

async function startServer({ db, accounts }: Places, service: string): Promise<SpawnedServer> {
  const sources = ['--coin-gecko', 'key', '--coin-gecko-url', service, '--solvers', service, '--gas-price', '1'];
  const receivers = ['--accounts', accounts, '--webhook-allow', '127.0.0.0/8'];
  return spawnProgram([CLI, 'serve', '--port', '0', ...db, ...receivers, ...sources]);
}

interface MeasureContext {
  readonly port: number;
  readonly victim: Victim;
  readonly service: Awaited<ReturnType<typeof createService>>;
}

let clients = 0;

/** Measures the other client beside an attacker, or beside a client that sends five reads per second. */
async function measure(
  { port, victim, service }: MeasureContext,
  attack: Attack | undefined,
  connections: number,
  duration: number,
): Promise<Measurement> {
  if (attack?.service !== undefined) {
    service.state.mode = attack.service;
    // The first three orders of a pair wait for a second each.
    if (attack.service !== 'fails') await victim.measure(port, UID, ONSET);
  }
  const { path, method, headers, body } = attack ?? { path: `/api/v1/orders/${UID}` };
  // Each attacker has its own address, so that its bucket is full.
  const localAddress = `127.0.${1 + Math.floor(++clients / 250)}.${10 + (clients % 240)}`;
  const rate = attack === undefined ? { perSecond: 5 } : {};
  const workerData = { port, duration, localAddress, connections, path, method, headers, body, ...rate };
  const client = new Worker(join(import.meta.dirname, '../load-client.mjs'), { workerData });
  const finished = once(client, 'message') as Promise<[{ sent: number; rejected: number }]>; // see load-client.mjs
  const webhooks = attack?.name.includes('webhooks') ? attackWebhooks(port, connections) : undefined;
  const { times, failed } = await victim.measure(port, UID, duration);
  webhooks?.stop();
  // The last requests of an attacker may wait in a queue for long.
  const counts = await Promise.race([finished.then(([each]) => each), sleep(LAST_REQUESTS, { sent: 1, rejected: 0 })]);
  await client.terminate();
  return { times, failed, ...counts };
}

/** Returns the percentiles of all operations of some measurements. */
function summarize(measurements: readonly Measurement[]): Measured {
  const all = OPERATIONS.map((operation) => {
    return [operation, measurements.flatMap(({ times }) => times[operation]).sort((a, b) => a - b)] as const;
  });
  const p99 = all.map(([operation, sorted]) => {
    return [operation, sorted[Math.min(sorted.length - 1, Math.floor(0.99 * sorted.length))] ?? Number.NaN];
  });
  return {
    p99: Object.fromEntries(p99) as Percentiles, // of all operations
    samples: all.reduce((sum, [, { length }]) => sum + length, 0),
    failed: measurements.reduce((sum, { failed }) => sum + failed, 0),
    sent: measurements.reduce((sum, { sent }) => sum + sent, 0),
  };
}

function compare(measured: Measured, base: Percentiles): Cell {
  const [operation = 'live'] = [...OPERATIONS].sort((a, b) => measured.p99[b] / base[b] - measured.p99[a] / base[a]);
  return { ...measured, operation, factor: measured.p99[operation] / base[operation] };
}

const formatTime = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

function formatTable(stores: readonly StoreResult[], milliseconds: number): string {
  const heads = stores.flatMap(({ store }) => CONNECTIONS.map((each) => `${store}, ${each}`));
  const lines = [
    `| attack | ${heads.join(' | ')} |`,
    `|---|${heads.map(() => '---:').join('|')}|`,
    ...(stores[0]?.rows ?? []).map(({ attack }, i) => {
      const cells = stores.flatMap(({ rows }) => rows[i]?.cells ?? []);
      return `| ${attack.name} | ${cells.map(({ factor, operation }) => `${factor.toFixed(1)} ${operation}`).join(' | ')} |`;
    }),
  ];
  const base = stores.map(
    ({ store, base: p99 }) => `${store} ${OPERATIONS.map((each) => `${each} ${formatTime(p99[each])}`).join(', ')}`,
  );
  const cells = stores.flatMap(({ rows }) => rows.flatMap((row) => row.cells));
  const samples = Math.round(cells.reduce((sum, each) => sum + each.samples, 0) / cells.length);
  const above = cells.filter(({ factor }) => factor > MAX_FACTOR).length;
  const load = loadavg()[0] ?? 0;
  const isBusy = load > 2 * cpus().length;
  return [
    `Run of ${Math.round(milliseconds / 60_000)} minutes on ${cpus().length} cores, with ${SIZE.orders} orders and`,
    `${SIZE.notifications} notifications: ${stores[0]?.rows.length ?? 0} of ${ATTACKS.length} attacks. ${above} of`,
    `${cells.length} cells are above ${MAX_FACTOR}. A cell has ${samples} operations on average, and one above the`,
    `limit was measured again for up to ${SECOND_TIME} times as long: its percentiles are those of all its operations.`,
    `The load of the machine was ${load.toFixed(0)}${isBusy ? ' by other processes, so the figures are no proof' : ''}.`,
    '',
    `Percentiles of the base, of all operations before the attacks: ${base.join('; ')}.`,
    '',
    ...lines,
    '',
  ].join('\n');
}

function writeTable(table: string): void {
  const [begin, end] = ['<!-- fairness:begin -->', '<!-- fairness:end -->'];
  const text = readFileSync(PAGE, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined)
    throw new Error('docs/reference/costs.md must have the markers fairness:begin and fairness:end');
  writeFileSync(PAGE, `${before}${begin}\n\n${table}\n${end}${after}`);
}
