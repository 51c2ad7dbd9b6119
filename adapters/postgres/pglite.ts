import type { PgPool, PgPoolClient, PgQuery } from './database-driver.ts';

/** The part of the class `PGlite` that the store uses. */
export interface PgliteDatabase {
  query(text: string, values: unknown[], options: PgliteQueryOptions): Promise<PgliteResult>;
  exec(text: string, options: PgliteQueryOptions): Promise<PgliteResult[]>;
  /** Parsers and serializers of all types that the database knows, by type id. */
  readonly parsers: Readonly<Record<string, unknown>>;
  readonly serializers: Readonly<Record<string, unknown>>;
  readonly waitReady: Promise<void>;
}

/** Options of a statement of PGlite. */
export interface PgliteQueryOptions {
  readonly rowMode: 'array' | 'object';
  readonly parsers: Record<string, (text: string) => unknown>;
  readonly serializers: Record<string, (value: unknown) => string>;
}

/** Result of a statement of PGlite. */
export interface PgliteResult {
  readonly rows: unknown[];
}

/** Options of a store on PGlite. */
export interface PgliteOptions {
  /** Schema of the tables: letters, digits and `_`, at most 40 characters. Default: `intentbook`. */
  readonly schema?: string;
}

/**
 * Returns the pool of a PGlite database, which has one connection: it is lent to one caller at a time. All stores of
 * the database must use the same pool, so it is created once.
 */
export function getPglitePool(database: PgliteDatabase): PgPool {
  const known = pools.get(database);
  if (known !== undefined) return known;
  const pool = createPglitePool(database);
  pools.set(database, pool);
  return pool;
}

const pools = new WeakMap<PgliteDatabase, PgPool>();

function createPglitePool(database: PgliteDatabase): PgPool {
  let last: Promise<void> = Promise.resolve();
  const query = createQueryFunction(database);

  async function lend(): Promise<PgPoolClient> {
    await database.waitReady;
    const earlier = last;
    let pass: () => void = () => {};
    last = new Promise((resolve) => {
      pass = resolve;
    });
    await earlier;
    let lent = true;
    return {
      query,
      // Differs from the id of the server, like behind a pooler: the store neither prepares statements nor listens.
      processID: 0,
      release(error) {
        if (!lent) return;
        lent = false;
        if (error === undefined || error === false) pass();
        // A pool would close the connection, which ends its transaction.
        else void query({ text: 'ROLLBACK' }).then(pass, pass);
      },
    };
  }
  return { connect: lend, singleConnection: true };
}

function createQueryFunction(database: PgliteDatabase): (query: PgQuery) => Promise<{ readonly rows: unknown[] }> {
  const serializers = Object.fromEntries(Object.keys(database.serializers).map((id) => [id, toText]));
  const parsers = new WeakMap<object, PgliteQueryOptions['parsers']>();

  function getParsers(types: PgQuery['types']): PgliteQueryOptions['parsers'] {
    if (types === undefined) return {};
    const known = parsers.get(types);
    if (known !== undefined) return known;
    const ids = [...Object.keys(database.parsers), ...OTHER_TYPES];
    const found = Object.fromEntries(ids.map((id) => [id, types.getTypeParser(Number(id), 'text')]));
    parsers.set(types, found);
    return found;
  }

  return async ({ text, values = [], rowMode, types }) => {
    const options: PgliteQueryOptions = { rowMode: rowMode ?? 'object', parsers: getParsers(types), serializers };
    if (values.length > 0) return database.query(text, values.map(orNull), options);
    // Several statements, like the driver's simple protocol: their results are a list.
    const results = await database.exec(text, options);
    const [only] = results;
    return results.length === 1 && only !== undefined ? only : (results as never); // see toResults
  };
}

/** Types without a parser in PGlite: xid8, and the type of a literal. */
const OTHER_TYPES = ['5069', '705'];

const orNull = (value: unknown) => value ?? null;

/** Formats a value for the server, like node-postgres. */
function toText(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const items = value.map((item: unknown) => (item == null ? 'NULL' : `"${toText(item).replace(/["\\]/g, '\\$&')}"`));
  return `{${items.join()}}`;
}
