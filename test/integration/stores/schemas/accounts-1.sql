CREATE SCHEMA IF NOT EXISTS "released";

CREATE TABLE IF NOT EXISTS "released".migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  breaking boolean NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS "released".domain (
  id smallint PRIMARY KEY CHECK (id = 1),
  chain_id bigint NOT NULL,
  settlement_contract bytea NOT NULL CHECK (octet_length(settlement_contract) = 20)
);

CREATE TABLE "released".locks (
  name text PRIMARY KEY,
  last bigint NOT NULL,
  xid bigint,
  origin text
) WITH (fillfactor = 10);
INSERT INTO "released".locks (name, last) VALUES ('log', 0), ('affiliates', 0), ('subscriptions', 0);

CREATE TABLE "released".feeds (
  feed text PRIMARY KEY,
  cursor bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE "released".progress_markers (
  feed text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (feed, key)
);

CREATE TABLE "released".notifications (
  seq bigint NOT NULL,
  at bigint NOT NULL,
  visible boolean NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  id text COLLATE "C" PRIMARY KEY,
  type text NOT NULL,
  body text NOT NULL CHECK (body::json IS NOT NULL)
);
CREATE INDEX notifications_account ON "released".notifications (account, at, seq) WHERE visible;

CREATE TABLE "released".log (
  id bigint PRIMARY KEY,
  withdrawn boolean NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  notification text COLLATE "C" NOT NULL REFERENCES "released".notifications (id)
);
CREATE INDEX log_account ON "released".log (account, id);
CREATE INDEX log_notification ON "released".log (notification);

CREATE TABLE "released".affiliates (
  wallet bytea PRIMARY KEY CHECK (octet_length(wallet) = 20),
  code text NOT NULL UNIQUE,
  created bigint NOT NULL
);

CREATE TABLE "released".used_signatures (
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32)
);

CREATE TABLE "released".subscriptions (
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
CREATE INDEX subscriptions_account ON "released".subscriptions (account, ordinal);
CREATE INDEX subscriptions_pending ON "released".subscriptions (token_expires) WHERE NOT active;
CREATE INDEX subscriptions_waiting ON "released".subscriptions (channel, target) WHERE NOT active;

CREATE TABLE "released".invitations (
  sent bigint NOT NULL,
  channel text NOT NULL,
  target text NOT NULL
);

CREATE INDEX invitations_target ON "released".invitations (channel, target);
CREATE INDEX invitations_sent ON "released".invitations (sent);

CREATE TABLE "released".nonces (
  expires bigint NOT NULL,
  account bytea NOT NULL CHECK (octet_length(account) = 20),
  nonce text NOT NULL,
  PRIMARY KEY (account, nonce)
);
CREATE INDEX nonces_expiry ON "released".nonces (expires);

CREATE TABLE "released".deliveries (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  due bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  claims integer NOT NULL DEFAULT 0,
  state smallint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
  subscription text COLLATE "C" NOT NULL REFERENCES "released".subscriptions (id) ON DELETE CASCADE,
  notification text COLLATE "C" NOT NULL REFERENCES "released".notifications (id),
  error text,
  UNIQUE (notification, subscription)
) WITH (fillfactor = 80);
CREATE INDEX deliveries_pending ON "released".deliveries (subscription, seq) WHERE state = 0;
CREATE INDEX deliveries_subscription ON "released".deliveries (subscription);
CREATE INDEX deliveries_state ON "released".deliveries (state, seq) WHERE state <> 1;

CREATE TABLE "released".leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  term bigint NOT NULL,
  expires bigint NOT NULL
);

INSERT INTO "released".migrations (version, name, breaking) VALUES (1, 'accounts', false);
