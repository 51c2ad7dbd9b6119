import type { AccountStore } from 'intentbook';
import { createAccountStore } from 'intentbook/store-kit';
import type { PostgresSource } from '../connection.ts';
import { createLeaseTable } from '../leases.ts';
import { assertVisible } from '../migrate.ts';
import { openPostgres, type PostgresAccess, type StoreSettings } from '../open.ts';
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
      start: ({ clock }) => openPostgres(source, settings, ACCOUNT_SCHEMA, clock, assemble, recordOrigin),
    },
  );
}

function assemble({ clock, schemaName, session, watch, hint }: PostgresAccess) {
  const now = () => clock.now();
  const acquireLock = createSerialLock(session);
  const notify = session.prepare('SELECT pg_notify($1, $2)');
  // Outside a writing transaction: the server serializes the commits of writing transactions with notifications.
  const notifyProcesses = async () => {
    if (hint.channel === null) return;
    await session.read('notify of log entries', async (run) => void (await run(notify, hint.channel, hint.signature)));
  };
  return {
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
        await assertVisible(run, schemaName, ACCOUNT_SCHEMA);
        await acquireLock(run, 'affiliates');
      }),
  };
}
