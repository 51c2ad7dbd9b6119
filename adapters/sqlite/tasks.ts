import type { Task, TaskChange } from 'intentbook';
import type { BookOperations, SqliteSession } from './session.ts';

/** Creates the operations of `TaskStore`. Each is synchronous and one atomic step. */
export function createTaskTable({ prefix: p, prepare, read, write }: SqliteSession): BookOperations['tasks'] {
  const columns = 'kind, key, due, version, value';
  const select = prepare(`SELECT ${columns} FROM ${p}tasks WHERE kind = ? AND key IN (SELECT value FROM json_each(?))`);
  const selectDue = prepare(`SELECT ${columns} FROM ${p}tasks WHERE kind = ? AND due < ? ORDER BY due, key LIMIT ?`);
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
    get: (kind, keys) => read('read tasks', () => select.all(kind, JSON.stringify(keys)) as Task[]),
    due: (kind, before, limit) => read('read due tasks', () => selectDue.all(kind, before, limit) as Task[]),
    write: (changes) => write('change tasks', () => changes.map(change)),
    count: (kind) => read('count tasks', () => countAll.get(kind) as number),
  };
}
