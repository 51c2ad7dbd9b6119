import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { parseAbi } from 'viem';
import { contract } from './support/contracts.ts';
import type { Scenario } from './support/scenario.ts';
import { walletOrder } from './support/wallet-order.ts';

const PRESIGN = parseAbi(['function setPreSignature(bytes, bool)']);

/**
 * Assertions of the original:
 * - a wrong contract signature is `InvalidEip1271Signature`: held
 * - an order with a contract signature is open at once, and traded: held
 * - a pre-signed order is pending, open after its transaction, and traded: held
 * - a signature that takes too much gas is `TooMuchGas`: held
 */
export const scenario: Scenario = {
  shows: 'contracts sign orders by EIP-1271 within a gas limit, and on chain',
  async run(world) {
    const book = await world.serve();
    const [owner, other] = [await world.createTrader({ WETH: '10' }), await world.createTrader()];
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    const deployWallet = async (work: bigint): Promise<Hex> => {
      const args = [owner.address, sellToken, world.contracts.vaultRelayer, work];
      const wallet = await world.deploy(contract('Wallet'), args);
      await world.fund(wallet, { ETH: '1', WETH: '5' });
      return wallet;
    };
    const wallet = await deployWallet(0n);
    const terms = { sellToken, buyToken, sellAmount: '1000', buyAmount: '10' };
    await book.rejects(book.post('/orders', await walletOrder(other, wallet, terms)), 400, 'InvalidEip1271Signature');
    const good = await book.post('/orders', await walletOrder(owner, wallet, terms));
    assert.equal(good.status, 201, JSON.stringify(good.body));
    assert.equal((await book.order(good.body)).status, 'open');
    await book.untilListed(good.body);
    await world.settle(book, [{ uid: good.body }]);
    await book.untilStatus(good.body, 'fulfilled');

    const slow = await deployWallet(9_000_000n);
    await book.rejects(book.post('/orders', await walletOrder(owner, slow, terms)), 400, 'TooMuchGas');

    // A signature on chain, its revocation, and the trade.
    const unsigned = {
      ...(await walletOrder(owner, wallet, { ...terms, sellAmount: '2000' })),
      signingScheme: 'presign',
      signature: '0x',
    };
    const { status, body: uid } = await book.post('/orders', unsigned);
    assert.equal(status, 201, JSON.stringify(uid));
    assert.equal((await book.order(uid)).status, 'presignaturePending');
    const sign = (signed: boolean) =>
      world.call(wallet, world.contracts.settlement, PRESIGN, 'setPreSignature', [uid, signed]);
    await sign(true);
    await book.untilStatus(uid, 'open');
    await sign(false);
    await book.untilStatus(uid, 'presignaturePending');
    await sign(true);
    await book.untilListed(uid);
    await world.settle(book, [{ uid }]);
    await book.untilStatus(uid, 'fulfilled');
  },
};
