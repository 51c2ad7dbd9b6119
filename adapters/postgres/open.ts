import { randomUUID } from 'node:crypto';
import type { Clock } from 'intentbook';
import { assertServer, connectPostgres, type PostgresSource } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { assertSchema, migrate, quote } from './migrate.ts';
import { createReplica, type Replica } from './replica.ts';
import type { PgSchema } from './schema.ts';
import { openSession, type PostgresSession, withRetry } from './session.ts';
import { createWatch } from './watch.ts';

export interface StoreSettings {
  readonly schema: string;
  readonly migrate: boolean;
  readonly durable: boolean;
  /** Whether statements are prepared by name. Default: unless a pooler is detected. */
  readonly named: boolean | undefined;
  /** Whether a connection listens. Default: unless a pooler is detected. */
  readonly listen: boolean | undefined;
  readonly pollInterval: number;
}

/** What the parts of a store use of its database. */
export interface PostgresAccess {
  readonly clock: Clock;
  readonly schemaName: string;
  readonly session: PostgresSession;
  readonly replica: Replica | undefined;
  readonly watch: ReturnType<typeof createWatch>;
  /** The channel of notifications, null if there are none, and the text that identifies those of this process. */
  readonly hint: { readonly channel: string | null; readonly signature: string };
}

/**
 * Opens a database. Checks server and schema before anything is changed, except for a requested migration.
 *
 * @param assemble - Creates the operations of the store.
 * @param adopt - Records in the database what it lacks.
 */
export async function openPostgres<Operations extends object>(
  source: PostgresSource,
  settings: StoreSettings,
  definition: PgSchema,
  clock: Clock,
  assemble: (access: PostgresAccess) => Operations,
  adopt: (session: PostgresSession) => Promise<void>,
) {
  const { schema, pollInterval } = settings;
  const { pool, readPool, disconnect } = await connectPostgres(source);
  try {
    const requirements = { durable: settings.durable, isOwnPool: source.kind === 'url' };
    const traits = await withRetry(pool, 'open', (client) => assertServer(client, requirements));
    if (settings.migrate) await migrate(pool, schema, definition);
    // A pooler may lend another session to each transaction: a prepared statement is then missing, and notifications
    // are lost.
    const { named = traits.direct, listen = traits.direct } = settings;
    const replica = readPool === undefined ? undefined : createReplica(readPool);
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
    const session = openSession(pool, {
      ...traits,
      schema: quote(schema),
      named,
      joinable: !pool.singleConnection,
      wait,
      ...(replica && { committed: replica.committed }),
    });
    const [channel, signature] = [`intentbook.${schema}`, randomUUID()];
    const watch = createWatch(pool, clock, { channel, signature, listen, pollInterval });
    const hint = { channel: settings.listen === false ? null : channel, signature };
    const operations = assemble({ clock, schemaName: schema, session, replica, watch, hint });
    await session.read('open', (run) => assertSchema(run, schema, definition));
    await adopt(session);
    const close = async () => {
      watch.close();
      await disconnect();
    };
    return { ...operations, close };
  } catch (cause) {
    await disconnect().catch(() => {}); // the first failure is reported
    throw toStoreError('open', cause);
  }
}
