import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { getErrorCode } from '../../../adapters/postgres/database-driver.ts';
import { toStoreError } from '../../../adapters/sqlite/database-driver.ts';
import { openNodeDatabase } from '../../../adapters/sqlite/node-sqlite.ts';
import { getOwnIdentity, getProcessState } from '../../../adapters/sqlite/process-identity.ts';
import { callRpc } from '../../../adapters/viem/rpc.ts';

/** Creates an error of another realm, as errors of Node.js are for code that Jest runs. */
const createForeign = (message: string, members: object = {}): Error =>
  Object.assign(runInNewContext(`new Error(${JSON.stringify(message)})`) as Error, members);

afterEach(() => vi.restoreAllMocks());

describe('error of another realm', () => {
  test('is not an instance of Error', () => {
    expect(createForeign('no') instanceof Error).toBe(false);
  });

  test('has its code in PostgreSQL', () => {
    expect(getErrorCode(createForeign('no', { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
  });

  test('has its meaning in SQLite', () => {
    const full = createForeign('no', { code: 'SQLITE_FULL' });
    expect(toStoreError('write', full).message).toContain('the disk is full (SQLITE_FULL)');
    expect(toStoreError('write', createForeign('no', { code: 'SQLITE_CONSTRAINT' })).code).toBe('InvalidValue');
    expect(toStoreError('write', createForeign('the folder is missing')).message).toContain('the folder is missing');
  });

  test('has its code in SQLite of the runtime', () => {
    function fail(): never {
      throw createForeign('full', { errcode: 13 });
    }
    const open = () => openNodeDatabase({ DatabaseSync: fail } as never, 'a.sqlite', 0);
    expect(open).toThrow(expect.objectContaining({ code: 'SQLITE_FULL' }));
  });

  test('shows that a process has ended', () => {
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw createForeign('kill ESRCH', { code: 'ESRCH' });
    });
    const own = getOwnIdentity();
    expect(getProcessState({ ...own, pid: own.pid + 1 })).toBe('ended');
  });

  test.each([
    ['a code', createForeign('connect ECONNREFUSED', { code: 'ECONNREFUSED' }), 'eth_call: failed (ECONNREFUSED)'],
    ['a port that fetch does not allow', createForeign('bad port'), 'eth_call: failed (bad port)'],
  ])('of a node with %s has its reason', async (_, cause, message) => {
    const client = {
      request: async () => {
        throw Object.assign(createForeign('fetch failed'), { cause });
      },
    };
    const called = callRpc(client as never, new AbortController().signal, 'eth_call', []);
    await expect(called).rejects.toThrow(new RegExp(`^${message.replace(/[()]/g, '\\$&')}$`));
  });
});
