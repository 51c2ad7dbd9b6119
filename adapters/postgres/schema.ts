import { createCancelFunctions } from './sql/cancel-orders.ts';
import { createEventLogFunctions } from './sql/event-log.ts';
import type { SqlFunction } from './sql/function.ts';
import { createInsertFunctions } from './sql/insert-orders.ts';
import { createOwnedTables } from './tables.ts';

/**
 * Returns the functions of the schema of a book. Each is one statement of the client, so a write takes one round trip,
 * and a client that freezes or dies between two statements cannot keep a lock.
 */
export const createFunctions = (s: string): readonly SqlFunction[] => [
  ...createCancelFunctions(s),
  ...createInsertFunctions(s),
  ...createEventLogFunctions(s),
];

/** The schema of a kind of store. */
export interface PgSchema {
  /** A released migration is never changed: new ones are appended. */
  readonly migrations: readonly PgMigration[];
  /** Functions of the newest migration. `migrate` replaces those that differ. */
  readonly functions: (schema: string) => readonly SqlFunction[];
  /** Returns a text that explains how to migrate a schema with a name. */
  readonly getRemedy: (name: string) => string;
}

export interface PgMigration {
  /** 1, 2, 3 and so on, without gaps. */
  readonly version: number;
  readonly name: string;
  /**
   * Whether a release without this migration can no longer use the tables. Migrations only add, so few are breaking.
   */
  readonly breaking: boolean;
  /** The locks that the migration takes, and what they delay: for operators. */
  readonly locks: string;
  /** Returns the SQL statements of one transaction. The schema is a quoted identifier, which is already validated. */
  readonly sql: (schema: string) => string;
  /**
   * Returns statements that run before `sql`, each outside of a transaction: `CREATE INDEX CONCURRENTLY`. Each can be
   * repeated, since a process may end between them.
   */
  readonly concurrently?: (schema: string) => readonly string[];
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
 * Creates the tables of a book.
 *
 * Columns of fixed width come first, to avoid alignment padding. The codes of phase, scheme and quota class, and the
 * key of a row, are explained in rows.ts.
 *
 * An order has a wide row, which is written when it is created and when its phase changes. Partial fills of a live
 * order are written to `fills`, a narrow table whose updates touch no index.
 *
 * An order has six index entries: by key, owner, sold token, bought token and age, and by expiry while it is live. The
 * entries of the key and of expiry are clustered by `validTo`, the others end with the creation date. The phase
 * precedes the creation date, so that each index serves the listings of every status.
 *
 * The keys of the index of owners are random, so each of its pages is written to the log of the server once per
 * checkpoint. It contains the last seven bytes of an owner, and the creation date in two columns without padding, with
 * which it is two fifths smaller.
 *
 * Statistics of owners and tokens are disabled. They contain averages, by which an owner has few orders; the planner
 * would then read and sort all orders of an owner with a million. Without statistics, the planner expects many rows for
 * every value and reads the page from an index, which is good for all listings: see listing.ts.
 *
 * `attempt` is a random number of the batch that inserted the order, or 0. After a lost response, the number shows
 * which batch it was.
 *
 * `checksum` is the CRC-32 of the body. Without it, a read checks the structure of the body.
 *
 * Executed totals are not bounded by 2^256, and numeric is not either.
 *
 * `used_until` is the time from which no order needs a document, in seconds. It is rounded up by a week, so that few
 * orders change it.
 *
 * `events` and `log` are explained in events.ts. `pruned_through` is the id up to which log entries were deleted. The
 * ids do not show it: those between two log epochs were never used.
 */
const createBook: PgMigration = {
  version: 1,
  name: 'book',
  breaking: false,
  locks: 'none: the tables are new',
  sql: (s) => `
${createOwnedTables(s)}
CREATE TABLE ${s}.documents (
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  used_until bigint NOT NULL DEFAULT 0,
  referenced boolean NOT NULL,
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  document text NOT NULL
);
CREATE INDEX documents_unreferenced ON ${s}.documents (ordinal) WHERE NOT referenced;
CREATE INDEX documents_used ON ${s}.documents (used_until) WHERE referenced;

CREATE TABLE ${s}.events (
  xid bigint NOT NULL,
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  at bigint NOT NULL,
  type smallint NOT NULL,
  key bytea NOT NULL CHECK (octet_length(key) = 56),
  cause text,
  PRIMARY KEY (xid, ordinal)
);

CREATE TABLE ${s}.log (
  last bigint PRIMARY KEY,
  size bigint NOT NULL,
  xid bigint NOT NULL,
  snapshot pg_snapshot
);

CREATE TABLE ${s}.log_epochs (
  start bigint PRIMARY KEY,
  xid bigint NOT NULL,
  system text NOT NULL,
  timeline text NOT NULL
);

CREATE TABLE ${s}.log_lock (
  id smallint PRIMARY KEY CHECK (id = 1),
  pruned_through bigint NOT NULL
);
INSERT INTO ${s}.log_lock (id, pruned_through) VALUES (1, 0);

CREATE TABLE ${s}.leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  term bigint NOT NULL,
  expires bigint NOT NULL
);

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

${createChainTables(s)}
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

/** Tables of chain events and of the progress of the indexer. */
const createChainTables = (s: string) => `CREATE TABLE ${s}.chain_events (
  block bigint NOT NULL,
  log integer NOT NULL,
  type smallint NOT NULL,
  "timestamp" bigint,
  auction bigint,
  block_hash bytea NOT NULL CHECK (octet_length(block_hash) = 32),
  transaction_hash bytea NOT NULL CHECK (octet_length(transaction_hash) = 32),
  key bytea CHECK (octet_length(key) = 56),
  owner bytea CHECK (octet_length(owner) = 20),
  onchain_user bytea CHECK (octet_length(onchain_user) = 20),
  detail text NOT NULL,
  PRIMARY KEY (block, log)
);
CREATE INDEX chain_events_key ON ${s}.chain_events (key, block, log) WHERE key IS NOT NULL;
CREATE INDEX chain_events_owner ON ${s}.chain_events (owner, block, log) WHERE owner IS NOT NULL;
CREATE INDEX chain_events_user ON ${s}.chain_events (onchain_user, block, log) WHERE onchain_user IS NOT NULL;
CREATE INDEX chain_events_transaction ON ${s}.chain_events (transaction_hash, block, log);
CREATE INDEX chain_events_auction ON ${s}.chain_events (auction, block, log) WHERE auction IS NOT NULL;
ALTER TABLE ${s}.chain_events ALTER owner SET STATISTICS 0, ALTER onchain_user SET STATISTICS 0;

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

CREATE TABLE ${s}.first_trades (
  block bigint NOT NULL,
  token bytea PRIMARY KEY CHECK (octet_length(token) = 20)
);
CREATE INDEX first_trades_block ON ${s}.first_trades (block);
`;

/** Creates the index of competitions by their deadline, so that those in flight are found among all others. */
const createDeadlines: PgMigration = {
  version: 2,
  name: 'deadlines of competitions',
  breaking: false,
  locks: 'competitions, while at most 20,000 rows are rewritten: reads and records of competitions wait',
  sql: (s) => `
ALTER TABLE ${s}.competitions ADD COLUMN deadline bigint NOT NULL DEFAULT 0;
UPDATE ${s}.competitions SET deadline = coalesce((body::json ->> 'auctionDeadlineBlock')::bigint, 0);
CREATE INDEX competitions_deadline ON ${s}.competitions (deadline);
`,
};

/**
 * Creates the column with the transactions of the host that have stored a document. Their numbers show whether one of
 * them is committed, and thus whether the document is visible.
 */
const createDocumentCreators: PgMigration = {
  version: 3,
  name: 'transactions of documents',
  breaking: false,
  locks: 'ACCESS EXCLUSIVE on documents, without reading its rows',
  sql: (s) => `ALTER TABLE ${s}.documents ADD COLUMN creators bigint[];\n`,
};

/** Creates the durable tasks of a book. */
const createTasks: PgMigration = {
  version: 4,
  name: 'tasks',
  breaking: false,
  locks: 'none: a new table',
  sql: (s) => `
CREATE TABLE ${s}.tasks (
  due bigint NOT NULL,
  version bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (kind, key)
);
CREATE INDEX tasks_due ON ${s}.tasks (kind, due, key);
`,
};

/** Creates the column of the orders of a competition, concatenated. Lists of competitions do not read it. */
const createCompetitionOrders: PgMigration = {
  version: 5,
  name: 'orders of competitions',
  breaking: false,
  locks: 'ACCESS EXCLUSIVE on competitions, without reading its rows',
  sql: (s) => `ALTER TABLE ${s}.competitions ADD COLUMN orders bytea;\n`,
};

export const BOOK_SCHEMA: PgSchema = {
  migrations: [createBook, createDeadlines, createDocumentCreators, createTasks, createCompetitionOrders],
  functions: createFunctions,
  getRemedy: (name) =>
    `run "intentbook migrate --postgres URL --schema ${name}", or open it with \`migrate\` (--migrate)`,
};
