import { createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import type { PostgresServer } from './postgres-server.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Variable with the address of the PostgreSQL server of the test run. */
    postgresPort: number;
  }
}

/** Starts one server per test run on first use, and stops it at the end of the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const door = createServer((socket) => {
    server ??= startPostgres();
    server.then(
      ({ url }) => socket.end(url),
      (error: unknown) => socket.end(`failed: ${error}`),
    );
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  const address = door.address();
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  project.provide('postgresPort', address.port);
  return async () => {
    door.close();
    await (await server?.catch(() => undefined))?.dispose();
  };
}
