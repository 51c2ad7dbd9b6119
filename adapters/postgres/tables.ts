import { ownerPrefix, splitDate } from './conditions.ts';

/** Returns SQL that creates the tables with rows of owners, see `createBook` in schema.ts. */
export const createOwnedTables = (s: string) => `
CREATE TABLE ${s}.orders (
  created bigint NOT NULL,
  valid_to bigint NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  attempt integer NOT NULL DEFAULT 0,
  checksum integer,
  signing_scheme smallint NOT NULL CHECK (signing_scheme BETWEEN 0 AND 3),
  phase smallint NOT NULL CHECK (phase BETWEEN 0 AND 5),
  quota_class smallint NOT NULL CHECK (quota_class BETWEEN 0 AND 1),
  invalidated boolean NOT NULL DEFAULT false,
  cancelled_off_chain boolean NOT NULL DEFAULT false,
  placed_on_chain boolean NOT NULL DEFAULT false,
  key bytea CHECK (octet_length(key) = 56),
  owner bytea NOT NULL CHECK (octet_length(owner) = 20),
  sell_token bytea NOT NULL CHECK (octet_length(sell_token) = 20),
  buy_token bytea NOT NULL CHECK (octet_length(buy_token) = 20),
  app_data bytea NOT NULL CHECK (octet_length(app_data) = 32),
  executed_sell_amount numeric NOT NULL DEFAULT 0 CHECK (executed_sell_amount >= 0),
  executed_buy_amount numeric NOT NULL DEFAULT 0 CHECK (executed_buy_amount >= 0),
  executed_fee_amount numeric NOT NULL DEFAULT 0 CHECK (executed_fee_amount >= 0),
  executed_fee numeric NOT NULL DEFAULT 0 CHECK (executed_fee >= 0),
  executed_fee_token bytea CHECK (octet_length(executed_fee_token) = 20),
  onchain_user bytea CHECK (octet_length(onchain_user) = 20),
  body text NOT NULL CHECK (body::json IS NOT NULL),
  quote text,
  placement text, PRIMARY KEY (key));

CREATE INDEX orders_owner ON ${s}.orders (${ownerPrefix('owner')}, phase, ${splitDate('created').high}, ${splitDate('created').low});
CREATE INDEX orders_sell ON ${s}.orders (sell_token, phase, created);
CREATE INDEX orders_buy ON ${s}.orders (buy_token, phase, created);
CREATE INDEX orders_newest ON ${s}.orders (phase, created);
CREATE INDEX orders_expiry ON ${s}.orders ((phase / 2), valid_to) WHERE phase < 4;
CREATE INDEX orders_onchain_user ON ${s}.orders (onchain_user, phase, created) WHERE onchain_user IS NOT NULL;
CREATE INDEX orders_onchain_expiry ON ${s}.orders (valid_to) WHERE onchain_user IS NOT NULL;

ALTER INDEX ${s}.orders_owner ALTER COLUMN 1 SET STATISTICS 0;

CREATE TABLE ${s}.fills (
  version bigint NOT NULL,
  key bytea CHECK (octet_length(key) = 56),
  executed_sell_amount numeric NOT NULL CHECK (executed_sell_amount >= 0),
  executed_buy_amount numeric NOT NULL CHECK (executed_buy_amount >= 0),
  executed_fee_amount numeric NOT NULL CHECK (executed_fee_amount >= 0),
  executed_fee numeric NOT NULL CHECK (executed_fee >= 0),
  executed_fee_token bytea CHECK (octet_length(executed_fee_token) = 20), PRIMARY KEY (key)) WITH (fillfactor = 45);

CREATE TABLE ${s}.tombstones (key bytea CHECK (octet_length(key) = 56), PRIMARY KEY (key));

CREATE TABLE ${s}.owners (
  owner bytea CHECK (octet_length(owner) = 20),
  live_open bigint NOT NULL CHECK (live_open >= 0),
  live_pending bigint NOT NULL CHECK (live_pending >= 0), PRIMARY KEY (owner)) WITH (fillfactor = 45);

ALTER TABLE ${s}.orders ALTER owner SET STATISTICS 0, ALTER sell_token SET STATISTICS 0,
  ALTER buy_token SET STATISTICS 0, ALTER onchain_user SET STATISTICS 0, ALTER phase SET STATISTICS 0;
`;
