import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { build } from 'tsup';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import type { BookStorage } from '../../property/book-driver.ts';
import { BookSystem } from '../../property/book-driver.ts';
import { START } from '../../property/book-orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { emptySchema } from '../../support/postgres.ts';
import type { CrashPlan } from './crash-child.ts';
import { scriptOf, setTime } from './script.ts';

/** A program that crashes at a given statement. */
export interface CrashChild extends Disposable {
  /** @returns its output until it crashed or ended. */
  run(plan: CrashPlan): Promise<{ readonly output: readonly string[]; readonly killed: boolean }>;
}

export async function buildCrashChild(): Promise<CrashChild> {
  const directory = mkdtempSync(join(tmpdir(), 'intentbook-victim-'));
  await build({
    entry: [fileURLToPath(new URL('./crash-child.ts', import.meta.url))],
    outDir: directory,
    format: 'esm',
    config: false,
    silent: true,
    // Bundled into one file, because it is started many times.
    noExternal: [/^(?!better-sqlite3|pg$|secp256k1)/],
    external: ['better-sqlite3', 'pg', 'secp256k1'],
    outExtension: () => ({ js: '.mjs' }),
  });
  symlinkSync(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(directory, 'node_modules'));
  return {
    async run(plan) {
      const child = spawn(process.execPath, [join(directory, 'crash-child.mjs'), JSON.stringify(plan)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise<string | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
      const [output, complaint, signal] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      assert.equal(complaint, '');
      return { output: output.split('\n').filter((line) => line !== ''), killed: signal === 'SIGKILL' };
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

/** Location of the crashed book. */
export interface CrashStorage {
  readonly where: CrashPlan['where'];
  readonly whens: readonly NonNullable<CrashPlan['when']>[];
  /** Waits until no statement is running, and reopens the book like the next process. */
  storage(): Promise<BookStorage>;
  dispose(): Promise<void>;
}

export function sqliteGrave(): CrashStorage {
  const file = temporaryFile();
  let database: Database.Database | undefined;
  return {
    where: { path: file.path },
    whens: ['before', 'after'],
    async storage() {
      const opened = new Database(file.path);
      database = opened;
      opened.pragma('synchronous = FULL');
      assert.equal(opened.pragma('integrity_check', { simple: true }), 'ok');
      const connect = () => sqliteStore(opened, { prefix: 'b_' });
      return { writers: 1, connect, dispose: async () => {} };
    },
    async dispose() {
      database?.close();
      file[Symbol.dispose]();
    },
  };
}

export async function postgresGrave(place: TemporarySchema): Promise<CrashStorage> {
  const { schema } = place;
  await migratePostgres({ url: place.url, schema });
  await emptySchema(place);
  const url = `${place.url}?application_name=${schema}`;
  return {
    where: { url, schema },
    whens: ['before', 'during', 'after'],
    async storage() {
      for (let left = 1; left > 0; ) {
        const [row] = await place.query('SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1', [
          schema,
        ]);
        left = Number(row?.['n']);
      }
      const connect = () => postgresStore({ url: place.url, schema, connections: 2, listen: false });
      return { writers: 1, connect, dispose: async () => {} };
    },
    dispose: async () => {},
  };
}

/** Counts the statements of a script without a crash. */
export async function countStatements(crashChild: CrashChild, seed: number, storage: CrashStorage): Promise<number> {
  try {
    const { output } = await crashChild.run({ seed, where: storage.where });
    const scenes = scriptOf(seed, START * 1000);
    assert.deepEqual(
      output.slice(0, -1),
      scenes.map(({ answer }) => answer),
    );
    return Number(/^statements (\d+)$/.exec(output.at(-1) ?? '')?.[1]);
  } finally {
    await storage.dispose();
  }
}

/**
 * Kills a process at one point and compares the stored state with the acknowledged results.
 *
 * @returns whether the process reached that point. The number of statements varies slightly with timing.
 */
export async function crashAt(
  crashChild: CrashChild,
  storage: CrashStorage,
  point: Pick<CrashPlan, 'seed' | 'statement' | 'when'>,
): Promise<boolean> {
  const label = JSON.stringify(point);
  try {
    const { output, killed } = await crashChild.run({ ...point, where: storage.where });
    if (!killed) return false;
    const scenes = scriptOf(point.seed, START * 1000);
    assert.deepEqual(
      output,
      scenes.slice(0, output.length).map(({ answer }) => answer),
      label,
    );
    const scene = scenes[output.length];
    if (scene === undefined) throw new Error(`${label}: it has done everything`);

    const fixture = await BookSystem.begin(await storage.storage());
    try {
      setTime(fixture, scene);
      const shown = await fixture.look(0);
      // The last operation may have been applied or not, but never partially.
      const possible = [scene.before, scene.after].map((state) => state.shows(scene.at));
      if (!possible.some((state) => JSON.stringify(state) === JSON.stringify(shown))) {
        assert.deepEqual(shown, possible[0], `${label}, in the middle of "${scene.operation.label}"`);
      }
      // The book continues from there.
      await fixture.submit([0], 0);
    } finally {
      await fixture.end();
    }
    return true;
  } finally {
    await storage.dispose();
  }
}
