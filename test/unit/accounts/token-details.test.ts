import type { Address, TokenHolderSource, TokenInfo } from 'intentbook';
import { describe, expect, it } from 'vitest';
import { scriptedChain } from '../../support/chain.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import { accountFixture } from './account-api-fixture.ts';

const [weth, cow] = [WETH.toLowerCase(), COW.toLowerCase()] as [Address, Address];
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const NOTHING = `0x${'0d'.repeat(20)}`;
const INFO: Readonly<Record<string, TokenInfo>> = {
  [weth]: { decimals: 18, symbol: 'WETH', name: 'Wrapped Ether' },
  [cow]: { decimals: 18 },
};

async function tokenFixture(options: Parameters<typeof accountFixture>[0] = {}) {
  const chain = scriptedChain({
    balanceAndAllowance: () => ({ balance: 0n, allowance: 0n }),
    tokenInfo: (token: Address) => INFO[token],
  });
  const fixture = await accountFixture(options, { chain });
  const queries = () => chain.recordedCalls.filter(({ question }) => question === 'tokenInfo').length;
  const request = async (path: string, body?: unknown) => {
    const answer = await fixture.send(body === undefined ? 'GET' : 'POST', `/${SEPOLIA}/tokens/${path}`, { body });
    return [answer.status, answer.json()];
  };
  return { ...fixture, queries, request };
}

const DETAILS = { address: weth, decimals: 18, symbol: 'WETH', name: 'Wrapped Ether' };
const ETHER = { address: NATIVE, decimals: 18, symbol: 'ETH', name: 'Ether' };

describe('GET /{chain_id}/tokens/{token}/details', () => {
  it('returns what the contract returns, in lower case', async () => {
    const { request, send } = await tokenFixture();
    expect(await request(`${WETH}/details`)).toEqual([200, DETAILS]);
    expect(await request(`${COW}/details`)).toEqual([200, { address: cow, decimals: 18 }]);
    expect(await request(`${NATIVE}/details`)).toEqual([200, ETHER]);
    expect((await send('GET', `/${SEPOLIA}/tokens/${WETH}/details`)).header('cache-control')).toBe(
      'public, max-age=3600',
    );
  });

  it('reads a token once, and an address without a token once in ten minutes', async () => {
    const { request, queries, clock } = await tokenFixture();
    for (let i = 0; i < 3; i++) {
      await request(`${WETH}/details`);
      expect(await request(`${NOTHING}/details`)).toEqual([404, { message: 'Token not found' }]);
    }
    expect(queries()).toBe(2);
    clock.advance(600_000);
    await request(`${NOTHING}/details`);
    expect(queries()).toBe(3);
  });

  it('shares its cache with balances', async () => {
    const { request, send, queries } = await tokenFixture();
    await request(`${WETH}/details`);
    await send('GET', `/${SEPOLIA}/accounts/${NOTHING}/balances?tokens=${WETH}`);
    expect(queries()).toBe(1);
  });

  it('rejects malformed addresses and chains without a book', async () => {
    const { request, send } = await tokenFixture();
    expect(await request('0x12/details')).toEqual([
      400,
      { message: 'token: must be 0x and 40 hex digits, got "0x12"' },
    ]);
    const other = await send('GET', `/1/tokens/${WETH}/details`);
    expect([other.status, other.json()]).toEqual([400, { message: 'Unsupported chain' }]);
  });

  it('uses the lookup of the host if the book has no chain client', async () => {
    const { send } = await accountFixture({ tokens: (_, token) => (token === weth ? INFO[weth] : undefined) });
    const known = await send('GET', `/${SEPOLIA}/tokens/${WETH}/details`);
    expect([known.status, known.json()]).toEqual([200, DETAILS]);
    expect((await send('GET', `/${SEPOLIA}/tokens/${NATIVE}/details`)).json()).toEqual(ETHER);
    const common = await send('GET', `/${SEPOLIA}/tokens/${COW}/details`);
    expect(common.json()).toMatchObject({ symbol: 'COW', decimals: 18 });
    const unknown = await send('GET', `/${SEPOLIA}/tokens/0x${'1f'.repeat(20)}/details`);
    expect([unknown.status, unknown.json()]).toEqual([503, { message: 'Token data is not available on this chain' }]);
  });
});

describe('POST /{chain_id}/tokens/details', () => {
  it('returns the known tokens in request order', async () => {
    const { request } = await tokenFixture();
    const body = { tokenAddresses: [COW, NOTHING, NATIVE, WETH, COW] };
    const cowDetails = { address: cow, decimals: 18 };
    expect(await request('details', body)).toEqual([200, [cowDetails, ETHER, DETAILS, cowDetails]]);
    expect(await request('details', { tokenAddresses: [NOTHING] })).toEqual([404, { message: 'No tokens found' }]);
  });

  it('reads 100 tokens at most', async () => {
    const { request, queries } = await tokenFixture();
    const addresses = Array.from({ length: 101 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}`);
    expect((await request('details', { tokenAddresses: addresses.slice(1) }))[0]).toBe(404);
    expect(queries()).toBe(100);
    expect((await request('details', { tokenAddresses: addresses }))[0]).toBe(400);
  });

  it('limits the number of tokens of a call in process, and names the parameter', async () => {
    const { accounts, queries } = await tokenFixture();
    const failure = { status: 400, message: 'tokenAddresses: must have 1 to 100 elements' };
    await expect(accounts.tokens.getMany(SEPOLIA, [])).rejects.toMatchObject(failure);
    const many = Array.from({ length: 101 }, () => WETH);
    await expect(accounts.tokens.getMany(SEPOLIA, many)).rejects.toMatchObject(failure);
    await expect(accounts.tokens.getMany(SEPOLIA, ['0x12'])).rejects.toMatchObject({
      code: 'InvalidParameter',
      message: 'tokenAddresses: must be 0x and 40 hex digits, got "0x12"',
    });
    expect(queries()).toBe(0);
    expect(await accounts.tokens.getMany(SEPOLIA, many.slice(1))).toHaveLength(100);
  });

  it('returns no member that the contract does not have', async () => {
    const { accounts } = await tokenFixture();
    expect(Object.keys((await accounts.tokens.get(SEPOLIA, COW)) ?? {})).toEqual(['address', 'decimals']);
    const { accounts: plain } = await accountFixture({ tokens: () => ({ symbol: 'T' }) });
    expect(Object.keys((await plain.tokens.get(SEPOLIA, COW)) ?? {})).toEqual(['address', 'symbol']);
  });

  it('reports whether the chain or the host was queried', async () => {
    const { accounts } = await tokenFixture();
    const sources: string[] = [];
    accounts.observe(({ subject, source }) => sources.push(`${subject} ${source}`));
    await accounts.tokens.get(SEPOLIA, WETH);
    expect(sources).toEqual(['tokenDetails chain']);
  });

  it.each([[{}], [[]], [{ tokenAddresses: [] }], [{ tokenAddresses: ['0x12'] }], [{ tokenAddresses: WETH }], [null]])(
    'rejects %j',
    async (body) => {
      const { request } = await tokenFixture();
      expect(await request('details', body)).toEqual([400, { message: expect.any(String) }]);
    },
  );
});

describe('GET /{chain_id}/tokens/{token}/topHolders', () => {
  const holders = [{ address: NATIVE, balance: '12' }] as const;
  const source = (topHolders: TokenHolderSource['topHolders']): TokenHolderSource => ({ name: 'double', topHolders });

  it('returns the holders of the first source that has them', async () => {
    const failing = source(() => Promise.reject(new Error('offline')));
    const sources = [failing, source(() => undefined), source(({ token }) => (token === weth ? holders : undefined))];
    const { request, failures } = await tokenFixture({ tokenHolders: sources });
    expect(await request(`${WETH}/topHolders`)).toEqual([200, holders]);
    expect(await request(`${COW}/topHolders`)).toEqual([503, { message: 'The sources of this data have failed' }]);
    expect(failures).toHaveLength(2);
    const { request: requestEmpty } = await tokenFixture({ tokenHolders: [source(() => undefined)] });
    expect(await requestEmpty(`${COW}/topHolders`)).toEqual([404, { message: 'Token holders not found' }]);
  });

  it('responds 503 without a source', async () => {
    const { request } = await tokenFixture();
    const message = 'Token holders are not available on this server';
    expect(await request(`${WETH}/topHolders`)).toEqual([503, { message }]);
    await expect(tokenFixture({ tokenHolders: [{}] as never })).rejects.toThrow('tokenHolders must be a list');
  });
});
