import assert from 'node:assert/strict';
import { contract } from './support/contracts.ts';
import type { Scenario } from './support/scenario.ts';
import { NATIVE } from './support/world.ts';

const ETHER = 10n ** 18n;

/**
 * Assertions of the original:
 * - the quote of a trader with funds is verified: held
 * - without wrapped, but with native currency, or without any funds, it is verified: held
 * - for the zero address, which stands for no wallet, it is verified: held
 * - with hooks it is verified: held in `test/unit/quotes/verification.test.ts`, with a scripted node
 * - funds that go to the settlement contract are verified: held
 * - the settlement contract as the trader is verified: held
 * - the slot of a balance is found in the trace of a call: held in `test/integration/chain/balance-slots.test.ts`
 * - USDT and an interest-bearing token: excluded, they need an archive of mainnet
 */
export const scenario: Scenario = {
  shows: 'quotes are simulated for traders with and without funds, for contracts, and for native currency',
  async run(world) {
    const honest = await world.startDriver();
    let answer = 1n;
    // A driver that promises more than its calls pay.
    const liar = await world.listen(async (request) => {
      const response = await fetch(honest + new URL(request.url).search.replace(/^/, '/quote'));
      const quote = (await response.json()) as { clearingPrices?: Record<string, string> };
      const sellToken = new URL(request.url).searchParams.get('sellToken') ?? '';
      const prices = quote.clearingPrices;
      const price = prices?.[sellToken];
      if (prices !== undefined && price !== undefined) prices[sellToken] = String(BigInt(price) * answer);
      return Response.json(quote, { status: response.status });
    });
    const book = await world.serve('--verify-quotes', '--quote-drivers', liar, '--prices', 'off');
    const funded = await world.createTrader({ WETH: '10' });
    const abi = contract('Wallet');
    const zero = `0x${'00'.repeat(20)}`;
    const wallet = await world.deploy(abi, [funded.address, zero, zero, 0n]);
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    await world.fund(world.contracts.settlement, { WETH: '3' });
    const quote = (from: string, more: object = {}) =>
      book.post('/quote', {
        sellToken,
        buyToken,
        from,
        kind: 'sell',
        sellAmountBeforeFee: String(ETHER),
        priceQuality: 'verified',
        ...more,
      });
    const stranger = `0x${'5a'.repeat(20)}`;
    const purchase = { kind: 'buy', sellAmountBeforeFee: undefined, buyAmountAfterFee: world.atoms('100', 'USDC') };
    for (const [from, more] of [
      [funded.address, {}],
      [stranger, {}],
      [stranger, { receiver: funded.address }],
      [wallet, { signingScheme: 'eip1271' }],
      [zero, {}],
      [funded.address, { receiver: world.contracts.settlement }],
      [world.contracts.settlement, {}],
      [world.contracts.settlement, purchase],
      [stranger, purchase],
      [stranger, { sellToken: world.token('DAI'), buyToken: world.token('COW') }],
      [
        stranger,
        { sellToken: world.token('USDC'), buyToken: NATIVE, sellAmountBeforeFee: world.atoms('2500', 'USDC') },
      ],
    ] as const) {
      const { status, body } = await quote(from, more);
      assert.deepEqual(
        [status, body.verified],
        [200, true],
        `${from} ${JSON.stringify(more)}: ${JSON.stringify(body)}`,
      );
    }
    // Twice the price that the pools pay is not verified.
    answer = 2n;
    const lie = await quote(funded.address, { priceQuality: 'optimal', sellAmountBeforeFee: String(2n * ETHER) });
    if (lie.status === 200) assert.equal(lie.body.verified, false);
    const refused = await quote(funded.address, { sellAmountBeforeFee: String(3n * ETHER) });
    assert.notEqual(refused.status, 200);
  },
};
