import { setTimeout as sleep } from 'node:timers/promises';
import type { AuctionOrder } from 'intentbook';
import { httpDriver } from 'intentbook/drivers';
import type { Settler } from 'intentbook/solver';
import { createDriver, createReferenceEngine } from 'intentbook/solver';
import { describe, expect, it } from 'vitest';
import { BUY, createOrder, fillAll, SELL, SOLVER } from './orders.ts';

/** Creates a driver that has solved auction 1 with one solution, and a function that sends requests to it. */
async function getDriver(settler: Partial<Settler>) {
  const driver = createDriver({
    engine: { name: 'test', solve: async ({ orders }) => orders.map((order) => fillAll(order)) },
    settler: { address: SOLVER, simulate: async () => undefined, submit: () => Promise.reject(), ...settler },
  });
  const send = async (path: string, content: object) => {
    const request = new Request(`http://driver/${path}`, { method: 'POST', body: JSON.stringify(content) });
    // The format of the interface.
    return (await driver.handle(request)).json() as Promise<{ solutions: { solutionId: number }[] }>;
  };
  const deadline = new Date(Date.now() + 10_000).toISOString();
  const auction = { id: '1', orders: [createOrder(1, { partiallyFillable: true })], tokens: [], deadline };
  const { solutions } = await send('solve', auction);
  const request = { auctionId: '1', solutionId: solutions[0]?.solutionId, submissionDeadlineLatestBlock: 12 };
  return { send, auction, request };
}

describe('settlement of a driver', () => {
  it('is submitted once for repeated requests', async () => {
    let submissions = 0;
    const { send, request } = await getDriver({
      async submit() {
        submissions++;
        return { transactionHash: '0x01', block: 2, reverted: false };
      },
    });
    const concurrent = await Promise.all([send('settle', request), send('settle', request)]);
    expect([...concurrent, await send('settle', request)]).toEqual(Array(3).fill({ transactionHash: '0x01' }));
    expect(submissions).toBe(1);
  });

  it('is not submitted again if the result of the first submission is unknown', async () => {
    let submissions = 0;
    const { send, request } = await getDriver({
      async submit() {
        submissions++;
        throw new Error('no receipt');
      },
    });
    for (let i = 0; i < 2; i++) expect(await send('settle', request)).toMatchObject({ kind: 'Unknown' });
    expect(submissions).toBe(1);
  });

  it('is submitted after an attempt whose simulation failed', async () => {
    const reasons = [undefined, 'execution reverted', undefined];
    const { send, request } = await getDriver({
      simulate: async () => reasons.shift(),
      submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
    });
    expect(await send('settle', request)).toEqual({ kind: 'FailedToSubmit', description: 'execution reverted' });
    expect(await send('settle', request)).toEqual({ transactionHash: '0x01' });
  });

  it('sends the solution that was offered under its id, however often the auction is solved', async () => {
    const sent: unknown[] = [];
    const { send, auction, request } = await getDriver({
      async submit({ fills }) {
        sent.push(fills.map(({ order }) => order.uid));
        return { transactionHash: '0x01', block: 2, reverted: false };
      },
    });
    const { solutions } = await send('solve', { ...auction, orders: [createOrder(2)] });
    expect(solutions[0]?.solutionId).not.toBe(request.solutionId);
    await send('settle', request);
    await send('settle', { ...request, solutionId: solutions[0]?.solutionId });
    await send('settle', request);
    expect(sent).toEqual([[createOrder(1).uid], [createOrder(2).uid]]);
  });

  it.each([
    { solutionId: null },
    { solutionId: '' },
    { solutionId: [] },
    { solutionId: false },
    { auctionId: null },
    { submissionDeadlineLatestBlock: null },
  ])('is rejected with a malformed member: %j', async (member) => {
    const { send, request } = await getDriver({
      submit: async () => ({ transactionHash: '0x01', block: 2, reverted: false }),
    });
    const [name] = Object.keys(member);
    expect(await send('settle', { ...request, ...member })).toEqual({
      kind: 'MalformedRequest',
      description: `${name} must be an integer`,
    });
  });
});

describe('solutions of a driver', () => {
  const pair = [createOrder(1), createOrder(2)];
  const other = createOrder(3, { sellToken: BUY, buyToken: SELL });

  /** Creates a function that requests the orders of each solution. The engine fills the orders of a pair at once. */
  function createPairDriver(settler: Partial<Settler>, onFailure?: (failure: unknown) => void) {
    const driver = createDriver({
      engine: {
        name: 'test',
        solve: async ({ orders }) => {
          const pairs = [
            orders.filter((order) => order.buyToken === BUY),
            orders.filter((order) => order.uid === other.uid),
          ];
          return pairs.filter((each) => each.length > 0).map((each) => fillAll(...each));
        },
      },
      settler: { address: SOLVER, simulate: async () => undefined, submit: () => Promise.reject(), ...settler },
      ...(onFailure !== undefined && { onFailure }),
    });
    let id = 0;
    return async (orders: readonly AuctionOrder[], time = 10_000) => {
      const deadline = new Date(Date.now() + time).toISOString();
      const body = JSON.stringify({ id: String(++id), orders, tokens: [], deadline });
      const response = await driver.handle(new Request('http://driver/solve', { method: 'POST', body }));
      // The format of the interface.
      const { solutions } = (await response.json()) as { solutions: { orders: object }[] };
      return solutions.map((solution) => Object.keys(solution.orders));
    };
  }

  it('execute the other orders of a pair without the one that fails, which is left out of its next auction', async () => {
    const [good, bad] = pair as [AuctionOrder, AuctionOrder];
    let simulations = 0;
    const solve = createPairDriver({
      async simulate({ fills }) {
        simulations++;
        return fills.some(({ order }) => order.uid === bad.uid) ? 'receiver reverts' : undefined;
      },
    });
    expect(await solve(pair)).toEqual([[good.uid]]);
    // The auction of another book does not contain them.
    expect(await solve([other])).toEqual([[other.uid]]);
    simulations = 0;
    expect(await solve(pair)).toEqual([[good.uid]]);
    expect(simulations).toBe(1);
  });

  it('do not conflict if a pair fails only as a batch', async () => {
    const solve = createPairDriver({
      simulate: async ({ fills }) => (fills.length > 1 ? 'insufficient balance' : undefined),
    });
    const solutions = await solve(pair);
    expect(solutions).toHaveLength(1);
    expect(solutions[0]).toHaveLength(1);
  });

  it('are offered in time while the orders of another pair are tried alone', async () => {
    const solve = createPairDriver({
      simulate: ({ fills }) =>
        fills[0]?.order.uid === other.uid
          ? Promise.resolve(undefined)
          : Promise.resolve(fills.length > 1 ? 'receiver reverts' : new Promise<undefined>(() => {})),
    });
    expect(await solve([...pair, other], 500)).toEqual([[other.uid]]);
  });

  it('are offered in time while the simulation of another one has no result', async () => {
    const solve = createPairDriver({
      simulate: async ({ fills }) => (fills.length > 1 ? new Promise<undefined>(() => {}) : undefined),
    });
    expect(await solve([...pair, other], 500)).toEqual([[other.uid]]);
  });

  it('are offered although the simulation of another one rejects', async () => {
    const failures: unknown[] = [];
    const solve = createPairDriver(
      { simulate: async ({ fills }) => (fills.length > 1 ? Promise.reject(new Error('no node')) : undefined) },
      (failure) => failures.push(failure),
    );
    expect(await solve([...pair, other])).toEqual([[other.uid]]);
    expect(failures).toEqual([new Error('no node')]);
  });

  it('are simulated if the engine takes all of its time', async () => {
    const { handle } = createDriver({
      engine: {
        name: 'test',
        solve: async ({ orders, deadline = 0 }) => {
          await sleep(deadline - Date.now());
          return orders.map((order) => fillAll(order));
        },
      },
      settler: { address: SOLVER, simulate: async () => undefined, submit: () => Promise.reject() },
    });
    const deadline = new Date(Date.now() + 2_000).toISOString();
    const body = JSON.stringify({ id: '1', orders: [other], tokens: [], deadline });
    const response = await handle(new Request('http://driver/solve', { method: 'POST', body }));
    expect(await response.json()).toMatchObject({ solutions: [{}] });
  });

  it('arrive at the book before it drops them', async () => {
    const { handle } = createDriver({
      engine: { name: 'test', solve: async ({ orders }) => orders.map((order) => fillAll(order)) },
      settler: {
        address: SOLVER,
        simulate: ({ fills }) => new Promise((resolve) => fills[0]?.order.uid === other.uid && resolve(undefined)),
        submit: () => Promise.reject(),
      },
    });
    const deadline = Date.now() + 1_000;
    const body = JSON.stringify({
      id: '1',
      orders: [...pair, other],
      tokens: [],
      deadline: new Date(deadline).toISOString(),
    });
    const request = new Request('http://driver/solve', {
      method: 'POST',
      body,
      signal: AbortSignal.timeout(1_000),
    });
    const response = await handle(request);
    expect(request.signal.aborted).toBe(false);
    expect(await response.json()).toMatchObject({ solutions: [{}] });
  });
});

it('driver: quotes a purchase at large prices', async () => {
  const liquidity = { quote: (_sell: string, _buy: string, amount: bigint) => amount, take: () => [] };
  const { handle } = createDriver({
    engine: createReferenceEngine({ liquidity: { read: async () => liquidity }, wrappedNative: BUY }),
    settler: { address: SOLVER, simulate: async () => undefined, submit: () => Promise.reject() },
  });
  const query = new URLSearchParams({ sellToken: SELL, buyToken: BUY, kind: 'buy', amount: String(2n ** 111n) });
  const response = await handle(new Request(`http://driver/quote?${query}`));
  expect(response.status).toBe(200);
});

it('driver: accepts the notification of its exclusion from auctions', async () => {
  const failures: unknown[] = [];
  const { handle } = createDriver({
    engine: { name: 'test', solve: async () => [] },
    settler: { address: SOLVER, simulate: async () => undefined, submit: () => Promise.reject() },
    onFailure: (failure) => failures.push(failure),
  });
  const driver = httpDriver('http://driver', { fetch: (url, init) => handle(new Request(url, init)) });
  const context = { signal: new AbortController().signal };
  await driver.notify?.({ reason: 'unsettledConsecutiveAuctions', until: 0 }, context);
  expect(failures).toEqual([]);
});
