import type { AccountStore, Address, Clock, Domain } from 'intentbook';
import { createAccountStore, createInMemoryLeases } from 'intentbook/store-kit';
import type { SqliteConnection, SqliteSource } from '../connection.ts';
import { createDatabaseOperations, openOperations } from '../open.ts';
import { type Lease, openSession } from '../session.ts';
import { createAffiliateTable } from './affiliates.ts';
import { createDeliveryTable } from './deliveries.ts';
import { createForget } from './forget.ts';
import { createNotificationTable } from './notifications.ts';
import { createAccountRetention } from './retention.ts';
import { ACCOUNT_MIGRATIONS } from './schema.ts';
import { createSubscriptionTable } from './subscriptions.ts';

/** Recorded instead of a book's domain, so that a book store and an account store reject each other's files. */
const NO_DOMAIN: Domain = { chainId: 0, settlementContract: `0x${'00'.repeat(20)}` };

const SCHEMA = { domain: NO_DOMAIN, migrations: ACCOUNT_MIGRATIONS };

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
      start: ({ clock }) => openOperations(source, SCHEMA, clock, assemble),
    },
  );
}

function assemble(connection: SqliteConnection, lease: Lease, clock: Clock) {
  const session = openSession(connection, lease.assertHeld);
  const forget = createForget(session);
  // The file would otherwise keep the bytes of deleted addresses and messages in unused parts of its pages.
  if (connection.own) connection.database.pragma('secure_delete = ON');
  return {
    notifications: { ...createNotificationTable(session, clock), watch: () => () => {} },
    affiliates: createAffiliateTable(session),
    subscriptions: createSubscriptionTable(session),
    deliveries: createDeliveryTable(session, clock),
    retention: createAccountRetention(session),
    forget(account: Address) {
      const forgotten = forget(account);
      // The write-ahead log has earlier states of the pages.
      if (connection.own) connection.database.pragma('wal_checkpoint(TRUNCATE)');
      return forgotten;
    },
    leases: createInMemoryLeases(() => clock.now()),
    ...createDatabaseOperations(connection, lease, session),
  };
}
