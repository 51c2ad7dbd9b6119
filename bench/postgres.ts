import { totalmem } from 'node:os';
import { postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { startPostgres } from '../test/support/postgres-server.ts';

/** PostgreSQL server of one benchmark, with a connection to it. */
export interface BenchServer {
  readonly url: string;
  readonly client: pg.Client;
  readonly version: string;
  close(): Promise<void>;
}

/** Shared buffers as the manual recommends for a dedicated machine: a quarter of the memory. */
const BUFFERS = `${Math.floor(totalmem() / 4 / 2 ** 20)}MB`;

/**
 * Starts a server with the durability and memory of production, or uses the server of `DATABASE_URL`. Its tables are
 * dropped when the benchmark closes.
 */
export async function openBenchServer(schemas: readonly string[]): Promise<BenchServer> {
  const configured = process.env['DATABASE_URL'];
  const server =
    configured === undefined ? await startPostgres({ shared_buffers: BUFFERS, max_wal_size: '8GB' }) : undefined;
  const url = configured ?? server?.url ?? '';
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

/** Creates a store in a schema of that server, which is created if it does not exist. */
export function createBenchStore({ url }: BenchServer, schema: string) {
  return postgresStore({ url, schema, migrate: true });
}
