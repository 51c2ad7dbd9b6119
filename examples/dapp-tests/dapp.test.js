import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSandbox } from 'intentbook/sandbox';
import { privateKeyToAccount } from 'viem/accounts';
import { createDapp } from './dapp.js';

// The fixture for node:test. `chain: 'anvil'` runs the production contracts on a local chain instead.
let sandbox;
before(async () => {
  sandbox = await createSandbox({ chain: 'simulated' });
});
after(() => sandbox.close());

async function openDapp(amounts) {
  const { privateKey } = await sandbox.createTrader(amounts);
  return createDapp({ ...sandbox, wallet: privateKeyToAccount(privateKey) });
}

test('a swap is settled', async () => {
  const dapp = await openDapp({ WETH: '1' });
  const uid = await dapp.swap(sandbox.token('WETH').address, sandbox.token('USDC').address, 10n ** 18n);
  await sandbox.waitFor(uid, 'fulfilled');
  assert.equal(await dapp.status(uid), 'fulfilled');
});

test('an open swap can be cancelled', async () => {
  const dapp = await openDapp({ WETH: '1' });
  await sandbox.pauseSolver();
  const uid = await dapp.swap(sandbox.token('WETH').address, sandbox.token('USDC').address, 10n ** 18n);
  assert.equal(await dapp.status(uid), 'open');
  await dapp.cancel(uid);
  assert.equal(await dapp.status(uid), 'cancelled');
  await sandbox.resumeSolver();
});

test('a swap without funds is rejected', async () => {
  const dapp = await openDapp({});
  const swap = dapp.swap(sandbox.token('WETH').address, sandbox.token('USDC').address, 10n ** 18n);
  await assert.rejects(swap, /InsufficientBalance/);
});
