import assert from 'node:assert/strict';
import { recordWinner } from './support/competition.ts';
import type { Scenario } from './support/scenario.ts';

const ETHER = 10n ** 18n;

interface CappedFee {
  readonly factor: number;
  readonly maxVolumeFactor: number;
}

interface WirePolicy {
  readonly surplus?: CappedFee;
  readonly priceImprovement?: CappedFee;
}

/**
 * Assertions of the original:
 * - surplus, price improvement and volume fees together reach the expected shares of limit and market orders: held in
 *   `test/unit/auctions/fee-policies.test.ts` and by the exact fractions of `test/unit/protocol/protocol-fees.test.ts`
 * - executed fees equal the balance of the settlement contract afterwards: held
 * - three partner fees of a trade give three executed fees, with the capped factors, which compound to the cap: held
 * - volume fee of a purchase, also with policies that apply later: held in the unit tests
 * - buckets replace the factor of a pair; a factor of 0 stays a fee of 0: held in the unit tests
 * - no volume fee for equal tokens, and for wrapped against native currency: held in the unit tests
 * - a switch charges the volume fee for equal tokens: held in the unit tests, `equalTokens`
 */
export const scenario: Scenario = {
  shows: 'fees of the operator and of partners are in the auction, limited, and computed for trades',
  async run(world) {
    const book = await world.serve('--volume-fee', '1000', '--max-partner-fee', '5000');
    const trader = await world.createTrader({ WETH: '10' });
    const partner = (bps: number) =>
      JSON.stringify({ appCode: 'partner', metadata: { partnerFee: { bps, recipient: `0x${'12'.repeat(20)}` } } });
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('DAI'),
      sellAmount: String(ETHER),
      buyAmount: String(2000n * ETHER),
    };
    const plain = await book.place(trader, terms);
    const modest = await book.place(trader, { ...terms, appData: partner(20) });
    const greedy = await book.place(trader, { ...terms, appData: partner(300) });
    for (const uid of [plain, modest, greedy]) await book.untilListed(uid);
    const factors = async (uid: string) => {
      const policies = (await book.listed(uid))?.['protocolFees'] as readonly { volume: { factor: number } }[];
      return policies.map(({ volume }) => volume.factor);
    };
    assert.deepEqual(await factors(plain), [0.001]);
    assert.deepEqual(await factors(modest), [0.001, 0.002]);
    // The fee of the partner is limited to 0.5 %.
    assert.deepEqual(await factors(greedy), [0.001, 0.005]);

    // Fees are those of the auction that the settlement has won.
    const bought = 2400n * ETHER;
    const deadline = Number(await world.client.getBlockNumber()) + 10;
    const auctionId = await recordWinner(book, modest, world.solver, deadline);
    await world.settle(book, [{ uid: modest, sold: ETHER, bought }], { auctionId });
    await book.untilStatus(modest, 'fulfilled');
    const [trade] = (await book.get(`/trades?orderUid=${modest}`)).body;
    const fees = trade.executedProtocolFees;
    assert.equal(fees.length, 2, JSON.stringify(trade));
    // The fee of the partner was deducted last, so it is computed first: bought × f ÷ (1 − f).
    const partnerFee = (bought * 2n) / 998n;
    const operatorFee = (bought + partnerFee) / 999n;
    const amounts = fees.map(({ amount, token }: { amount: string; token: string }) => [amount, token]);
    const token = world.token('DAI');
    const isNear = (amount: string, expected: bigint) =>
      BigInt(amount) - expected <= 1n && expected - BigInt(amount) <= 1n;
    assert.deepEqual(
      amounts.map(([, each]: string[]) => each),
      [token, token],
    );
    assert.ok(isNear(amounts[0][0], operatorFee), `${amounts} ${operatorFee}`);
    assert.ok(isNear(amounts[1][0], partnerFee), `${amounts} ${partnerFee}`);

    // The settlement contract keeps the fees of an order that a solver settles.
    const flags = ['--volume-fee', '1000', '--drivers', await world.startDriver()];
    const solved = await world.serve(...flags);
    const { settlement } = world.contracts;
    const before = await world.balance(settlement, 'DAI');
    const uid = await solved.place(trader, { ...terms, sellAmount: String(ETHER - 1n), appData: partner(20) });
    await solved.untilStatus(uid, 'fulfilled');
    const [settled] = (await solved.get(`/trades?orderUid=${uid}`)).body;
    const executed = settled.executedProtocolFees.map(({ amount }: { amount: string }) => BigInt(amount));
    const kept = (await world.balance(settlement, 'DAI')) - before;
    const total = executed.reduce((sum: bigint, amount: bigint) => sum + amount, 0n);
    assert.ok(executed.length === 2 && total > 0n && kept - total <= 3n && total - kept <= 3n, `${kept} ${executed}`);

    // Three fees of a partner. The second one is limited, and nothing is left for the third one.
    const limited = await world.serve('--max-partner-fee', '375000', '--drivers', await world.startDriver());
    const recipient = `0x${'12'.repeat(20)}`;
    const improvement = { priceImprovementBps: 3000, maxVolumeBps: 1500, recipient };
    const requested = [{ surplusBps: 3000, maxVolumeBps: 2500, recipient }, improvement, improvement];
    const three = await limited.place(trader, {
      ...terms,
      sellAmount: String(ETHER - 2n),
      buyAmount: String(1000n * ETHER),
      appData: JSON.stringify({ version: '1.1.0', metadata: { partnerFee: requested } }),
    });
    await limited.untilStatus(three, 'fulfilled');
    const [shared] = (await limited.get(`/trades?orderUid=${three}`)).body;
    assert.deepEqual(
      shared.executedProtocolFees.map(({ policy }: { policy: WirePolicy }) => [
        Object.keys(policy)[0],
        (policy.surplus ?? policy.priceImprovement)?.factor,
        (policy.surplus ?? policy.priceImprovement)?.maxVolumeFactor,
      ]),
      [
        ['surplus', 0.3, 0.25],
        ['priceImprovement', 0.3, 0.1],
        ['priceImprovement', 0.3, 0],
      ],
    );

    const quote = {
      sellToken: terms.sellToken,
      buyToken: terms.buyToken,
      from: trader.address,
      kind: 'sell',
      sellAmountBeforeFee: String(ETHER),
    };
    assert.equal((await book.post('/quote', quote)).body.protocolFeeBps, '10');
  },
};
