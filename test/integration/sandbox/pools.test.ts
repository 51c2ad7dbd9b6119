import { createSandbox } from 'intentbook/sandbox';
import { uniswapV2Pools } from 'intentbook/viem';
import { expect, it } from 'vitest';

interface Call {
  readonly method: string;
  readonly params: unknown;
}

interface Pool {
  readonly contract_address: string;
  readonly chain_id: number;
  readonly project: string;
  readonly apr: number;
  readonly fee: number;
  readonly tvl: number;
  readonly volume: number;
}

it('pools of the sandbox have the value of their reserves and the volume of their trades', async () => {
  await using sandbox = await createSandbox({ chain: 'anvil' });
  const trader = await sandbox.createTrader({ WETH: '10' });
  const uid = await trader.placeOrder({ sell: ['4', 'WETH'], for: ['9000', 'USDC'] });
  await sandbox.waitFor(uid, 'fulfilled');
  await sandbox.advance(43_200);

  const response = await fetch(`${sandbox.url}/${sandbox.chainId}/yield/pools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '[]',
  });
  const pools = (await response.json()) as Pool[];
  expect([response.status, pools.length]).toEqual([200, sandbox.tokens.length - 1]);
  for (const pool of pools) {
    // Each pool has 10000 units of native currency, worth 2500 dollars, on both sides.
    expect(pool.tvl).toBeGreaterThan(0.99 * 2 * 10_000 * 2500);
    expect(pool.tvl).toBeLessThan(1.01 * 2 * 10_000 * 2500);
    expect(pool).toMatchObject({ chain_id: sandbox.chainId, project: 'Uniswap V2', fee: 0.3 });
    expect(pool.apr).toBeCloseTo((pool.volume * 0.3 * 365) / pool.tvl, 9);
  }
  const traded = pools.filter(({ volume }) => volume > 0);
  expect(traded).toHaveLength(1);
  // The settlement swaps the 4 WETH of the order, worth 10000 dollars.
  const [{ volume, contract_address: address } = { volume: 0, contract_address: '' }] = traded;
  expect(volume).toBeGreaterThan(9_900);

  const averages = await fetch(`${sandbox.url}/${sandbox.chainId}/yield/pools-average-apr`);
  const mean = pools.reduce((sum, { apr }) => sum + apr, 0) / pools.length;
  expect(await averages.json()).toEqual({ 'Uniswap V2': Math.round(mean * 1e6) / 1e6 });

  // A trade older than a day does not count.
  await sandbox.advance(86_400);
  const client = { request: async ({ method, params }: Call) => callNode(sandbox.rpcUrl ?? '', method, params) };
  const options = {
    chainId: sandbox.chainId,
    factory: await factoryOf(sandbox.rpcUrl ?? '', address),
    tokens: sandbox.tokens.map((token) => token.address),
  };
  const source = uniswapV2Pools(client, {
    ...options,
    usdPrice: async (token) => (await sandbox.accountInterface.usdPrices.get(sandbox.chainId, token))?.price,
  });
  const signal = new AbortController().signal;
  const later = await source.pools(sandbox.chainId, { signal });
  expect(later?.map((pool) => pool.volume)).toEqual(pools.map(() => 0));
  expect(await source.pools(1, { signal })).toBeUndefined();
  const unpriced = uniswapV2Pools(client, { ...options, usdPrice: async () => undefined });
  await expect(unpriced.pools(sandbox.chainId, { signal })).rejects.toThrow('the price of no token is known');
});

it.each([
  [{ factory: '0x12' }, 'factory must be 0x and 40 hex digits, got "0x12"'],
  [{ tokens: '0x12' }, 'tokens must be a list, got 0x12'],
  [{ chainId: '1' }, 'chainId must be an integer from 1 up, got "1"'],
  [{ fee: Number.NaN }, 'fee must be a number from 0 to 100, got NaN'],
  [{ usdPrice: { usdPrice: 1 } }, 'usdPrice must be a function, got an object'],
  [{ tokens: [] }, 'tokens must have 2 to 32 addresses, got 0'],
  [{ maxBlocks: 0 }, 'maxBlocks must be an integer from 1 up, got 0'],
])('pools of Uniswap V2 require valid options: %j', (options, message) => {
  const [factory, token, other] = [1, 2, 3].map((n) => `0x${`0${n}`.repeat(20)}`) as [string, string, string];
  const valid = { chainId: 1, factory, tokens: [token, other], usdPrice: async () => 1 };
  expect(() => uniswapV2Pools({ request: async () => '0x' }, { ...valid, ...(options as object) })).toThrow(message);
});

async function callNode(url: string, method: string, params: unknown): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await response.json()) as { result: unknown }).result;
}

/** Returns the result of `factory()` of a pair. */
async function factoryOf(url: string, pair: string): Promise<string> {
  const word = await callNode(url, 'eth_call', [{ to: pair, data: '0xc45a0155' }, 'latest']);
  return `0x${String(word).slice(26)}`;
}
