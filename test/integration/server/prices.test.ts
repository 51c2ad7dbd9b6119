import { describe, expect, test } from 'vitest';
import { quoteOptions } from '../../../apps/server/books/quote-options.ts';

describe('server estimators', () => {
  test.each(['much', '-1', '1e100', ''])('reject a gas price of "%s" at startup', async (gasPrice) => {
    const rejected = quoteOptions({ chain: 'sepolia', gasPrice });
    await expect(rejected).rejects.toThrow(/^gasPrice must be a decimal number of wei below 2\^256, got ".*"$/);
  });

  test('name a solver after its host, without its credentials', async () => {
    const options = await quoteOptions({ chain: 'gnosis', solvers: ['http://me:secret@127.0.0.1:7872/x'] });
    expect(options?.estimators.map(({ name }) => name)).toEqual(['127.0.0.1:7872']);
  });
});
