import { createSandbox } from 'intentbook/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Anvil, startAnvil } from '../../../apps/sandbox/anvil.ts';
import { deployWorld, getContracts, setPoolPrice } from '../../../apps/sandbox/deployment.ts';
import { getForkContracts } from '../../../apps/sandbox/fork.ts';
import { readTokens } from '../../../apps/sandbox/tokens.ts';

const CHAIN = 11155111;

/** A chain with the contracts and pools at the addresses of Sepolia, in place of a node of it. */
let origin: Anvil;
const tokens = readTokens(CHAIN, ['USDC', 'COW']);
beforeAll(async () => {
  origin = await startAnvil({ chainId: CHAIN, port: 0, host: '127.0.0.1' });
  const contracts = { ...getForkContracts(CHAIN, tokens), isFork: false };
  await deployWorld(origin.rpc, contracts, tokens);
  const [, usdc] = tokens;
  if (usdc !== undefined) await setPoolPrice(origin.rpc, contracts, usdc, '0.00025');
});
afterAll(() => origin.stop());

const count = async () => Number(await origin.rpc.call<string>('eth_blockNumber'));

describe('fork of a chain', () => {
  it('settles orders at the prices of its pools, and sends nothing to its node', async () => {
    const before = await count();
    await using sandbox = await createSandbox({ chainId: CHAIN, fork: origin.url });
    expect(sandbox.tokens.map(({ symbol, price }) => [symbol, Number(price)])).toEqual([
      ['WETH', 1],
      ['COW', 0.0001],
      ['USDC', 0.00025],
    ]);
    const trader = await sandbox.createTrader({ WETH: '2' });
    const quote = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
    const bought = Number(BigInt(quote.quote.buyAmount) / 10n ** 18n);
    expect([bought > 3900, bought < 4000]).toEqual([true, true]); // less the fee of the pool and the cost of gas
    const uid = await trader.placeOrder(quote, { slippageBps: 50 });
    await sandbox.waitFor(uid, 'fulfilled');
    const native = await trader.sellNative('1', { for: ['3000', 'USDC'] });
    await sandbox.waitFor(native.uid, 'fulfilled');
    const { price } = (await sandbox.accountInterface.usdPrices.get(CHAIN, sandbox.token('WETH').address)) ?? {};
    expect(price).toBe(4000);
    await sandbox.setPrice('USDC', '0.0002');
    const cheaper = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
    expect(BigInt(cheaper.quote.buyAmount)).toBeGreaterThan(4900n * 10n ** 18n);
    await expect(sandbox.freeze('USDC')).rejects.toThrow('tokens of a fork cannot be frozen');
    expect(sandbox.failures).toEqual([]);
    expect(await count()).toBe(before);
  });

  it.each([
    [{ chainId: 1 }, 'chainId must be that of the forked chain, 11155111, got 1'],
    [{ chainId: 10 }, 'chainId must be one of 1, 100, 8453, 42161, 11155111 with fork, got 10'],
    [{ fork: 'localhost:8545' }, 'fork must be the URL of a node, got "localhost:8545"'],
    [{ chain: 'simulated' as const }, 'fork must not be given together with state or the simulated chain'],
    [{ state: 'world.bin' }, 'fork must not be given together with state or the simulated chain'],
    [
      { tokens: [{ symbol: 'ABC', address: `0x${'ab'.repeat(20)}` }] },
      `fork must be a chain with a contract at 0x${'ab'.repeat(20)} (ABC)`,
    ],
    [{ fork: 'http://127.0.0.1:1' }, 'anvil exited with code'],
  ])('rejects %j', async (options, message) => {
    await expect(createSandbox({ chainId: CHAIN, fork: origin.url, ...options })).rejects.toThrow(message);
  });

  it('has the same contracts as a new chain, except the pools', () => {
    const { uniswapFactory, isFork, ...others } = getForkContracts(CHAIN, tokens);
    expect(getContracts(CHAIN, tokens)).toMatchObject(others);
    expect([isFork, uniswapFactory]).toEqual([true, '0xf62c03e08ada871a0beb309762e260a7a6a880e6']);
  });
});
