import { randomUUID } from 'node:crypto';
import type { AccountStore, Clock } from 'intentbook';
import { createStoreLifecycle } from 'intentbook/store-kit';
import { assertServer, connectPostgres, type PostgresConnection, type PostgresSource } from '../connection.ts';
import { toStoreError } from '../database-driver.ts';
import { createLeaseTable } from '../leases.ts';
import { assertSchema, migrate, quote } from '../migrate.ts';
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

/** Creates an account store. */
export function createPostgresAccountStore(source: PostgresSource, settings: StoreSettings): AccountStore {
  const { parts, run, open, close } = createStoreLifecycle<ReturnType<typeof assemble>>(
    'PostgreSQL account store',
    'this PostgreSQL account store is already in use; create one for each user',
  );

  return {
    traits: { name: 'postgres', durable: settings.durable, writers: 'many' },
    open: ({ clock }) => open(() => start(source, settings, clock)),
    close,
    check: () => run((parts) => parts.check()),
    forget: (account) => run(({ forget }) => forget(account)),
    notifications: {
      cursor: (feed) => run(({ notifications }) => notifications.cursor(feed)),
      append: (batch) => run(({ notifications }) => notifications.append(batch)),
      list: (query) => run(({ notifications }) => notifications.list(query)),
      marks: (feed, keys) => run(({ notifications }) => notifications.marks(feed, keys)),
      last: () => run(({ notifications }) => notifications.last()),
      after: (id, limit, account) => run(({ notifications }) => notifications.after(id, limit, account)),
      watch(hint) {
        return parts().watch.add(hint);
      },
    },
    affiliates: {
      register: (affiliate) => run(({ affiliates }) => affiliates.register(affiliate)),
      byWallet: (wallet) => run(({ affiliates }) => affiliates.byWallet(wallet)),
      byCode: (code) => run(({ affiliates }) => affiliates.byCode(code)),
    },
    subscriptions: {
      create: (request) => run(({ subscriptions }) => subscriptions.create(request)),
      confirm: (request) => run(({ subscriptions }) => subscriptions.confirm(request)),
      list: (account) => run(({ subscriptions }) => subscriptions.list(account)),
      remove: (request) => run(({ subscriptions }) => subscriptions.remove(request)),
    },
    deliveries: {
      claim: (request) => run(({ deliveries }) => deliveries.claim(request)),
      recordResult: (request) => run(({ deliveries }) => deliveries.recordResult(request)),
      list: (query) => run(({ deliveries }) => deliveries.list(query)),
      count: () => run(({ deliveries }) => deliveries.count()),
      replay: (request) => run(({ deliveries }) => deliveries.replay(request)),
    },
    leases: {
      acquire: (request) => run(({ leases }) => leases.acquire(request)),
      release: (lease) => run(({ leases }) => leases.release(lease)),
    },
    retention: {
      prunedThrough: () => run(({ retention }) => retention.prunedThrough()),
      pruneNotifications: (request) => run(({ retention }) => retention.pruneNotifications(request)),
      pruneNonces: (now, limit) => run(({ retention }) => retention.pruneNonces(now, limit)),
    },
  };
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
    watch,
    notifications: createNotificationTable(session, acquireLock, createOutbox(session, now), notifyProcesses),
    affiliates: createAffiliateTable(session, acquireLock),
    subscriptions: createSubscriptionTable(session, acquireLock),
    deliveries: createDeliveryTable(session, acquireLock, now),
    retention: createAccountRetention(session, acquireLock),
    forget: createForget(session, acquireLock),
    leases: createLeaseTable(session, now),
    check: () => session.write('be written to', async (run) => void (await acquireLock(run, 'affiliates'))),
    async close(): Promise<void> {
      watch.close();
      await connection.disconnect();
    },
  };
}
