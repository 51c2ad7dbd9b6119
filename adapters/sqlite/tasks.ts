import type { Task, TaskChange } from 'intentbook';
import type { SqliteSession } from './session.ts';

type TaskRow = readonly [kind: string, key: string, due: number, version: number, value: string];

/** Creates the operations of `TaskStore`. Each is synchronous and one atomic step. */
export function createTaskTable({ prefix: p, prepare, read, write }: SqliteSession) {
  const columns = 'kind, key, due, version, value';
  const select = prepare(
    `SELECT ${columns} FROM ${p}tasks WHERE kind = ? AND key IN (SELECT value FROM json_each(?))`,
  ).raw();
  const selectDue = prepare(
    `SELECT ${columns} FROM ${p}tasks WHERE kind = ? AND due < ? ORDER BY due, key LIMIT ?`,
  ).raw();
  const countAll = prepare(`SELECT count(*) FROM ${p}tasks WHERE kind = ?`).pluck();
  const insert = prepare(
    `INSERT INTO ${p}tasks (kind, key, due, version, value) VALUES (?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
  );
  const update = prepare(
    `UPDATE ${p}tasks SET due = ?, version = version + 1, value = ? WHERE kind = ? AND key = ? AND version = coalesce(?, version)`,
  );
  const remove = prepare(`DELETE FROM ${p}tasks WHERE kind = ? AND key = ? AND version = coalesce(?, version)`);

  function change({ kind, key, version, to }: TaskChange): boolean {
    const seen = version ?? null;
    if (to === null) return remove.run(kind, key, seen).changes > 0 || version === undefined;
    const isUpdated = version !== 0 && update.run(to.due, to.value, kind, key, seen).changes > 0;
    return isUpdated || (!version && insert.run(kind, key, to.due, to.value).changes > 0);
  }

  return {
    // The columns selected.
    get: (kind: string, keys: readonly string[]): Task[] =>
      read('read tasks', () => (select.all(kind, JSON.stringify(keys)) as TaskRow[]).map(toTask)),
    due: (kind: string, before: number, limit: number): Task[] =>
      read('read due tasks', () => (selectDue.all(kind, before, limit) as TaskRow[]).map(toTask)),
    write: (changes: readonly TaskChange[]): boolean[] => write('change tasks', () => changes.map(change)),
    count: (kind: string): number => read('count tasks', () => countAll.get(kind) as number),
  };
}

const toTask = ([kind, key, due, version, value]: TaskRow): Task => ({ kind, key, due, version, value });
