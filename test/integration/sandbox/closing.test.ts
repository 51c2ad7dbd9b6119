import { createSandbox } from 'intentbook/sandbox';
import { describe, expect, it } from 'vitest';

describe.each(['anvil', 'simulated'] as const)('close of a sandbox on %s', (chain) => {
  it('stays in effect after a restoration of a snapshot that is running', async () => {
    const sandbox = await createSandbox({ chain });
    const snapshot = await sandbox.snapshot();
    const reverted = Promise.allSettled([sandbox.revert(snapshot), sandbox.revert(snapshot)]);
    await sandbox.close();
    await reverted;
    await expect(sandbox.book.chain.progress()).rejects.toThrow();
    await expect(sandbox.revert(snapshot)).rejects.toThrow('the sandbox is closed');
  });

  it('rejects later controls, and leaves the node of the next sandbox unchanged', async () => {
    const first = await createSandbox({ chain, solver: 'manual' });
    await first.close();
    await using second = await createSandbox({ chain, solver: 'manual' });
    const before = await second.book.chain.progress();
    for (const control of [
      () => first.mine(3),
      () => first.advance(60),
      () => first.reorg(1),
      () => first.setPrice('DAI', '1'),
      () => first.createTrader(),
    ]) {
      await expect(control()).rejects.toThrow();
    }
    await second.synchronize();
    expect((await second.book.chain.progress()).indexedBlock).toEqual(before.indexedBlock);
  });
});
