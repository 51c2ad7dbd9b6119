/** One schema migration. */
export interface PgMigration {
  /** 1, 2, 3 and so on, without gaps. */
  readonly version: number;
  readonly name: string;
  /**
   * Whether a release without this migration can no longer use the tables. Migrations only add, so few are breaking.
   */
  readonly breaking: boolean;
  /** Returns the SQL statements. The schema is a quoted identifier, which is already validated. */
  readonly sql: (schema: string) => string;
}

/**
 * Creates the tables that every schema version has in this form: the applied migrations and the domain. They are read
 * before the schema version is known, so they never change.
 */
export const BASE_SCHEMA = (s: string) => `
CREATE TABLE IF NOT EXISTS ${s}.migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  breaking boolean NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS ${s}.domain (
  id smallint PRIMARY KEY CHECK (id = 1),
  chain_id bigint NOT NULL,
  settlement_contract bytea NOT NULL CHECK (octet_length(settlement_contract) = 20)
);
`;

/**
 * Creates the tables of orders, app data, the event log and leases.
 *
 * Columns of fixed width come first, to avoid alignment padding. The codes of state, scheme and budget are in rows.ts.
 * Each page keeps free space for new row versions, so that a partial fill updates no index.
 *
 * `live` is true for an order that is open or waits for its pre-signature, and its expiry is not recorded yet. Queries
 * that depend on the time also compare `valid_to`.
 *
 * Statistics of owners and tokens are disabled. They contain averages, by which an owner has few orders; the planner
 * would then read and sort all orders of an owner with a million. Without statistics, the planner expects many rows for
 * every value and reads the page from an index, which is good for all listings: see listing.ts.
 *
 * Executed totals are not bounded by 2^256, and numeric is not either.
 *
 * The log is written in two steps, so that ids follow commits although no writer waits for another: see events.ts.
 */
const createBook: PgMigration = {
  version: 1,
  name: 'orders',
  breaking: false,
  sql: (s) => `
CREATE TABLE ${s}.orders (
  created bigint NOT NULL,
  valid_to bigint NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  signing_scheme smallint NOT NULL CHECK (signing_scheme BETWEEN 0 AND 3),
  state smallint NOT NULL CHECK (state BETWEEN 0 AND 3),
  budget smallint NOT NULL CHECK (budget BETWEEN 0 AND 1),
  live boolean NOT NULL,
  invalidated boolean NOT NULL DEFAULT false,
  uid bytea NOT NULL CHECK (octet_length(uid) = 56),
  owner bytea NOT NULL CHECK (octet_length(owner) = 20),
  sell_token bytea NOT NULL CHECK (octet_length(sell_token) = 20),
  buy_token bytea NOT NULL CHECK (octet_length(buy_token) = 20),
  app_data bytea NOT NULL CHECK (octet_length(app_data) = 32),
  executed_sell_amount numeric NOT NULL DEFAULT 0 CHECK (executed_sell_amount >= 0),
  executed_buy_amount numeric NOT NULL DEFAULT 0 CHECK (executed_buy_amount >= 0),
  executed_fee_amount numeric NOT NULL DEFAULT 0 CHECK (executed_fee_amount >= 0),
  executed_fee numeric NOT NULL DEFAULT 0 CHECK (executed_fee >= 0),
  executed_fee_token bytea CHECK (octet_length(executed_fee_token) = 20),
  body text NOT NULL CHECK (body::json IS NOT NULL)
) WITH (fillfactor = 90);

CREATE UNIQUE INDEX orders_uid ON ${s}.orders (uid);

CREATE INDEX orders_newest ON ${s}.orders (created, uid);
CREATE INDEX orders_owner ON ${s}.orders (owner, created, uid);
CREATE INDEX orders_sell ON ${s}.orders (sell_token, created, uid);
CREATE INDEX orders_buy ON ${s}.orders (buy_token, created, uid);

CREATE INDEX orders_live_newest ON ${s}.orders (created, uid) WHERE live;
CREATE INDEX orders_live_owner ON ${s}.orders (owner, created, uid) WHERE live;
CREATE INDEX orders_live_sell ON ${s}.orders (sell_token, created, uid) WHERE live;
CREATE INDEX orders_live_buy ON ${s}.orders (buy_token, created, uid) WHERE live;
CREATE INDEX orders_live_pair ON ${s}.orders (sell_token, buy_token, created, uid) WHERE live;
CREATE INDEX orders_live_expiry ON ${s}.orders (owner, budget, valid_to) WHERE live;

CREATE INDEX orders_done ON ${s}.orders (state, created, uid) WHERE NOT live;

ALTER TABLE ${s}.orders ALTER owner SET STATISTICS 0, ALTER sell_token SET STATISTICS 0, ALTER buy_token SET STATISTICS 0;

CREATE TABLE ${s}.owners (
  owner bytea PRIMARY KEY CHECK (octet_length(owner) = 20),
  live_open bigint NOT NULL CHECK (live_open >= 0),
  live_pending bigint NOT NULL CHECK (live_pending >= 0)
) WITH (fillfactor = 70);

CREATE TABLE ${s}.documents (
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  referenced boolean NOT NULL,
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  document text NOT NULL
);

CREATE INDEX documents_unreferenced ON ${s}.documents (ordinal) WHERE NOT referenced;

CREATE TABLE ${s}.events (
  id bigint PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  uid bytea NOT NULL,
  owner bytea NOT NULL
);

CREATE TABLE ${s}.event_queue (
  ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  uid bytea NOT NULL CHECK (octet_length(uid) = 56),
  owner bytea NOT NULL CHECK (octet_length(owner) = 20)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE TABLE ${s}.event_ids (
  id smallint PRIMARY KEY CHECK (id = 1),
  last bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO ${s}.event_ids (id, last) VALUES (1, 0);

CREATE TABLE ${s}.leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  term bigint NOT NULL,
  expires bigint NOT NULL
);
`,
};

/**
 * Creates the tables of quotes. An order has its own copy of its quote. The codes of kinds are in rows.ts. `rank` is
 * compared byte by byte, independent of the collation of the database.
 */
const createQuotes: PgMigration = {
  version: 2,
  name: 'quotes',
  breaking: false,
  sql: (s) => `
CREATE TABLE ${s}.quotes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  expires_at bigint NOT NULL,
  kind smallint NOT NULL CHECK (kind BETWEEN 0 AND 1),
  quote_kind smallint NOT NULL CHECK (quote_kind BETWEEN 0 AND 2),
  sell_token bytea NOT NULL CHECK (octet_length(sell_token) = 20),
  buy_token bytea NOT NULL CHECK (octet_length(buy_token) = 20),
  amount text NOT NULL,
  rank text COLLATE "C" NOT NULL,
  body text NOT NULL CHECK (body::json IS NOT NULL),
  metadata text NOT NULL CHECK (metadata::json IS NOT NULL)
);

CREATE INDEX quotes_terms ON ${s}.quotes (sell_token, buy_token, kind, amount, quote_kind, rank, id);
CREATE INDEX quotes_expiry ON ${s}.quotes (expires_at);

CREATE TABLE ${s}.order_quotes (
  uid bytea PRIMARY KEY CHECK (octet_length(uid) = 56),
  body text NOT NULL CHECK (body::json IS NOT NULL),
  metadata text NOT NULL CHECK (metadata::json IS NOT NULL)
);
`,
};

/**
 * Creates the tables of chain events and of the indexer's progress. The key of a chain event is its log position;
 * `detail` is JSON with the other fields. The migration is breaking: a release that does not write
 * `cancelled_off_chain` would lose cancellations when a block is rolled back.
 */
const createChainEvents: PgMigration = {
  version: 3,
  name: 'chain',
  breaking: true,
  sql: (s) => `
ALTER TABLE ${s}.orders
  ADD COLUMN cancelled_off_chain boolean NOT NULL DEFAULT false,
  ADD COLUMN placed_on_chain boolean NOT NULL DEFAULT false,
  ADD COLUMN placement text,
  ADD COLUMN onchain_user bytea CHECK (octet_length(onchain_user) = 20);
UPDATE ${s}.orders SET cancelled_off_chain = true WHERE invalidated;
ALTER TABLE ${s}.orders ALTER onchain_user SET STATISTICS 0;
CREATE INDEX orders_onchain_user ON ${s}.orders (onchain_user, created, uid) WHERE onchain_user IS NOT NULL;

ALTER TABLE ${s}.events ADD COLUMN cause text;
ALTER TABLE ${s}.event_queue ADD COLUMN cause text;

CREATE TABLE ${s}.chain_events (
  block bigint NOT NULL,
  log integer NOT NULL,
  type smallint NOT NULL,
  "timestamp" bigint,
  block_hash bytea NOT NULL CHECK (octet_length(block_hash) = 32),
  transaction_hash bytea NOT NULL CHECK (octet_length(transaction_hash) = 32),
  uid bytea CHECK (octet_length(uid) = 56),
  owner bytea CHECK (octet_length(owner) = 20),
  detail text NOT NULL,
  PRIMARY KEY (block, log)
);
CREATE INDEX chain_events_uid ON ${s}.chain_events (uid, block, log) WHERE uid IS NOT NULL;
CREATE INDEX chain_events_owner ON ${s}.chain_events (owner, block, log) WHERE owner IS NOT NULL;
CREATE INDEX chain_events_transaction ON ${s}.chain_events (transaction_hash, block, log);

CREATE TABLE ${s}.blocks (
  number bigint PRIMARY KEY,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);

CREATE TABLE ${s}.progress (
  id smallint PRIMARY KEY CHECK (id = 1),
  number bigint,
  hash bytea CHECK (octet_length(hash) = 32)
);
INSERT INTO ${s}.progress (id) VALUES (1);
`,
};

/**
 * Creates the indexes for recording expiry: the live orders by `valid_to`, and the listing of expired orders, which are
 * not live and neither cancelled nor fulfilled. The migration is breaking: an older release would not list expired
 * orders and would make them live again.
 */
const createExpiryIndexes: PgMigration = {
  version: 4,
  name: 'expiry',
  breaking: true,
  sql: (s) => `
CREATE INDEX orders_expiring ON ${s}.orders (valid_to) WHERE live;
CREATE INDEX orders_expired ON ${s}.orders (created, uid) WHERE NOT live AND state < 2;
`,
};

/**
 * Creates the tables of auctions. Auction ids are never reused, so a settlement always refers to one auction. An older
 * release leaves the column empty; its only effect is that competitions lack those transactions.
 */
const createAuctions: PgMigration = {
  version: 5,
  name: 'auctions',
  breaking: false,
  sql: (s) => `
ALTER TABLE ${s}.chain_events ADD COLUMN auction bigint;
UPDATE ${s}.chain_events SET auction = (detail::json ->> 'auctionId')::bigint WHERE type = 1;
CREATE INDEX chain_events_auction ON ${s}.chain_events (auction, block, log) WHERE auction IS NOT NULL;

CREATE TABLE ${s}.auctions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  block bigint NOT NULL,
  prices text NOT NULL CHECK (prices::json IS NOT NULL)
);

CREATE TABLE ${s}.competitions (
  auction bigint PRIMARY KEY,
  body text NOT NULL CHECK (body::json IS NOT NULL)
);
`,
};

/**
 * Creates the table of the first trade of each token, sold or bought. The index serves rollbacks of the newest blocks.
 * The only effect of an older release is that tokens first traded while it indexes the chain are missing.
 */
const createFirstTrades: PgMigration = {
  version: 6,
  name: 'first trades',
  breaking: false,
  sql: (s) => `
CREATE TABLE ${s}.first_trades (
  block bigint NOT NULL,
  token bytea PRIMARY KEY CHECK (octet_length(token) = 20)
);

INSERT INTO ${s}.first_trades (token, block)
  SELECT decode(substr(token, 3), 'hex'), min(block) FROM (
    SELECT detail::json ->> 'sellToken' AS token, block FROM ${s}.chain_events WHERE type = 0
    UNION ALL SELECT detail::json ->> 'buyToken', block FROM ${s}.chain_events WHERE type = 0
  ) traded GROUP BY token;

CREATE INDEX first_trades_block ON ${s}.first_trades (block);
`,
};

/**
 * Adds the quote to the order row: a read of many orders took as long for the quotes as for the orders. Existing rows
 * keep their quote in `order_quotes`, so no row is rewritten. In new rows, an empty text means that there is no quote.
 * The migration is breaking: an older release would return orders without their quotes.
 */
const addOrderQuotes: PgMigration = {
  version: 7,
  name: 'quotes of orders',
  breaking: true,
  sql: (s) => `
ALTER TABLE ${s}.orders ADD COLUMN quote text, ADD COLUMN quote_metadata text;
ALTER TABLE ${s}.orders
  ADD CONSTRAINT orders_quote CHECK (CASE WHEN quote IS NULL OR quote = '' THEN quote_metadata IS NULL
    ELSE quote::json IS NOT NULL AND quote_metadata::json IS NOT NULL END) NOT VALID;
`,
};

/**
 * Adds the tombstones of deleted orders that were cancelled off chain, and the index that finds recorded expiries to
 * revert. The migration is breaking: an older release would accept a cancelled order again.
 */
const createTombstones: PgMigration = {
  version: 8,
  name: 'tombstones',
  breaking: true,
  sql: (s) => `
CREATE TABLE ${s}.tombstones (
  valid_to bigint NOT NULL,
  uid bytea PRIMARY KEY CHECK (octet_length(uid) = 56)
);

CREATE INDEX tombstones_validity ON ${s}.tombstones (valid_to);
CREATE INDEX orders_expired_validity ON ${s}.orders (valid_to) WHERE NOT live AND state < 2;
`,
};

/** Schema migrations. A released migration is never changed: new ones are appended. */
export const MIGRATIONS: readonly PgMigration[] = [
  createBook,
  createQuotes,
  createChainEvents,
  createExpiryIndexes,
  createAuctions,
  createFirstTrades,
  addOrderQuotes,
  createTombstones,
];
