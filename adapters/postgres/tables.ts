import { ownerOfKey, ownerPrefix, splitDate } from './conditions.ts';
import type { Query } from './query.ts';

/** Maximum number of partitions. Each has its own indexes, which sweeps and listings of all orders read. */
export const MAX_PARTITIONS = 256;

/** A table that may be partitioned by owner. */
interface OwnedTable {
  readonly name: string;
  readonly columns: string;
  readonly primaryKey: string;
  /** Expression by which the rows are distributed. */
  readonly by: string;
  readonly storage?: string;
  /** Returns the statements for the indexes of the table, or of one partition. */
  readonly createIndexes?: (schema: string, table: string) => string;
}

/**
 * Returns SQL that creates a table, in partitions if there are more than one. A constraint of a partitioned table would
 * have to include the expression of its partitions. Each partition has its own constraint and its own indexes instead:
 * equal keys are in the same partition, so that they remain unique.
 */
function createTable(s: string, partitions: number, table: OwnedTable): string {
  const { name, columns, primaryKey, by, storage, createIndexes = () => '' } = table;
  const options = storage === undefined ? '' : ` WITH (${storage})`;
  const key = `PRIMARY KEY (${primaryKey})`;
  if (partitions === 1) return `CREATE TABLE ${s}.${name} (${columns}, ${key})${options};\n${createIndexes(s, name)}`;
  const parts = Array.from({ length: partitions }, (_, i) => {
    const part = `${name}_${i}`;
    const values = `FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${i})`;
    return `CREATE TABLE ${s}.${part} PARTITION OF ${s}.${name} (${key}) ${values}${options};\n${createIndexes(s, part)}`;
  });
  return `CREATE TABLE ${s}.${name} (${columns}) PARTITION BY HASH (${by});\n${parts.join('')}`;
}

const FILLS = {
  name: 'fills',
  columns: `
  version bigint NOT NULL,
  key bytea CHECK (octet_length(key) = 56),
  executed_sell_amount numeric NOT NULL CHECK (executed_sell_amount >= 0),
  executed_buy_amount numeric NOT NULL CHECK (executed_buy_amount >= 0),
  executed_fee_amount numeric NOT NULL CHECK (executed_fee_amount >= 0),
  executed_fee numeric NOT NULL CHECK (executed_fee >= 0),
  executed_fee_token bytea CHECK (octet_length(executed_fee_token) = 20)`,
  primaryKey: 'key',
  by: ownerOfKey('key'),
  storage: 'fillfactor = 45',
} as const;

const TOMBSTONES = {
  name: 'tombstones',
  columns: 'key bytea CHECK (octet_length(key) = 56)',
  primaryKey: 'key',
  by: ownerOfKey('key'),
} as const;

const OWNERS = {
  name: 'owners',
  columns: `
  owner bytea CHECK (octet_length(owner) = 20),
  live_open bigint NOT NULL CHECK (live_open >= 0),
  live_pending bigint NOT NULL CHECK (live_pending >= 0)`,
  primaryKey: 'owner',
  by: 'owner',
  storage: 'fillfactor = 45',
} as const;

const ORDERS: OwnedTable = {
  name: 'orders',
  columns: `
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
  placement text`,
  primaryKey: 'key',
  by: ownerPrefix('owner'),
  createIndexes: (s, table) => `
CREATE INDEX ${table}_owner ON ${s}.${table} (${ownerPrefix('owner')}, phase, ${splitDate('created').high}, ${splitDate('created').low});
CREATE INDEX ${table}_sell ON ${s}.${table} (sell_token, phase, created);
CREATE INDEX ${table}_buy ON ${s}.${table} (buy_token, phase, created);
CREATE INDEX ${table}_newest ON ${s}.${table} (phase, created);
CREATE INDEX ${table}_expiry ON ${s}.${table} ((phase / 2), valid_to) WHERE phase < 4;
CREATE INDEX ${table}_onchain_user ON ${s}.${table} (onchain_user, phase, created) WHERE onchain_user IS NOT NULL;
CREATE INDEX ${table}_onchain_expiry ON ${s}.${table} (valid_to) WHERE onchain_user IS NOT NULL;

ALTER INDEX ${s}.${table}_owner ALTER COLUMN 1 SET STATISTICS 0;
`,
};

/**
 * Returns SQL that creates the tables with rows of owners, see `createBook` in schema.ts. With several partitions, they
 * are distributed by the last seven bytes of the owner, which are also the first column of the index of owners. So a
 * listing of one owner reads one partition without another condition. An additional condition would make the planner
 * expect so few rows that it reads and sorts all orders of the owner.
 */
export const createOwnedTables = (s: string, partitions: number) =>
  `${[ORDERS, FILLS, TOMBSTONES, OWNERS].map((table) => createTable(s, partitions, table)).join('\n')}
ALTER TABLE ${s}.orders ALTER owner SET STATISTICS 0, ALTER sell_token SET STATISTICS 0,
  ALTER buy_token SET STATISTICS 0, ALTER onchain_user SET STATISTICS 0, ALTER phase SET STATISTICS 0;
`;

/**
 * Planner settings of writes on partitioned tables. The planner counts a lookup in 16 partitions as 16 lookups, because
 * it cannot know that 15 are skipped when the statement runs. It would prefer to read a whole index and join by hash.
 */
export const PARTITION_SETTINGS = ['enable_hashjoin', 'enable_mergejoin', 'enable_material', 'enable_seqscan'] as const;

/** Returns the number of partitions of a schema, 1 if its tables are not partitioned or do not exist. */
export async function readPartitions(run: Query, schema: string): Promise<number> {
  const text = 'SELECT count(*)::int FROM pg_inherits WHERE inhparent = to_regclass($1)';
  const [row] = await run<readonly [number]>({ text }, `${schema}.orders`);
  return Math.max(row?.[0] ?? 1, 1);
}
