import { createSandbox, type LimitTerms, type Sandbox } from 'intentbook/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ chain: 'simulated' });
});
afterAll(() => sandbox.close());

const ONE = ['1', 'WETH'] as const;

describe('waiting in a sandbox', () => {
  it('returns the notification', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ONE, for: ['2000', 'USDC'] });
    const notification = await sandbox.waitForNotification(trader, 'order_filled');
    expect(notification).toMatchObject({ type: 'order_filled', metadata: { orderUid: uid } });
  });

  it('names why an open order is not settled', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const dear = await trader.placeOrder({ sell: ONE, for: ['9000', 'USDC'] });
    await expect(sandbox.waitFor(dear, 'fulfilled', { timeout: 200 })).rejects.toThrow(
      /must be fulfilled, is open; no price satisfies its limit, after 200 ms$/,
    );
    await trader.cancel(dear);
    await expect(sandbox.waitFor(dear, 'fulfilled', { timeout: 0 })).rejects.toThrow(
      /must be fulfilled, is cancelled, after 0 ms$/,
    );
    const poor = await sandbox.createTrader({ WETH: '1' });
    const unfunded = await poor.placeOrder({ sell: ONE, for: ['9000', 'USDC'] });
    await poor.approve('WETH', '0');
    await expect(sandbox.waitFor(unfunded, 'fulfilled', { timeout: 200 })).rejects.toThrow(
      'it is not in the auction, because it is not funded',
    );
  });

  it('rejects a status and a type that do not exist', async () => {
    const uid = `0x${'00'.repeat(56)}`;
    const statuses = 'status must be one of presignaturePending, open, fulfilled, cancelled, expired, got "filled"';
    await expect(sandbox.waitFor(uid, 'filled' as 'open')).rejects.toThrow(new TypeError(statuses));
    const [account] = sandbox.accounts;
    if (account === undefined) throw new Error('there is no account');
    await expect(sandbox.waitForNotification(account, 'filled' as 'order_filled')).rejects.toThrow(
      /^type must be one of order_filled, .*, got "filled"$/,
    );
  });
});

describe('terms of an order in a sandbox', () => {
  it.each([
    ['a sale', { sell: ONE, for: ['2000', 'USDC'] }, 'sell'],
    ['a purchase', { buy: ['2000', 'USDC'], with: ONE }, 'buy'],
    ['both sides', { sell: ONE, buy: ['2000', 'USDC'] }, 'sell'],
    ['both sides with the exact one', { sell: ONE, buy: ['2000', 'USDC'], kind: 'buy' }, 'buy'],
  ] as const)('describe %s', async (_, terms, kind) => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const [weth, usdc] = [sandbox.token('WETH'), sandbox.token('USDC')];
    expect(trader.createOrder(terms)).toMatchObject({
      kind,
      sellToken: weth.address,
      buyToken: usdc.address,
      sellAmount: String(10n ** 18n),
      buyAmount: String(2000n * 10n ** BigInt(usdc.decimals)),
    });
  });

  it.each([
    [{ sell: ONE }],
    [{ sell: ONE, with: ['1', 'USDC'] }],
    [{ sell: ONE, for: ['1', 'USDC'], kind: 'buy' }],
    [{ sell: ONE, buy: ['1', 'USDC'], kind: 'swap' }],
    [undefined],
  ])('are rejected: %j', async (terms) => {
    const trader = await sandbox.createTrader();
    const message = /^terms must be a quote, \{ sell, for \}, \{ buy, with \} or \{ sell, buy, kind \}, .*, got \{/;
    expect(() => trader.createOrder(terms as unknown as LimitTerms)).toThrow(message);
  });

  it('are rejected with a member of the options', async () => {
    const trader = await sandbox.createTrader();
    const terms = { sell: ONE, for: ['1', 'USDC'], validFor: 5 } as unknown as LimitTerms;
    expect(() => trader.createOrder(terms)).toThrow('unknown member "validFor", it belongs to the options');
  });
});
