import { totalmem } from 'node:os';
import { postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { startPostgres } from '../test/support/postgres-server.ts';

/** A PostgreSQL server for one trial, with a connection of its own to it. */
export interface BenchServer {
  readonly url: string;
  readonly client: pg.Client;
  readonly version: string;
  close(): Promise<void>;
}

/** What its manual recommends for a machine that it has to itself: a quarter of the memory. */
const BUFFERS = `${Math.floor(totalmem() / 4 / 2 ** 20)}MB`;

/**
 * Starts a server, as durable as in production and with as much memory, unless `DATABASE_URL` names one. Its tables go with
 * the trial.
 */
export async function benchServer(schemas: readonly string[]): Promise<BenchServer> {
  const given = process.env['DATABASE_URL'];
  const server =
    given === undefined ? await startPostgres({ shared_buffers: BUFFERS, max_wal_size: '8GB' }) : undefined;
  const url = given ?? server?.url ?? '';
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const drop = async () => {
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  };
  await drop();
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  return {
    url,
    client,
    version: rows[0]?.server_version ?? '',
    async close() {
      if (server === undefined) await drop();
      await client.end();
      await server?.dispose();
    },
  };
}

/** A store in a schema of that server, which is made when it is not there. */
export function benchStore({ url }: BenchServer, schema: string) {
  return postgresStore({ url, schema, migrate: true });
}
