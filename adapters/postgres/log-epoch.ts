import { LOG_EPOCHS } from 'intentbook/store-kit';

/** The timeline of the server, which changes when a standby is promoted or a backup is restored. */
export const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';

/** Returns SQL for the id after which a log epoch begins, see `getLogEpochStart`. The time is that of the server. */
export function getEpochStart(last: string): string {
  const { origin, idsPerMillisecond, maximum, distance } = LOG_EPOCHS;
  const start =
    `least(floor(extract(epoch FROM clock_timestamp()) * 1000 - ${origin})::bigint * ${idsPerMillisecond}, ` +
    `${maximum}::bigint)`;
  return `CASE WHEN ${start} > ${last} THEN ${start} ELSE ${last} + ${distance} END`;
}

/**
 * Returns SQL for whether a row was inserted or updated by the transaction that its column `xid` names. A dump contains
 * that column, but a restore writes the row in another transaction, also into existing tables of the same database.
 */
export const isOriginal = (row: string) => `${row}.xmin::text::bigint = ${row}.xid % 4294967296`;

/** Returns SQL for the server, the database in it, and a table in that. A dump carries none of these. */
export const getSystem = (table: string) =>
  `(SELECT system_identifier || '.' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '.' || ` +
  `'${table}'::regclass::oid FROM pg_control_system())`;

/** SQL for the id of the current transaction. */
export const XID = 'pg_current_xact_id()::text::bigint';

/** Returns SQL after which the next entry of a log begins a new log epoch: no transaction has the id 0. */
export const requestEpoch = (s: string, of: 'book' | 'accounts') =>
  of === 'accounts'
    ? `UPDATE ${s}.locks SET xid = 0 WHERE name = 'log'`
    : `UPDATE ${s}.log_epochs SET xid = 0 WHERE start = (SELECT max(start) FROM ${s}.log_epochs)`;
