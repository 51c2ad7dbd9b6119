import type { AuctionOrder, Competition } from 'intentbook';
import type { Settler, Solution, SolverResult } from 'intentbook/solver';
import { createSolver } from 'intentbook/solver';
import { expect, it, vi } from 'vitest';
import { addressOf, createOrder, fillAll, SOLVER } from './orders.ts';

/** Creates a solver of an auction with these orders, and records its results. */
function getSolver(
  orders: readonly AuctionOrder[],
  solve: (orders: readonly AuctionOrder[]) => readonly Solution[],
  settler: Pick<Settler, 'submit'> & Partial<Settler>,
  competitions: Competition[] = [],
  record = async (competition: Competition): Promise<unknown> => competitions.push(competition),
) {
  const results: SolverResult[] = [];
  const solver = createSolver({
    auctions: {
      current: async () => ({ id: 1, block: 1, prices: {}, orders, surplusCapturingJitOrderOwners: [] }),
      record,
    },
    engine: { name: 'test', solve: async (auction) => solve(auction.orders) },
    settler: Object.assign(settler, { address: SOLVER, simulate: async () => undefined, ...settler }),
    onResult: (result) => results.push(result),
  });
  return { solver, competitions, record, results };
}

it('does not submit an order again whose settlement has an unknown result', async () => {
  const order = createOrder(1);
  let submissions = 0;
  const { solver } = getSolver([order], (orders) => orders.map((each) => fillAll(each)), {
    async submit() {
      submissions++;
      throw new Error('no receipt');
    },
  });
  await expect(solver.run()).rejects.toThrow('no receipt');
  expect(await solver.run()).toBeUndefined();
  expect(submissions).toBe(1);
});

it('counts the deadline of a competition from the newest block, not from that of an older auction', async () => {
  let block = 40;
  const { solver, competitions } = getSolver([createOrder(1)], (orders) => orders.map((each) => fillAll(each)), {
    block: async () => block,
    async submit() {
      block += 3;
      return { transactionHash: '0x01', block, reverted: false };
    },
  });
  await solver.run();
  expect(competitions.map((each) => each.auctionDeadlineBlock)).toEqual([45, 45]);
  expect(competitions.map((each) => each.auctionStartBlock)).toEqual([1, 1]);
});

it('counts the deadline from the auction while the node does not respond', async () => {
  const { solver, competitions } = getSolver([createOrder(1)], (orders) => orders.map((each) => fillAll(each)), {
    block: () => Promise.reject(new Error('unavailable')),
    submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
  });
  await solver.run();
  expect(competitions.map((each) => each.auctionDeadlineBlock)).toEqual([6, 6]);
});

it('records and reports the settlements before a failure', async () => {
  const orders = [createOrder(1), createOrder(2)];
  let simulations = 0;
  const { solver, competitions, results } = getSolver(orders, (open) => open.map((each) => fillAll(each)), {
    async simulate() {
      simulations++;
      if (simulations === 2) throw new Error('the node does not respond');
      return undefined;
    },
    submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
  });
  await expect(solver.run()).rejects.toThrow('the node does not respond');
  expect(competitions.at(-1)?.transactionHashes).toEqual(['0x01']);
  expect(results.map(({ settlements }) => settlements.map((each) => each.orders))).toEqual([[[orders[0]?.uid]]]);
});

it('settles the solutions after one whose simulation rejects', async () => {
  const [first, second] = [createOrder(1), createOrder(2)];
  const { solver, results } = getSolver([first, second], (open) => open.map((each) => fillAll(each)), {
    simulate: async ({ fills }) =>
      fills[0]?.order === first ? Promise.reject(new Error('the node does not respond')) : undefined,
    submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
  });
  await expect(solver.run()).rejects.toThrow('the node does not respond');
  expect(results.flatMap(({ settlements }) => settlements.map((each) => each.orders))).toEqual([[second.uid]]);
});

it('keeps the bids of earlier runs and solvers in the record of the same auction', async () => {
  const orders = [1, 2, 3].map((i) => createOrder(i));
  const uids = orders.map(({ uid }) => uid);
  let block = 10;
  const settler: Settler = {
    address: SOLVER,
    simulate: async () => undefined,
    block: async () => block,
    async submit() {
      block++;
      if (block === 13) throw new Error('no receipt');
      return { transactionHash: `0x${block}`, block, reverted: false };
    },
  };
  const solve = (open: readonly AuctionOrder[]) => open.slice(0, 1).map((each) => fillAll(each));
  const { solver, competitions, record } = getSolver(orders, solve, settler);
  await solver.run();
  await solver.run();
  const last = (open: readonly AuctionOrder[]) => open.slice(2).map((each) => fillAll(each));
  const second = competitions.at(-1);
  const other = getSolver(orders, last, settler, competitions, record);
  await expect(other.solver.run()).rejects.toThrow('no receipt');
  const [first, third] = [competitions.at(1), competitions.at(-1)];
  expect(first?.transactionHashes).toEqual(['0x11']);
  expect(second?.transactionHashes).toEqual(['0x11', '0x12']);
  expect(third?.transactionHashes).toEqual(['0x11', '0x12']);
  expect(third?.solutions.flatMap((each) => each.orders.map(({ id }) => id)).sort()).toEqual(uids);
  for (const each of competitions) expect(each.auction.orders).toEqual(uids);
  // The auction of another book can have the same number.
  const foreign = getSolver([createOrder(4)], (open) => open.map((each) => fillAll(each)), settler);
  await foreign.solver.run();
  expect(foreign.competitions.at(-1)?.transactionHashes).toEqual(['0x14']);
});

it('does not submit a solution with an order that another solution has settled', async () => {
  const [first, second, third] = [1, 2, 3].map((i) => createOrder(i, { partiallyFillable: true })) as [
    AuctionOrder,
    AuctionOrder,
    AuctionOrder,
  ];
  const submitted: string[][] = [];
  const { solver, results } = getSolver(
    [first, second, third],
    () => [fillAll(first, second), fillAll(second), fillAll(third)],
    {
      async submit({ fills }) {
        submitted.push(fills.map(({ order }) => order.uid));
        return { transactionHash: '0x01', block: 2, reverted: false };
      },
    },
  );
  await solver.run();
  expect(submitted).toEqual([[first.uid, second.uid], [third.uid]]);
  expect(results.flatMap(({ failed }) => failed)).toEqual([]);
});

/** Creates a settler of a chain on which an owner can sell this many atoms in total. */
function createLimitedSettler(balance: bigint): Pick<Settler, 'simulate' | 'submit'> {
  let left = balance;
  const getSold = ({ fills }: Solution) => fills.reduce((sum, { executed }) => sum + executed, 0n);
  return {
    simulate: async (solution) => (getSold(solution) > left ? 'insufficient balance' : undefined),
    async submit(solution) {
      left -= getSold(solution);
      return { transactionHash: '0x01', block: 2, reverted: false };
    },
  };
}

it.each([
  { count: 2, funded: 1 },
  { count: 7, funded: 3 },
  { count: 40, funded: 21 },
])('settles orders of one owner with a balance for $funded of $count', async ({ count, funded }) => {
  const orders = Array.from({ length: count }, (_, i) => createOrder(i + 1, { owner: addressOf(1) }));
  const solve = (open: readonly AuctionOrder[]) => [fillAll(...open)];
  const { solver } = getSolver(orders, solve, createLimitedSettler(1000n * BigInt(funded)));
  const result = await solver.run();
  expect(result?.settlements.flatMap((each) => each.orders)).toHaveLength(funded);
  expect(result?.failed.map(({ reason }) => reason)).toEqual(Array(count - funded).fill('insufficient balance'));
  // They are tried again later.
  expect(await solver.run()).toBeUndefined();
});

it('settles orders that match each other beside one that fails and needs a match', async () => {
  const [failing, sale, purchase] = [1, 2, 3].map((i) => createOrder(i)) as [AuctionOrder, AuctionOrder, AuctionOrder];
  const solve = (open: readonly AuctionOrder[]) =>
    open.length > 1 && open.includes(purchase) ? [fillAll(...open)] : [];
  const { solver } = getSolver([failing, sale, purchase], solve, {
    simulate: async ({ fills }) => (fills.some(({ order }) => order === failing) ? 'receiver reverts' : undefined),
    submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
  });
  // The orders are divided at random.
  await expect
    .poll(async () => (await solver.run())?.settlements.flatMap((each) => each.orders).sort(), { interval: 1 })
    .toEqual([sale.uid, purchase.uid]);
});

it('reports the rejection of an asynchronous listener', async () => {
  const order = createOrder(1);
  const failures: unknown[] = [];
  const solver = createSolver({
    auctions: {
      current: async () => ({ id: 1, block: 1, prices: {}, orders: [order], surplusCapturingJitOrderOwners: [] }),
    },
    engine: { name: 'test', solve: async () => [fillAll(order)] },
    settler: {
      address: SOLVER,
      simulate: async () => undefined,
      submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
    },
    onResult: () => Promise.reject(new Error('the listener fails')),
    onFailure: (failure) => failures.push(failure),
  });
  await solver.run();
  await expect.poll(() => failures).toEqual([new Error('the listener fails')]);
});

it('keeps the process running until it is stopped', async () => {
  const [begun, ended] = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'clearInterval')];
  const { solver } = getSolver([], () => [], { submit: () => Promise.reject() });
  try {
    solver.start();
    const [timer] = begun.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(timer?.hasRef()).toBe(true);
    expect(ended).not.toHaveBeenCalledWith(timer);
    await solver.stop();
    expect(ended).toHaveBeenCalledWith(timer);
  } finally {
    begun.mockRestore();
    ended.mockRestore();
    await solver.stop();
  }
});
