/** Returns the SQL of one schema migration. Table and index names start with the prefix, which is already validated. */
export type Migration = (prefix: string) => string;

/**
 * Creates the tables that every schema version has in this form. They are read before the schema version is known, so
 * they never change. `meta` has the schema version and the domain. `may_lack_entries` is 1 if the log may have lost
 * entries that have been read, as in a copy: the next entry begins a new log epoch. `lease` is the writer lock: its row
 * names the process that may write, and `expires` is in milliseconds since 1970.
 */
export const FOUNDATION: Migration = (p) => `
  CREATE TABLE ${p}meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    chain_id INTEGER NOT NULL,
    settlement_contract BLOB NOT NULL CHECK (length(settlement_contract) = 20),
    may_lack_entries INTEGER NOT NULL DEFAULT 0 CHECK (may_lack_entries BETWEEN 0 AND 1)
  ) STRICT;

  CREATE TABLE ${p}lease (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    token TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT,
    expires INTEGER NOT NULL
  ) STRICT;
`;

/**
 * Creates the tables of orders, app data and the event log.
 *
 * Order rows are stored in insertion order: they are long, and only the UID index is written at random positions. The
 * codes of state, scheme and quota class are in rows.ts.
 *
 * `live` is 1 for an order that is open or waits for its pre-signature, and whose expiry is not recorded yet. Queries
 * that depend on the time also compare `valid_to`.
 *
 * Each index costs every insert at least one page, unless it only grows at its end. Therefore, live orders have no
 * index by token: the token filters are evaluated within the index of all live orders, without reading a row.
 *
 * A document is `referenced` if an order was inserted with its hash. Of the unreferenced documents, only the newest are
 * kept.
 *
 * Executed totals are decimal text: they are not bounded by 2^256, and reads return them unchanged.
 *
 * `pruned_through` is the id up to which log entries were deleted. The ids do not show it: those between two log epochs
 * were never used.
 */
const createBook: Migration = (p) => `
  CREATE TABLE ${p}orders (
    id INTEGER PRIMARY KEY,
    uid BLOB NOT NULL CHECK (length(uid) = 56),
    owner BLOB NOT NULL CHECK (length(owner) = 20),
    sell_token BLOB NOT NULL CHECK (length(sell_token) = 20),
    buy_token BLOB NOT NULL CHECK (length(buy_token) = 20),
    created INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    signing_scheme INTEGER NOT NULL CHECK (signing_scheme BETWEEN 0 AND 3),
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    quota_class INTEGER NOT NULL CHECK (quota_class BETWEEN 0 AND 1),
    live INTEGER NOT NULL CHECK (live BETWEEN 0 AND 1),
    version INTEGER NOT NULL DEFAULT 1,
    invalidated INTEGER NOT NULL DEFAULT 0,
    executed_sell_amount TEXT NOT NULL DEFAULT '0',
    executed_buy_amount TEXT NOT NULL DEFAULT '0',
    executed_fee_amount TEXT NOT NULL DEFAULT '0',
    executed_fee TEXT NOT NULL DEFAULT '0',
    executed_fee_token BLOB CHECK (length(executed_fee_token) = 20),
    app_data BLOB NOT NULL CHECK (length(app_data) = 32),
    body TEXT NOT NULL CHECK (json_valid(body))
  ) STRICT;

  CREATE UNIQUE INDEX ${p}orders_uid ON ${p}orders (uid);

  CREATE INDEX ${p}orders_newest ON ${p}orders (created, uid);
  CREATE INDEX ${p}orders_owner ON ${p}orders (owner, created, uid);
  CREATE INDEX ${p}orders_sell ON ${p}orders (sell_token, created, uid);
  CREATE INDEX ${p}orders_buy ON ${p}orders (buy_token, created, uid);

  CREATE INDEX ${p}orders_live ON ${p}orders (created, uid, state, valid_to, sell_token, buy_token) WHERE live = 1;
  CREATE INDEX ${p}orders_live_owner ON ${p}orders (owner, created, uid, state, valid_to) WHERE live = 1;
  CREATE INDEX ${p}orders_live_expiry ON ${p}orders (owner, quota_class, valid_to) WHERE live = 1;

  CREATE INDEX ${p}orders_done ON ${p}orders (state, created, uid, sell_token, buy_token) WHERE live = 0;

  CREATE TABLE ${p}owners (
    owner BLOB PRIMARY KEY CHECK (length(owner) = 20),
    live_open INTEGER NOT NULL CHECK (live_open >= 0),
    live_pending INTEGER NOT NULL CHECK (live_pending >= 0)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ${p}documents (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    document TEXT NOT NULL,
    referenced INTEGER NOT NULL CHECK (referenced BETWEEN 0 AND 1)
  ) STRICT;

  CREATE INDEX ${p}documents_unreferenced ON ${p}documents (id) WHERE referenced = 0;

  CREATE TABLE ${p}events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type TEXT NOT NULL,
    uid BLOB NOT NULL CHECK (length(uid) = 56),
    owner BLOB NOT NULL CHECK (length(owner) = 20),
    at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE ${p}log_retention (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    pruned_through INTEGER NOT NULL
  ) STRICT;
  INSERT INTO ${p}log_retention (id, pruned_through) VALUES (1, 0);
`;

/**
 * Creates the tables of quotes. The codes of kinds are in rows.ts.
 *
 * A quote is deleted soon after it expires, but an order needs its quote as long as it is stored. Therefore
 * `order_quotes` has a copy for each order. It is a separate table, because listings do not read it.
 *
 * `rank` orders the quotes of equal terms: the greatest text, compared byte by byte, is the best quote. It begins with
 * whether the quote was verified, followed by its exchange rate.
 */
const createQuotes: Migration = (p) => `
  CREATE TABLE ${p}quotes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sell_token BLOB NOT NULL CHECK (length(sell_token) = 20),
    buy_token BLOB NOT NULL CHECK (length(buy_token) = 20),
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 1),
    amount TEXT NOT NULL,
    quote_kind INTEGER NOT NULL CHECK (quote_kind BETWEEN 0 AND 2),
    expires_at INTEGER NOT NULL,
    rank TEXT NOT NULL,
    body TEXT NOT NULL CHECK (json_valid(body)),
    metadata TEXT NOT NULL CHECK (json_valid(metadata))
  ) STRICT;

  CREATE INDEX ${p}quotes_terms ON ${p}quotes (sell_token, buy_token, kind, amount, quote_kind, rank, id);
  CREATE INDEX ${p}quotes_expiry ON ${p}quotes (expires_at);

  CREATE TABLE ${p}order_quotes (
    order_id INTEGER PRIMARY KEY,
    body TEXT NOT NULL CHECK (json_valid(body)),
    metadata TEXT NOT NULL CHECK (json_valid(metadata))
  ) STRICT;
`;

/**
 * Creates the tables of chain events and of the indexer.
 *
 * `progress` is the checkpoint of the indexer: the last block whose events were applied. `blocks` has the hashes of
 * recent blocks. The key of a chain event is its log position; `detail` is JSON with the other fields. `placement` and
 * `onchain_user` are set only for orders placed on chain.
 */
const createChainEvents: Migration = (p) => `
  ALTER TABLE ${p}orders ADD COLUMN cancelled_off_chain INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE ${p}orders ADD COLUMN placed_on_chain INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE ${p}orders ADD COLUMN placement TEXT;
  ALTER TABLE ${p}orders ADD COLUMN onchain_user BLOB CHECK (length(onchain_user) = 20);
  UPDATE ${p}orders SET cancelled_off_chain = invalidated;
  CREATE INDEX ${p}orders_onchain_user ON ${p}orders (onchain_user, created, uid) WHERE onchain_user IS NOT NULL;

  ALTER TABLE ${p}events ADD COLUMN cause TEXT;

  CREATE TABLE ${p}chain_events (
    block INTEGER NOT NULL,
    log INTEGER NOT NULL,
    block_hash BLOB NOT NULL CHECK (length(block_hash) = 32),
    transaction_hash BLOB NOT NULL CHECK (length(transaction_hash) = 32),
    timestamp INTEGER,
    type INTEGER NOT NULL,
    uid BLOB CHECK (length(uid) = 56),
    owner BLOB CHECK (length(owner) = 20),
    detail TEXT NOT NULL,
    PRIMARY KEY (block, log)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX ${p}chain_events_uid ON ${p}chain_events (uid, block, log) WHERE uid IS NOT NULL;
  CREATE INDEX ${p}chain_events_owner ON ${p}chain_events (owner, block, log) WHERE owner IS NOT NULL;
  CREATE INDEX ${p}chain_events_transaction ON ${p}chain_events (transaction_hash, block, log);

  CREATE TABLE ${p}blocks (
    number INTEGER PRIMARY KEY,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
  ) STRICT;

  CREATE TABLE ${p}progress (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL,
    hash BLOB CHECK (length(hash) = 32)
  ) STRICT;
`;

/**
 * Creates the indexes for recording expiry: the live orders by `valid_to`, and the listing of expired orders, which are
 * not live and neither cancelled nor fulfilled.
 */
const createExpiryIndexes: Migration = (p) => `
  CREATE INDEX ${p}orders_expiring ON ${p}orders (valid_to) WHERE live = 1;
  CREATE INDEX ${p}orders_expired ON ${p}orders (created, uid, sell_token, buy_token) WHERE live = 0 AND state < 2;
`;

/** Creates the tables of auctions. Auction ids are never reused, so a settlement always refers to one auction. */
const createAuctions: Migration = (p) => `
  ALTER TABLE ${p}chain_events ADD COLUMN auction INTEGER;
  UPDATE ${p}chain_events SET auction = json_extract(detail, '$.auctionId') WHERE type = 1;
  CREATE INDEX ${p}chain_events_auction ON ${p}chain_events (auction, block, log) WHERE auction IS NOT NULL;

  CREATE TABLE ${p}auctions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    block INTEGER NOT NULL,
    prices TEXT NOT NULL CHECK (json_valid(prices))
  ) STRICT;

  CREATE TABLE ${p}competitions (
    auction INTEGER PRIMARY KEY,
    body TEXT NOT NULL CHECK (json_valid(body))
  ) STRICT;
`;

/**
 * Creates the table of the first trade of each token, sold or bought. The index serves rollbacks of the newest blocks.
 */
const createFirstTrades: Migration = (p) => `
  CREATE TABLE ${p}first_trades (
    token BLOB PRIMARY KEY CHECK (length(token) = 20),
    block INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  INSERT INTO ${p}first_trades (token, block)
    SELECT unhex(substr(token, 3)), min(block) FROM (
      SELECT detail ->> '$.sellToken' AS token, block FROM ${p}chain_events WHERE type = 0
      UNION ALL SELECT detail ->> '$.buyToken', block FROM ${p}chain_events WHERE type = 0
    ) GROUP BY token;

  CREATE INDEX ${p}first_trades_block ON ${p}first_trades (block);
`;

/**
 * Creates the tombstones of deleted orders that were cancelled off chain, and the index that finds recorded expiries to
 * revert.
 */
const createTombstones: Migration = (p) => `
  CREATE TABLE ${p}tombstones (
    uid BLOB PRIMARY KEY CHECK (length(uid) = 56),
    valid_to INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX ${p}tombstones_validity ON ${p}tombstones (valid_to);
  CREATE INDEX ${p}orders_expired_validity ON ${p}orders (valid_to) WHERE live = 0 AND state < 2;
`;

/**
 * Creates the indexes of reads that would otherwise grow with the history: the trades of orders that an account has
 * placed on chain, and the listing of a token pair, which is filtered within the index. An index of pairs would make
 * each insert a fifth slower. `onchain_user` of a trade follows that of its order.
 */
const createBoundedReads: Migration = (p) => `
  DROP INDEX ${p}orders_sell;
  CREATE INDEX ${p}orders_sell ON ${p}orders (sell_token, created, uid, buy_token);

  ALTER TABLE ${p}chain_events ADD COLUMN onchain_user BLOB CHECK (length(onchain_user) = 20);
  UPDATE ${p}chain_events AS f SET onchain_user = o.onchain_user FROM ${p}orders o
    WHERE f.type = 0 AND o.uid = f.uid AND o.onchain_user IS NOT NULL;
  CREATE INDEX ${p}chain_events_onchain_user ON ${p}chain_events (onchain_user, block, log)
    WHERE onchain_user IS NOT NULL;
`;

/** Creates the checksum of bodies. Rows of earlier versions have none; reads check the structure of their bodies. */
const createChecksums: Migration = (p) => `
  ALTER TABLE ${p}orders ADD COLUMN checksum INTEGER;
`;

/**
 * Creates the data that retention needs. `used_until` is the time from which no order needs a document, in seconds. It
 * is rounded up by a week, so that it changes rarely.
 */
const createRetention: Migration = (p) => `
  ALTER TABLE ${p}documents ADD COLUMN used_until INTEGER NOT NULL DEFAULT 0;
  UPDATE ${p}documents SET used_until = u.valid_to + 604800
    FROM (SELECT app_data, max(valid_to) AS valid_to FROM ${p}orders GROUP BY app_data) u
    WHERE ${p}documents.hash = u.app_data AND ${p}documents.referenced = 1;
  CREATE INDEX ${p}documents_used ON ${p}documents (used_until) WHERE referenced = 1;
`;

/**
 * Removes the index by owner and expiry. An insert wrote a page of it for each owner, but only the rare counts of an
 * owner with expired orders read it. They use the indexes of live orders instead.
 */
const dropOwnerExpiry: Migration = (p) => `
  DROP INDEX ${p}orders_live_expiry;
  DROP INDEX ${p}orders_live_owner;
  CREATE INDEX ${p}orders_live_owner ON ${p}orders (owner, created, uid, state, valid_to, quota_class) WHERE live = 1;
`;

/** Creates the index of competitions by their deadline, so that those in flight are found among all others. */
const createDeadlines: Migration = (p) => `
  ALTER TABLE ${p}competitions ADD COLUMN deadline INTEGER NOT NULL DEFAULT 0;
  UPDATE ${p}competitions SET deadline = coalesce(json_extract(body, '$.auctionDeadlineBlock'), 0);
  CREATE INDEX ${p}competitions_deadline ON ${p}competitions (deadline);
`;

/** Creates the durable tasks of a book. */
const createTasks: Migration = (p) => `
  CREATE TABLE ${p}tasks (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    due INTEGER NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ${p}tasks_due ON ${p}tasks (kind, due, key);
`;

/** Creates the column of the orders of a competition, concatenated. Lists of competitions do not read it. */
const createCompetitionOrders: Migration = (p) => `
  ALTER TABLE ${p}competitions ADD COLUMN orders BLOB;
`;

/** Schema migrations; the first one creates version 1. A released migration is never changed: new ones are appended. */
export const MIGRATIONS: readonly Migration[] = [
  createBook,
  createQuotes,
  createChainEvents,
  createExpiryIndexes,
  createAuctions,
  createFirstTrades,
  createTombstones,
  createBoundedReads,
  createChecksums,
  createRetention,
  dropOwnerExpiry,
  createDeadlines,
  createTasks,
  createCompetitionOrders,
];
