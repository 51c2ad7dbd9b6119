import { privateKeyToAccount } from 'viem/accounts';
import { expect } from 'vitest';
import { createDapp } from './dapp.js';
import { test } from './sandbox-fixture.js';

test('a swap is settled', async ({ sandbox }) => {
  const { privateKey } = await sandbox.createTrader({ WETH: '1' });
  const dapp = createDapp({ ...sandbox, wallet: privateKeyToAccount(privateKey) });
  const uid = await dapp.swap(sandbox.token('WETH').address, sandbox.token('USDC').address, 10n ** 18n);
  await sandbox.waitFor(uid, 'fulfilled');
  expect(await dapp.status(uid)).toBe('fulfilled');
});
