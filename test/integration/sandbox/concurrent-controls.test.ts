import { createSandbox } from 'intentbook/sandbox';
import { describe, expect, it } from 'vitest';

describe.each(['anvil', 'simulated'] as const)('concurrent controls on %s', (chain) => {
  it('have their effects one after the other', async () => {
    await using sandbox = await createSandbox({ chain });
    await sandbox.mine(5);
    for (let i = 0; i < 5; i++) {
      await Promise.all([sandbox.mine(2), sandbox.reorg(2), sandbox.setPrice('DAI', '0.0005'), sandbox.reorg(1)]);
    }
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['1', 'USDC'] });
    await sandbox.waitFor(uid, 'fulfilled');
    expect(sandbox.failures).toEqual([]);
  });

  it('keep the balances of accounts that are funded during a reorganisation', async () => {
    await using sandbox = await createSandbox({ chain });
    const weth = sandbox.token('WETH').address;
    const trader = await sandbox.createTrader();
    for (let i = 1; i <= 3; i++) {
      await sandbox.mine(3);
      const [created] = await Promise.all([
        sandbox.createTrader({ WETH: '2' }),
        sandbox.fund(trader, { WETH: '1' }),
        // It is rejected if the block with the funds is one of the last two.
        sandbox.reorg(2).catch((error: unknown) => expect(error).toBeInstanceOf(RangeError)),
      ]);
      const owners = [created, trader].map(({ address }) => sandbox.book.balances.get(address, [weth]));
      const balances = (await Promise.all(owners)).map(([found]) => found?.balance);
      expect(balances).toEqual(['2000000000000000000', `${i}000000000000000000`]);
    }
  });
});
