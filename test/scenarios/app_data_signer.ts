import { hashTypedData } from 'viem';
import { ORDER_TYPES, signOrder } from '../support/orders.ts';
import { createSafe } from './support/safe.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - another signer in the document than the owner is rejected with `WrongOwner` or `AppdataFromMismatch`: held
 * - the right signer is accepted, and its document is stored: held
 * - the owner of a contract signature is that of the document, and `from` must not contradict it: held
 */
export const scenario: Scenario = {
  shows: 'the signer that app data names must be the owner, and names the contract of a contract signature',
  async run(world) {
    const book = await world.serve();
    const [trader, other] = [await world.createTrader({ WETH: '10' }), await world.createTrader()];
    const signedBy = (signer: string) => JSON.stringify({ appCode: 'scenario', metadata: { signer } });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount: '1000', buyAmount: '1' };
    await book.place(trader, { ...terms, appData: signedBy(trader.address) });
    const appData = signedBy(other.address);
    await book.rejects(book.submit(trader, { ...terms, appData }), 400, 'AppdataFromMismatch');
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const { from: _, ...unnamed } = await signOrder(trader, { ...terms, appData, validTo });
    await book.rejects(book.post('/orders', unnamed), 400, 'WrongOwner');

    // The owner of a contract signature comes from the document, and `from` must not contradict it.
    const safe = await createSafe(world, trader, { WETH: '10' });
    const order = safe.order({ ...terms, appData: signedBy(safe.address) });
    const { from: _from, ...anonymous } = await safe.sign(order, hashTypedData, ORDER_TYPES);
    const { status, body } = await book.post('/orders', anonymous);
    if (status !== 201) throw new Error(JSON.stringify(body));
    await book.rejects(book.post('/orders', { ...anonymous, from: other.address }), 400, 'AppdataFromMismatch');
  },
};
