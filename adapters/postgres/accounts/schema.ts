import type { PgMigration, PgSchema } from '../schema.ts';

/**
 * Creates the tables of the account interface. A transaction that changes related rows locks a row of `locks` until its
 * commit: `log` for the log and its effects on deliveries, so that ids follow commits; `affiliates`; `subscriptions`.
 * The row `log` has the last id of the log, and the origin of that entry with the transaction that appended it. After a
 * failover, and after a restore from a dump, these differ, and the log continues in a new log epoch.
 *
 * Of used signatures only the SHA-256 is stored, because contract signatures have any length.
 *
 * A delivery is deleted with its subscription. The pending ones are indexed by subscription.
 */
const createAccounts: PgMigration = {
  version: 1,
  name: 'accounts',
  breaking: false,
  locks: 'none: the tables are new',
  sql: (s) => `
CREATE TABLE ${s}.locks (
  name text PRIMARY KEY,
  last bigint NOT NULL,
  xid bigint,
  origin text
) WITH (fillfactor = 10);
INSERT INTO ${s}.locks (name, last) VALUES ('log', 0), ('affiliates', 0), ('subscriptions', 0);

CREATE TABLE ${s}.feeds (
  feed text PRIMARY KEY,
  cursor bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE ${s}.progress_markers (
  feed text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (feed, key)
);

CREATE TABLE ${s}.notifications (
  seq bigint NOT NULL,
  at bigint NOT NULL,
  visible boolean NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  id text COLLATE "C" PRIMARY KEY,
  type text NOT NULL,
  body text NOT NULL CHECK (body::json IS NOT NULL)
);
CREATE INDEX notifications_account ON ${s}.notifications (account, at, seq) WHERE visible;

CREATE TABLE ${s}.log (
  id bigint PRIMARY KEY,
  withdrawn boolean NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  notification text COLLATE "C" NOT NULL REFERENCES ${s}.notifications (id)
);
CREATE INDEX log_account ON ${s}.log (account, id);
CREATE INDEX log_notification ON ${s}.log (notification);

CREATE TABLE ${s}.affiliates (
  wallet bytea PRIMARY KEY CHECK (octet_length(wallet) = 20),
  code text NOT NULL UNIQUE,
  created bigint NOT NULL
);

CREATE TABLE ${s}.used_signatures (
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32)
);

CREATE TABLE ${s}.subscriptions (
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  created bigint NOT NULL,
  token_expires bigint,
  active boolean NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  token_hash bytea UNIQUE,
  id text COLLATE "C" PRIMARY KEY,
  channel text NOT NULL,
  target text NOT NULL,
  types text[] NOT NULL,
  secret text
);
CREATE INDEX subscriptions_account ON ${s}.subscriptions (account, ordinal);
CREATE INDEX subscriptions_pending ON ${s}.subscriptions (token_expires) WHERE NOT active;
CREATE INDEX subscriptions_waiting ON ${s}.subscriptions (channel, target) WHERE NOT active;

CREATE TABLE ${s}.invitations (
  sent bigint NOT NULL,
  channel text NOT NULL,
  target text NOT NULL
);

CREATE INDEX invitations_target ON ${s}.invitations (channel, target);
CREATE INDEX invitations_sent ON ${s}.invitations (sent);

CREATE TABLE ${s}.nonces (
  expires bigint NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  nonce text NOT NULL,
  PRIMARY KEY (account, nonce)
);
CREATE INDEX nonces_expiry ON ${s}.nonces (expires);

CREATE TABLE ${s}.deliveries (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  due bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  claims integer NOT NULL DEFAULT 0,
  state smallint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
  subscription text COLLATE "C" NOT NULL REFERENCES ${s}.subscriptions (id) ON DELETE CASCADE,
  notification text COLLATE "C" NOT NULL REFERENCES ${s}.notifications (id),
  error text,
  UNIQUE (notification, subscription)
) WITH (fillfactor = 80);
CREATE INDEX deliveries_pending ON ${s}.deliveries (subscription, seq) WHERE state = 0;
CREATE INDEX deliveries_subscription ON ${s}.deliveries (subscription);
CREATE INDEX deliveries_state ON ${s}.deliveries (state, seq) WHERE state <> 1;

CREATE TABLE ${s}.leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  term bigint NOT NULL,
  expires bigint NOT NULL
);
`,
};

/** The schema of the account interface. */
export const ACCOUNT_SCHEMA: PgSchema = {
  migrations: [createAccounts],
  functions: () => [],
  getRemedy: () => 'run "intentbook migrate --accounts <url>", or open it with `migrate`',
};
