import type {
  AuctionRunOptions,
  ChainSource,
  DriverNotification,
  Hex,
  OrderBook,
  SettleRequest,
  SolveRequest,
  SolverDriver,
} from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { address, NOW, place, USDC, WETH, word } from '../../../conformance/orders.ts';
import { directFixture } from '../../../integration/http/http-fixture.ts';
import type { ManualClock } from '../../../support/clock.ts';
import { manualClock } from '../../../support/clock.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA } from '../../../support/orders.ts';
import { debugReport } from '../../../support/production-schemas.ts';

const SOLVER = address(0x51);

let clock: ManualClock;
let book: OrderBook;
let store: ReturnType<typeof memoryStore>;
let failures: unknown[];
let requests: SettleRequest[];
let auctions: (readonly Hex[])[];
/** What `settle` of the driver does. Default: it succeeds. */
let onSettle: (request: SettleRequest) => Promise<void>;
let notifications: DriverNotification[];

beforeEach(async () => {
  clock = manualClock(NOW * 1000);
  store = memoryStore();
  [failures, requests, auctions, notifications] = [[], [], [], []];
  onSettle = async () => {};
  await open();
});
afterEach(() => book.close());

async function open(sources?: readonly ChainSource[]): Promise<void> {
  book = createOrderBook({
    chainId: SEPOLIA,
    clock,
    store,
    expiryInterval: 'off',
    auctions: { minValidity: 0 },
    quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '1', estimate: () => undefined }] },
    ...(sources && { indexer: { sources, fromBlock: 1 } }),
  });
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
}

/** Order `n` sells `n + 1` atoms of a pair with another token. Order 4 can be filled partially. */
function orderOf(n: number) {
  const order = completeOrder(n, {
    validTo: NOW + 100_000,
    sellToken: n % 2 === 0 ? USDC : WETH,
    buyToken: n % 2 === 0 ? WETH : USDC,
  });
  return { ...order, body: order.body.replace('"partiallyFillable":false', `"partiallyFillable":${n === 4}`) };
}

/** Solves each order of an auction alone, at five times its limit. */
function solve({ auction }: SolveRequest) {
  auctions.push(auction.orders.map(({ uid }) => uid));
  const solutions = auction.orders.map(({ uid, kind: side, sellToken, buyToken, sellAmount, buyAmount }, i) => {
    const executed = { executedSell: sellAmount, executedBuy: String(5n * BigInt(buyAmount)) };
    const orders = { [uid]: { side, sellToken, limitSell: sellAmount, buyToken, limitBuy: buyAmount, ...executed } };
    return { solutionId: i + 1, submissionAddress: SOLVER, orders };
  });
  return { solutions };
}

const driver: SolverDriver = {
  name: 'a',
  solve: async (request) => solve(request),
  settle(request) {
    requests.push(request);
    return onSettle(request);
  },
  async notify(notification) {
    notifications.push(notification);
  },
};

/** Waits until everything that needs no time has happened. */
async function settled(): Promise<void> {
  for (let i = 0; i < 40; i++) await new Promise(setImmediate);
}

async function run(options: Partial<AuctionRunOptions> = {}): Promise<void> {
  await book.auctions.run({ drivers: [driver], ...options });
  await settled();
}

async function next(ms = 1000): Promise<void> {
  clock.advance(ms);
  await settled();
}

async function applyBlock(
  number: number,
  uid?: Hex,
  auctionId = requests.at(-1)?.auctionId ?? null,
  solver = SOLVER,
  factor = 1n,
  divisor = 1n,
): Promise<void> {
  const through = { number, hash: word(number) };
  const at = { blockNumber: number, blockHash: word(number), transactionHash: word(7000 + number), timestamp: NOW };
  const order = uid === undefined ? undefined : [1, 2, 3, 4].map(orderOf).find((each) => each.uid === uid);
  const terms = order && (JSON.parse(order.body) as { sellAmount: string; buyAmount: string });
  const trade = order && {
    type: 'trade' as const,
    ...at,
    logIndex: 0,
    uid: order.uid,
    owner: order.owner,
    sellToken: order.sellToken,
    buyToken: order.buyToken,
    sellAmount: String(BigInt(terms?.sellAmount ?? 0) / divisor),
    buyAmount: String((factor * BigInt(terms?.buyAmount ?? 0)) / divisor),
    feeAmount: '0',
    executedFee: null,
    prices: null,
    protocolFees: [],
  };
  const settlement = { type: 'settlement' as const, ...at, logIndex: 1, solver, auctionId };
  const events = trade === undefined ? [] : [trade, settlement];
  await store.chain.apply({ events, blocks: [], through, forgetBelow: 0, at: clock.now() });
  await next();
}

const settledIds = () => requests.map(({ auctionId, solutionId }) => [auctionId, solutionId]);
const failed = (kind: string) => Object.assign(new Error(kind), { kind });

describe('settlement of a winner', () => {
  test('keeps the other orders of its solver in flight when it has failed', async () => {
    const [first, second] = [orderOf(1), orderOf(2)];
    await place(store, first, second);
    onSettle = ({ solutionId }) =>
      solutionId === 1 ? Promise.reject(failed('FailedToSubmit')) : new Promise(() => {});
    await applyBlock(1);
    await run();
    expect(auctions).toEqual([[first.uid, second.uid]]);
    await applyBlock(2);
    expect(auctions).toEqual([[first.uid, second.uid], [first.uid]]);
    expect(settledIds().map(([, solution]) => solution)).toEqual([1, 2, 1]);
  });

  test.each([
    ['of which the result is unknown', new Error('socket hang up'), 1],
    ['after the deadline of the driver', failed('DeadlineExceeded'), 1],
    ['that was not sent', failed('FailedToSubmit'), 2],
  ])('%s is requested again before its deadline only if no transaction is pending', async (_, error, before) => {
    await place(store, orderOf(1));
    onSettle = () => Promise.reject(error);
    await applyBlock(1);
    await run();
    for (const block of [2, 3, 4, 5]) await applyBlock(block);
    expect(Math.min(requests.length, 2)).toBe(before);
    await applyBlock(6);
    expect(requests.length).toBeGreaterThan(before);
  });

  test('whose response takes too long is not requested again before its deadline', async () => {
    await place(store, orderOf(1));
    onSettle = () => new Promise(() => {});
    await applyBlock(1);
    await run({ settleTime: 500 });
    await applyBlock(2);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['that is in a block', async () => {}, 'success'],
    ['that the driver rejects', () => Promise.reject(failed('FailedToSubmit')), 'driver failed: FailedToSubmit'],
    ['whose response takes too long', () => new Promise<void>(() => {}), 'timeout'],
  ])('%s is an attempt in the debug report of its order', async (_, settle, outcome) => {
    const { uid } = orderOf(1);
    await place(store, orderOf(1), orderOf(2));
    onSettle = ({ solutionId }) => (solutionId === 1 ? settle() : new Promise(() => {}));
    await applyBlock(1);
    const startedAt = new Date(clock.now()).toISOString();
    await run({ settleTime: 500, submissionBlocks: 50 });
    const { send } = directFixture(createApi(book, { operatorToken: 'secret' }), () => NOW);
    const read = async () => {
      const headers = { authorization: 'Bearer secret' };
      const answer = await send('GET', `/restricted/api/v1/debug/order/${uid}`, { headers });
      return debugReport.parse(answer.json());
    };
    if (outcome === 'timeout') {
      expect((await read()).auctions[0]?.settlementAttempts[0]).not.toHaveProperty('outcome');
      await next(500);
    }
    const { auctions: [report] = [], events } = await read();
    const started = { solver: SOLVER, solutionUid: 0, startTimestamp: startedAt, startBlock: 1, deadlineBlock: 51 };
    expect(report?.settlementAttempts).toEqual([
      { ...started, endTimestamp: new Date(clock.now()).toISOString(), endBlock: 1, outcome },
    ]);
    expect(events.slice(0, 3).map(({ label }) => label)).toEqual(['created', 'ready', 'executing']);
  });

  test('stays in flight however many newer competitions there are', async () => {
    const { uid } = orderOf(1);
    await place(store, orderOf(1));
    onSettle = () => new Promise(() => {});
    await applyBlock(1);
    await run({ submissionBlocks: 500 });
    for (let i = 0; i < 120; i++) {
      const [auctionId] = settledIds().at(-1) ?? [0];
      await book.auctions.record({
        auctionId: Number(auctionId) + 1 + i,
        auctionStartBlock: 1,
        auctionDeadlineBlock: 400,
        transactionHashes: [],
        referenceScores: {},
        auction: { orders: [], prices: {} },
        solutions: [],
      });
    }
    expect((await book.auctions.current()).orders).toEqual([]);
    expect((await book.orders.competitionStatus(uid)).type).toBe('executing');
    await applyBlock(450);
    expect((await book.auctions.latestCompetition({ published: true }))?.auctionId).toBeGreaterThan(0);
    expect((await book.auctions.current()).orders).toEqual([]);
  });

  test.each([
    ['that has failed', true, 2],
    ['whose deadline block is reached', false, 6],
  ])('%s leaves the status of its order to the next auction', async (_, fails, block) => {
    const { uid } = orderOf(1);
    const status = async () => (await book.orders.competitionStatus(uid)).type;
    await place(store, orderOf(1));
    onSettle = () => (fails ? Promise.reject(failed('FailedToSubmit')) : new Promise(() => {}));
    await applyBlock(1);
    const { stop } = await book.auctions.run({ drivers: [driver] });
    await settled();
    expect(await status()).toBe('executing');
    await stop();
    await store.chain.apply({
      events: [],
      blocks: [],
      through: { number: block, hash: word(block) },
      forgetBelow: 0,
      at: clock.now(),
    });
    expect(await status()).not.toBe('executing');
    expect((await book.auctions.current()).orders.map((order) => order.uid)).toEqual([uid]);
    expect(await status()).toBe('active');
  });

  test('of many winners prints no warning', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    const drivers = Array.from({ length: 12 }, (_, i) => ({ ...driver, name: `driver ${i}` }));
    await place(store, orderOf(1));
    await applyBlock(1);
    await run({ drivers });
    await settled();
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});

describe('exclusion of a driver', () => {
  const failing = () => Promise.reject(new Error('socket hang up'));

  test('does not affect one whose response was lost, if its settlement is indexed', async () => {
    await place(store, orderOf(1));
    onSettle = failing;
    await applyBlock(1);
    await run({ banAfter: 1 });
    await applyBlock(2, auctions[0]?.[0]);
    for (const block of [7, 23]) await applyBlock(block);
    expect(notifications).toEqual([]);
    expect(failures).toEqual([]);
  });

  test('begins after the deadlines of auctions that it has won and not settled, whatever it has responded', async () => {
    await place(store, orderOf(1));
    await applyBlock(1);
    await run({ banAfter: 2, banTime: 60_000 });
    for (const block of [6, 11]) await applyBlock(block);
    await applyBlock(27);
    expect([requests.length, notifications]).toEqual([4, []]);
    await applyBlock(28);
    expect(notifications).toMatchObject([{ reason: 'unsettledConsecutiveAuctions' }]);
    await applyBlock(33);
    expect(requests).toHaveLength(4);
    await next(60_000);
    await applyBlock(34);
    expect(requests).toHaveLength(5);
  });

  test('does not affect one whose settlement is found when its block is read a second time', async () => {
    await place(store, orderOf(1));
    await applyBlock(1);
    await run({ banAfter: 1 });
    for (let block = 2; block <= 18; block++) await applyBlock(block);
    await applyBlock(3, auctions[0]?.[0], requests[0]?.auctionId); // the first answer lacked its logs
    for (let block = 19; block <= 26; block++) await applyBlock(block);
    expect(notifications).toEqual([]);
  });

  test.each([
    ['does not affect one whose order another solver has filled until the deadline', 6, address(0x52), 0],
    ['affects one whose order another solver has filled after the deadline', 7, address(0x52), 1],
    ['affects one that has filled the order for less by a settlement for another auction', 3, SOLVER, 1],
    ['does not affect one that has filled the order as promised by a settlement for another book', 3, SOLVER, 0, 5n],
    [
      'does not affect one that had filled the order before, in a block whose first reader lacked the logs',
      1,
      SOLVER,
      0,
    ],
  ])('%s', async (_, block, solver, expected, factor = 1n) => {
    await place(store, orderOf(1));
    await applyBlock(1);
    await run({ banAfter: 1 });
    for (let each = 1; each <= 7; each++) {
      if (each === block) await applyBlock(each, auctions[0]?.[0], null, solver, factor);
      else await applyBlock(each);
    }
    await applyBlock(23);
    expect(notifications).toHaveLength(expected);
  });

  test.each([
    ['does not affect one that has filled a half as promised, in a transaction whose calldata is unknown', null, 0],
    ['affects one that has filled a half as promised by a settlement for another auction', 1, 1],
  ])('%s', async (_, auctionId, expected) => {
    await place(store, orderOf(4));
    await applyBlock(1);
    const half = (amount: string | undefined) => String(BigInt(amount ?? 0) / 2n);
    const solveHalf = (request: SolveRequest) => ({
      solutions: solve(request).solutions.map((solution) => ({
        ...solution,
        orders: Object.fromEntries(
          Object.entries(solution.orders).map(([uid, order]) => [
            uid,
            { ...order, executedSell: half(order?.executedSell), executedBuy: half(order?.executedBuy) },
          ]),
        ),
      })),
    });
    await run({ banAfter: 1, drivers: [{ ...driver, solve: async (request) => solveHalf(request) }] });
    for (let each = 2; each <= 7; each++)
      await (each === 3 ? applyBlock(each, orderOf(4).uid, auctionId, SOLVER, 5n, 2n) : applyBlock(each));
    await applyBlock(23);
    expect(notifications).toHaveLength(expected);
  });

  test('is not prolonged when the clock is set back', async () => {
    await place(store, orderOf(1));
    await applyBlock(1);
    await run({ banAfter: 1, banTime: 60_000 });
    await applyBlock(23);
    expect([requests.length, notifications.length]).toEqual([1, 1]);
    clock.advance(50_000);
    clock.jump(-50_000);
    await applyBlock(24);
    expect(requests).toHaveLength(1);
    await next(10_000);
    await applyBlock(25);
    expect(requests).toHaveLength(2);
  });
});

describe('auction run while the book is behind the chain', () => {
  /** A node with empty blocks up to its head. The time of block `newest` is now. */
  function nodeAt(view: { head: number; fork?: number; fails?: boolean }, name = 'node', newest = 105): ChainSource {
    const hashOf = (number: number) => word(1_000_000 * (1 + (view.fork ?? 0)) + number);
    const blockOf = (number: number) => {
      if (view.fails === true) throw new Error('unavailable');
      return { number, hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: NOW - 12 * (newest - number) };
    };
    return {
      name,
      id: name,
      verify: async () => {},
      head: async () => blockOf(view.head),
      block: async (number) => (number > view.head ? undefined : blockOf(number)),
      logs: async () => [],
      settleCalls: async () => new Map(),
    };
  }

  /** Lets the indexer and the run take their steps. */
  async function pass(): Promise<void> {
    for (let i = 0; i < 40; i++) await next(500);
  }

  test('waits until the book has read all blocks, and counts the deadline from the head', async () => {
    await book.close();
    const view = { head: 20_000 };
    await open([nodeAt(view, 'node', 20_000)]);
    await place(store, orderOf(1));
    await run({ banAfter: 1 });
    await pass();
    expect(requests.map((each) => each.submissionDeadlineLatestBlock)).toEqual([20_005]);
    expect(notifications).toEqual([]);
  });

  test('counts the deadline from the newest block of all nodes', async () => {
    await book.close();
    await open([nodeAt({ head: 100 }, 'stopped'), nodeAt({ head: 103 }, 'other')]);
    await place(store, orderOf(1));
    await run();
    for (let i = 0; i < 10; i++) await next(500);
    expect(requests.map((each) => each.submissionDeadlineLatestBlock)).toEqual([108]);
  });

  test.each([
    ['in the future', { number: 1_000_000_000, timestamp: NOW + 3600 }, true, 105],
    ['without the indexed block', { number: 1_000_000_000, timestamp: NOW }, false, 105],
    ['that its time does not allow', { number: 1_000_000_000, timestamp: NOW - 12 * 4 }, true, 235],
  ])('does not depend on a node that claims a head %s', async (_, claimed, hasBlock, deadline) => {
    await book.close();
    const node = nodeAt({ head: 100 });
    const lying = nodeAt({ head: 100 }, 'lying');
    const head: ChainSource['head'] = async (options) => ({ ...(await lying.head(options)), ...claimed });
    await open([node, { ...lying, head, ...(hasBlock ? {} : { block: async () => undefined }) }]);
    await place(store, orderOf(1));
    await run();
    for (let i = 0; i < 10; i++) await next(500);
    expect(requests.map((each) => each.submissionDeadlineLatestBlock)).toEqual([deadline]);
  });

  test.each([1, 2])('waits while %s nodes stand still', async (count) => {
    await book.close();
    await open(Array.from({ length: count }, (_, i) => nodeAt({ head: 100 }, `node ${i}`)));
    await run();
    await pass();
    await next(15 * 60_000);
    await place(store, orderOf(1));
    await pass();
    expect(requests).toEqual([]);
  });

  test('waits while the index is on another fork than a node with a longer chain', async () => {
    await book.close();
    const view = { head: 100, fork: 0 };
    await open([nodeAt({ head: 100 }, 'stale'), nodeAt(view, 'longer')]);
    await run();
    for (let i = 0; i < 4; i++) await next(500);
    Object.assign(view, { head: 103, fork: 1 });
    await place(store, orderOf(1));
    for (let i = 0; i < 10; i++) await next(500);
    expect([requests, auctions]).toEqual([[], []]);
    view.fork = 0;
    for (let i = 0; i < 10; i++) await next(500);
    expect(requests).toHaveLength(1);
  });

  test('excludes no driver for a deadline that was counted from an old block', async () => {
    await book.close();
    const view = { head: 100 };
    await open([nodeAt(view)]);
    await run({ banAfter: 1 });
    await pass();
    await next(60_000);
    await place(store, orderOf(1));
    await pass();
    expect(requests).toHaveLength(1);
    view.head = 130;
    for (let i = 0; i < 3; i++) await pass();
    expect(requests.length).toBeGreaterThan(1);
    expect(notifications).toEqual([]);
  });

  test('waits while the logs of the newest blocks cannot be read', async () => {
    await book.close();
    const view = { head: 100 };
    let isBusy = false;
    const node = nodeAt(view);
    const logs: ChainSource['logs'] = async () => (isBusy ? Promise.reject(new Error('busy')) : []);
    await open([{ ...node, logs }]);
    await run();
    await pass();
    [view.head, isBusy] = [103, true];
    await pass();
    await place(store, orderOf(1));
    await pass();
    expect(requests).toEqual([]);
    isBusy = false;
    for (let i = 0; i < 3; i++) await pass();
    expect(requests.map((each) => each.submissionDeadlineLatestBlock)).toEqual([108]);
  });

  test('requests no settlement if the book falls behind while drivers solve', async () => {
    await book.close();
    const view = { head: 100, fails: false };
    await open([nodeAt(view)]);
    await pass();
    await place(store, orderOf(1));
    const solve: SolverDriver['solve'] = async (...args) => {
      view.fails = true;
      await pass();
      return driver.solve(...args);
    };
    await book.auctions.run({ drivers: [{ ...driver, solve }], solveTime: 600_000 });
    for (let i = 0; i < 3; i++) await pass();
    expect([auctions.length, requests]).toEqual([1, []]);
    expect(await book.auctions.latestCompetition()).toBeUndefined();
    expect(failures.filter((each) => !String(each).includes('unavailable'))).toEqual([]);
  });

  test('excludes no driver before all nodes have read the blocks of its auction a second time', async () => {
    await book.close();
    const view = { head: 100 };
    const node = nodeAt(view, 'first', 100);
    const other = nodeAt(view, 'other', 100);
    let isDown = true;
    const logs: ChainSource['logs'] = async () => (isDown ? Promise.reject(new Error('busy')) : []);
    await open([node, { ...other, logs }]);
    await place(store, orderOf(1));
    await run({ banAfter: 1 });
    const mineTo = async (head: number) => {
      while (view.head < head) {
        view.head++;
        for (let i = 0; i < 6; i++) await next(2000);
      }
    };
    await mineTo(140);
    expect([requests.length > 1, notifications]).toEqual([true, []]);
    isDown = false;
    await mineTo(156);
    expect(notifications[0]).toMatchObject({ reason: 'unsettledConsecutiveAuctions' });
  });

  test('waits while another node is far ahead', async () => {
    await book.close();
    await open([nodeAt({ head: 100 }, 'stopped', 200), nodeAt({ head: 200 }, 'other', 200)]);
    await place(store, orderOf(1));
    await run();
    for (let i = 0; i < 10; i++) await next(500);
    expect(requests).toEqual([]);
  });

  test('waits while no node responds, and excludes no driver meanwhile', async () => {
    await book.close();
    const view = { head: 10, fails: false };
    await open([nodeAt(view, 'node', 40)]);
    await run({ banAfter: 1 });
    await pass();
    view.fails = true;
    await pass();
    await place(store, orderOf(1));
    await pass();
    expect([auctions, requests]).toEqual([[], []]);
    [view.fails, view.head] = [false, 40];
    await pass();
    await pass();
    expect(requests.map((each) => each.submissionDeadlineLatestBlock)).toEqual([45]);
    expect(notifications).toEqual([]);
  });
});
