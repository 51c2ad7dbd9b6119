/** One step of the schema. */
export interface PgMigration {
  /** 1, 2, 3, without gaps. */
  readonly version: number;
  readonly name: string;
  /** Whether a release that does not know this step can no longer work with the tables. Steps only add, so few are. */
  readonly breaking: boolean;
  /** The statements. The schema is an identifier in quotes, which has been checked. */
  readonly sql: (schema: string) => string;
}

/**
 * What every version of the schema has, in this shape: which steps have been taken, and whose store it is. It is read
 * before anything else is known of the schema, so it never changes.
 */
export const FOUNDATION = (s: string) => `
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
 * Columns of fixed width stand first, so that nothing is lost to alignment. Codes of state, scheme and budget are in
 * rows.ts. Room is left on each page for the next version of a row, so that a partial fill touches no index.
 *
 * `live` is true for an order that is open or waits for its presignature and has not been swept up as expired. Whatever
 * hangs on time judges `valid_to` besides.
 *
 * Of owners and tokens no statistics are gathered. What they say is an average, by which an owner has a handful of
 * orders; the planner would then fetch and sort all that one has who has a million. Without, it takes every value for a
 * common one and reads the page off an index. Its guess is good for all listings: see listing.ts.
 *
 * Executed totals are not bounded by 2^256, which numeric is not either.
 *
 * The log is written in two steps, so that ids follow commits although nobody waits for anybody: see events.ts.
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
  place bigint GENERATED ALWAYS AS IDENTITY,
  referenced boolean NOT NULL,
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  document text NOT NULL
);

CREATE INDEX documents_unreferenced ON ${s}.documents (place) WHERE NOT referenced;

CREATE TABLE ${s}.events (
  id bigint PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  uid bytea NOT NULL,
  owner bytea NOT NULL
);

CREATE TABLE ${s}.event_queue (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
 * Quotes come and go by the minute; an order keeps a copy of its own. Codes of kinds are in rows.ts. `rank` sorts byte by byte, whatever the database's own order of texts is.
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
 * What the chain has said. A fact's key is its place; \`detail\` is JSON of what it says besides. A release that does not
 * write \`cancelled_off_chain\` would lose cancellations when a block is taken back, so the step is breaking.
 */
const followChain: PgMigration = {
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

CREATE TABLE ${s}.facts (
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
CREATE INDEX facts_uid ON ${s}.facts (uid, block, log) WHERE uid IS NOT NULL;
CREATE INDEX facts_owner ON ${s}.facts (owner, block, log) WHERE owner IS NOT NULL;
CREATE INDEX facts_transaction ON ${s}.facts (transaction_hash, block, log);

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
 * What sweeping up expired orders takes: which of the live ones are next, and a listing of those that were expiryRecorded, which
 * are not live and yet neither cancelled nor fulfilled. A release that does not know of them would not list them, and
 * would bring them back to life, so the step is breaking.
 */
const sweepExpired: PgMigration = {
  version: 4,
  name: 'expiry',
  breaking: true,
  sql: (s) => `
CREATE INDEX orders_expiring ON ${s}.orders (valid_to) WHERE live;
CREATE INDEX orders_swept ON ${s}.orders (created, uid) WHERE NOT live AND state < 2;
`,
};

/**
 * Auctions are numbered for good, so that a settlement's auction is never mistaken for a later one. A release that does not
 * know the column leaves it empty: competitions then lack those transactions, and nothing else.
 */
const holdAuctions: PgMigration = {
  version: 5,
  name: 'auctions',
  breaking: false,
  sql: (s) => `
ALTER TABLE ${s}.facts ADD COLUMN auction bigint;
UPDATE ${s}.facts SET auction = (detail::json ->> 'auctionId')::bigint WHERE type = 1;
CREATE INDEX facts_auction ON ${s}.facts (auction, block, log) WHERE auction IS NOT NULL;

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
 * The first trade of each token, sold or bought: the index is for taking back the newest blocks. A release that does not
 * know the table leaves out tokens that are first traded while it reads the chain, and nothing else.
 */
const keepFirstTrades: PgMigration = {
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
    SELECT detail::json ->> 'sellToken' AS token, block FROM ${s}.facts WHERE type = 0
    UNION ALL SELECT detail::json ->> 'buyToken', block FROM ${s}.facts WHERE type = 0
  ) traded GROUP BY token;

CREATE INDEX first_trades_block ON ${s}.first_trades (block);
`,
};

/**
 * Quotes on their orders' own rows: a read of many orders looked as long for the quotes as for the orders. Rows that are
 * there keep theirs where it is, so that no row is touched; on those written from now on, the empty text says that there is
 * none. A release that does not know the columns would show orders without their quotes, so the step is breaking.
 */
const keepQuotes: PgMigration = {
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

/** The schema's steps. What has been released is never changed, only added to. */
export const MIGRATIONS: readonly PgMigration[] = [
  createBook,
  createQuotes,
  followChain,
  sweepExpired,
  holdAuctions,
  keepFirstTrades,
  keepQuotes,
];
