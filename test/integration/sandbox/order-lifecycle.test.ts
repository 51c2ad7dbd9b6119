import type { SandboxOptions } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { appDataDocument } from 'intentbook/sign';
import { describe, expect, it } from 'vitest';

const CHAINS = ['anvil', 'simulated'] as const;

describe.each(CHAINS)('a sandbox on %s', (chain) => {
  const open = (options: SandboxOptions = {}) => createSandbox({ ...options, chain });

  it('settles an order from its quote', async () => {
    await using sandbox = await open();
    const trader = await sandbox.createTrader({ WETH: '10' });
    const quote = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
    const uid = await trader.placeOrder(quote, { slippageBps: 50 });
    await sandbox.waitFor(uid, 'fulfilled');

    const order = await sandbox.book.orders.get(uid);
    expect(await trader.balanceOf('USDC')).toBe(BigInt(order?.executedBuyAmount ?? 0));
    expect(await trader.balanceOf('WETH')).toBe(9n * 10n ** 18n);
    const [trade] = await sandbox.book.trades.list({ orderUid: uid });
    const competition = await sandbox.book.auctions.latestCompetition();
    expect(competition?.solutions).toMatchObject([{ isWinner: true, txHash: trade?.txHash, orders: [{ id: uid }] }]);
    expect(await sandbox.book.orders.competitionStatus(uid)).toMatchObject({ type: 'traded' });
    expect(await sandbox.book.trades.totalSurplus(trader.address)).toBeGreaterThan(0n);
    expect(sandbox.failures).toEqual([]);
  });

  it.each(['eip712', 'ethsign', 'presign'] as const)('settles an order that is signed by %s', async (scheme) => {
    await using sandbox = await open();
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'DAI'] }, { scheme });
    if (scheme === 'presign') await trader.presign(uid);
    await sandbox.waitFor(uid, 'fulfilled');
    expect((await sandbox.book.orders.get(uid))?.signingScheme).toBe(scheme);
  });

  it.each(['eip1271', 'presign'] as const)('settles an order of a contract wallet: %s', async (scheme) => {
    await using sandbox = await open();
    const wallet = await sandbox.createSmartWallet({ DAI: '3000' });
    const uid = await wallet.placeOrder({ buy: ['1', 'WETH'], with: ['2600', 'DAI'] }, { scheme });
    if (scheme === 'presign') await wallet.presign(uid);
    await sandbox.waitFor(uid, 'fulfilled');
    expect(await wallet.balanceOf('WETH')).toBe(10n ** 18n);
  });

  it('settles a sale and a purchase of native currency', async () => {
    await using sandbox = await open();
    const trader = await sandbox.createTrader({ USDC: '3000' });
    const before = await trader.balanceOf('ETH');
    const uid = await trader.placeOrder({ buy: ['1', 'ETH'], with: ['2600', 'USDC'] });
    await sandbox.waitFor(uid, 'fulfilled');
    expect((await trader.balanceOf('ETH')) - before).toBe(10n ** 18n);

    const sale = await trader.sellNative('1', { for: ['2400', 'USDC'] });
    await sandbox.waitFor(sale.uid, 'fulfilled');
    expect(await sandbox.book.orders.get(sale.uid)).toMatchObject({ onchainUser: trader.address, ethflowData: {} });
  });

  it('has accounts that hold and have approved every token', async () => {
    await using sandbox = await open();
    const [account] = sandbox.accounts;
    if (account === undefined) throw new Error('the sandbox has no account');
    const trader = sandbox.traderOf(account);
    const uid = await trader.placeOrder({ sell: ['100', 'COW'], for: ['20', 'USDC'] });
    const sale = await trader.sellNative('1', { for: ['2400', 'USDC'] });
    for (const each of [uid, sale.uid]) {
      await sandbox.waitFor(each, 'fulfilled');
      expect((await sandbox.book.orders.get(each))?.status).toBe('fulfilled');
    }
  });

  it('returns the native currency of an order that is cancelled, and of one that has expired', async () => {
    await using sandbox = await open({ solver: 'manual' });
    const trader = await sandbox.createTrader();
    const [one, other] = [
      await trader.sellNative('1', { for: ['9000', 'USDC'] }),
      await trader.sellNative('2', { for: ['9000', 'USDC'], validFor: 120 }),
    ];
    await one.cancel();
    await sandbox.waitFor(one.uid, 'cancelled');
    await sandbox.advance(200);
    await sandbox.waitFor(other.uid, 'expired');
    await other.refund();
    expect((await sandbox.book.orders.get(other.uid))?.ethflowData).toMatchObject({ isRefunded: true });
    expect(await trader.balanceOf('ETH')).toBeGreaterThan(99n * 10n ** 18n);
  });

  it('matches opposite orders directly at one price', async () => {
    await using sandbox = await open({ solver: 'manual' });
    const [seller, buyer] = [await sandbox.createTrader({ WETH: '1' }), await sandbox.createTrader({ DAI: '2500' })];
    const uids = [
      await seller.placeOrder({ sell: ['1', 'WETH'], for: ['2499', 'DAI'] }),
      await buyer.placeOrder({ sell: ['2500', 'DAI'], for: ['0.999', 'WETH'] }),
    ];
    await sandbox.settle();
    for (const uid of uids) await sandbox.waitFor(uid, 'fulfilled');
    const transactions = new Set(
      (await Promise.all(uids.map((uid) => sandbox.book.trades.list({ orderUid: uid }))))
        .flat()
        .map(({ txHash }) => txHash),
    );
    expect(transactions.size).toBe(1);
    // A pool would have taken 0.3 % of each side.
    expect(await seller.balanceOf('DAI')).toBe(2500n * 10n ** 18n);
    expect(await buyer.balanceOf('WETH')).toBe(10n ** 18n);
  });

  it('fills an order in parts, with a fee', async () => {
    await using sandbox = await open({ solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '4' });
    const uid = await trader.placeOrder({ sell: ['4', 'WETH'], for: ['8000', 'USDC'] }, { partiallyFillable: true });
    await sandbox.settle(uid, { fill: 0.25, fee: '0.01' });
    expect(await sandbox.book.orders.get(uid)).toMatchObject({
      status: 'open',
      executedSellAmount: String(10n ** 18n),
    });
    await sandbox.settle(uid, { fill: '2' });
    await sandbox.settle(uid);
    const order = await sandbox.book.orders.get(uid);
    expect(order).toMatchObject({ status: 'fulfilled', executedSellAmount: String(4n * 10n ** 18n) });
    const fee = BigInt(order?.executedFee ?? 0);
    // The fee is taken in whole atoms of USDC, of which one is worth 4 × 10^8 wei.
    expect(10n ** 16n - fee).toBeLessThan(10n ** 9n);
    expect(10n ** 16n - fee).toBeGreaterThan(-(10n ** 9n));
  });

  it.each([
    ['sale', { sell: ['1', 'WETH'], for: ['2000', 'USDC'] }, 'USDC'],
    ['purchase', { buy: ['2000', 'USDC'], with: ['1', 'WETH'] }, 'WETH'],
  ] as const)('leaves the partner fee of a %s in the settlement contract', async (_, terms, symbol) => {
    await using sandbox = await open();
    const trader = await sandbox.createTrader({ WETH: '1' });
    const { address } = sandbox.token(symbol);
    const readBuffer = async () => {
      const [balance] = await sandbox.book.balances.get(sandbox.book.settlementContract, [address]);
      return BigInt(balance?.balance ?? 0);
    };
    const before = await readBuffer();
    const partnerFee = { volumeBps: 50, recipient: `0x${'77'.repeat(20)}` };
    const uid = await trader.placeOrder(terms, { appData: appDataDocument({ metadata: { partnerFee } }) });
    await sandbox.waitFor(uid, 'fulfilled');
    const [trade] = await sandbox.book.trades.list({ orderUid: uid });
    const order = await sandbox.book.orders.get(uid);
    const fee = BigInt(trade?.executedProtocolFees?.[0]?.amount ?? 0);
    const volume = BigInt((symbol === 'USDC' ? order?.executedBuyAmount : order?.executedSellAmount) ?? 0);
    // 0.5 % of the amount without the fee: of more than was bought, of less than was sold.
    const gross = symbol === 'USDC' ? volume + fee : volume - fee;
    expect(Number(fee) / Number(gross)).toBeCloseTo(0.005, 6);
    expect(trade?.executedProtocolFees).toMatchObject([{ token: address, policy: { volume: { factor: 0.005 } } }]);
    const kept = (await readBuffer()) - before;
    // The pool returns more than a sale needs, by what rounding requires. Nothing of a sold token is left otherwise.
    if (symbol === 'WETH') expect(kept).toBe(fee);
    else expect(kept).toBeGreaterThanOrEqual(fee);
  });

  // A simulation has no contracts to call.
  it.skipIf(chain === 'simulated')('runs hooks before and after a trade', async () => {
    await using sandbox = await open();
    const trader = await sandbox.createTrader({ USDC: '100' });
    const token = sandbox.token('DAI').address;
    const hook = {
      target: token,
      callData: `0x40c10f19${trader.address.slice(2).padStart(64, '0')}${'1'.padStart(64, '0')}`,
      gasLimit: 100_000,
    };
    const appData = appDataDocument({ hooks: { pre: [hook], post: [hook] } });
    const uid = await trader.placeOrder({ sell: ['100', 'USDC'], for: ['0.03', 'WETH'] }, { appData });
    await sandbox.waitFor(uid, 'fulfilled');
    expect(await trader.balanceOf('DAI')).toBe(2n);
  });
});

describe.each(CHAINS)('every order status on %s', (chain) => {
  it('is reached in at most three lines', async () => {
    await using sandbox = await createSandbox({ chain, solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '10' });
    const terms = { sell: ['1', 'WETH'], for: ['2400', 'USDC'] } as const;

    const pending = await trader.placeOrder(terms, { scheme: 'presign' });
    await sandbox.waitFor(pending, 'presignaturePending');

    const accepted = await trader.placeOrder(terms);
    await sandbox.waitFor(accepted, 'open');

    await sandbox.settle(accepted);
    await sandbox.waitFor(accepted, 'fulfilled');

    const cancelled = await trader.placeOrder(terms, { validFor: 600 });
    await trader.cancel(cancelled);
    await sandbox.waitFor(cancelled, 'cancelled');

    const invalidated = await trader.placeOrder(terms, { validFor: 700 });
    await trader.cancelOnChain(invalidated);
    await sandbox.waitFor(invalidated, 'cancelled');

    const expired = await trader.placeOrder(terms, { validFor: 120 });
    await sandbox.advance(121);
    await sandbox.waitFor(expired, 'expired');
    const orders = await Promise.all([accepted, cancelled, invalidated].map((uid) => sandbox.book.orders.get(uid)));
    expect(orders.map((order) => order?.status)).toEqual(['fulfilled', 'cancelled', 'cancelled']);
  });
});

describe.each(CHAINS)('every notification type on %s', (chain) => {
  it('is reached in at most three lines', async () => {
    await using sandbox = await createSandbox({ chain, solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '10' });
    const terms = { sell: ['1', 'WETH'], for: ['2000', 'USDC'] } as const;

    const quote = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
    await sandbox.setPrice('USDC', '0.0003');
    await sandbox.settle(await trader.placeOrder(quote));
    await sandbox.waitForNotification(trader, 'order_filled');
    await sandbox.waitForNotification(trader, 'price_improvement');

    const partial = await trader.placeOrder(terms, { partiallyFillable: true });
    await sandbox.settle(partial, { fill: 0.5 });
    await sandbox.waitForNotification(trader, 'order_partially_filled');

    await trader.cancel(await trader.placeOrder(terms, { validFor: 900 }));
    await sandbox.waitForNotification(trader, 'order_cancelled');

    await trader.placeOrder(terms, { validFor: 800 });
    await trader.approve('WETH', 0);
    await sandbox.waitForNotification(trader, 'insufficient_balance');

    await sandbox.advance(801);
    await sandbox.waitForNotification(trader, 'order_expired');
  });
});
