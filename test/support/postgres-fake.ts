import type { PgPool, PgPoolClient, PgQuery } from 'intentbook/postgres';

/** An error of the server or of the system, with its code. An error of the server has a severity. */
export function createPgError(code: string, severity?: string): Error {
  return Object.assign(new Error(`error ${code}`), { code, ...(severity === undefined ? {} : { severity }) });
}

/** The response to a statement: rows, or a thrown error. `undefined`: no rows. */
export type Respond = (query: PgQuery, client: number) => readonly unknown[] | undefined;

/** A pool whose connections respond as the test decides. */
export interface FakePool {
  readonly pool: PgPool;
  /** The statements of all connections, in order. */
  readonly texts: string[];
  readonly queries: PgQuery[];
  /** What each connection was released with. */
  readonly released: unknown[];
  /** The last connection. Notices and errors of it are emitted here. */
  emit(event: string, argument?: unknown): void;
  /** Number of listeners of all connections. */
  countListeners(): number;
}

/** Creates a pool. Each call of `connect` lends a new connection. A transaction has the number 7. */
export function createFakePool(respond: Respond, processID: number | undefined = 42): FakePool {
  const listeners: { event: string; listener: (argument: unknown) => void }[] = [];
  const queries: PgQuery[] = [];
  const released: unknown[] = [];
  let clients = 0;

  function connect(): PgPoolClient {
    const number = ++clients;
    return {
      ...(processID === undefined ? {} : { processID }),
      async query(query) {
        queries.push(query);
        const rows = [...(respond(query, number) ?? [])];
        // Several statements return a list of results.
        if (query.text.startsWith('BEGIN')) return [{ rows: [] }, { rows: [{ number: '7' }] }] as never;
        return { rows };
      },
      release: (error) => void released.push(error),
      on: (event, listener) => void listeners.push({ event, listener }),
      removeListener(event, listener) {
        const index = listeners.findIndex((each) => each.event === event && each.listener === listener);
        if (index >= 0) listeners.splice(index, 1);
      },
    };
  }

  return {
    pool: { connect: async () => connect() },
    queries,
    released,
    get texts() {
      return queries.map(({ text }) => text);
    },
    emit(event, argument) {
      for (const each of listeners.filter((one) => one.event === event)) each.listener(argument);
    },
    countListeners: () => listeners.length,
  };
}
