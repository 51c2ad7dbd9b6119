import type { Migration } from '../schema.ts';

/**
 * Creates the tables of the account interface. The `seq` of a notification is its first position in the log. Log
 * entries refer to it, so that a body is stored once.
 *
 * Only an active subscription receives deliveries, and it never becomes inactive again. Every pending delivery can
 * therefore be sent.
 */
const createAccounts: Migration = (p) => `
  CREATE TABLE ${p}feeds (feed TEXT PRIMARY KEY, cursor INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE ${p}progress_markers (
    feed TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (feed, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ${p}notifications (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account BLOB NOT NULL CHECK (length(account) = 20),
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL CHECK (json_valid(body)),
    visible INTEGER NOT NULL CHECK (visible BETWEEN 0 AND 1)
  ) STRICT;

  CREATE INDEX ${p}notifications_list ON ${p}notifications (account, at, seq) WHERE visible = 1;

  CREATE TABLE ${p}account_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account BLOB NOT NULL CHECK (length(account) = 20),
    withdrawn INTEGER NOT NULL CHECK (withdrawn BETWEEN 0 AND 1),
    notification INTEGER NOT NULL
  ) STRICT;

  CREATE INDEX ${p}account_log_account ON ${p}account_log (account, id);

  CREATE TABLE ${p}affiliates (
    wallet BLOB PRIMARY KEY CHECK (length(wallet) = 20),
    code TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ${p}used_signatures (proof BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

  CREATE TABLE ${p}subscriptions (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    account BLOB NOT NULL CHECK (length(account) = 20),
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    types TEXT NOT NULL CHECK (json_valid(types)),
    active INTEGER NOT NULL CHECK (active BETWEEN 0 AND 1),
    secret TEXT,
    created_at INTEGER NOT NULL,
    token_hash BLOB UNIQUE,
    expires_at INTEGER
  ) STRICT;

  CREATE INDEX ${p}subscriptions_account ON ${p}subscriptions (account, n);
  CREATE INDEX ${p}subscriptions_expiry ON ${p}subscriptions (expires_at) WHERE active = 0;
  CREATE INDEX ${p}subscriptions_pending ON ${p}subscriptions (channel, target) WHERE active = 0;

  CREATE TABLE ${p}invitations (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    sent_at INTEGER NOT NULL
  ) STRICT;

  CREATE INDEX ${p}invitations_target ON ${p}invitations (channel, target);
  CREATE INDEX ${p}invitations_sent ON ${p}invitations (sent_at);

  CREATE TABLE ${p}nonces (
    account BLOB NOT NULL,
    nonce TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account, nonce)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX ${p}nonces_expiry ON ${p}nonces (expires_at);

  CREATE TABLE ${p}deliveries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    attempts INTEGER NOT NULL DEFAULT 0,
    claims INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL,
    error TEXT,
    UNIQUE (notification, subscription)
  ) STRICT;

  CREATE INDEX ${p}deliveries_pending ON ${p}deliveries (subscription, seq) WHERE state = 0;
  CREATE INDEX ${p}deliveries_state ON ${p}deliveries (state, seq);
  CREATE INDEX ${p}deliveries_subscription ON ${p}deliveries (subscription);
`;

/** Creates the index that finds the log entries of a notification, which is deleted with the last of them. */
const createRetention: Migration = (p) => `
  CREATE INDEX ${p}account_log_notification ON ${p}account_log (notification);
`;

const selectHead = (p: string, subscription: string) =>
  `(SELECT seq, due FROM ${p}deliveries INDEXED BY ${p}deliveries_pending WHERE state = 0 ` +
  `AND subscription = ${subscription} ORDER BY seq LIMIT 1)`;

/**
 * Creates the lanes of deliveries. `head` and `head_due` are those of the first pending delivery of a subscription, and
 * triggers maintain them: a claim reads a bounded part of an index, however many deliveries are pending.
 *
 * `reliable` is 1 if the last attempt succeeded. `failing_since` is the time of the first failure after that. A
 * suspended subscription has `active = 0` and no token.
 *
 * Invitations are counted by account, by domain of the target and by client.
 */
const createLanes: Migration = (p) => `
  ALTER TABLE ${p}subscriptions ADD COLUMN head INTEGER;
  ALTER TABLE ${p}subscriptions ADD COLUMN head_due INTEGER;
  ALTER TABLE ${p}subscriptions ADD COLUMN reliable INTEGER NOT NULL DEFAULT 0 CHECK (reliable BETWEEN 0 AND 1);
  ALTER TABLE ${p}subscriptions ADD COLUMN failing_since INTEGER;
  ALTER TABLE ${p}subscriptions ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended BETWEEN 0 AND 1);
  UPDATE ${p}subscriptions SET (head, head_due) = ${selectHead(p, `${p}subscriptions.n`)};

  CREATE INDEX ${p}subscriptions_due ON ${p}subscriptions (channel, reliable, head_due, head) WHERE head IS NOT NULL;
  CREATE INDEX ${p}subscriptions_suspended ON ${p}subscriptions (suspended) WHERE suspended = 1;

  CREATE TRIGGER ${p}deliveries_added AFTER INSERT ON ${p}deliveries WHEN NEW.state = 0 BEGIN
    UPDATE ${p}subscriptions SET head = NEW.seq, head_due = NEW.due WHERE n = NEW.subscription AND head IS NULL;
  END;
  CREATE TRIGGER ${p}deliveries_changed AFTER UPDATE OF state, due ON ${p}deliveries
  WHEN OLD.state = 0 OR NEW.state = 0 BEGIN
    UPDATE ${p}subscriptions SET (head, head_due) = ${selectHead(p, 'NEW.subscription')} WHERE n = NEW.subscription;
  END;
  CREATE TRIGGER ${p}deliveries_removed AFTER DELETE ON ${p}deliveries WHEN OLD.state = 0 BEGIN
    UPDATE ${p}subscriptions SET (head, head_due) = ${selectHead(p, 'OLD.subscription')} WHERE n = OLD.subscription;
  END;

  ALTER TABLE ${p}invitations ADD COLUMN account BLOB;
  ALTER TABLE ${p}invitations ADD COLUMN domain TEXT;
  ALTER TABLE ${p}invitations ADD COLUMN client TEXT;
  CREATE INDEX ${p}invitations_account ON ${p}invitations (account);
  CREATE INDEX ${p}invitations_client ON ${p}invitations (client);
`;

/**
 * Schema migrations of an account store, from version 1. A released migration is never changed: new ones are appended.
 */
export const ACCOUNT_MIGRATIONS: readonly Migration[] = [createAccounts, createRetention, createLanes];
