import { randomUUID } from 'node:crypto';
import type { AccountStore, Clock } from 'intentbook';
import { createAccountStore } from 'intentbook/store-kit';
import { assertServer, connectPostgres, type PostgresConnection, type PostgresSource } from '../connection.ts';
import { toStoreError } from '../database-driver.ts';
import { createLeaseTable } from '../leases.ts';
import { assertSchema, assertVisible, migrate, quote } from '../migrate.ts';
import { openSession, withRetry } from '../session.ts';
import { type ResolvedSettings, resolveSettings, type StoreSettings } from '../store.ts';
import { createWatch } from '../watch.ts';
import { createAffiliateTable } from './affiliates.ts';
import { createDeliveryTable, createOutbox } from './deliveries.ts';
import { createForget } from './forget.ts';
import { createNotificationTable } from './notifications.ts';
import { createAccountRetention } from './retention.ts';
import { ACCOUNT_SCHEMA } from './schema.ts';
import { createSerialLock, recordOrigin } from './serial-lock.ts';
import { createSubscriptionTable } from './subscriptions.ts';

export function createPostgresAccountStore(source: PostgresSource, settings: StoreSettings): AccountStore {
  return createAccountStore(
    { name: 'postgres', durable: settings.durable, writers: 'many' },
    {
      name: 'PostgreSQL account store',
      inUse: 'this PostgreSQL account store is already in use; create one for each user',
      start: ({ clock }) => start(source, settings, clock),
    },
  );
}

async function start(source: PostgresSource, settings: StoreSettings, clock: Clock) {
  const connection = await connectPostgres(source);
  const requirements = { durable: settings.durable, isOwnPool: source.kind === 'url' };
  try {
    const traits = await withRetry(connection.pool, 'open', (client) => assertServer(client, requirements));
    const parts = assemble(connection, resolveSettings(settings, traits), clock);
    if (settings.migrate) await migrate(connection.pool, settings.schema, ACCOUNT_SCHEMA);
    await parts.session.read('open', (run) => assertSchema(run, settings.schema, ACCOUNT_SCHEMA));
    await recordOrigin(parts.session);
    return parts;
  } catch (cause) {
    await connection.disconnect().catch(() => {}); // the first failure is reported
    throw toStoreError('open', cause);
  }
}

function assemble(connection: PostgresConnection, settings: ResolvedSettings, clock: Clock) {
  const schema = quote(settings.schema);
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const { named, direct, strict } = settings;
  const session = openSession(connection.pool, {
    schema,
    named,
    direct,
    strict,
    wait,
  });
  const now = () => clock.now();
  const acquireLock = createSerialLock(session);
  const hint = { channel: `intentbook.${settings.schema}`, signature: randomUUID() };
  const notify = session.prepare('SELECT pg_notify($1, $2)');
  // Outside a writing transaction: the server serializes the commits of writing transactions with notifications.
  const notifyProcesses = async () => {
    if (!settings.notify) return;
    await session.read('notify of log entries', async (run) => void (await run(notify, hint.channel, hint.signature)));
  };
  const { listen, pollInterval } = settings;
  const watch = createWatch(connection.pool, clock, { ...hint, listen, pollInterval });
  return {
    session,
    notifications: {
      ...createNotificationTable(session, acquireLock, createOutbox(session, now), notifyProcesses),
      watch: watch.add,
    },
    affiliates: createAffiliateTable(session, acquireLock),
    subscriptions: createSubscriptionTable(session, acquireLock),
    deliveries: createDeliveryTable(session, acquireLock, now),
    retention: createAccountRetention(session, acquireLock),
    forget: createForget(session, acquireLock),
    leases: createLeaseTable(session, now),
    check: () =>
      session.write('be written to', async (run) => {
        await assertVisible(run, settings.schema, ACCOUNT_SCHEMA);
        await acquireLock(run, 'affiliates');
      }),
    async close(): Promise<void> {
      watch.close();
      await connection.disconnect();
    },
  };
}
