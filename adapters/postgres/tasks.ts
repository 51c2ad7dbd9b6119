import type { Task, TaskChange, TaskStore } from 'intentbook';
import type { PostgresSession } from './session.ts';

/** Creates the operations on tasks. Reads use the primary: a replica may lack the newest state of a task. */
export function createTaskTable({ schema: s, prepare, prepareObjects, read, write }: PostgresSession): TaskStore {
  const columns = 'kind, key, due, version, value';
  const select = prepareObjects<Task>(`SELECT ${columns} FROM ${s}.tasks WHERE kind = $1 AND key = ANY($2::text[])`);
  const selectDue = prepareObjects<Task>(
    `SELECT ${columns} FROM ${s}.tasks WHERE kind = $1 AND due < $2 ORDER BY due, key LIMIT $3`,
  );
  const countAll = prepare<readonly [number]>(`SELECT count(*) FROM ${s}.tasks WHERE kind = $1`);
  const changes =
    'json_to_recordset($1::json) AS c (n integer, kind text, key text, version bigint, due bigint, value text)';
  const isSame = 't.kind = c.kind AND t.key = c.key';
  const remove = prepare<readonly [number]>(
    `DELETE FROM ${s}.tasks t USING ${changes} WHERE ${isSame} AND c.value IS NULL ` +
      'AND t.version = coalesce(c.version, t.version) RETURNING c.n',
  );
  const update = prepare<readonly [number]>(
    `UPDATE ${s}.tasks t SET due = c.due, version = t.version + 1, value = c.value FROM ${changes} WHERE ${isSame} ` +
      'AND c.value IS NOT NULL AND t.version = c.version RETURNING c.n',
  );
  const insert = (rows: string, conflict: string) =>
    `WITH c AS (SELECT * FROM ${changes} WHERE value IS NOT NULL AND ${rows} ORDER BY kind, key), ` +
    `w AS (INSERT INTO ${s}.tasks AS t (kind, key, due, version, value) ` +
    `SELECT kind, key, due, 1, value FROM c ON CONFLICT ${conflict} RETURNING kind, key) ` +
    'SELECT c.n FROM c JOIN w USING (kind, key)';
  const create = prepare<readonly [number]>(insert('version = 0', 'DO NOTHING'));
  const replace = prepare<readonly [number]>(
    insert(
      'version IS NULL',
      '(kind, key) DO UPDATE SET due = excluded.due, value = excluded.value, version = t.version + 1',
    ),
  );

  return {
    get: (kind, keys) => read('read tasks', async (run) => (keys.length === 0 ? [] : run(select, kind, keys))),
    due: (kind, before, limit) => read('read due tasks', (run) => run(selectDue, kind, before, limit)),

    write: (requested) =>
      write('change tasks', async (run) => {
        const text = JSON.stringify(requested.map(toRecord));
        const has = (matches: (change: TaskChange) => boolean) => requested.some(matches);
        const written = requested.map(({ to, version }) => to === null && version === undefined);
        const apply = async (statement: typeof remove) => {
          for (const [n] of await run(statement, text)) written[n] = true;
        };
        if (has(({ to }) => to === null)) await apply(remove);
        if (has(({ version }) => version !== undefined && version > 0)) await apply(update);
        if (has(({ version }) => version === 0)) await apply(create);
        if (has(({ version }) => version === undefined)) await apply(replace);
        return written;
      }),

    count: (kind) => read('count tasks', async (run) => (await run(countAll, kind))[0]?.[0] ?? 0),
  };
}

const toRecord = ({ kind, key, version, to }: TaskChange, n: number) => ({ n, kind, key, version, ...to });
