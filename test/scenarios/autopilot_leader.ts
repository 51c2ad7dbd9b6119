import assert from 'node:assert/strict';
import { temporarySchema } from '../support/postgres.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - of two processes one settles ten orders, with its solver: in part. The scenario counts the auctions that its
 *   driver solves, and settles none
 * - after its end, the other one takes over, and its solver settles: in part, in the same way
 */
export const scenario: Scenario = {
  shows: 'of two servers on one database one runs the auctions, and the other takes over when it is killed',
  async run(world) {
    await using database = await temporarySchema();
    const solved = [0, 0];
    const listen = (i: 0 | 1) =>
      world.listen(async () => {
        solved[i] = (solved[i] ?? 0) + 1;
        return Response.json({ solutions: [] });
      });
    const flags = ['--postgres', database.url, '--schema', database.schema, '--accounts', 'off', '--solve-time', '500'];
    const books = [
      await world.serve(...flags, '--migrate', '--drivers', await listen(0)),
      await world.serve(...flags, '--drivers', await listen(1)),
    ] as const;
    const trader = await world.createTrader({ WETH: '1' });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), buyAmount: '1' };
    const uid = await books[1].place(trader, { ...terms, sellAmount: '1000' });
    const waitFor = async (condition: () => boolean) => {
      const end = Date.now() + 60_000;
      while (!condition() && Date.now() < end) {
        // Each block is a new auction.
        await world.mine();
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      assert.ok(condition(), String(solved));
    };
    await waitFor(() => solved.reduce((sum, count) => sum + count) >= 3);
    const leader = solved[0] === 0 ? 1 : 0;
    const follower = leader === 0 ? 1 : 0;
    assert.equal(solved[follower], 0, String(solved));
    await world.kill(books[leader]);
    await waitFor(() => (solved[follower] ?? 0) >= 2);
    // Orders are still there, and can be placed.
    assert.equal((await books[follower].order(uid)).status, 'open');
    await books[follower].place(trader, { ...terms, sellAmount: '2000' });
  },
};
