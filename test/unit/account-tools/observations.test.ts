import type { PoolSource, UsdPriceSource } from 'intentbook';
import type { SourceObservation } from 'intentbook/accounts';
import { fixedPools } from 'intentbook/prices';
import { instrumentAccounts } from 'intentbook/prometheus';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';
import { accountFixture } from '../accounts/account-api-fixture.ts';

const TOKEN = `0x${'aa'.repeat(20)}`;

/** An account interface whose sources need one second each. */
async function observedFixture() {
  const fails = { value: false };
  const price: UsdPriceSource = {
    name: 'prices',
    usdPrice() {
      fixture.clock.advance(1000);
      if (fails.value) throw new Error('offline');
      return 2;
    },
  };
  const broken: PoolSource = { name: 'broken', pools: () => Promise.reject(new Error('offline')) };
  const fixture = await accountFixture({
    usdPrices: { sources: [price], cacheTtl: 500 },
    pools: [broken, fixedPools({ [SEPOLIA]: [] })],
    tokens: () => ({ decimals: 6 }),
    simulators: {
      [SEPOLIA]: { name: 'node', simulate: () => Promise.reject(new Error('offline')) },
    },
  });
  const observed: SourceObservation[] = [];
  const stop = fixture.accounts.observe((observation) => observed.push(observation));
  return { ...fixture, observed, stop, fails };
}

describe('observations of the account interface', () => {
  it('report source, outcome and duration of each query, and cache hits', async () => {
    const { accounts, observed, fails, stop, clock } = await observedFixture();
    const read = () => accounts.usdPrices.get(SEPOLIA, TOKEN);
    await read();
    await read();
    clock.advance(500);
    fails.value = true;
    await expect(read()).rejects.toMatchObject({ status: 503 });
    await accounts.pools.list(SEPOLIA);
    await accounts.tokens.get(SEPOLIA, TOKEN);
    const call = { from: TOKEN, to: TOKEN, input: '0x' };
    await expect(accounts.simulation.simulate(SEPOLIA, [call] as never)).rejects.toThrow('The simulation failed');
    expect(observed).toEqual([
      { subject: 'usdPrice', source: 'prices', outcome: 'responded', ms: 1000 },
      { subject: 'usdPrice', source: 'cache', outcome: 'cached', ms: 0 },
      { subject: 'usdPrice', source: 'prices', outcome: 'failed', ms: 1000 },
      { subject: 'pools', source: 'broken', outcome: 'failed', ms: 0 },
      { subject: 'pools', source: expect.stringContaining('pools'), outcome: 'responded', ms: 0 },
      { subject: 'tokenDetails', source: 'lookup', outcome: 'responded', ms: 0 },
      { subject: 'simulation', source: 'node', outcome: 'failed', ms: 0 },
    ]);
    stop();
    await read().catch(() => {});
    expect(observed.length).toBe(7);
  });

  it('report a bundle that found no slot of the simulator as busy, not as failed', async () => {
    const simulate = () => new Promise<never>(() => {});
    const { accounts, clock, failures } = await accountFixture({
      simulators: { [SEPOLIA]: { name: 'node', simulate } },
    });
    const outcomes: string[] = [];
    accounts.observe(({ source, outcome, ms }) => outcomes.push(`${source} ${outcome} ${ms}`));
    const call = { from: TOKEN, to: TOKEN, input: '0x' };
    const pending = Array.from({ length: 4 + 16 + 1 }, () =>
      accounts.simulation.simulate(SEPOLIA, [call]).catch(({ message }) => message),
    );
    expect(await pending.at(-1)).toBe('Too many simulations wait');
    expect(outcomes).toEqual(['node busy 0']);
    clock.advance(5000);
    expect(await pending.at(-2)).toBe('Too many simulations wait');
    await Promise.all(pending.slice(4));
    expect(outcomes).toEqual(['node busy 0', ...Array.from({ length: 16 }, () => 'node busy 5000')]);
    expect(failures).toEqual([]);
  });

  it('report an error of a listener, and continue', async () => {
    const { accounts, observed, failures } = await observedFixture();
    accounts.observe(() => {
      throw new Error('the listener is broken');
    });
    accounts.observe(async () => {
      throw new Error('its promise is rejected');
    });
    expect((await accounts.usdPrices.get(SEPOLIA, TOKEN))?.price).toBe(2);
    const reported = ['Error: the listener is broken', 'Error: its promise is rejected'];
    expect([observed.length, failures.map(String)]).toEqual([1, reported]);
  });

  it('are metrics of prometheus', async () => {
    const { accounts } = await observedFixture();
    const registry = new Registry();
    const others = await observedFixture();
    await instrumentAccounts(registry, others.accounts);
    await instrumentAccounts(registry, accounts);
    await instrumentAccounts(registry, accounts);
    await accounts.usdPrices.get(SEPOLIA, TOKEN);
    await accounts.usdPrices.get(SEPOLIA, TOKEN);
    await others.accounts.usdPrices.get(SEPOLIA, TOKEN);
    await others.accounts.usdPrices.get(SEPOLIA, TOKEN);
    const text = await registry.metrics();
    expect(text).toContain('intentbook_source_cache_hits_total{subject="usdPrice"} 2');
    expect(text).toContain('intentbook_source_seconds_sum{subject="usdPrice",source="prices",outcome="responded"} 2');
  });
});
