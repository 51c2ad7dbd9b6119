import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from 'intentbook/sandbox';
import { afterAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'intentbook-state-'));
afterAll(() => rmSync(folder, { recursive: true }));

const balances = (sandbox: Sandbox, address: string) =>
  sandbox.accountInterface.balances.get(
    sandbox.chainId,
    address,
    sandbox.tokens.map((token) => token.address),
  );

describe.each(['simulated', 'anvil'] as const)('state of a sandbox on the chain %s', (chain) => {
  it('is continued by the next sandbox', async () => {
    const state = join(folder, `${chain}.bin`);
    const first = await createSandbox({ chain, state });
    const trader = await first.createTrader({ WETH: '3' });
    const wallet = await first.createSmartWallet({ DAI: '5000' });
    const filled = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
    const open = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['9000', 'USDC'] });
    const presigned = await wallet.placeOrder({ sell: ['5000', 'DAI'], for: ['9', 'WETH'] }, { scheme: 'presign' });
    await first.waitFor(filled, 'fulfilled');
    await first.waitForNotification(trader, 'order_filled');
    await first.advance(100);
    const before = await balances(first, trader.address);
    const time = await first.book.orders.get(filled);
    await first.close();

    const second = await createSandbox({ chain, state });
    expect(await balances(second, trader.address)).toEqual(before);
    expect(await second.book.orders.get(filled)).toEqual(time);
    expect(await second.waitForNotification(trader, 'order_filled')).toBeDefined();
    expect(await second.book.orders.get(presigned)).toMatchObject({ status: 'presignaturePending' });
    // The chain and the book continue: the open order is settled, and new accounts have other keys.
    await second.setPrice('USDC', '0.0001');
    await second.waitFor(open, 'fulfilled');
    expect((await second.createTrader()).address).not.toBe(trader.address);
    expect((await second.createSmartWallet()).address).not.toBe(wallet.address);
    await second.close();

    const third = await createSandbox({ chain, state });
    expect(await third.book.orders.get(open)).toMatchObject({ status: 'fulfilled' });
    expect((await third.book.trades.list({ orderUid: open })).length).toBe(1);
    await third.close();
  }, 120_000);
});

describe('state of a sandbox', () => {
  it('is not read from a file that no sandbox has written', async () => {
    const state = join(folder, 'text.bin');
    writeFileSync(state, 'text');
    const started = createSandbox({ chain: 'simulated', state });
    await expect(started).rejects.toThrow(`state must be a file that a sandbox has written, got "${state}"`);
  });

  it('is kept beside that of another sandbox, which has written the file meanwhile', async () => {
    const state = join(folder, 'shared.bin');
    const [first, second] = [
      await createSandbox({ chain: 'simulated', state }),
      await createSandbox({ chain: 'simulated', state }),
    ];
    const [one, two] = [await first.createTrader({ WETH: '3' }), await second.createTrader({ DAI: '7' })];
    await first.close();
    const error: unknown = await second.close().catch((reason: unknown) => reason);
    const [, own = ''] = /the state of this one is in "(.*)"$/.exec((error as Error).message) ?? [];
    expect((error as Error).message).toContain(`another sandbox has written "${state}" meanwhile`);
    // Both have created the same account.
    expect(two.address).toBe(one.address);
    for (const [path, symbol] of [
      [state, 'WETH'],
      [own, 'DAI'],
    ] as const) {
      const sandbox = await createSandbox({ chain: 'simulated', state: path });
      const held = (await balances(sandbox, one.address)).filter(({ balance }) => balance !== '0');
      expect(held.map(({ token }) => token.symbol)).toEqual([symbol]);
      await sandbox.close();
    }
  });

  it('is not started without a folder to write it to', async () => {
    const state = join(folder, 'missing', 'world.bin');
    const started = createSandbox({ chain: 'simulated', state });
    await expect(started).rejects.toThrow(`state must be in a folder that exists and can be written, got "${state}"`);
  });

  it('is not read with other settings, which the error names', async () => {
    const state = join(folder, 'settings.bin');
    await (await createSandbox({ chain: 'simulated', state })).close();
    const other = createSandbox({ chain: 'simulated', state, seed: 7 });
    await expect(other).rejects.toThrow(/state must be of a sandbox with .*"seed":7.*, got one with .*"tokens":/);
  });

  it('is written to the folder in which it was read, although the working directory changes', async () => {
    const directory = process.cwd();
    mkdirSync(join(folder, 'later'));
    try {
      process.chdir(folder);
      const sandbox = await createSandbox({ chain: 'simulated', state: 'moved.bin' });
      process.chdir('later');
      await sandbox.close();
    } finally {
      process.chdir(directory);
    }
    expect([existsSync(join(folder, 'moved.bin')), readdirSync(join(folder, 'later'))]).toEqual([true, []]);
  });

  it('must be the name of a file', async () => {
    await expect(createSandbox({ chain: 'simulated', state: '' })).rejects.toThrow(
      'state must be the name of a file, got ""',
    );
  });
});
