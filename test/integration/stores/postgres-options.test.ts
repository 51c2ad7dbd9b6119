import { createOrderBook } from 'intentbook';
import {
  pgliteAccountStore,
  pgliteStore,
  postgresAccountStore,
  postgresMigrations,
  postgresStore,
} from 'intentbook/postgres';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { assertServer } from '../../../adapters/postgres/connection.ts';
import { getErrorCode, toStoreError } from '../../../adapters/postgres/database-driver.ts';
import { StoreError } from '../../../src/ports/store.ts';
import { createFakePool, createPgError } from '../../support/postgres-fake.ts';

const URL = 'postgres://localhost/books';
const { pool } = createFakePool(() => []);
const schemaError = 'postgresStore: `schema` must be letters, digits and "_", not beginning with a digit or "pg_"';
const integerError = (name: string, minimum: number, got: unknown, maximum = 2 ** 31 - 1) =>
  `postgresStore: \`${name}\` must be an integer from ${minimum} to ${maximum}, got ${got}`;

describe('options of the PostgreSQL stores', () => {
  test.each<[string, object, string]>([
    ['an empty URL', { url: '' }, 'postgresStore: `url` must be a connection string'],
    ['no URL', {}, 'postgresStore: `url` must be a connection string'],
    ['an empty URL of a replica', { url: URL, readUrl: '' }, 'postgresStore: `readUrl` must be a connection string'],
    ['a replica that is no text', { url: URL, readUrl: 5 }, 'postgresStore: `readUrl` must be a connection string'],
    ['one connection', { url: URL, connections: 1 }, integerError('connections', 2, 1)],
    ['half a connection', { url: URL, connections: 2.5 }, integerError('connections', 2, 2.5)],
    ['a short interval', { url: URL, pollInterval: 9 }, integerError('pollInterval', 10, 9)],
    ['a long interval', { url: URL, pollInterval: 2 ** 31 }, integerError('pollInterval', 10, 2 ** 31)],
    ['a schema with a digit in front', { url: URL, schema: '1a' }, schemaError],
    ['a schema of the system', { url: URL, schema: 'PG_x' }, schemaError],
    ['a schema with a quote', { url: URL, schema: 'a"b' }, schemaError],
    ['a schema of 41 characters', { url: URL, schema: 'a'.repeat(41) }, schemaError],
    ['an empty schema', { url: URL, schema: '' }, schemaError],
    [
      'an unknown option',
      { url: URL, pollinterval: 9 },
      'postgresStore: unknown option "pollinterval", did you mean "pollInterval"?',
    ],
  ])('reject %s', (_, options, message) => {
    // An untyped application.
    expect(() => postgresStore(options as never)).toThrow(new TypeError(message));
  });

  test.each<[string, () => unknown, string]>([
    [
      'an option of pg',
      () => postgresStore({ connectionString: URL } as never),
      'postgresStore: unknown option "connectionString", use "url"',
    ],
    ['a store on a pool', () => postgresStore(pool, { url: URL } as never), 'postgresStore: unknown option "url"'],
    [
      'an account store on a pool',
      () => postgresAccountStore(pool, { partition: 2 } as never),
      'postgresAccountStore: unknown option "partition"',
    ],
    [
      'an account store at a URL',
      () => postgresAccountStore({ url: URL, readUrl: URL } as never),
      'postgresAccountStore: unknown option "readUrl"',
    ],
    ['PGlite', () => pgliteStore({} as never, { durable: true } as never), 'pgliteStore: unknown option "durable"'],
    [
      'accounts on PGlite',
      () => pgliteAccountStore({} as never, { partition: 2 } as never),
      'pgliteAccountStore: unknown option "partition"',
    ],
    ['migrations', () => postgresMigrations({ name: 'x' } as never), 'postgresMigrations: unknown option "name"'],
  ])('reject what %s cannot have', (_, create, message) => {
    expect(create).toThrow(message);
  });

  test('accept every option at its limits', () => {
    const common = { schema: `_${'a'.repeat(39)}`, migrate: true, durable: false, prepare: false, listen: false };
    const url = { url: URL, connections: 2, pollInterval: 10 };
    expect(() => postgresStore({ ...common, ...url, readUrl: URL })).not.toThrow();
    expect(() => postgresStore(pool, { ...common, readPool: pool, pollInterval: 2 ** 31 - 1 })).not.toThrow();
    expect(() => postgresAccountStore({ ...common, ...url })).not.toThrow();
    expect(() => postgresAccountStore(pool, common)).not.toThrow();
  });

  test('name the schema of a book and of accounts in their migrations', () => {
    expect(postgresMigrations()[0]?.sql).toContain('CREATE SCHEMA IF NOT EXISTS "intentbook";');
    expect(postgresMigrations({ of: 'accounts' })[0]?.sql).toContain(
      'CREATE SCHEMA IF NOT EXISTS "intentbook_accounts";',
    );
    const [first, ...others] = postgresMigrations({ schema: 'Mine' });
    expect(first?.sql).toContain('CREATE SCHEMA IF NOT EXISTS "Mine";');
    for (const { sql } of others) expect(sql).not.toContain('CREATE SCHEMA');
  });
});

describe('check of a PostgreSQL server', () => {
  const GOOD = [
    140_000,
    false,
    'UTF8',
    'hex',
    'on',
    'on',
    'on',
    '',
    'read committed',
    42,
    'PostgreSQL 14.0',
    false,
    'on',
    'origin',
    'notice',
  ] as const;
  const check = async (changes: Readonly<Record<number, unknown>> = {}, durable = true, processID?: number) => {
    const row = GOOD.map((value, i) => (i in changes ? changes[i] : value));
    const client = await createFakePool(() => [row], processID).pool.connect();
    return assertServer(client, { durable, isOwnPool: false });
  };

  test.each<[string, Record<number, unknown>, string, string]>([
    [
      'an old version',
      { 0: 130_004 },
      'Unsupported',
      'the server has version 13.4, and 14 is the oldest that is supported',
    ],
    ['a standby', { 1: true }, 'Unavailable', 'the server is a standby: it cannot be written to'],
    [
      'another encoding',
      { 2: 'LATIN1' },
      'Unsupported',
      'the server has the encoding LATIN1, which cannot store every document; use UTF8',
    ],
    [
      'another format of bytes',
      { 3: 'escape' },
      'Unsupported',
      'the server has bytea_output = escape, and the store reads hex',
    ],
    ...(['synchronous_commit', 'fsync', 'full_page_writes'] as const).map(
      (name, i): [string, Record<number, unknown>, string, string] => [
        `no ${name}`,
        { [4 + i]: 'off' },
        'Unsupported',
        `the server has ${name} = off, so it may lose acknowledged writes; enable it, or accept this with durable: false`,
      ],
    ),
    [
      'commits that do not wait for a standby',
      { 4: 'local', 7: 'other' },
      'Unsupported',
      'the server has synchronous_commit = local, so a commit does not wait for the synchronous standby; set it to on, ' +
        'or accept this with durable: false',
    ],
    [
      'warnings of a standby that are hidden',
      { 7: 'other', 14: 'error' },
      'Unsupported',
      'the server has client_min_messages = error, which hides that the synchronous standby has not confirmed a ' +
        'commit; set it to warning, or accept this with durable: false',
    ],
    ...(
      [
        ['Citus', { 11: true }],
        ['CockroachDB', { 10: 'CockroachDB CCL v25.1.0 (x86_64-pc-linux-gnu)' }],
        ['YugabyteDB', { 10: 'PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu' }],
      ] as const
    ).map(([engine, changes]): [string, Record<number, unknown>, string, string] => [
      `the engine ${engine}`,
      changes,
      'Unsupported',
      `the server is ${engine}, whose snapshots are not those of one server: events would be lost; use PostgreSQL`,
    ]),
  ])('rejects %s', async (_, changes, code, message) => {
    await expect(check(changes)).rejects.toEqual(new StoreError(code as 'Unsupported' | 'Unavailable', message));
  });

  test('accepts a server that may lose writes if durability is not required', async () => {
    for (const changes of [{ 4: 'off' }, { 5: 'off' }, { 6: 'off' }, { 4: 'local', 7: 'other' }]) {
      expect(await check(changes, false)).toEqual({ direct: true, strict: false });
    }
    expect(await check({ 4: 'local' })).toEqual({ direct: true, strict: false }); // there is no standby
  });

  test('reports a pooler, and another isolation level', async () => {
    expect(await check({ 9: 43 })).toEqual({ direct: false, strict: false });
    expect(await check({ 8: 'serializable' })).toEqual({ direct: true, strict: true });
  });

  test('rejects a server without a response', async () => {
    const client = await createFakePool(() => []).pool.connect();
    await expect(assertServer(client, { durable: true, isOwnPool: false })).rejects.toThrow(
      'the server returned no settings',
    );
  });
});

describe('error of PostgreSQL', () => {
  test.each([
    ['08006', 'Unavailable', 'the connection failed (08006)'],
    ['22003', 'InvalidValue', 'a value does not fit the schema (22003)'],
    ['23505', 'InvalidValue', 'a value does not fit the schema (23505)'],
    ['25P03', 'Unavailable', 'the server ended the session, because the transaction was idle (25P03)'],
    ['25006', 'Unavailable', 'the server or the transaction is read-only (25006)'],
    ['28P01', 'Unavailable', 'the server rejects this user (28P01)'],
    ['3D000', 'Unavailable', 'the database does not exist (3D000)'],
    ['3F000', 'Unavailable', 'the schema is missing (3F000)'],
    ['40001', 'Unavailable', 'conflicts with other writers persisted after retries (40001)'],
    ['42501', 'Unavailable', 'this user lacks a required privilege (42501)'],
    ['42P01', 'Unavailable', 'a table is missing (42P01)'],
    ['53100', 'Unavailable', 'the disk of the server is full (53100)'],
    ['53300', 'Unavailable', 'the server has no connection left (53300)'],
    ['53200', 'Unavailable', 'the server is short of resources (53200)'],
    ['55P03', 'Unavailable', 'another transaction held its lock for too long (55P03)'],
    ['57014', 'Unavailable', 'the server cancelled it, or it took too long (57014)'],
    ['57P03', 'Unavailable', 'the server is starting up (57P03)'],
    ['57P01', 'Unavailable', 'the server is shutting down (57P01)'],
    ['XX001', 'Unavailable', 'the server found damaged data (XX001)'],
    ['ECONNREFUSED', 'Unavailable', 'the server cannot be reached (ECONNREFUSED)'],
    ['ENOTFOUND', 'Unavailable', 'the host name of the server cannot be resolved (ENOTFOUND)'],
    ['ETIMEDOUT', 'Unavailable', 'the server does not respond (ETIMEDOUT)'],
    ['ENOENT', 'Unavailable', 'a file that the connection string names does not exist (ENOENT)'],
    ['EACCES', 'Unavailable', 'the connection failed (EACCES)'],
    ['EPIPE', 'Unavailable', 'the connection failed (EPIPE)'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'Unavailable', 'the connection failed (SELF_SIGNED_CERT_IN_CHAIN)'],
    ['99999', 'Unavailable', 'the server returned the error 99999'],
    ['1222', 'Unavailable', 'the server returned the error 1222'],
    ['F0000', 'Unavailable', 'the server returned the error F0000'],
  ] as const)('%s is explained to an operator', (code, expected, meaning) => {
    const cause = createPgError(code);
    const failure = toStoreError('insert orders', cause);
    expect(failure).toEqual(new StoreError(expected, `the PostgreSQL store cannot insert orders: ${meaning}`));
    expect(failure.cause).toBe(cause);
  });

  test.each([
    ['text'],
    [undefined],
    [new Error('lost')],
    [Object.assign(new Error('x'), { code: 5 })],
    [{ code: '23505' }],
  ])('without a code is a failed connection: %#', (cause) => {
    expect(getErrorCode(cause)).toBeUndefined();
    expect(toStoreError('read', cause).message).toBe('the PostgreSQL store cannot read: the connection failed');
  });

  test.each([
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'the server requires a password'],
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string', 'the server requires a password'],
    ['The server does not support SSL connections', 'the server has no TLS, which the connection string requires'],
  ])('that the driver reports without a code is explained: %s', (message, meaning) => {
    const failure = toStoreError('open', new Error(message));
    expect(failure.message).toBe(`the PostgreSQL store cannot open: ${meaning}`);
  });

  test.each(['postgres://user:pa#ss@host/books', 'postgres://user:pa/ss@127.0.0.1:5432/books'])(
    'of a connection string with a password that is not encoded names it: %s',
    async (url) => {
      const book = createOrderBook({ chainId: 1, store: postgresStore({ url }) });
      await expect(book.start()).rejects.toThrow(
        /cannot open: the connection string is not a URL; encode "#", "\/" and "\?" in its password \(ERR_INVALID_URL\)$/,
      );
    },
  );

  test('of a pool that the application has ended names the order of the two', async () => {
    const pool = new pg.Pool();
    await pool.end();
    const cause = await pool.query('SELECT 1').catch((error: unknown) => error);
    const message = 'the PostgreSQL store cannot read: the pool has ended; close the book first';
    expect(toStoreError('read', cause).message).toBe(message);
  });

  test('of the store is unchanged', () => {
    const failure = new StoreError('Closed', 'closed');
    expect(toStoreError('read', failure)).toBe(failure);
  });
});
