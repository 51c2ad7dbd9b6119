import type { AccountStore, Clock, Domain } from 'intentbook';
import { createAccountStore, createInMemoryLeases } from 'intentbook/store-kit';
import { connectSqlite, type SqliteConnection, type SqliteFile, type SqliteSource } from '../connection.ts';
import { toStoreError } from '../database-driver.ts';
import { assertOwnSchema, migrate } from '../migrate.ts';
import { connectReadOnly, createReaderLease } from '../read-only.ts';
import { openSession, transact } from '../session.ts';
import { acquireLease, type Lease } from '../writer-lease.ts';
import { createAffiliateTable } from './affiliates.ts';
import { createDeliveryTable } from './deliveries.ts';
import { createForget } from './forget.ts';
import { createNotificationTable } from './notifications.ts';
import { createAccountRetention } from './retention.ts';
import { ACCOUNT_MIGRATIONS } from './schema.ts';
import { createSubscriptionTable } from './subscriptions.ts';

/** Recorded instead of a book's domain, so that a book store and an account store reject each other's files. */
const NO_DOMAIN: Domain = { chainId: 0, settlementContract: `0x${'00'.repeat(20)}` };

/** Creates the account store. The operations are synchronous internally: a call has taken effect when it returns. */
export function createSqliteAccountStore(source: SqliteSource): AccountStore {
  return createAccountStore(
    {
      name: 'sqlite',
      durable: source.synchronous === 'FULL' || source.synchronous === 'EXTRA',
      writers: 'single',
    },
    {
      name: 'SQLite account store',
      inUse: 'this SQLite account store is in use already',
      start: ({ clock }) => start(source, clock),
    },
  );
}

async function start(source: SqliteSource, clock: Clock): Promise<ReturnType<typeof assemble>> {
  if (source.kind === 'file' && source.readOnly === true) return startReadOnly(source, clock);
  const connection = await connectSqlite(source);
  let lease: Lease | undefined;
  try {
    lease = transact(connection.database, 'open', () => {
      assertOwnSchema(connection, NO_DOMAIN, ACCOUNT_MIGRATIONS.length);
      return acquireLease(connection, clock);
    });
    migrate(connection, ACCOUNT_MIGRATIONS, lease.assertHeld);
  } catch (cause) {
    try {
      lease?.release();
    } catch {
      // The lease expires; the first failure is reported.
    }
    connection.disconnect();
    throw toStoreError('open', cause);
  }
  lease.startRenewal();
  return assemble(connection, lease, clock);
}

/** Opens a file beside the process that writes it. Writes are rejected. */
async function startReadOnly(source: SqliteFile, clock: Clock) {
  const connection = await connectReadOnly(source, NO_DOMAIN, ACCOUNT_MIGRATIONS.length, async () => {
    (await start({ ...source, readOnly: false }, clock)).close();
  });
  return assemble(connection, createReaderLease(connection), clock);
}

function assemble(connection: SqliteConnection, lease: Lease, clock: Clock) {
  const session = openSession(connection, lease.assertHeld);
  return {
    notifications: { ...createNotificationTable(session, () => clock.now()), watch: () => () => {} },
    affiliates: createAffiliateTable(session),
    subscriptions: createSubscriptionTable(session),
    deliveries: createDeliveryTable(session, () => clock.now()),
    retention: createAccountRetention(session),
    forget: createForget(session),
    leases: createInMemoryLeases(() => clock.now()),
    async check(): Promise<void> {
      lease.assertRenewed();
      session.write('be written to', () => {});
    },
    close(): void {
      try {
        lease.release();
      } finally {
        connection.disconnect();
      }
    },
  };
}
