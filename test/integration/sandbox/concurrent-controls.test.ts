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
});
