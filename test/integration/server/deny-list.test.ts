import { renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from 'intentbook/server';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createDenyList } from '../../../apps/server/books/deny-list.ts';
import { account, signOrder } from '../../support/orders.ts';
import { until } from '../channels/channel-fixture.ts';
import { cleanUp, scratch } from './process.ts';

afterAll(cleanUp);

const [FIRST, SECOND] = ['0x00000000000000000000000000000000000000f1', '0x00000000000000000000000000000000000000f2'];

async function written(content: string): Promise<string> {
  const file = join(await scratch(), 'list.txt');
  writeFileSync(file, content);
  return file;
}

describe('deny list', () => {
  test('reads addresses, comments and empty lines', async () => {
    const list = createDenyList(
      await written(`# sanctioned\n${FIRST}  # since\u2028May\n\n${SECOND?.toUpperCase().replace('X', 'x')}\n`),
    );
    expect([...list.addresses]).toEqual([FIRST, SECOND]);
    list.close();
  });

  test('rejects a file that is missing or has another line', async () => {
    const file = await written(`${FIRST}\nCOW\n`);
    expect(() => createDenyList(file)).toThrow(`${file}, line 2 must be 0x and 40 hex digits, got "COW"`);
    expect(() => createDenyList(`${file}x`)).toThrow(`the deny list ${file}x cannot be read`);
  });

  test('follows the file, and keeps the previous addresses when it becomes invalid', async () => {
    const file = await written(`${FIRST}\n`);
    const failures: unknown[] = [];
    const list = createDenyList(file, (failure) => failures.push(failure), 20);
    const replace = (content: string) => {
      writeFileSync(`${file}.new`, content);
      renameSync(`${file}.new`, file);
    };
    replace(`${FIRST}\n${SECOND}\n`);
    await until(() => list.addresses.size === 2);
    replace('COW, which is no address\n');
    await until(() => failures.length > 0);
    expect(list.addresses.size).toBe(2);
    list.close();
  });

  test('keeps the addresses while the file is written in place, and when it is empty', async () => {
    const file = await written(`${FIRST}\n`);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const failures: unknown[] = [];
    const list = createDenyList(file, (failure) => failures.push(failure), 20);
    const check = () => vi.advanceTimersByTime(20);
    writeFileSync(file, '');
    check();
    expect([...list.addresses]).toEqual([FIRST]);
    writeFileSync(file, `${SECOND}\n`);
    check();
    expect([...list.addresses]).toEqual([FIRST]); // half of the file, for example
    writeFileSync(file, `${SECOND}\n${FIRST}\n`);
    check();
    check();
    expect([...list.addresses]).toEqual([SECOND, FIRST]);
    expect(failures).toEqual([]);
    writeFileSync(file, '# nothing\n');
    for (let i = 0; i < 3; i++) check();
    expect([...list.addresses]).toEqual([SECOND, FIRST]);
    expect(failures).toMatchObject([{ message: expect.stringMatching(/is empty; the previous addresses remain/) }]);
    list.close();
    vi.useRealTimers();
  });

  test('keeps the addresses and reports the failure once while the file cannot be examined', async () => {
    const file = await written(`${FIRST}\n`);
    const failures: unknown[] = [];
    const list = createDenyList(file, (failure) => failures.push(failure), 5);
    rmSync(file);
    symlinkSync(file, file); // a loop
    await until(() => failures.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(failures).toMatchObject([{ message: `the deny list ${file} cannot be read` }]);
    expect([...list.addresses]).toEqual([FIRST]);
    rmSync(file);
    writeFileSync(file, `${SECOND}\n`);
    await until(() => list.addresses.has(SECOND ?? ''));
    list.close();
  });

  test('follows a change that keeps the size and the modification time', async () => {
    const file = await written(`${FIRST}\n`);
    const { mtime } = statSync(file);
    utimesSync(file, mtime, mtime);
    const list = createDenyList(file, () => {}, 5);
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(file, `${SECOND}\n`);
    utimesSync(file, mtime, mtime);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([...list.addresses]).toEqual([SECOND]);
    list.close();
  });

  test('ends with a server that does not start', async () => {
    const file = await written(`${FIRST}\n`);
    const timers = vi.spyOn(globalThis, 'setInterval');
    const ended = vi.spyOn(globalThis, 'clearInterval');
    const settings = { deniedAddresses: file, deniedTokens: file, feePolicies: `${file}.missing` };
    await expect(serve({ port: 0, db: ':memory:', ...settings })).rejects.toThrow('fee policies');
    expect(timers.mock.results.length).toBeGreaterThanOrEqual(2);
    expect(ended.mock.calls.length).toBeGreaterThanOrEqual(timers.mock.results.length);
    vi.restoreAllMocks();
  });

  test('applies to owners and tokens of new orders at once', async () => {
    const owner = account(1);
    const [addresses, tokens] = [await written(`${owner.address}\n`), await written('')];
    const server = await serve({ port: 0, db: ':memory:', deniedAddresses: addresses, deniedTokens: tokens });
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const submit = async (seed: number) => server.book.orders.submit(await signOrder(account(seed), { validTo }));
    expect(await submit(1)).toMatchObject({ status: 'rejected', error: { code: 'Forbidden' } });
    expect(await submit(2)).toMatchObject({ status: 'accepted' });
    const { sellToken } = await signOrder(account(3), { validTo });
    writeFileSync(tokens, `${sellToken}\n`);
    const code = async (seed: number) => {
      const result = await submit(seed);
      return result.status === 'rejected' ? result.error.code : undefined;
    };
    let seed = 4;
    await until(async () => (await code(seed++)) === 'UnsupportedToken');
    await server.close();
  });
});
