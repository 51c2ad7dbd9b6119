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
import type { Medium } from '../../property/book-driver.ts';
import { BookWorld } from '../../property/book-driver.ts';
import { START } from '../../property/book-orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { emptySchema } from '../../support/postgres.ts';
import type { Doom } from './crash-child.ts';
import { scriptOf, setTime } from './script.ts';

/** A program that crashes at a given statement. */
export interface Victim extends Disposable {
  /** @returns its output until it crashed or ended. */
  run(doom: Doom): Promise<{ readonly said: readonly string[]; readonly killed: boolean }>;
}

export async function buildVictim(): Promise<Victim> {
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
    async run(doom) {
      const child = spawn(process.execPath, [join(directory, 'crash-child.mjs'), JSON.stringify(doom)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise<string | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
      const [said, complaint, signal] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      assert.equal(complaint, '');
      return { said: said.split('\n').filter((line) => line !== ''), killed: signal === 'SIGKILL' };
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

/** Location of the crashed book. */
export interface Grave {
  readonly where: Doom['where'];
  readonly whens: readonly NonNullable<Doom['when']>[];
  /** Waits until no statement is running, and reopens the book like the next process. */
  medium(): Promise<Medium>;
  dispose(): Promise<void>;
}

export function sqliteGrave(): Grave {
  const file = temporaryFile();
  let database: Database.Database | undefined;
  return {
    where: { path: file.path },
    whens: ['before', 'after'],
    async medium() {
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

export async function postgresGrave(place: TemporarySchema): Promise<Grave> {
  const { schema } = place;
  await migratePostgres({ url: place.url, schema });
  await emptySchema(place);
  const url = `${place.url}?application_name=${schema}`;
  return {
    where: { url, schema },
    whens: ['before', 'during', 'after'],
    async medium() {
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
export async function countStatements(victim: Victim, seed: number, grave: Grave): Promise<number> {
  try {
    const { said } = await victim.run({ seed, where: grave.where });
    const scenes = scriptOf(seed, START * 1000);
    assert.deepEqual(
      said.slice(0, -1),
      scenes.map(({ answer }) => answer),
    );
    return Number(/^statements (\d+)$/.exec(said.at(-1) ?? '')?.[1]);
  } finally {
    await grave.dispose();
  }
}

/**
 * Kills a process at one point and compares the stored state with the acknowledged results.
 *
 * @returns whether the process reached that point. The number of statements varies slightly with timing.
 */
export async function dieAt(
  victim: Victim,
  grave: Grave,
  point: Pick<Doom, 'seed' | 'statement' | 'when'>,
): Promise<boolean> {
  const says = JSON.stringify(point);
  try {
    const { said, killed } = await victim.run({ ...point, where: grave.where });
    if (!killed) return false;
    const scenes = scriptOf(point.seed, START * 1000);
    assert.deepEqual(
      said,
      scenes.slice(0, said.length).map(({ answer }) => answer),
      says,
    );
    const scene = scenes[said.length];
    if (scene === undefined) throw new Error(`${says}: it has done everything`);

    const world = await BookWorld.begin(await grave.medium());
    try {
      setTime(world, scene);
      const shown = await world.look(0);
      // The last operation may have been applied or not, but never partially.
      const possible = [scene.before, scene.after].map((state) => state.shows(scene.at));
      if (!possible.some((state) => JSON.stringify(state) === JSON.stringify(shown))) {
        assert.deepEqual(shown, possible[0], `${says}, in the middle of "${scene.deed.says}"`);
      }
      // The book continues from there.
      await world.submit([0], 0);
    } finally {
      await world.end();
    }
    return true;
  } finally {
    await grave.dispose();
  }
}
