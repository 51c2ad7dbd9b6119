import type { Address, PoolSource } from 'intentbook';
import { fixedPools, jsonPools } from 'intentbook/prices';
import { describe, expect, it } from 'vitest';
import { accountFixture } from './account-api-fixture.ts';

const address = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const pool = (n: number, project = 'Uniswap V2', apr = n, tvl = n) =>
  ({ address: address(n), project, apr, fee: 0.3, tvl, volume: 2 * tvl }) as const;
const row = (n: number, project = 'Uniswap V2') => ({
  contract_address: address(n),
  chain_id: 1,
  project,
  apr: n,
  fee: 0.3,
  tvl: n,
  volume: 2 * n,
});

const TABLE = { 1: [pool(1), pool(3, 'Curve'), pool(2)] };

async function poolFixture(...pools: readonly PoolSource[]) {
  const { send, ...fixture } = await accountFixture({ pools });
  return {
    ...fixture,
    async list(body: unknown, chainId = 1) {
      const answer = await send('POST', `/${chainId}/yield/pools`, { body });
      return [answer.status, answer.json()];
    },
    async averages(chainId = 1) {
      const answer = await send('GET', `/${chainId}/yield/pools-average-apr`);
      return [answer.status, answer.json(), answer.header('cache-control')];
    },
  };
}

describe('POST /{chain_id}/yield/pools', () => {
  it('returns the pools with the given addresses', async () => {
    const { list } = await poolFixture(fixedPools(TABLE));
    expect(await list([address(2).toUpperCase().replace('0X', '0x'), address(9)])).toEqual([200, [row(2)]]);
    expect(await list([address(2)], 100)).toEqual([200, []]);
  });

  it('keeps the tokens of a pool for the application, and leaves out malformed ones', async () => {
    const tokens = [address(8), address(9).toUpperCase().replace('0X', '0x')] as const;
    const table = { 1: [{ ...pool(3), tokens }, { ...pool(2), tokens: ['0x12', address(9)] }, pool(1)] };
    const { accounts, list } = await poolFixture(fixedPools(table as typeof TABLE));
    const [first, ...others] = await accounts.pools.list(1);
    expect(first).toEqual({ ...pool(3), tokens: [address(8), address(9)] });
    expect(others).toEqual([pool(2), pool(1)]);
    expect(await list([address(3)])).toEqual([200, [row(3)]]);
  });

  it('returns the 500 largest pools without addresses', async () => {
    const { list } = await poolFixture(fixedPools(TABLE));
    expect(await list([])).toEqual([200, [row(3, 'Curve'), row(2), row(1)]]);
    const many = await poolFixture(fixedPools({ 1: Array.from({ length: 501 }, (_, i) => pool(i + 1)) }));
    const [, rows] = await many.list([]);
    expect((rows as { tvl: number }[]).map(({ tvl }) => tvl)).toEqual(Array.from({ length: 500 }, (_, i) => 501 - i));
  });

  it.each([[{}], [['0x12']], [Array.from({ length: 501 }, (_, i) => address(i))], [null], ['x']])(
    'rejects %j',
    async (body) => {
      const { list } = await poolFixture(fixedPools(TABLE));
      expect(await list(body)).toEqual([400, { message: expect.any(String) }]);
    },
  );

  it('queries the next source after a failure, and caches for ten minutes', async () => {
    let calls = 0;
    const failing: PoolSource = { name: 'broken', pools: () => Promise.reject(new Error('offline')) };
    const invalid: PoolSource = { name: 'invalid', pools: () => [{ ...pool(1), tvl: Number.NaN } as never] };
    const counting: PoolSource = { name: 'counting', pools: () => [{ ...pool(++calls) } as never] };
    const { list, failures, clock } = await poolFixture(failing, invalid, counting);
    expect(await list([])).toEqual([200, [row(1)]]);
    expect(await list([])).toEqual([200, [row(1)]]);
    expect([calls, failures.length]).toEqual([1, 2]);
    clock.advance(600_000);
    expect(await list([])).toEqual([200, [row(2)]]);
  });

  it.each([
    ['an address of 32 bytes, as of other exchanges', { address: `0x${'12'.repeat(32)}` }],
    ['no yield', { apr: null }],
    ['an address with a suffix', { address: `${address(1)}0` }],
    ['an address with a prefix', { address: ` ${address(1)}` }],
    ['a project that is not text', { project: 5 }],
    ['a yield that is not finite', { apr: Number.NEGATIVE_INFINITY }],
    ['a yield that no pool has, whose mean would not be finite', { apr: 1e303 }],
    ['a value above all money', { tvl: 1e18 }],
    ['a negative fee', { fee: -1 }],
    ['a negative value', { tvl: -0.1 }],
    ['a volume that is not finite', { volume: Number.POSITIVE_INFINITY }],
  ])('leaves out and reports a pool of a source with %s', async (_, changes) => {
    const source: PoolSource = { name: 'broken', pools: () => [pool(2), { ...pool(1), ...changes } as never] };
    const { list, failures } = await poolFixture(source);
    expect(await list([])).toEqual([200, [row(2)]]);
    expect(failures).toEqual([new TypeError('1 pools have a malformed address, project or number')]);
  });

  it('accepts pools without a fee, a value, a volume, and with a loss', async () => {
    const empty = { ...pool(1), apr: -3, fee: 0, tvl: 0, volume: 0 };
    const { list } = await poolFixture({ name: 'new', pools: () => [empty] });
    expect(await list([])).toEqual([200, [{ ...row(1), apr: -3, fee: 0, tvl: 0, volume: 0 }]]);
  });

  it('limits the addresses and the pools of a call in process to 500', async () => {
    const many = Array.from({ length: 501 }, (_, i) => pool(i + 1));
    const { accounts } = await poolFixture(fixedPools({ 1: many }));
    const addresses = many.map(({ address: each }) => each);
    await expect(accounts.pools.list(1, addresses)).rejects.toMatchObject({
      status: 400,
      message: 'At most 500 pool addresses are allowed',
    });
    expect(await accounts.pools.list(1, addresses.slice(1))).toHaveLength(500);
    expect(await accounts.pools.list(1)).toHaveLength(500);
  });

  it('rejects sources without a function', async () => {
    const message = 'createAccounts: pools must be a list of sources';
    for (const sources of [[undefined], [fixedPools({}), {}]]) {
      await expect(poolFixture(...(sources as PoolSource[]))).rejects.toThrow(message); // untyped applications
    }
  });

  it('responds alike to concurrent requests, and to each chain on its own', async () => {
    const steps: (() => void)[] = [];
    const next = () => new Promise<void>((resolve) => void steps.push(resolve));
    const fails: PoolSource = {
      name: 'fails',
      async pools(chainId) {
        if (chainId === 100) return undefined;
        throw new Error('down');
      },
    };
    const waits: PoolSource = { name: 'waits', pools: () => next().then(() => undefined) };
    const { list } = await poolFixture(fails, waits);
    const lists = [list([])];
    await expect.poll(() => steps.length).toBe(1);
    lists.push(list([]), list([], 100));
    await expect.poll(() => steps.length).toBe(2);
    for (const step of steps) step();
    expect((await Promise.all(lists)).map(([status]) => status)).toEqual([503, 503, 200]);
  });

  it('responds 503 without a source, and if every source fails', async () => {
    const none = await poolFixture();
    expect(await none.list([])).toEqual([503, { message: 'Pools are not available on this server' }]);
    const broken = await poolFixture({ name: 'broken', pools: () => Promise.reject(new Error('offline')) });
    expect(await broken.list([])).toEqual([503, { message: 'Pools are not available right now' }]);
    await expect(poolFixture({} as never)).rejects.toThrow('createAccounts: pools must be a list of sources');
  });
});

describe('GET /{chain_id}/yield/pools-average-apr', () => {
  it('returns the mean yield of each project with six decimals', async () => {
    const table = { 1: [pool(1, 'A', 1), pool(2, 'A', 2), pool(3, 'A', 2), pool(4, 'B', -0.5)] };
    const { averages } = await poolFixture(fixedPools(table));
    expect(await averages()).toEqual([200, { A: 1.666667, B: -0.5 }, 'public, max-age=21600']);
    expect(await averages(5)).toEqual([200, {}, 'public, max-age=21600']);
  });
});

describe('sources of pools', () => {
  const signal = new AbortController().signal;
  const respond = (status: number, body: unknown) => async () => new Response(JSON.stringify(body), { status });

  it('read a document at a URL', async () => {
    const source = jsonPools({ url: 'https://example.org/pools.json', fetch: respond(200, TABLE) });
    expect(await source.pools(1, { signal })).toEqual(TABLE[1]);
    expect(await source.pools(2, { signal })).toBeUndefined();
    expect(source.name).toBe('pools of example.org');
  });

  it('share a request among concurrent calls, which the signal of one does not abort', async () => {
    const responses: ((response: Response) => void)[] = [];
    const source = jsonPools({
      url: 'https://example.org',
      fetch: (_, init) =>
        new Promise((resolve, reject) => {
          responses.push(resolve);
          init?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    });
    const first = new AbortController();
    const [left, one, two] = [source.pools(1, first), source.pools(1, { signal }), source.pools(2, { signal })];
    await expect.poll(() => responses.length).toBeGreaterThan(0);
    first.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect(responses).toHaveLength(1);
    responses[0]?.(new Response(JSON.stringify(TABLE)));
    expect(await Promise.all([one, two])).toEqual([TABLE[1], undefined]);
  });

  it('share a failure, and read the document again for the next call', async () => {
    let calls = 0;
    const source = jsonPools({
      url: 'https://example.org',
      fetch: async () => {
        calls++;
        if (calls === 1) throw new Error('offline');
        return new Response(JSON.stringify(TABLE));
      },
    });
    const results = await Promise.allSettled([source.pools(1, { signal }), source.pools(2, { signal })]);
    expect([results.map(({ status }) => status), calls]).toEqual([['rejected', 'rejected'], 1]);
    expect([await source.pools(1, { signal }), calls]).toEqual([TABLE[1], 2]);
  });

  it.each([
    [500, {}, 'responded with status 500'],
    [200, null, 'pools must be an object by chain id'],
    [200, [], 'pools must be an object by chain id'],
    [200, { error: 'limit reached' }, 'pools must be an object by chain id'],
  ])('reject status %i with %j', async (status, body, message) => {
    const source = jsonPools({ url: 'https://example.org', fetch: respond(status, body) });
    await expect(source.pools(1, { signal })).rejects.toThrow(message);
  });

  it('require valid options', () => {
    expect(() => fixedPools({ 1: [{ ...pool(1), project: 5 as never }] })).toThrow('project of pool');
    expect(() => jsonPools({ url: 'file:///pools.json' })).toThrow('url must be an http or https URL');
  });
});
