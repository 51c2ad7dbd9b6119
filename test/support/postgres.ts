import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { inject } from 'vitest';

let address: Promise<string> | undefined;

/** The server of this test run: `DATABASE_URL`, or one of its own. */
export function postgresUrl(): Promise<string> {
  address ??= ask();
  return address;
}

async function ask(): Promise<string> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined) return given;
  const answer = await text(connect(inject('postgresPort'), '127.0.0.1'));
  if (!answer.startsWith('postgres://')) throw new Error(`there is no PostgreSQL server: ${answer}`);
  return answer;
}

/** A schema of its own for a test, not yet created. */
export interface TemporarySchema extends AsyncDisposable {
  readonly url: string;
  readonly schema: string;
  /** Runs SQL as the owner of everything. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

let made = 0;

export async function temporarySchema(): Promise<TemporarySchema> {
  const url = await postgresUrl();
  const schema = `test_${process.pid}_${++made}`;
  const query = async (sql: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(sql, values)).rows as Record<string, unknown>[]; // by default, rows are objects
    } finally {
      await client.end();
    }
  };
  return {
    ...{ url, schema, query },
    [Symbol.asyncDispose]: async () => void (await query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)),
  };
}
