import { createHash } from 'node:crypto';
import { StoreError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { migrate } from '../../../adapters/postgres/migrate.ts';
import { BOOK_SCHEMA } from '../../../adapters/postgres/schema.ts';
import type { SessionSettings } from '../../../adapters/postgres/session.ts';
import { openSession } from '../../../adapters/postgres/session.ts';
import type { Respond } from '../../support/postgres-fake.ts';
import { createFakePool, createPgError } from '../../support/postgres-fake.ts';

const STATEMENT = { text: 'SELECT work' };
const BROKEN = new Error('Connection terminated unexpectedly');
const CONFLICTS = ['40001', '40P01', '26000', '42P05'];

/** A session on a pool that responds as the test decides. */
function opened(respond: Respond, settings: Partial<SessionSettings> = {}, processID?: number) {
  const fake = createFakePool(respond, processID);
  const waits: number[] = [];
  const session = openSession(fake.pool, {
    schema: '"books"',
    named: true,
    direct: true,
    strict: false,
    wait: async (ms) => void waits.push(ms),
    ...settings,
  });
  return { ...fake, session, waits, getTexts: () => fake.texts };
}

/** Responds with an error to the first `times` statements of the work, and then with a row. */
function failing(error: Error, times = Number.POSITIVE_INFINITY): Respond {
  let left = times;
  return ({ text }) => {
    if (text !== STATEMENT.text) return [['epoch']];
    if (left-- > 0) throw error;
    return [['row']];
  };
}

const getFailure = (promise: Promise<unknown>): Promise<StoreError> =>
  promise.then(
    () => Promise.reject(new Error('the call must fail')),
    (failure: unknown) => (failure instanceof StoreError ? failure : Promise.reject(failure)),
  );

describe('PostgreSQL session: statements', () => {
  test('have a name that depends on their text only', () => {
    const { session } = opened(() => []);
    const name = `intentbook_${createHash('sha256').update('SELECT 1').digest('hex').slice(0, 32)}`;
    expect(session.prepare('SELECT 1')).toEqual({ text: 'SELECT 1', name });
    expect(session.prepare('SELECT 1')).toBe(session.prepare('SELECT 1'));
    expect(session.prepare('SELECT 2')).not.toEqual(session.prepare('SELECT 1'));
  });

  test('have no name behind a pooler, which changes connections between transactions', () => {
    expect(opened(() => [], { named: false }).session.prepare('SELECT 1')).toEqual({ text: 'SELECT 1' });
  });
});

describe('PostgreSQL session: read', () => {
  test('returns the result and the connection', async () => {
    const { session, queries, released, countListeners } = opened(() => [['a'], ['b']]);
    expect(await session.read('read orders', (run) => run(STATEMENT, 1, 'x'))).toEqual([['a'], ['b']]);
    expect(queries).toMatchObject([{ text: 'SELECT work', values: [1, 'x'], rowMode: 'array' }]);
    expect(released).toEqual([undefined]);
    expect(countListeners()).toBe(0);
  });

  test.each(CONFLICTS)('is repeated after the error %s, at most ten times', async (code) => {
    const once = opened(failing(createPgError(code), 9));
    expect(await once.session.read('read orders', (run) => run(STATEMENT))).toEqual([['row']]);
    expect(once.queries).toHaveLength(10);
    const always = opened(failing(createPgError(code)));
    const failure = await getFailure(always.session.read('read orders', (run) => run(STATEMENT)));
    expect(failure.code).toBe('Unavailable');
    expect(always.queries).toHaveLength(10);
  });

  test.each([
    ['40001', 'Unavailable', 'conflicts with other writers persisted after retries (40001)', true],
    ['42P01', 'Unavailable', 'a table is missing (42P01)', true],
    ['22003', 'InvalidValue', 'a value does not fit the schema (22003)', true],
    ['23505', 'InvalidValue', 'a value does not fit the schema (23505)', true],
    ['25006', 'Unavailable', 'the server or the transaction is read-only (25006)', false],
    ['53100', 'Unavailable', 'the disk of the server is full (53100)', true],
    ['53200', 'Unavailable', 'the server is short of resources (53200)', true],
    ['57P01', 'Unavailable', 'the server is shutting down (57P01)', false],
    ['ECONNREFUSED', 'Unavailable', 'the server cannot be reached (ECONNREFUSED)', false],
    ['12345', 'Unavailable', 'the server returned the error 12345', true],
  ])('fails after the error %s with a meaning', async (code, kind, meaning, isKept) => {
    const { session, released } = opened(failing(createPgError(code)));
    const failure = await getFailure(session.read('read orders', (run) => run(STATEMENT)));
    expect([failure.code, failure.message]).toEqual([kind, `the PostgreSQL store cannot read orders: ${meaning}`]);
    expect(failure.cause).toMatchObject({ code });
    // The pool closes a connection whose state is unknown, or that leads to a read-only server.
    expect(new Set(released.map((error) => error === undefined))).toEqual(new Set([isKept]));
  });

  test('fails with a constant message after an error without a code', async () => {
    const { session, released } = opened(failing(BROKEN));
    const failure = await getFailure(session.read('read orders', (run) => run(STATEMENT)));
    expect(failure.message).toBe('the PostgreSQL store cannot read orders: the connection failed');
    expect(released).toEqual([BROKEN]);
  });

  test('keeps the failure of the work and the connection', async () => {
    const { session, released } = opened(() => []);
    const failure = new StoreError('SchemaTooOld', 'the schema is old');
    expect(await getFailure(session.read('read orders', () => Promise.reject(failure)))).toBe(failure);
    expect(released).toEqual([undefined]);
  });
});

describe('PostgreSQL session: call', () => {
  const insert = ({ session }: Pick<ReturnType<typeof opened>, 'session'>) =>
    session.call('insert orders', (run) => run(STATEMENT));

  test('runs one statement without a transaction, then reports its commit on the same connection', async () => {
    const committed: unknown[] = [];
    const fixture = opened(failing(BROKEN, 0), { committed: async (client) => void committed.push(client?.processID) });
    expect(await insert(fixture)).toEqual([['row']]);
    expect(fixture.getTexts()).toEqual(['SELECT work']);
    expect(committed).toEqual([42]);
  });

  test('succeeds although the report of the commit fails', async () => {
    expect(await insert(opened(failing(BROKEN, 0), { committed: () => Promise.reject(BROKEN) }))).toEqual([['row']]);
  });

  test('is repeated after a conflict', async () => {
    const fixture = opened(failing(createPgError('40001'), 2));
    expect(await insert(fixture)).toEqual([['row']]);
    expect(fixture.queries).toHaveLength(3);
  });

  test('runs in a transaction if statements have another isolation level', async () => {
    const fixture = opened(failing(BROKEN, 0), { strict: true });
    expect(await insert(fixture)).toEqual([['row']]);
    expect(
      fixture
        .getTexts()
        .slice(1)
        .map((text) => text.slice(0, 12)),
    ).toEqual(['BEGIN ISOLAT', 'SELECT work', 'COMMIT']);
  });

  test.each([
    ['a lost connection', BROKEN],
    ['the end of the session by the server', createPgError('57P01')],
    ['a connection error of the server', createPgError('08006')],
    ['an idle session', createPgError('25P03')],
    ['a reset connection', createPgError('ECONNRESET')],
    ['a crash of the server, whose log has no space', createPgError('53100', 'PANIC')],
    ['a crash of the server, whose log cannot be written', createPgError('58030', 'PANIC')],
  ])('has an unknown outcome after %s, and is not repeated', async (_, error) => {
    const fixture = opened(failing(error));
    const failure = await getFailure(insert(fixture));
    expect(failure.code).toBe('OutcomeUnknown');
    expect(failure.message).toBe(
      'the PostgreSQL store cannot determine the outcome of an attempt to insert orders: it may be stored',
    );
    expect(failure.cause).toBe(error);
    expect(fixture.queries).toHaveLength(1);
  });

  test('fails after a lost connection if it can be repeated by the caller', async () => {
    const { session } = opened(failing(BROKEN));
    const call = session.call('insert orders', (run) => run(STATEMENT), { repeatable: true });
    expect(await getFailure(call)).toMatchObject({ code: 'Unavailable', cause: BROKEN });
  });

  test.each([
    createPgError('42P01'),
    createPgError('42P01', 'FEHLER'),
    createPgError('53100'),
    createPgError('53100', 'ERROR'),
  ])('fails after an error of the server, which has no effect', async (error) => {
    expect(await getFailure(insert(opened(failing(error))))).toMatchObject({ code: 'Unavailable' });
  });

  test('has an unknown outcome if no standby has confirmed the commit', async () => {
    const fixture: ReturnType<typeof opened> = opened(() => {
      fixture.emit('notice', { routine: 'SyncRepWaitForLSN' });
      return [['row']];
    });
    const failure = await getFailure(insert(fixture));
    expect(failure.code).toBe('OutcomeUnknown');
    expect(failure.cause).toEqual(new Error('a standby did not confirm the commit'));
    expect(fixture.countListeners()).toBe(0);
    // The commit is complete on this server: its session cannot be ended.
    expect(await fixture.session.settle(failure)).toBe(false);
  });

  test('reports a commit with an unknown outcome without its connection, and none after an error', async () => {
    const commits: unknown[] = [];
    const committed = async (...client: unknown[]) => void commits.push(client);
    await getFailure(insert(opened(failing(createPgError('57014')), { committed })));
    expect(commits).toEqual([]);
    await getFailure(insert(opened(failing(BROKEN), { committed })));
    expect(commits).toEqual([[]]);
  });

  test('ignores other notices', async () => {
    const fixture: ReturnType<typeof opened> = opened(() => {
      fixture.emit('notice', { routine: 'DefineIndex' });
      return [['row']];
    });
    expect(await insert(fixture)).toEqual([['row']]);
  });
});

describe('PostgreSQL session: settle', () => {
  /** A call whose connection broke, and a server that responds to each attempt to end its session. */
  async function broken(responses: readonly (readonly unknown[] | Error)[], settings: Partial<SessionSettings> = {}) {
    const left = [...responses];
    const fixture = opened(({ text }) => {
      if (text === STATEMENT.text) throw BROKEN;
      const response = left.shift() ?? [[true]];
      if (response instanceof Error) throw response;
      return response;
    }, settings);
    const failure = await getFailure(fixture.session.call('insert orders', (run) => run(STATEMENT)));
    return { ...fixture, failure };
  }

  test('ends the session of the broken connection and waits until the server has none', async () => {
    const { session, failure, queries, waits } = await broken([[[true]], BROKEN, []]);
    expect(await session.settle(failure)).toBe(true);
    expect(queries.slice(1).map(({ values }) => values)).toEqual([[42], [42], [42]]);
    expect(queries[1]?.text).toBe(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND usename = session_user ' +
        'AND pid <> pg_backend_pid() AND NOT pg_is_in_recovery() UNION ALL SELECT false WHERE pg_is_in_recovery()',
    );
    expect(waits).toEqual([250, 250]);
  });

  test('gives up after eight attempts', async () => {
    const { session, failure, queries, waits } = await broken([]);
    expect(await session.settle(failure)).toBe(false);
    expect(queries).toHaveLength(1 + 8);
    expect(waits).toHaveLength(7);
  });

  test('is impossible behind a pooler, whose process ids are not those of the server', async () => {
    const { session, failure, queries } = await broken([[]], { direct: false });
    expect(await session.settle(failure)).toBe(false);
    expect(queries).toHaveLength(1);
  });

  test.each([new Error('other'), new StoreError('OutcomeUnknown', 'other'), undefined])(
    'is impossible for the failure %s of something else',
    async (failure) => {
      const { session } = await broken([[]]);
      expect(await session.settle(failure)).toBe(false);
    },
  );
});

describe('PostgreSQL session: write', () => {
  const write = ({ session }: Pick<ReturnType<typeof opened>, 'session'>) =>
    session.write('apply events', (run) => run(STATEMENT));

  /** Responds to a commit that breaks, and to the queries of its outcome. */
  function unconfirmed(outcomes: readonly (readonly [string | null, string] | Error)[]): Respond {
    const left = [...outcomes];
    return ({ text }) => {
      if (text === 'COMMIT') throw BROKEN;
      if (!text.includes('pg_xact_status')) return [['epoch']];
      const outcome = left.shift() ?? ['in progress', 'epoch'];
      if (outcome instanceof Error) throw outcome;
      return [outcome];
    };
  }

  test('runs in one transaction with limits, and reports its commit', async () => {
    let committed = 0;
    const fixture = opened(failing(BROKEN, 0), { committed: async () => void committed++ });
    expect(await write(fixture)).toEqual([['row']]);
    const [epoch, begin, ...rest] = fixture.getTexts();
    expect(epoch).toContain('stats_reset');
    expect(begin).toBe(
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = 4000; SET LOCAL statement_timeout = ' +
        '30000; SET LOCAL idle_in_transaction_session_timeout = 4000; SELECT pg_current_xact_id()::text AS number',
    );
    expect(rest).toEqual(['SELECT work', 'COMMIT']);
    expect(fixture.queries[2]).toMatchObject({ limit: 31_000 });
    expect(committed).toBe(1);
    expect(fixture.released).toEqual([undefined]);
  });

  test('is rolled back after an error of the server, and repeated after a conflict', async () => {
    const fixture = opened(failing(createPgError('40P01'), 1));
    expect(await write(fixture)).toEqual([['row']]);
    const texts = fixture.getTexts().filter((text) => /^(ROLLBACK|COMMIT|SELECT work)/.test(text));
    expect(texts).toEqual(['SELECT work', 'ROLLBACK', 'SELECT work', 'COMMIT']);
  });

  test('is rolled back if its begin is cancelled, because it may be open', async () => {
    const fixture = opened(({ text }) => {
      if (text.startsWith('BEGIN')) throw createPgError('57014');
      return [['row']];
    });
    expect(await getFailure(write(fixture))).toMatchObject({ code: 'Unavailable' });
    expect(fixture.getTexts().at(-1)).toBe('ROLLBACK');
    expect(fixture.released).toEqual([undefined]);
  });

  test('is not rolled back on a broken connection', async () => {
    const fixture = opened(failing(BROKEN));
    expect(await getFailure(write(fixture))).toMatchObject({ code: 'Unavailable', cause: BROKEN });
    expect(fixture.getTexts()).not.toContain('ROLLBACK');
    expect(fixture.released).toEqual([BROKEN]);
  });

  test.each([
    ['is committed', [['committed', 'epoch']], 0],
    ['is committed after a while', [['in progress', 'epoch'], BROKEN, ['committed', 'epoch']], 2],
  ] as const)('returns its result if the connection broke during a commit that %s', async (_, outcomes, waited) => {
    const commits: unknown[] = [];
    const committed = async (...client: unknown[]) => void commits.push(client);
    const fixture = opened(unconfirmed(outcomes), { committed });
    expect(await write(fixture)).toEqual([['epoch']]);
    expect(commits).toEqual([[]]);
    expect(fixture.waits).toEqual(Array.from({ length: waited }, () => 250));
    expect(fixture.queries.at(-2)).toMatchObject({ values: ['7'] });
  });

  test.each([
    ['was rolled back', ['aborted', 'epoch']],
    ['is unknown to the server', createPgError('22023')],
  ] as const)('fails if the connection broke during a commit that %s', async (_, outcome) => {
    const fixture = opened(unconfirmed([outcome]));
    expect(await getFailure(write(fixture))).toMatchObject({ code: 'Unavailable', cause: BROKEN });
    expect(fixture.waits).toEqual([]);
  });

  test.each([
    ['is in progress', ['in progress', 'epoch']],
    ['was assigned again after a crash of the server', ['committed', 'another epoch']],
    ['is too old', [null, 'epoch']],
    ['cannot be queried', BROKEN],
  ] as const)('has an unknown outcome if its transaction %s', async (_, outcome) => {
    const fixture = opened(unconfirmed(Array.from({ length: 8 }, () => outcome)));
    expect(await getFailure(write(fixture))).toMatchObject({ code: 'OutcomeUnknown', cause: BROKEN });
    expect(fixture.waits).toHaveLength(7);
  });

  test('is repeated if the commit fails with a conflict', async () => {
    let conflicts = 1;
    const fixture = opened(({ text }) => {
      if (text === 'COMMIT' && conflicts-- > 0) throw createPgError('40001');
      return [['row']];
    });
    expect(await write(fixture)).toEqual([['row']]);
    expect(fixture.getTexts().filter((text) => text === 'COMMIT')).toHaveLength(2);
  });

  test('is rolled back if its commit is cancelled, because it may still be open', async () => {
    const fixture = opened(({ text }) => {
      if (text === 'COMMIT') throw createPgError('57014');
      return [['row']];
    });
    expect(await getFailure(write(fixture))).toMatchObject({ code: 'Unavailable' });
    expect(fixture.getTexts().at(-1)).toBe('ROLLBACK');
    expect(fixture.released).toEqual([undefined]);
  });

  test('has an unknown outcome if no standby has confirmed the commit', async () => {
    const fixture: ReturnType<typeof opened> = opened(({ text }) => {
      if (text === 'COMMIT') fixture.emit('notice', { routine: 'SyncRepWaitForLSN' });
      return [['row']];
    });
    expect(await getFailure(write(fixture))).toMatchObject({
      code: 'OutcomeUnknown',
      message: 'the PostgreSQL store cannot determine the outcome of an attempt to apply events: it may be stored',
    });
  });
});

test('PostgreSQL migration is rolled back if its begin is cancelled, because it may be open', async () => {
  const fake = createFakePool(({ text }) => {
    if (text.startsWith('SELECT relname')) return [];
    throw createPgError('57014');
  });
  await expect(migrate(fake.pool, 'books', BOOK_SCHEMA)).rejects.toMatchObject({ code: 'Unavailable' });
  expect(fake.texts.at(-1)).toBe('ROLLBACK');
});

describe('PostgreSQL session: join', () => {
  const UNSUPPORTED = '`transaction` must be the node-postgres client on which it is open';

  async function join(respond: Respond, settings: Partial<SessionSettings> = {}) {
    const { session } = opened(() => [], settings);
    const host = createFakePool(respond);
    const result = session.join('insert orders', await host.pool.connect(), (run) => run(STATEMENT));
    return { result: await result.catch((failure: unknown) => failure), texts: host.texts };
  }

  test('runs in a savepoint of the host, which commits', async () => {
    const { result, texts } = await join(() => [['row']]);
    expect(result).toEqual([['row']]);
    expect(texts).toEqual(['SAVEPOINT intentbook', 'SELECT work', 'RELEASE SAVEPOINT intentbook']);
  });

  test('is rolled back after an error of the server, so that the host can go on', async () => {
    const { result, texts } = await join(failing(createPgError('23505')));
    expect(result).toMatchObject({ code: 'InvalidValue' });
    expect(texts.slice(2)).toEqual(['ROLLBACK TO SAVEPOINT intentbook', 'RELEASE SAVEPOINT intentbook']);
  });

  test('is rolled back after an error of the driver, because the server may still execute the statement', async () => {
    const { result, texts } = await join(failing(new Error('Query read timeout')));
    expect(result).toMatchObject({ code: 'Unavailable' });
    expect(texts.slice(2)).toEqual(['ROLLBACK TO SAVEPOINT intentbook', 'RELEASE SAVEPOINT intentbook']);
  });

  test('waits for the end of an earlier one on the same client, whose savepoint has the same name', async () => {
    const { session } = opened(() => []);
    const host = createFakePool(() => [['row']]);
    const client = await host.pool.connect();
    const first = session.join('insert orders', client, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error('failed');
    });
    const second = session.join('insert orders', client, (run) => run(STATEMENT));
    expect(await Promise.allSettled([first, second])).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled' }]);
    expect(host.texts).toEqual([
      'SAVEPOINT intentbook',
      'ROLLBACK TO SAVEPOINT intentbook',
      'RELEASE SAVEPOINT intentbook',
      'SAVEPOINT intentbook',
      'SELECT work',
      'RELEASE SAVEPOINT intentbook',
    ]);
  });

  test('fails with the first error of a broken connection', async () => {
    const { result, texts } = await join(({ text }) => {
      if (text === STATEMENT.text) throw BROKEN;
      if (text.startsWith('ROLLBACK')) throw new Error('not queryable');
      return [];
    });
    expect(result).toMatchObject({ code: 'Unavailable', cause: BROKEN });
    expect(texts).toEqual(['SAVEPOINT intentbook', 'SELECT work', 'ROLLBACK TO SAVEPOINT intentbook']);
  });

  test('requires an open transaction', async () => {
    const { result } = await join(() => {
      throw createPgError('25P01');
    });
    expect(result).toMatchObject({ code: 'Unsupported', message: 'no transaction is open on the client' });
    expect((await join(failing(BROKEN, 0), { joinable: false })).result).toMatchObject({
      code: 'Unsupported',
      message: 'the only connection cannot run a transaction of the host',
    });
  });

  test('fails if the savepoint cannot be created', async () => {
    const { result } = await join(() => {
      throw createPgError('57P01');
    });
    expect(result).toMatchObject({ code: 'Unavailable' });
  });

  test.each([null, undefined, 'client', {}, { query: 'SELECT 1' }, () => {}, { query: async () => [] }])(
    'rejects %s as a transaction',
    async (given) => {
      const { session } = opened(() => []);
      const failure = await getFailure(session.join('insert orders', given, (run) => run(STATEMENT)));
      expect([failure.code, failure.message]).toEqual(['Unsupported', UNSUPPORTED]);
    },
  );
});
