import { StoreError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createQuery } from '../../../adapters/postgres/query.ts';
import { createReaders, createReplica } from '../../../adapters/postgres/replica.ts';
import type { PostgresSession } from '../../../adapters/postgres/session.ts';
import { manualClock } from '../../support/clock.ts';
import { createFakePool, createPgError } from '../../support/postgres-fake.ts';

const clock = manualClock();

type Position = string | null | undefined;

/** A replica that has replayed `replayed`, of a primary whose log ends at `flushed`. */
function fixture() {
  const state: { flushed: Position; replayed: Position; queries: number } = {
    flushed: undefined,
    replayed: undefined,
    queries: 0,
  };
  const primary = createFakePool(() => (state.flushed === undefined ? [] : [[state.flushed]]));
  const standby = createFakePool(({ text }) => {
    if (!text.includes('pg_is_in_recovery')) return [['from the replica']];
    state.queries++;
    return state.replayed === undefined ? [] : [[state.replayed]];
  });
  const replica = createReplica(standby.pool);
  const commit = async (flushed: Position) => {
    state.flushed = flushed;
    await replica.committed(await primary.pool.connect());
  };
  const catchUp = async (flushed: Position) => {
    state.flushed = flushed;
    await replica.catchUp(createQuery(await primary.pool.connect()));
  };
  const isCurrent = async (replayed: Position) => {
    state.replayed = replayed;
    return replica.isCurrent(await standby.pool.connect());
  };
  return { state, primary, standby, replica, commit, catchUp, isCurrent };
}

describe('PostgreSQL replica', () => {
  test('is current before any write of this process, without a query', async () => {
    const { isCurrent, state } = fixture();
    expect(await isCurrent(null)).toBe(true);
    expect(state.queries).toBe(0);
  });

  test.each([
    ['00000001 0/3000060', '00000001 0/3000060', true],
    ['00000001 0/3000060', '00000001 0/3000061', true],
    ['00000001 0/3000060', '00000001 0/300005F', false],
    ['00000001 0/FFFFFFFF', '00000001 1/0', true],
    ['00000001 1/0', '00000001 0/FFFFFFFF', false],
    ['00000001 A/0', '00000001 9/FFFFFFFF', false],
    ['0000000a 0/10', '0000000a 0/10', true],
    // A position of another timeline says nothing about this one.
    ['00000001 0/3000060', '00000002 0/9000000', false],
    ['00000002 0/10', '00000001 0/9000000', false],
    ['00000001 0/3000060', 'malformed', false],
    ['00000001 0/3000060', '00000001 0/3000060 ', false],
    ['00000001 0/3000060', ' 00000001 0/3000060', false],
    ['00000001 0/3000060', undefined, true],
    // A server that does not replay is the new primary.
    ['00000001 0/3000060', null, true],
  ])('with commits up to %s and replayed to %s is current: %s', async (flushed, replayed, expected) => {
    const { commit, isCurrent } = fixture();
    await commit(flushed);
    expect(await isCurrent(replayed)).toBe(expected);
  });

  test('requires the newest of all positions', async () => {
    const { commit, catchUp, isCurrent } = fixture();
    await commit('00000001 0/20');
    await commit('00000001 0/10');
    expect(await isCurrent('00000001 0/1F')).toBe(false);
    await catchUp('00000001 0/30');
    expect(await isCurrent('00000001 0/2F')).toBe(false);
    expect(await isCurrent('00000001 0/30')).toBe(true);
  });

  test('requires the positions of the new timeline after a failover, although they are lower', async () => {
    const { commit, isCurrent } = fixture();
    await commit('00000001 0/90');
    await commit('00000002 0/10');
    expect(await isCurrent('00000002 0/10')).toBe(true);
    expect(await isCurrent('00000001 0/90')).toBe(false);
  });

  test('keeps the required position if the primary returns none', async () => {
    const { commit, catchUp, isCurrent } = fixture();
    await commit('00000001 0/20');
    for (const flushed of [undefined, 'malformed']) {
      await commit(flushed);
      await catchUp(flushed);
    }
    expect(await isCurrent('00000001 0/1F')).toBe(false);
    expect(await isCurrent('00000001 0/20')).toBe(true);
  });

  test('is not current while the position of a commit is unknown, until a later one is known', async () => {
    const { commit, isCurrent, replica } = fixture();
    const broken = createFakePool(() => {
      throw new Error('lost');
    });
    await expect(replica.committed(await broken.pool.connect())).rejects.toThrow('lost');
    expect(await isCurrent('00000001 0/90')).toBe(false);
    await commit('00000001 0/20');
    expect(await isCurrent('00000001 0/90')).toBe(true);
  });

  test('is not current after a commit whose outcome is unknown, until a later one is known', async () => {
    const { commit, isCurrent, replica } = fixture();
    await commit('00000001 0/20');
    await replica.committed();
    expect(await isCurrent('00000001 0/90')).toBe(false);
    await commit('00000001 0/30');
    expect(await isCurrent('00000001 0/90')).toBe(true);
  });

  test('is not current if a commit began while the position of an earlier one was queried', async () => {
    const { replica, primary, state, isCurrent } = fixture();
    state.flushed = '00000001 0/20';
    const client = await primary.pool.connect();
    const first = replica.committed(client);
    const broken = createFakePool(() => {
      throw new Error('lost');
    });
    const second = replica.committed(await broken.pool.connect()).catch(() => {});
    await Promise.all([first, second]);
    expect(await isCurrent('00000001 0/90')).toBe(false);
  });

  test('is queried again only after a position that its connection has not replayed', async () => {
    const { commit, replica, standby, state } = fixture();
    const client = await standby.pool.connect();
    await commit('00000001 0/20');
    state.replayed = '00000001 0/30';
    expect([await replica.isCurrent(client), await replica.isCurrent(client)]).toEqual([true, true]);
    expect(state.queries).toBe(1);
    await commit('00000001 0/30');
    expect(await replica.isCurrent(client)).toBe(true);
    expect(state.queries).toBe(1);
    await commit('00000001 0/31');
    expect(await replica.isCurrent(client)).toBe(false);
    expect(state.queries).toBe(2);
    // Another connection of the pool may lead to another replica.
    await replica.isCurrent(await standby.pool.connect());
    expect(state.queries).toBe(3);
  });
});

describe('PostgreSQL reader', () => {
  /** A reader over a replica and a session of the primary. */
  function readers() {
    const parts = fixture();
    const operations: string[] = [];
    const session = {
      read: async (operation: string) => {
        operations.push(operation);
        return 'from the primary';
      },
    } as unknown as PostgresSession; // the only member that is used
    const reader = createReaders(session, parts.replica, clock);
    const read = () => reader.read('list orders', async (run) => (await run({ text: 'SELECT 1' }))[0]?.[0]);
    return { ...parts, session, operations, read };
  }

  test('without a replica is the session of the primary', () => {
    const { session } = readers();
    expect(createReaders(session, undefined, clock)).toBe(session);
  });

  test('reads from a current replica', async () => {
    const { read, operations, standby } = readers();
    expect(await read()).toBe('from the replica');
    expect(operations).toEqual([]);
    expect(standby.released).toEqual([undefined]);
  });

  test('reads from the primary if the replica lags', async () => {
    const { read, operations, commit, state } = readers();
    await commit('00000001 0/20');
    state.replayed = '00000001 0/10';
    expect(await read()).toBe('from the primary');
    expect(operations).toEqual(['list orders']);
  });

  test('reads from the primary after a failure of the replica', async () => {
    const { session, operations, replica } = readers();
    const reader = createReaders(session, replica, clock);
    const read = reader.read('list orders', () => Promise.reject(new StoreError('Unavailable', 'lost')));
    expect(await read).toBe('from the primary');
    expect(operations).toEqual(['list orders']);
  });

  test('does not wait for a replica that has failed, and uses it again when it responds', async () => {
    const { session, standby } = readers();
    let fail: ((failure: Error) => void) | undefined;
    let isDown = true;
    let attempts = 0;
    const connect = () => {
      attempts++;
      if (!isDown) return standby.pool.connect();
      return new Promise<never>((_, reject) => {
        fail = reject;
      });
    };
    const reader = createReaders(session, createReplica({ connect }), clock);
    const read = () => reader.read('list orders', async (run) => (await run({ text: 'SELECT 1' }))[0]?.[0]);
    const first = read();
    fail?.(new Error('timeout exceeded when trying to connect'));
    expect(await first).toBe('from the primary');
    expect(await read()).toBe('from the primary');
    expect(attempts).toBe(1);
    clock.advance(1000);
    // The second attempt does not end, and reads neither wait for it nor begin another one.
    expect(await Promise.all([read(), read()])).toEqual(['from the primary', 'from the primary']);
    expect(attempts).toBe(2);
    fail?.(new Error('timeout exceeded when trying to connect'));
    await new Promise(setImmediate);
    isDown = false;
    clock.advance(1000);
    expect(await read()).toBe('from the primary');
    await new Promise(setImmediate);
    expect(await read()).toBe('from the replica');
    expect(attempts).toBe(4);
  });

  test('uses a replica again after an error of a statement', async () => {
    const { read, state, commit, standby, session, replica } = readers();
    await commit('00000001 0/20');
    state.replayed = '00000001 0/20';
    const reader = createReaders(session, replica, clock);
    const failing = reader.read('list orders', () => Promise.reject(createPgError('40001')));
    expect(await failing).toBe('from the primary');
    expect(await reader.read('list orders', async (run) => (await run({ text: 'SELECT 1' }))[0]?.[0])).toBe(
      'from the replica',
    );
    expect(await read()).toBe('from the replica');
    expect(standby.released).toHaveLength(3);
  });

  test('returns an empty result of the replica', async () => {
    const { session, operations, replica } = readers();
    expect(await createReaders(session, replica, clock).read('list orders', async () => undefined)).toBeUndefined();
    expect(operations).toEqual([]);
  });
});
