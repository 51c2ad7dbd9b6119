import assert from 'node:assert/strict';
import { temporarySchema } from '../support/postgres.ts';
import type { Book } from './support/book.ts';
import type { Scenario } from './support/scenario.ts';

const SECOND_SOLVER = '0x00000000000000000000000000000000000050b2';

/**
 * Assertions of the original:
 * - of two processes one settles ten orders, with its solver: held
 * - after its end, the other one takes over, and settles ten orders with its solver: held
 */
export const scenario: Scenario = {
  shows: 'of two servers on one database one runs the auctions, and the other takes over when it is killed',
  async run(world) {
    await using database = await temporarySchema();
    const flags = [
      '--postgres',
      database.url,
      '--schema',
      database.schema,
      '--accounts',
      'off',
      '--solve-time',
      '2000',
    ];
    const solvers = [world.solver, SECOND_SOLVER] as const;
    const books = [
      await world.serve(...flags, '--migrate', '--drivers', await world.startDriver({ account: solvers[0] })),
      await world.serve(...flags, '--drivers', await world.startDriver({ account: solvers[1] })),
    ] as const;
    const trader = await world.createTrader({ WETH: '10' });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), buyAmount: '1' };
    let placed = 0;

    /** Places an order, waits until it is traded, and returns the solver that has settled it. */
    async function trade(book: Book): Promise<string> {
      const uid = await book.place(trader, { ...terms, sellAmount: String(10n ** 16n + BigInt(placed++)) });
      await book.untilStatus(uid, 'fulfilled');
      const [{ txHash }] = (await book.get(`/trades?orderUid=${uid}`)).body;
      const { from } = await world.client.getTransaction({ hash: txHash });
      return from;
    }

    const settled: string[] = [];
    for (let i = 0; i < 10; i++) settled.push(await trade(books[1]));
    const [leader] = settled;
    assert.deepEqual(settled, Array(10).fill(leader));
    const first = leader === solvers[0].toLowerCase() ? 0 : 1;
    await world.kill(books[first]);
    const follower = first === 0 ? 1 : 0;
    const later: string[] = [];
    for (let i = 0; i < 10; i++) later.push(await trade(books[follower]));
    assert.deepEqual(later, Array(10).fill(solvers[follower].toLowerCase()));
  },
};
