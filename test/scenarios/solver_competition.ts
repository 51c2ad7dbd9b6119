import assert from 'node:assert/strict';
import { OPERATOR_TOKEN } from './support/book.ts';
import type { Scenario } from './support/scenario.ts';

const WEAK = '0x00000000000000000000000000000000000005ed';

type Order = Readonly<Record<string, string>>;

/** Executes orders at their limit prices, or some atoms above them. */
function execute(orders: readonly Order[], above = 0n) {
  const entries = orders.map(({ uid, kind, sellToken, buyToken, sellAmount, buyAmount = '0' }) => {
    const executedBuy = String(BigInt(buyAmount) + above);
    const limits = { limitSell: sellAmount, limitBuy: buyAmount };
    return [uid, { side: kind, sellToken, buyToken, ...limits, executedSell: sellAmount, executedBuy }];
  });
  return Object.fromEntries(entries);
}

interface Solution {
  readonly solverAddress: string;
  readonly ranking: number;
  readonly score: string;
  readonly isWinner: boolean;
  readonly filteredOut: boolean;
  readonly txHash: string | null;
  readonly referenceScore: string | null;
}

/**
 * Assertions of the original:
 * - the public routes have the competition after its deadline, those of operators before: held
 * - two solutions are ranked, and one wins: held
 * - solutions with a wrong submission address are dropped: held in `test/unit/auctions/drivers`
 * - a filtered solution is stored with its rank, without a transaction and without a reference score: held
 * - the reference score of the winner is 0 without other fair solutions: held in `test/unit/auctions/drivers`
 * - an order in a solution that did not win cannot be replaced: held in `test/unit/auctions`
 */
export const scenario: Scenario = {
  shows: 'solutions are ranked, losers and filtered ones are kept, and the public sees them after the deadline',
  async run(world) {
    // A driver that offers the first order barely above its limit, and all orders closer to their limits.
    const weak = await world.listen(async (request) => {
      if (!request.url.endsWith('/solve')) return Response.json({ kind: 'SolutionNotAvailable' }, { status: 400 });
      const { orders } = (await request.json()) as { orders: readonly Order[] };
      const solutions = [execute(orders.slice(0, 1), 10n ** 12n), execute(orders, 10n ** 6n)].slice(0, orders.length);
      return Response.json({
        solutions: solutions.map((each, solutionId) => ({ solutionId, submissionAddress: WEAK, orders: each })),
      });
    });
    const drivers = [await world.startDriver(), weak].join();
    const flags = ['--hide-competitions', '--submission-blocks', '8', '--solve-time', '5000'];
    const book = await world.serve('--drivers', drivers, ...flags);
    // Without funds, the orders are not in an auction. One block brings both.
    const trader = await world.createTrader();
    const uid = await book.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: world.atoms('2000', 'USDC'),
    });
    const second = await book.place(trader, {
      sellToken: world.token('DAI'),
      buyToken: world.token('COW'),
      sellAmount: world.atoms('1000', 'DAI'),
      buyAmount: world.atoms('3000', 'COW'),
    });
    await world.fund(trader.address, { WETH: '1', DAI: '1000' });
    for (const each of [uid, second]) await book.untilStatus(each, 'fulfilled');
    const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
    const path = `/api/v2/solver_competition/by_tx_hash/${trade.txHash}`;
    // The public sees it after the deadline block.
    assert.equal((await book.send('GET', path)).status, 404);
    assert.equal((await book.send('GET', '/api/v2/solver_competition/latest')).status, 404);
    const [{ id }] = (await book.operator('GET', `/debug/order/${uid}`)).body.auctions;
    const authorization = `Bearer ${OPERATOR_TOKEN}`;
    const early = await book.send('GET', `/restricted/api/v2/solver_competition/${id}`, undefined, { authorization });
    assert.deepEqual([early.status, early.body.auctionId], [200, id]);
    await world.client.mine({ blocks: 10 });
    const end = Date.now() + 60_000;
    let reply = await book.send('GET', path);
    while (reply.status !== 200 && Date.now() < end) reply = await book.send('GET', path);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    const solutions: Solution[] = [...reply.body.solutions].sort((a, b) => a.ranking - b.ranking);
    const text = JSON.stringify(solutions);
    const winners = solutions.filter(({ isWinner }) => isWinner);
    assert.deepEqual([winners.length, solutions.length], [2, 4], text);
    assert.ok(
      winners.every(({ solverAddress }) => solverAddress === world.solver),
      text,
    );
    assert.ok(
      winners.some(({ txHash }) => txHash === trade.txHash),
      text,
    );
    const losers = solutions.filter(({ isWinner }) => !isWinner);
    assert.deepEqual(losers.map(({ filteredOut }) => filteredOut).sort(), [false, true], text);
    assert.ok(
      losers.every(({ solverAddress }) => solverAddress === WEAK),
      text,
    );
    const [filtered] = losers.filter(({ filteredOut }) => filteredOut);
    assert.deepEqual([filtered?.txHash, filtered?.referenceScore], [null, null], text);
    assert.deepEqual(
      solutions.map(({ ranking }) => ranking),
      [1, 2, 3, 4],
      text,
    );
    const byId = await book.send('GET', `/api/v2/solver_competition/${reply.body.auctionId}`);
    assert.equal(byId.body.solutions.length, 4);
  },
};
