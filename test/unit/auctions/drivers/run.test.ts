import type {
  Address,
  AuctionRound,
  AuctionRunOptions,
  DriverObservation,
  DriverSettlement,
  NewOrder,
  OrderBook,
  SettleRequest,
  SolveRequest,
  SolverDriver,
  Store,
} from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { encodeSettlement } from 'intentbook/solver';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { address, NOW, place, USDC, WETH, word } from '../../../conformance/orders.ts';
import type { ManualClock } from '../../../support/clock.ts';
import { manualClock } from '../../../support/clock.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA } from '../../../support/orders.ts';

const [ONE, TWO] = [address(0x51), address(0x52)];
const PRICE = String(10n ** 18n);

let clock: ManualClock;
let book: OrderBook;
let failures: unknown[];
let rounds: AuctionRound[];
let settlements: DriverSettlement[];
const store = { current: memoryStore() };

beforeEach(async () => {
  clock = manualClock(NOW * 1000);
  store.current = memoryStore();
  [failures, rounds, settlements] = [[], [], []];
  book = await openBook();
});
afterEach(() => book.close());

async function openBook(of: Store = store.current, price = '1'): Promise<OrderBook> {
  const opened = createOrderBook({
    chainId: SEPOLIA,
    clock,
    store: of,
    expiryInterval: 'off',
    auctions: { minValidity: 0 },
    quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => price, estimate: () => undefined }] },
  });
  opened.on('failure', (failure) => failures.push(failure));
  await opened.start();
  return opened;
}

/** Sells `n + 1` atoms for at least one. */
const orderOf = (n: number, changes: Partial<NewOrder> = {}) => completeOrder(n, { validTo: NOW + 10_000, ...changes });

/** The execution of such an order in the format of a driver. */
const getExecution = (n: number, executedBuy: number, changes: object = {}) => ({
  side: 'sell',
  sellToken: WETH,
  limitSell: String(n + 1),
  buyToken: USDC,
  limitBuy: '1',
  executedSell: String(n + 1),
  executedBuy: String(executedBuy),
  ...changes,
});

const toSolution = (solver: Address, solutionId: number, orders: object) => {
  return { solutionId, submissionAddress: solver, orders };
};

/** A driver that records its calls. */
function driverOf(name: string, solve: (request: SolveRequest) => unknown, changes: Partial<SolverDriver> = {}) {
  const calls: { solved: SolveRequest[]; settled: SettleRequest[] } = { solved: [], settled: [] };
  const driver: SolverDriver = {
    name,
    async solve(request) {
      calls.solved.push(request);
      return solve(request);
    },
    async settle(request) {
      calls.settled.push(request);
    },
    ...changes,
  };
  return { driver, calls };
}

async function applyBlock(number: number): Promise<void> {
  const through = { number, hash: word(number) };
  await store.current.chain.apply({ events: [], blocks: [], through, forgetBelow: 0, at: clock.now() });
}

/** Waits until everything that needs no time has happened. */
async function settle(): Promise<void> {
  for (let i = 0; i < 40; i++) await new Promise(setImmediate);
}

async function run(options: AuctionRunOptions) {
  const callbacks = {
    onRound: (round: AuctionRound) => rounds.push(round),
    onSettled: (settlement: DriverSettlement) => settlements.push(settlement),
  };
  const running = await book.auctions.run({ ...callbacks, ...options });
  await settle();
  return running;
}

async function next(): Promise<void> {
  clock.advance(1000);
  await settle();
}

describe('auction run', () => {
  test('is released when it has stopped', async () => {
    const { driver } = driverOf('one', () => ({ solutions: [] }));
    const release = vi.spyOn(store.current.leases, 'release');
    for (let i = 0; i < 3; i++) await (await run({ drivers: [driver] })).stop();
    await run({ drivers: [driver] });
    await book.close();
    // A run that is still known would be stopped again.
    expect(release.mock.calls.length).toBe(4);
  });

  test('does not begin after the book has closed', async () => {
    await place(store.current, orderOf(1));
    const { driver, calls } = driverOf('one', () => ({ solutions: [] }));
    const [{ status }] = await Promise.allSettled([book.auctions.run({ drivers: [driver] }), book.close()]);
    await next();
    expect([status, calls.solved.length, failures]).toEqual(['rejected', 0, []]);
  });

  test('repeats an auction whose competition could not be recorded', async () => {
    await place(store.current, orderOf(1));
    await applyBlock(7);
    const { uid } = orderOf(1);
    const { driver, calls } = driverOf('one', () => ({
      solutions: [toSolution(ONE, 4, { [uid]: getExecution(1, 10) })],
    }));
    const record = vi.spyOn(store.current.auctions, 'record').mockRejectedValueOnce(new Error('busy'));
    await run({ drivers: [driver] });
    expect([failures, calls.settled.length, rounds.length]).toEqual([[new Error('busy')], 0, 0]);
    await next();
    expect([record.mock.calls.length, calls.settled.length, rounds.length]).toEqual([2, 1, 1]);
    const [first, second] = calls.solved;
    expect(second?.auction.id).toBe(first?.auction.id);
    await next();
    expect([calls.solved.length, calls.settled.length]).toEqual([2, 1]);
  });

  test('sends the auction in the format of production, and lets the best solution settle', async () => {
    await place(store.current, orderOf(1));
    await applyBlock(7);
    const { uid } = orderOf(1);
    const worse = driverOf('worse', () => ({ solutions: [toSolution(ONE, 4, { [uid]: getExecution(1, 10) })] }));
    const better = driverOf('better', () => ({ solutions: [toSolution(TWO, 9, { [uid]: getExecution(1, 20) })] }));
    await run({ drivers: [worse.driver, better.driver], trustedTokens: [USDC] });
    const auction = await book.auctions.competition(rounds[0]?.auctionId ?? 0);
    const [request] = better.calls.solved;
    const { orders, ...members } = JSON.parse(new TextDecoder().decode(request?.body));
    expect(orders).toEqual(request?.auction.orders);
    expect(members).toEqual({
      kind: 'full',
      id: String(auction?.auctionId),
      tokens: expect.arrayContaining([{ address: USDC, price: PRICE, trusted: true }]),
      deadline: new Date(NOW * 1000 + 10_000).toISOString(),
      surplusCapturingJitOrderOwners: [],
    });
    expect(worse.calls.settled).toEqual([]);
    expect(better.calls.settled).toEqual([
      { solutionId: 9, auctionId: auction?.auctionId, submissionDeadlineLatestBlock: 12 },
    ]);
    expect(rounds).toMatchObject([{ block: 7, deadlineBlock: 12, rules: 4, problems: [] }]);
    expect(rounds[0]?.solutions.map(({ driver, score, isWinner }) => [driver, score, isWinner])).toEqual([
      ['better', 19n, true],
      ['worse', 9n, false],
    ]);
    expect(settlements).toEqual([{ auctionId: auction?.auctionId, driver: 'better', solutionId: 9 }]);
    expect(auction).toMatchObject({
      auctionStartBlock: 7,
      auctionDeadlineBlock: 12,
      referenceScores: { [TWO]: '9' },
      solutions: [
        { solverAddress: ONE, ranking: 2, isWinner: false, referenceScore: null },
        { solverAddress: TWO, ranking: 1, isWinner: true, referenceScore: '9' },
      ],
    });
  });

  test('solves an auction once, and the next one without the orders in flight', async () => {
    await place(store.current, orderOf(1));
    const { driver, calls } = driverOf('a', ({ auction }) => ({
      solutions: auction.orders.map(({ uid }, i) => toSolution(ONE, i, { [uid]: getExecution(1, 5) })),
    }));
    await run({ drivers: [driver] });
    await next();
    await next();
    expect(calls.solved).toHaveLength(1);
    await place(store.current, orderOf(2));
    await next();
    expect(calls.solved[1]?.auction.orders.map(({ uid }) => uid)).toEqual([orderOf(2).uid]);
    // Order 2 was executed with the terms of order 1.
    expect(rounds[1]).toMatchObject({ solutions: [], problems: [{ driver: 'a', step: 'solve' }] });
  });

  test('offers orders again in the block after the settlement has failed', async () => {
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    const settle = async () => {
      throw Object.assign(new Error('reverted'), { kind: 'FailedToSubmit' });
    };
    const solve = () => ({ solutions: [toSolution(ONE, 1, { [uid]: getExecution(1, 5) })] });
    const { driver, calls } = driverOf('a', solve, { settle });
    await run({ drivers: [driver] });
    expect(settlements).toMatchObject([{ reason: 'reverted' }]);
    await next();
    expect(calls.solved).toHaveLength(1);
    await applyBlock(1);
    await next();
    expect(calls.solved).toHaveLength(2);
    expect(calls.solved[1]?.auction.orders.map((order) => order.uid)).toEqual([uid]);
    expect(calls.solved[1]?.auction.id).toBeGreaterThan(calls.solved[0]?.auction.id ?? 0);
  });

  test.each([
    ['a list is missing', {}, 'solutions must be a list'],
    ['the amount is malformed', [{ executedBuy: '-1' }], 'must be decimal digits'],
    ['the limit price is violated', [{ executedBuy: '0' }], 'is executed below its limit price'],
    ['the terms differ', [{ limitBuy: '2' }], 'has other terms than in the auction'],
    ['a fill-or-kill order is filled in part', [{ executedSell: '1' }], 'cannot be filled in part'],
    ['more than the order is sold', [{ executedSell: '3', executedBuy: '9' }], 'must be executed with 1 to 2 atoms'],
  ])('drops a solution if %s', async (_, response, reason) => {
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    const solutions = Array.isArray(response)
      ? { solutions: response.map((changes, i) => toSolution(ONE, i, { [uid]: getExecution(1, 5, changes) })) }
      : response;
    const bad = driverOf('bad', () => solutions);
    const good = driverOf('good', () => ({ solutions: [toSolution(TWO, 1, { [uid]: getExecution(1, 2) })] }));
    await run({ drivers: [bad.driver, good.driver] });
    expect(rounds[0]?.problems).toEqual([{ driver: 'bad', step: 'solve', reason: expect.stringContaining(reason) }]);
    expect(good.calls.settled).toHaveLength(1);
    expect(bad.calls.settled).toHaveLength(0);
  });

  test.each([
    ['drops', '1000', 0],
    ['keeps', '1195', 1],
  ])('%s a solution that pays 1200 and %s for two orders of one pair', async (_, second, settled) => {
    const orders = [999, 998].map((n) => orderOf(n));
    await place(store.current, ...orders);
    const [first = orderOf(0), other = orderOf(0)] = orders;
    const executions = { [first.uid]: getExecution(999, 1200), [other.uid]: getExecution(998, Number(second)) };
    const { driver, calls } = driverOf('a', () => ({ solutions: [toSolution(ONE, 1, executions)] }));
    await run({ drivers: [driver] });
    const problems = rounds[0]?.problems.map(({ reason }) => reason);
    expect(problems).toEqual(settled === 1 ? [] : [expect.stringContaining('another price than orders of the same')]);
    expect(calls.settled).toHaveLength(settled);
  });

  test.each([
    [
      { [WETH]: '7', [USDC]: '0x10' },
      { [WETH]: '7', [USDC]: '16' },
    ],
    [undefined, { [WETH]: '5', [USDC]: '2' }],
    [null, { [WETH]: '5', [USDC]: '2' }],
  ])('records the clearing prices %j', async (given, expected) => {
    await place(store.current, orderOf(1));
    const orders = { [orderOf(1).uid]: getExecution(1, 5) };
    const solution = { ...toSolution(ONE, 1, orders), ...(given !== undefined && { clearingPrices: given }) };
    const { driver } = driverOf('a', () => ({ solutions: [solution] }));
    await run({ drivers: [driver] });
    expect((await book.auctions.latestCompetition())?.solutions[0]?.clearingPrices).toEqual(expected);
  });

  test('drops a solution whose derived prices exceed 256 bits, and records those of others', async () => {
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    const most = String(2n ** 256n - 1n);
    const own = (sellToken: Address, buyToken: Address) => ({
      ...getExecution(0, 1, { sellToken, buyToken, limitBuy: '0', executedSell: most }),
    });
    const orders = {
      [uid]: getExecution(1, 5),
      [`0x${'01'.repeat(56)}`]: own(WETH, address(0x71)),
      [`0x${'02'.repeat(56)}`]: own(address(0x71), address(0x72)),
    };
    const liar = driverOf('liar', () => ({ solutions: [toSolution(TWO, 9, orders)] }));
    const honest = driverOf('honest', () => ({ solutions: [toSolution(ONE, 4, { [uid]: getExecution(1, 10) })] }));
    await run({ drivers: [liar.driver, honest.driver] });
    expect(rounds[0]?.problems.map(({ driver, reason }) => [driver, reason])).toEqual([
      ['liar', expect.stringContaining('256 bits')],
    ]);
    expect((await book.auctions.latestCompetition())?.solutions).toHaveLength(1);
    expect([honest.calls.settled.length, failures]).toEqual([1, []]);
  });

  test('lets no solution compete whose score exceeds 256 bits, and records those of others', async () => {
    await book.close();
    book = await openBook(store.current, String(10n ** 58n));
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    const most = { ...getExecution(1, 5), executedBuy: String(2n ** 256n - 1n) };
    const liar = driverOf('liar', () => ({ solutions: [toSolution(TWO, 9, { [uid]: most })] }));
    const honest = driverOf('honest', () => ({ solutions: [toSolution(ONE, 4, { [uid]: getExecution(1, 10) })] }));
    await run({ drivers: [liar.driver, honest.driver] });
    expect((await book.auctions.latestCompetition())?.solutions.map((each) => each.solverAddress)).toEqual([ONE]);
    expect([honest.calls.settled.length, failures]).toEqual([1, []]);
  });

  test('drops solutions of another account, repeated ids and those beyond the maximum', async () => {
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    const orders = { [uid]: getExecution(1, 5) };
    const solve = () => ({ solutions: [1, 1, 2].map((id) => toSolution(id === 2 ? TWO : ONE, id, orders)) });
    const { driver } = driverOf('a', solve, { submissionAddress: ONE });
    await run({ drivers: [driver], maxSolutions: 2 });
    expect(rounds[0]?.problems.map(({ reason }) => reason)).toEqual([
      'more than 2 solutions',
      'solutionId 1 is repeated',
    ]);
    expect(rounds[0]?.solutions).toHaveLength(1);
  });

  test('does not wait for a driver beyond the deadline, and aborts its request', async () => {
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    let aborted = false;
    const slow = driverOf('slow', () => undefined, {
      solve: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (aborted = true));
        }),
    });
    const fast = driverOf('fast', () => ({ solutions: [toSolution(TWO, 1, { [uid]: getExecution(1, 2) })] }));
    await run({ drivers: [slow.driver, fast.driver], solveTime: 5000 });
    expect(fast.calls.settled).toHaveLength(0);
    clock.advance(5000);
    await settle();
    expect(fast.calls.settled).toHaveLength(1);
    expect(aborted).toBe(true);
    expect(rounds[0]?.problems).toEqual([{ driver: 'slow', step: 'solve', reason: 'no response within 5000 ms' }]);
  });

  describe('with calldata', () => {
    /** Calldata that pays `bought` atoms for order 1. */
    async function calldataOf(bought: bigint, auctionId: number) {
      const [order] = (await book.auctions.current()).orders;
      if (order === undefined) throw new Error('the auction is empty');
      const prices = { [WETH]: bought, [USDC]: 2n };
      return encodeSettlement({ prices, fills: [{ order, executed: 2n }], interactions: [] }, auctionId);
    }

    async function runWith(reveal: NonNullable<SolverDriver['reveal']>, options: Partial<AuctionRunOptions> = {}) {
      await place(store.current, orderOf(1));
      const { uid } = orderOf(1);
      const solve = () => ({ solutions: [toSolution(ONE, 1, { [uid]: getExecution(1, 20) })] });
      const first = driverOf('first', solve, { reveal });
      const second = driverOf('second', () => ({ solutions: [toSolution(TWO, 1, { [uid]: getExecution(1, 10) })] }));
      await run({ drivers: [first.driver, second.driver], ...options });
      return { first, second };
    }

    test('lets a solution settle whose calldata executes what it claims', async () => {
      const { first } = await runWith(async ({ auctionId }) => {
        return { calldata: { internalized: await calldataOf(20n, auctionId), uninternalized: '0x' } };
      });
      expect(first.calls.settled).toHaveLength(1);
    });

    test.each([
      ['pays less', 19n, 0, 'does not execute order'],
      ['names another auction', 20n, 1, 'must contain the auction id'],
    ])('lets the next best solution win if it %s', async (_, bought, offset, reason) => {
      const { first, second } = await runWith(async ({ auctionId }) => {
        return { calldata: { internalized: await calldataOf(bought, auctionId + offset) } };
      });
      expect([first.calls.settled.length, second.calls.settled.length]).toEqual([0, 1]);
      expect(rounds[0]?.problems).toEqual([
        { driver: 'first', step: 'reveal', reason: expect.stringContaining(reason) },
      ]);
      expect(rounds[0]?.solutions.map(({ driver }) => driver)).toEqual(['second']);
    });

    test('lets the next best solution win if it executes an order that is not claimed', async () => {
      const { first, second } = await runWith(async ({ auctionId }) => {
        const [order] = (await book.auctions.current()).orders;
        if (order === undefined) throw new Error('the auction is empty');
        const fills = [1, 2].map(() => ({ order, executed: 2n }));
        const prices = { [WETH]: 20n, [USDC]: 2n };
        return { calldata: { internalized: encodeSettlement({ prices, fills, interactions: [] }, auctionId) } };
      });
      expect([first.calls.settled.length, second.calls.settled.length]).toEqual([0, 1]);
      expect(rounds[0]?.problems).toMatchObject([{ reason: 'the calldata executes 1 orders that are not claimed' }]);
    });

    test('is awaited once for all solutions of a driver that does not respond', async () => {
      await place(store.current, orderOf(1));
      const { uid } = orderOf(1);
      const solve = () => ({
        solutions: [20, 19, 18].map((bought, i) => toSolution(ONE, i + 1, { [uid]: getExecution(1, bought) })),
      });
      const reveals: number[] = [];
      const first = driverOf('first', solve, {
        reveal({ solutionId }) {
          reveals.push(solutionId);
          return new Promise(() => {});
        },
      });
      const second = driverOf('second', () => ({ solutions: [toSolution(TWO, 1, { [uid]: getExecution(1, 10) })] }));
      await run({ drivers: [first.driver, second.driver], revealTime: 2_000 });
      clock.advance(2_000);
      await settle();
      expect(reveals).toEqual([1]);
      expect(second.calls.settled).toHaveLength(1);
    });

    test('is not requested with `reveal: false`', async () => {
      const { first } = await runWith(() => Promise.reject(new Error('must not be called')), { reveal: false });
      expect(first.calls.settled).toHaveLength(1);
    });
  });

  test('reports each call of a driver, and a driver that ignores its deadline', async () => {
    await place(store.current, orderOf(1));
    const { uid } = orderOf(1);
    const observations: DriverObservation[] = [];
    book.on('driverCalled', (observation) => observations.push(observation));
    const slow = driverOf('slow', () => new Promise(() => {}));
    const good = driverOf('good', () => ({ solutions: [toSolution(ONE, 1, { [uid]: getExecution(1, 5) })] }));
    await run({ drivers: [slow.driver, good.driver], solveTime: 500 });
    clock.advance(500);
    await settle();
    expect(observations).toEqual([
      { driver: 'good', step: 'solve', ms: 0, failed: false },
      { driver: 'slow', step: 'solve', ms: 500, failed: true },
      { driver: 'good', step: 'settle', ms: 0, failed: false },
    ]);
  });

  test('runs in one process at a time, and continues in another one', async () => {
    await place(store.current, orderOf(1));
    const solve = () => ({ solutions: [] });
    const [first, second] = [driverOf('a', solve), driverOf('a', solve)];
    const running = await run({ drivers: [first.driver] });
    await run({ drivers: [second.driver] });
    await next();
    expect([first.calls.solved.length, second.calls.solved.length]).toEqual([1, 0]);
    await running.stop();
    await place(store.current, orderOf(2));
    await next();
    expect([first.calls.solved.length, second.calls.solved.length]).toEqual([1, 1]);
  });

  test('continues in another process without the orders that are in flight', async () => {
    await place(store.current, orderOf(1));
    await applyBlock(7);
    const shared = new Proxy(store.current, {
      get: (target, name) => (name === 'open' || name === 'close' ? async () => {} : Reflect.get(target, name)),
    });
    const other = await openBook(shared);
    await other.auctions.current(); // a client of the other process reads the auction
    const { uid } = orderOf(1);
    const solve = () => ({ solutions: [toSolution(ONE, 4, { [uid]: getExecution(1, 10) })] });
    const [first, second] = [driverOf('a', solve), driverOf('a', solve)];
    const running = await run({ drivers: [first.driver] });
    expect(first.calls.settled).toHaveLength(1);
    await running.stop();
    await other.auctions.run({ drivers: [second.driver] });
    await settle();
    expect(second.calls.settled).toEqual([]);
    await other.close();
  });

  describe('does not record or settle an auction if, while the drivers solve it,', () => {
    test.each([
      [
        'another process takes the lease',
        async () => {
          const { leases } = store.current;
          vi.spyOn(leases, 'acquire').mockResolvedValue({ status: 'taken' } as never); // the status that is read
        },
      ],
      [
        'the chain is no longer followed',
        async () => {
          const { chain } = store.current;
          vi.spyOn(chain, 'progress').mockRejectedValue(new Error('the store is away'));
        },
      ],
    ])('%s', async (_, lose) => {
      await place(store.current, orderOf(1));
      await applyBlock(7);
      let finish = (_response: unknown) => {};
      const { driver, calls } = driverOf('one', () => new Promise((resolve) => (finish = resolve)));
      const record = vi.spyOn(store.current.auctions, 'record');
      const running = await run({ drivers: [driver] });
      expect(calls.solved).toHaveLength(1);
      await lose();
      finish({ solutions: [toSolution(ONE, 4, { [orderOf(1).uid]: getExecution(1, 10) })] });
      await settle();
      expect([record.mock.calls.length, calls.settled.length, rounds.length]).toEqual([0, 0, 0]);
      await running.stop();
    });
  });

  test('ends when the book is closed, also while a driver solves', async () => {
    await place(store.current, orderOf(1));
    const { driver } = driverOf('slow', () => new Promise(() => {}));
    await run({ drivers: [driver] });
    await book.close();
    expect(clock.pending).toBe(0);
    expect(failures).toEqual([]);
  });

  test.each([
    [{ drivers: [] }, 'drivers must be a list of one or more drivers'],
    [{ drivers: [driverOf('a', () => 0).driver, driverOf('a', () => 0).driver] }, 'with different names, got a'],
    [
      { drivers: [driverOf('a', () => 0).driver], solveTime: 0 },
      'solveTime must be an integer from 1 to 600000, got 0',
    ],
    [{ drivers: [driverOf('a', () => 0).driver], trustedTokens: ['0x1'] }, 'trustedTokens must be 0x and 40 hex'],
    [{ drivers: [driverOf('a', () => 0).driver], banAfter: 0 }, 'banAfter must be an integer from 1 to'],
    [{ drivers: [driverOf('a', () => 0).driver], solveTimes: 1 }, 'solveTimes'],
  ])('rejects the options %#', async (options, message) => {
    await expect(book.auctions.run(options)).rejects.toThrow(message);
  });
});
