import type { ChainClient } from 'intentbook';
import { describe, expect, it } from 'vitest';
import { createFunding } from '../../../src/auctions/funding.ts';
import { createDeadlineLimiter } from '../../../src/concurrency/abort.ts';
import { manualClock } from '../../support/clock.ts';

const ADDRESS = `0x${'ab'.repeat(20)}` as const;

describe('funding of auctions', () => {
  it.each(['erc20', 'internal'] as const)('reads 100 pairs of a slow node one by one in time (%s)', async (source) => {
    const clock = manualClock(0);
    const failures: unknown[] = [];
    const read = () =>
      new Promise<{ balance: bigint; allowance: bigint }>((resolve) => {
        clock.after(100, () => resolve({ balance: 7n, allowance: 5n }));
      });
    const chain: ChainClient = { balanceAndAllowance: read, vaultFunds: read };
    const funding = createFunding(chain, createDeadlineLimiter(clock, 5_000), ADDRESS, (each) => failures.push(each));
    const queries = Array.from({ length: 100 }, (_, i) => {
      return { owner: `0x${String(i).padStart(40, '0')}`, token: ADDRESS, spender: ADDRESS, source } as const;
    });
    let amounts: ReadonlyMap<object, bigint> | undefined;
    void funding.find(queries).then((found) => {
      amounts = found;
    });
    for (let i = 0; i < 110 && amounts === undefined; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(100);
    }
    expect(failures).toEqual([]);
    expect(amounts).toEqual(new Map(queries.map((query) => [query, 5n])));
  });

  it('uses the previous amounts after a timeout, and queries a node that does not respond no further', async () => {
    const clock = manualClock(0);
    const failures: unknown[] = [];
    let isOffline = false;
    let count = 0;
    const balancesAndAllowances: ChainClient['balancesAndAllowances'] = async (queries) => {
      count++;
      return isOffline ? new Promise(() => {}) : queries.map(() => ({ balance: 7n, allowance: 5n }));
    };
    const limiter = createDeadlineLimiter(clock, 5_000);
    const funding = createFunding({ balancesAndAllowances }, limiter, ADDRESS, (each) => failures.push(each));
    const queries = Array.from({ length: 1_000 }, (_, i) => {
      return { owner: `0x${String(i).padStart(40, '0')}`, token: ADDRESS, spender: ADDRESS, source: 'erc20' } as const;
    });
    const amounts = await funding.find(queries);
    isOffline = true;
    count = 0;
    const finding = funding.find(queries);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    const result = await Promise.race([finding, new Promise((resolve) => setTimeout(resolve, 100, 'pending'))]);
    expect(result).toEqual(amounts);
    expect([amounts.size, count, failures.length]).toEqual([1_000, 4, 4]);
  });

  it('uses the previous amounts if the chain client returns an incomplete result', async () => {
    const failures: unknown[] = [];
    let isComplete = true;
    const balancesAndAllowances: ChainClient['balancesAndAllowances'] = async (queries) => {
      const funds = queries.map(() => ({ balance: 7n, allowance: 5n }));
      return isComplete ? funds : funds.slice(1);
    };
    const limiter = createDeadlineLimiter(manualClock(0), 5_000);
    const funding = createFunding({ balancesAndAllowances }, limiter, ADDRESS, (each) => failures.push(each));
    const queries = ['1', '2'].map((digit) => {
      return { owner: `0x${digit.padStart(40, '0')}`, token: ADDRESS, spender: ADDRESS, source: 'erc20' } as const;
    });
    const amounts = await funding.find(queries);
    isComplete = false;
    expect(await funding.find(queries)).toEqual(amounts);
    expect(amounts.size).toBe(2);
    expect(String(failures)).toBe('Error: the chain client returned an incomplete result');
  });
});
