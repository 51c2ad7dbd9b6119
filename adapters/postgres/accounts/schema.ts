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

${createSubscriptionTables(s)}
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

/** Tables of subscriptions, of their invitations, and of the nonces of proofs. */
const createSubscriptionTables = (s: string) => `CREATE TABLE ${s}.subscriptions (
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
`;

/**
 * Creates the lanes of deliveries. `head` and `head_due` are those of the first pending delivery of a subscription, and
 * a trigger maintains them: a claim reads a bounded part of an index, however many deliveries are pending. The trigger
 * locks the subscription before it reads, so that it sees what concurrent transactions have committed. Its query names
 * the order of `deliveries_pending`, because that of `seq` alone could be read from the primary key.
 *
 * `reliable` is true if the last attempt succeeded. `failing_since` is the time of the first failure after that. A
 * suspended subscription is not active and has no token.
 *
 * Invitations are counted by account, by domain of the target and by client.
 */
const createLanes: PgMigration = {
  version: 2,
  name: 'lanes of deliveries',
  breaking: false,
  locks:
    'ACCESS EXCLUSIVE on subscriptions and invitations, SHARE ROW EXCLUSIVE on deliveries, while subscriptions are rewritten',
  sql: (s) => `
ALTER TABLE ${s}.subscriptions
  ADD COLUMN head bigint,
  ADD COLUMN head_due bigint,
  ADD COLUMN failing_since bigint,
  ADD COLUMN reliable boolean NOT NULL DEFAULT false,
  ADD COLUMN suspended boolean NOT NULL DEFAULT false;

CREATE FUNCTION ${s}.list_head() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text;
  listed bigint;
  first record;
BEGIN
  IF TG_OP = 'DELETE' THEN changed := OLD.subscription; ELSE changed := NEW.subscription; END IF;
  SELECT w.head INTO listed FROM ${s}.subscriptions w WHERE w.id = changed FOR NO KEY UPDATE;
  IF TG_OP = 'INSERT' AND listed IS NOT NULL THEN RETURN NULL; END IF;
  SELECT d.subscription, d.seq, d.due INTO first FROM ${s}.deliveries d
  WHERE d.state = 0 AND d.subscription >= changed ORDER BY d.subscription, d.seq LIMIT 1;
  IF first.subscription = changed THEN
    UPDATE ${s}.subscriptions SET head = first.seq, head_due = first.due WHERE id = changed;
  ELSE
    UPDATE ${s}.subscriptions SET head = NULL, head_due = NULL WHERE id = changed;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_added AFTER INSERT ON ${s}.deliveries FOR EACH ROW
  WHEN (NEW.state = 0) EXECUTE FUNCTION ${s}.list_head();
CREATE TRIGGER deliveries_changed AFTER UPDATE OF state, due ON ${s}.deliveries FOR EACH ROW
  WHEN (OLD.state = 0 OR NEW.state = 0) EXECUTE FUNCTION ${s}.list_head();
CREATE TRIGGER deliveries_removed AFTER DELETE ON ${s}.deliveries FOR EACH ROW
  WHEN (OLD.state = 0) EXECUTE FUNCTION ${s}.list_head();

UPDATE ${s}.subscriptions w SET (head, head_due) = (SELECT d.seq, d.due FROM ${s}.deliveries d
  WHERE d.subscription = w.id AND d.state = 0 ORDER BY d.seq LIMIT 1);
CREATE INDEX subscriptions_due ON ${s}.subscriptions (channel, reliable, head_due, head) WHERE head IS NOT NULL;
CREATE INDEX subscriptions_suspended ON ${s}.subscriptions (suspended) WHERE suspended;

ALTER TABLE ${s}.invitations ADD COLUMN account bytea, ADD COLUMN domain text, ADD COLUMN client text;
CREATE INDEX invitations_account ON ${s}.invitations (account);
CREATE INDEX invitations_client ON ${s}.invitations (client);
`,
};

export const ACCOUNT_SCHEMA: PgSchema = {
  migrations: [createAccounts, createLanes],
  functions: () => [],
  getRemedy: () => 'run "intentbook migrate --accounts URL", or open it with `migrate` (--migrate)',
};
