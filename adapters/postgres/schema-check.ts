import { createHash } from 'node:crypto';
import type { Query } from './query.ts';
import type { PgMigration } from './schema.ts';
import type { SqlFunction } from './sql/function.ts';

/**
 * Returns the names of the functions that a schema lacks, or has with another text or other settings. PostgreSQL stores
 * the text as it was given.
 */
export async function findDifferentFunctions(
  run: Query,
  name: string,
  expected: readonly SqlFunction[],
): Promise<string[]> {
  const rows = await run<readonly [name: string, body: string, settings: string]>(
    {
      text:
        "SELECT proname, encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), array_to_string(proconfig, ',') " +
        'FROM pg_proc WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)',
    },
    name,
  );
  const existing = new Set(rows.map(([proname, hash, settings]) => `${proname} ${hash} ${settings ?? ''}`));
  return expected.filter((each) => !existing.has(getSignature(each))).map((each) => each.name);
}

function getSignature({ name, body, settings = {} }: SqlFunction): string {
  const hash = createHash('sha256').update(body).digest('hex');
  const list = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  return `${name} ${hash} ${list.join()}`;
}

/** Returns the tables and indexes of the migrations that a schema lacks: `the table orders`. */
export async function findMissingRelations(
  run: Query,
  name: string,
  migrations: readonly PgMigration[],
): Promise<string[]> {
  const rows = await run<readonly [name: string]>(
    { text: 'SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)' },
    name,
  );
  const existing = new Set(rows.map(([relname]) => relname));
  return getRelations(migrations)
    .filter((relation) => !existing.has(relation.name))
    .map((relation) => `the ${relation.kind} ${relation.name}`);
}

const CHANGE =
  /\b(CREATE|DROP)(?: UNIQUE)? (TABLE|INDEX)(?: CONCURRENTLY)?(?: IF (?:NOT )?EXISTS)? (?:schema\.)?(\w+)/g;

/** Returns the tables and indexes that exist after all migrations. */
function getRelations(migrations: readonly PgMigration[]) {
  const relations = new Map<string, { readonly name: string; readonly kind: string }>();
  for (const { sql, concurrently } of migrations) {
    const text = [sql('schema'), ...(concurrently?.('schema') ?? [])].join(';');
    for (const [, action, kind = '', relation = ''] of text.matchAll(CHANGE)) {
      if (action === 'DROP') relations.delete(relation);
      else relations.set(relation, { name: relation, kind: kind.toLowerCase() });
    }
  }
  return [...relations.values()];
}
