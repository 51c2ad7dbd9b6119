import type { PgClient } from './database-driver.ts';
import { createQuery, type Query } from './query.ts';
import { BASE_SCHEMA, type PgSchema } from './schema.ts';
import { renderFunction } from './sql/function.ts';

/** Lists the columns, indexes and constraints of a schema with their definitions. */
const OBJECTS = {
  text:
    "WITH s AS (SELECT CASE $1 WHEN 'pg_temp' THEN pg_my_temp_schema() ELSE (SELECT oid FROM pg_namespace WHERE nspname = $1) END) " +
    "SELECT 'the column ' || c.relname || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod), " +
    "CASE WHEN a.attnotnull THEN 'NOT NULL' END, nullif(a.attidentity, ''), nullif(a.attcollation, 0)::regcollation, pg_get_expr(d.adbin, d.adrelid)) " +
    'FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum ' +
    "WHERE c.relnamespace = (TABLE s) AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped " +
    "UNION ALL SELECT 'the index ' || c.relname, CASE WHEN i.indisvalid THEN pg_get_indexdef(c.oid) ELSE 'not valid' END " +
    'FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = (TABLE s) ' +
    "UNION ALL SELECT 'the constraint ' || k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint k " +
    "WHERE k.connamespace = (TABLE s) AND k.contype <> 'n'",
};

/** Reads the objects of a schema by name. The name of the schema is removed from the definitions. */
async function readObjects(run: Query, name: string): Promise<ReadonlyMap<string, string>> {
  const rows = await run<readonly [name: string, definition: string]>(OBJECTS, name);
  const prefix = name === 'pg_temp' ? /\bpg_temp(_\d+)?\./g : new RegExp(`("?)\\b${name}\\b\\1\\.`, 'g');
  return new Map(rows.map(([object, definition]) => [object, definition.replace(prefix, '')]));
}

/**
 * Compares each column, index and constraint of a schema with that of a new one, which is created among the temporary
 * tables of the session and rolled back.
 *
 * @returns what is missing or differs: `the column orders.owner is missing`. Additional objects are not reported.
 */
export async function findDrift(client: PgClient, name: string, definition: PgSchema): Promise<string[]> {
  const run = createQuery(client);
  const schema = 'pg_temp';
  await client.query({ text: 'BEGIN' });
  try {
    const steps = [BASE_SCHEMA(schema), ...definition.migrations.map(({ sql }) => sql(schema))];
    const concurrently = definition.migrations.flatMap((each) => each.concurrently?.(schema) ?? []);
    const functions = definition.functions(schema).map((each) => renderFunction(schema, each));
    const texts = [...steps, ...concurrently.map((text) => `${text.replaceAll(' CONCURRENTLY', '')};`), ...functions];
    for (const text of texts) await client.query({ text });
    await run({ text: `ALTER TABLE ${schema}.migrations ADD COLUMN checksum text` });
    const [actual, expected] = [await readObjects(run, name), await readObjects(run, schema)];
    return [...expected].flatMap(([object, wanted]) => {
      const found = actual.get(object);
      if (found === wanted) return [];
      return [found === undefined ? `${object} is missing` : `${object} is (${found}), expected (${wanted})`];
    });
  } finally {
    await client.query({ text: 'ROLLBACK' }).catch(() => {}); // a broken connection has already rolled back
  }
}
