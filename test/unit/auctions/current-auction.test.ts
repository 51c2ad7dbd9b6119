import type { Auction, ChainClient, Competition, FundsQuery, Order, OrderBook, OrderBookOptions } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';
import type { HttpFixture } from '../../integration/http/http-fixture.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import type { Happening } from '../../support/chain-events.ts';
import {
  blockOf,
  eventsIn,
  hashOf,
  placementOf,
  SETTLEMENT_HAPPENING,
  SOLVER,
  TRADER,
  tradeOf,
} from '../../support/chain-events.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { wonBy, wonWith } from '../../support/competitions.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, COW, SEPOLIA, signOrder, WETH } from '../../support/orders.ts';
import { debugReport } from '../../support/production-schemas.ts';
import { settleData } from '../../support/settlement.ts';

const ALICE = account(1);
const TOKEN = 'operators-token';
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };
// In lower case.
const [WETH_, COW_] = [WETH.toLowerCase(), COW.toLowerCase()] as [Order['sellToken'], Order['buyToken']];

let clock: ManualClock;
let book: OrderBook;
let http: HttpFixture;
let failures: unknown[];

beforeEach(() => open());
afterEach(() => book.close());

async function open(options: Partial<OrderBookOptions> = {}): Promise<void> {
  clock = manualClock();
  book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore(), ...options });
  http = directFixture(createApi(book, { operatorToken: TOKEN }), () => Math.floor(clock.now() / 1000));
  failures = [];
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
}

async function reopen(options: Partial<OrderBookOptions>): Promise<void> {
  await book.close();
  await open(options);
}

async function orderOf(choice: OrderChoice = {}, changes: object = {}, signer = ALICE): Promise<Order> {
  const validTo = Math.floor(clock.now() / 1000) + 600;
  const signed = await signOrder(signer, { sellAmount: '1000', buyAmount: '400', validTo, ...choice });
  const result = await book.orders.submit({ ...signed, ...changes });
  if (result.status !== 'accepted') throw result.error;
  const order = await book.orders.get(result.uid);
  if (order === undefined) throw new Error('the order is not there');
  return order;
}

async function applyBlock(number: number, happenings: readonly Happening[] = []): Promise<void> {
  const through = blockOf(number);
  await book.chain.apply({ events: eventsIn(through, happenings), through });
}

// Response format.
const auction = async (): Promise<Auction> => (await http.send('GET', '/api/v1/auction')).json() as Auction;
const listed = async () => (await auction()).orders.map(({ uid }) => uid);

describe('auction', () => {
  test('has every member that solvers read', async () => {
    const hook = { target: `0x${'d4'.repeat(20)}`, callData: '0x1234', gasLimit: '21000' };
    const appData = JSON.stringify({ metadata: { hooks: { pre: [hook], post: [hook] } } });
    const order = await orderOf({ appData, partiallyFillable: true });
    await applyBlock(5);
    const shown = {
      uid: order.uid,
      sellToken: WETH_,
      buyToken: COW_,
      sellAmount: '1000',
      buyAmount: '400',
      protocolFees: [],
      created: Math.floor(clock.now() / 1000),
      validTo: order.validTo,
      kind: 'sell',
      receiver: order.receiver,
      owner: order.owner,
      partiallyFillable: true,
      executed: '0',
      class: 'limit',
      appData: order.appData,
      preInteractions: order.interactions.pre,
      postInteractions: order.interactions.post,
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
      signingScheme: 'eip712',
      signature: order.signature,
      quote: { sellAmount: '1000', buyAmount: '0', fee: '0', solver: `0x${'00'.repeat(20)}` },
    };
    expect(await auction()).toEqual({
      id: expect.any(Number),
      block: 5,
      surplusCapturingJitOrderOwners: [],
      orders: [shown],
      prices: { [WETH_]: String(10n ** 18n) },
    });
    // Hooks run once, before the first fill.
    await applyBlock(6, [tradeOf(order, 100n, 50n)]);
    expect((await auction()).orders).toEqual([{ ...shown, executed: '100', preInteractions: [] }]);
  });

  test('gets a higher id for a new head or a changed book, and otherwise stays the same', async () => {
    const ids = [(await auction()).id];
    const next = async () => ids.push((await auction()).id);
    await next();
    expect(ids[1]).toBe(ids[0]);
    await orderOf();
    await next();
    await applyBlock(5);
    await next();
    await applyBlock(6);
    await next();
    await book.chain.rollback(5);
    await next();
    await next();
    expect(ids.slice(1, 6)).toEqual([...new Set(ids.slice(1, 6))].sort((a, b) => a - b));
    expect(ids[6]).toBe(ids[5]);
    const many = await Promise.all([auction(), auction(), auction()]);
    expect(new Set(many.map(({ id }) => id)).size).toBe(1);
  });

  test('begins with the time of the first one, or with the number of the option', async () => {
    clock.advance(5000);
    const first = clock.now();
    expect((await auction()).id).toBe(first);
    await reopen({ auctions: { firstId: 7 } });
    expect((await auction()).id).toBe(7);
  });

  test('of a call during another build has the orders that were accepted before that call', async () => {
    let release = () => {};
    let requested = 0;
    const funds = [{ balance: 10n ** 30n, allowance: 10n ** 30n }];
    await reopen({
      chain: {
        balancesAndAllowances: (queries) => {
          requested++;
          return new Promise((resolve) => {
            release = () => resolve(queries.flatMap(() => funds));
          });
        },
      },
    });
    const before = await orderOf();
    const first = listed();
    const waitForRequest = async (number: number) => {
      for (let i = 0; i < 1000 && requested < number; i++) await yieldToEventLoop();
    };
    await waitForRequest(1);
    const after = await orderOf({ sellAmount: '1001' });
    const calls = [listed(), listed()];
    release();
    expect(await first).toEqual([before.uid]);
    await waitForRequest(2);
    release();
    const both = [before.uid, after.uid].sort();
    expect((await Promise.all(calls)).map((uids) => uids.sort())).toEqual([both, both]);
    expect(requested).toBe(2);
  });

  test('contains the tradable orders and no others', async () => {
    const open1 = await orderOf();
    const filled = await orderOf({ sellAmount: '1001' });
    const cancelled = await orderOf({ sellAmount: '1002' });
    const presign = await orderOf({ sellAmount: '1003' }, { signingScheme: 'presign', signature: '0x' });
    const later = await orderOf({ appData: JSON.stringify({ metadata: { validFrom: http.now() + 100 } }) });
    const tokens = { sellToken: WETH_, buyToken: COW_ };
    await applyBlock(5, [
      tradeOf(filled, 1001n, 500n),
      { event: 'OrderInvalidated', owner: cancelled.owner, orderUid: cancelled.uid },
      placementOf(tokens),
      placementOf({ ...tokens, sellAmount: 5n }),
      placementOf({ ...tokens, buyAmount: 0n }),
    ]);
    const placed = (await book.orders.list({ owner: TRADER })).orders;
    const [good, refunded] = ['1000', '5'].map((size) =>
      placed.find((order) => order.sellAmount === size && order.buyAmount !== '0'),
    );
    if (good === undefined || refunded === undefined) throw new Error('nothing was placed');
    await applyBlock(6, [{ event: 'OrderRefund', address: refunded.owner, orderUid: refunded.uid, refunder: TRADER }]);
    expect((await listed()).sort()).toEqual([open1.uid, good.uid].sort());

    await applyBlock(7, [{ event: 'PreSignature', owner: presign.owner, orderUid: presign.uid, signed: true }]);
    clock.advance(101_000);
    expect((await listed()).sort()).toEqual([open1.uid, good.uid, presign.uid, later.uid].sort());
    clock.advance(500_000);
    expect(await listed()).toEqual([good.uid]);
  });

  test('has the signed validity of a native-currency order, until the effective one is too near', async () => {
    await applyBlock(5, [placementOf({ sellToken: WETH_, buyToken: COW_ }, { userValidTo: http.now() + 700 })]);
    expect((await auction()).orders.map(({ validTo }) => validTo)).toEqual([0xffff_ffff]);
    clock.advance(641_000);
    expect(await listed()).toEqual([]);
  });

  test('contains the quote of an order', async () => {
    await reopen({
      quotes: {
        gasPrice: '0',
        estimators: [{ name: 'test', nativePrice: () => '2', estimate: () => ({ amount: 444n, gas: 1 }) }],
      },
    });
    const quote = await book.quotes.request({
      sellToken: WETH,
      buyToken: COW,
      from: ALICE.address,
      kind: 'sell',
      sellAmountBeforeFee: '1000',
    });
    if (quote.status !== 'quoted') throw quote.error;
    await orderOf({}, { quoteId: quote.quote.id });
    const { orders, prices } = await auction();
    expect(orders).toMatchObject([{ quote: { sellAmount: '1000', buyAmount: '444', fee: '0' } }]);
    expect(prices).toEqual({ [WETH_]: String(10n ** 18n), [COW_]: String(2n * 10n ** 18n) });
  });

  test('leaves out an order without a known token price, and omits the price', async () => {
    const recordedCalls: string[] = [];
    const nativePrice = (token: string) => {
      recordedCalls.push(token);
      return undefined;
    };
    await reopen({ quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice, estimate: () => undefined }] } });
    await orderOf();
    const { orders, prices } = await auction();
    expect(orders).toHaveLength(0);
    expect([...((await book.auctions.selection())?.filtered.values() ?? [])]).toEqual(['unpriced']);
    expect(prices).toEqual({ [WETH_]: String(10n ** 18n) });
    await applyBlock(5);
    await auction();
    expect(recordedCalls).toEqual([COW_]); // not queried again at once
    clock.advance(5_000); // the estimators are called again for a new query
    await auction();
    expect(recordedCalls).toEqual([COW_]);
    clock.advance(43_000);
    clock.jump(-48_000); // a clock that is set back does not prolong the time
    await auction();
    expect(recordedCalls).toEqual([COW_]);
    clock.advance(12_000);
    await auction();
    expect(recordedCalls).toEqual([COW_, COW_]);
  });

  describe('order selection by funds', () => {
    /** A chain where the funds of each account are sufficient if `rich` returns true. */
    function chain(
      funds: { balance: bigint; allowance: bigint } | Error,
      recordedCalls: FundsQuery[][] = [],
    ): ChainClient {
      return {
        balanceAndAllowance: async () => ({ balance: 10n ** 30n, allowance: 10n ** 30n }),
        balancesAndAllowances: async (queries) => {
          recordedCalls.push([...queries]);
          if (funds instanceof Error) throw funds;
          return queries.map(() => funds);
        },
      };
    }

    test.each([
      [{ balance: 1000n, allowance: 1000n }, ['whole', 'part']],
      [{ balance: 999n, allowance: 1000n }, ['part']],
      [{ balance: 1000n, allowance: 999n }, ['part']],
      [{ balance: 3n, allowance: 3n }, ['part']],
      [{ balance: 1n, allowance: 1n }, []],
      [{ balance: 0n, allowance: 1n }, []],
      [{ balance: 1n, allowance: 0n }, []],
    ])('uses %o', async (funds, expected) => {
      await reopen({ chain: chain(funds) });
      const uids = { whole: (await orderOf()).uid, part: (await orderOf({ partiallyFillable: true })).uid };
      expect((await listed()).sort()).toEqual(expected.map((name) => uids[name as keyof typeof uids]).sort());
    });

    test('lists a contract order whatever the funds of other orders of its owner are', async () => {
      const funds = chain({ balance: 1n, allowance: 1n });
      await reopen({ chain: funds, eip1271: 'accept-unverified' });
      const terms = { sellAmount: '1000', buyAmount: '400', partiallyFillable: true };
      const contract = await orderOf(terms, { signingScheme: 'eip1271', signature: '0x12', from: ALICE.address });
      expect(await listed()).toEqual([contract.uid]);
      await orderOf({ ...terms, sellAmount: '1001' });
      expect(await listed()).toEqual([contract.uid]);
    });

    test.each([
      ['a wrapper', { wrappers: [{ address: COW, data: '0x' }] }],
      [
        'a flash loan',
        { flashloan: { liquidityProvider: COW, protocolAdapter: COW, receiver: COW, token: WETH, amount: '1000' } },
      ],
    ])('lists an order with %s, which may provide the funds', async (_, metadata) => {
      await reopen({ chain: chain({ balance: 0n, allowance: 0n }) });
      const { uid } = await orderOf({ appData: JSON.stringify({ metadata }) });
      await orderOf();
      expect(await listed()).toEqual([uid]);
    });

    test('reads a key of the app data whose letters are escaped', async () => {
      await reopen({ chain: chain({ balance: 0n, allowance: 0n }) });
      const document = JSON.stringify({ metadata: { wrappers: [{ address: COW, data: '0x' }] } });
      const { uid } = await orderOf({ appData: document.replace('wrappers', 'wr\\u0061ppers') });
      expect(await listed()).toEqual([uid]);
    });

    test('reads each pair of owner and token once', async () => {
      const recordedCalls: FundsQuery[][] = [];
      await reopen({ chain: chain({ balance: 10n ** 30n, allowance: 10n ** 30n }, recordedCalls) });
      for (const amount of ['1', '2', '3']) await orderOf({ sellAmount: amount });
      await orderOf({}, {}, account(2));
      expect(await listed()).toHaveLength(4);
      expect(recordedCalls.map((queries) => queries.length)).toEqual([2]);
    });

    test('keeps known funded orders while the chain is unreachable', async () => {
      let out = false;
      const isFunded = { balance: 10n ** 30n, allowance: 10n ** 30n };
      await reopen({
        chain: {
          balanceAndAllowance: async () => {
            if (out) throw new Error('out of reach');
            return isFunded;
          },
        },
      });
      const known = await orderOf();
      expect(await listed()).toEqual([known.uid]);
      out = true;
      await applyBlock(5);
      expect(await listed()).toEqual([known.uid]);
      expect(failures).toMatchObject([{ message: 'out of reach' }]);
    });
  });
});

describe('orders that are left out of the auction', () => {
  /** Returns the reason for which an order is left out. */
  const reasonOf = async ({ uid }: Order) => (await book.auctions.selection())?.filtered.get(uid);
  const status = async ({ uid }: Order) => (await book.orders.competitionStatus(uid)).type;

  test('have the status open and a reason; orders after the last auction are scheduled', async () => {
    await reopen({ deniedTokens: new Set<string>() });
    const order = await orderOf({ appData: JSON.stringify({ metadata: { validFrom: http.now() + 100 } }) });
    expect(await status(order)).toBe('scheduled');
    expect(await listed()).toEqual([]);
    expect([await reasonOf(order), await status(order)]).toEqual(['notYetValid', 'open']);
    clock.advance(100_000);
    expect(await listed()).toEqual([order.uid]);
    expect([await reasonOf(order), await status(order)]).toEqual([undefined, 'active']);
  });

  test('expire before they can be settled', async () => {
    const order = await orderOf();
    clock.advance(540_000);
    expect(await listed()).toEqual([order.uid]);
    clock.advance(1000);
    clock.advance(12_000);
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'shortLived']);
    await reopen({ auctions: { minValidity: 0 } });
    const other = await orderOf();
    clock.advance(599_000);
    expect(await listed()).toEqual([other.uid]);
  });

  test('are selected again after 12 seconds, also if the clock is set back', async () => {
    const denied = new Set<string>();
    await reopen({ isDenied: (address) => denied.has(address) });
    const order = await orderOf();
    expect(await listed()).toEqual([order.uid]);
    denied.add(order.owner);
    clock.advance(11_999);
    clock.jump(-11_999);
    expect(await listed()).toEqual([order.uid]);
    clock.advance(1);
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'deniedAddress']);
  });

  test('are selected again at once after the clock has stepped', async () => {
    const order = await orderOf();
    expect(await listed()).toEqual([order.uid]);
    clock.jump(550_000);
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'shortLived']);
    clock.jump(-550_000);
    expect(await listed()).toEqual([order.uid]);
  });

  test('have a token, an owner or a receiver that was deny-listed after their submission', async () => {
    const deniedTokens = new Set<string>();
    const denied = new Set<string>();
    await reopen({ deniedTokens, isDenied: (address) => denied.has(address) });
    const order = await orderOf();
    const receiver = account(5).address.toLowerCase();
    const sent = await orderOf({ receiver });
    expect(await listed()).toHaveLength(2);
    denied.add(receiver);
    await applyBlock(5);
    expect([await listed(), await reasonOf(sent)]).toEqual([[order.uid], 'deniedAddress']);
    denied.add(order.owner);
    await applyBlock(6);
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'deniedAddress']);
    expect((await book.auctions.selection())?.counts).toEqual({ deniedAddress: 2 });
    deniedTokens.add(COW_);
    await applyBlock(7);
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'deniedToken']);
  });

  test('keep their place while the deny list of the host fails', async () => {
    let fails = false;
    await reopen({
      isDenied: () => {
        if (fails) throw new Error('the list is not available');
        return false;
      },
    });
    const order = await orderOf();
    fails = true;
    expect(await listed()).toEqual([order.uid]);
    expect(failures).toMatchObject([{ message: 'the list is not available' }]);
  });

  test('are part of a winning solution until it is settled or its deadline has passed', async () => {
    const order = await orderOf({ partiallyFillable: true });
    const other = await orderOf({ sellAmount: '2000' });
    await applyBlock(5);
    expect(await listed()).toHaveLength(2);
    await record(competitionOf(77, order));
    expect([await listed(), await reasonOf(order)]).toEqual([[other.uid], 'inFlight']);
    await applyBlock(9);
    expect(await listed()).toEqual([other.uid]);
    await applyBlock(10);
    expect((await listed()).sort()).toEqual([order.uid, other.uid].sort());
  });

  test('are part of a winning solution that another process has recorded', async () => {
    const inner = memoryStore();
    const store = { ...inner, traits: { ...inner.traits, writers: 'many' as const } };
    await reopen({ store });
    const shared = { ...store, open: async () => {}, close: async () => {} };
    const other = createOrderBook({ chainId: SEPOLIA, clock, store: shared });
    await other.start();
    const order = await orderOf();
    await applyBlock(5);
    expect(await listed()).toEqual([order.uid]);
    const won = wonBy([{ order, sold: 1000n, bought: 590n }], 77, { auctionStartBlock: 5, auctionDeadlineBlock: 10 });
    expect(await other.auctions.record(won)).toEqual({ status: 'recorded' });
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'inFlight']);
    await other.close();
  });

  test.each([
    ['are offered again after the settlement of a partial fill', 100n, true],
    ['stay in flight after a settlement of other amounts', 50n, false],
  ])('%s', async (_name, sold, isOffered) => {
    const order = await orderOf({ partiallyFillable: true });
    const solutions = [solution(SOLVER, 1, [{ order, sell: '100', buy: '60' }], true)];
    await record(competitionOf(77, order, { solutions }));
    expect(await listed()).toEqual([]);
    const transactionHash = hashOf('a settlement');
    const data = settleData([{ order, executed: sold }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, 77);
    const through = blockOf(6);
    const happenings = [
      tradeOf(order, sold, (sold * 6n) / 10n, transactionHash),
      { ...SETTLEMENT_HAPPENING, transactionHash },
    ];
    const settleCalls = new Map([[transactionHash, [data]]]);
    await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
    expect(await listed()).toEqual(isOffered ? [order.uid] : []);
  });

  test('of losing solutions stay in the auction', async () => {
    const order = await orderOf();
    await record(competitionOf(77, order, { solutions: [solution(SOLVER, 1, [{ order, sell: '1000', buy: '500' }])] }));
    expect(await listed()).toEqual([order.uid]);
  });

  test('sell from the vault without funds there', async () => {
    const vault = { balance: 1000n, allowance: 1000n };
    const chain: ChainClient = {
      balanceAndAllowance: async () => ({ balance: 10n ** 30n, allowance: 10n ** 30n }),
      vaultFunds: async () => vault,
    };
    await reopen({ chain });
    const order = await orderOf({ sellTokenBalance: 'internal' });
    expect(await listed()).toEqual([order.uid]);
    vault.balance = 999n;
    await applyBlock(5);
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'unfunded']);
    // Without a way to read the vault, such an order is never listed.
    await reopen({ chain: { balanceAndAllowance: async () => ({ balance: 10n ** 30n, allowance: 10n ** 30n }) } });
    const unknown = await orderOf({ sellTokenBalance: 'external' });
    expect([await listed(), await reasonOf(unknown)]).toEqual([[], 'unfunded']);
  });

  test.each<[string, OrderChoice, bigint | undefined]>([
    ['whose funds round to nothing', { sellAmount: '1000', buyAmount: '400' }, 2n],
    ['without a remaining buy amount', { sellAmount: '1000', buyAmount: '1', kind: 'sell' }, 999n],
  ])('are partially fillable orders %s', async (_, choice, funds) => {
    const amount = funds ?? 10n ** 30n;
    await reopen({ chain: { balanceAndAllowance: async () => ({ balance: amount, allowance: amount }) } });
    const order = await orderOf({ ...choice, partiallyFillable: true });
    expect([await listed(), await reasonOf(order)]).toEqual([[], 'dust']);
  });
});

test('debug report shows the reason for operators only', async () => {
  const order = await orderOf({ appData: JSON.stringify({ metadata: { validFrom: http.now() + 100 } }) });
  const path = `/restricted/api/v1/debug/order/${order.uid}`;
  expect((await http.send('GET', path)).status).toBe(403);
  expect(await book.auctions.selection()).toBeUndefined();
  expect(await listed()).toEqual([]);
  const answer = await http.send('GET', path, { headers: AUTHORIZATION });
  expect([answer.status, answer.json()]).toEqual([
    200,
    {
      orderUid: order.uid,
      order,
      competitionStatus: { type: 'open' },
      auction: { id: expect.any(Number), block: 0, listed: false, filterReason: 'notYetValid' },
      trades: [],
      events: [{ label: 'created', timestamp: order.creationDate }],
      searchedEntries: 1,
      isComplete: true,
      auctions: [],
      simulation: null,
    },
  ]);
  const unknown = path.replace(/.{8}$/, '00000000');
  expect((await http.send('GET', unknown, { headers: AUTHORIZATION })).status).toBe(404);
});

test('auction prices native currency for orders that buy it', async () => {
  const order = await orderOf({ sellToken: COW, buyToken: '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee' });
  const { orders, prices } = await auction();
  expect(orders.map(({ uid }) => uid)).toEqual([order.uid]);
  expect(prices).toEqual({
    [WETH_]: String(10n ** 18n),
    '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee': String(10n ** 18n),
  });
});

const solution = (
  solver: string,
  ranking: number,
  orders: { order: Order; sell: string; buy: string }[],
  isWinner = false,
) => ({
  solverAddress: solver,
  score: '10',
  ranking,
  isWinner,
  orders: orders.map(({ order, sell, buy }) => ({
    id: order.uid,
    sellAmount: sell,
    buyAmount: buy,
    buyToken: order.buyToken,
    sellToken: order.sellToken,
  })),
});

const competitionOf = (auctionId: number, order: Order, changes: object = {}) => ({
  auctionId,
  auctionStartBlock: 5,
  auctionDeadlineBlock: 10,
  referenceScores: { [SOLVER]: '3' },
  auction: { orders: [order.uid], prices: { [WETH_]: String(10n ** 18n), [COW_]: String(2n * 10n ** 18n) } },
  solutions: [
    solution(SOLVER, 1, [{ order, sell: '1000', buy: '590' }], true),
    solution(`0x${'51'.repeat(20)}`, 2, [{ order, sell: '1000', buy: '580' }]),
    solution(`0x${'52'.repeat(20)}`, 3, []),
  ],
  ...changes,
});

const record = (body: unknown, headers: Record<string, string> = AUTHORIZATION) =>
  http.send('POST', '/restricted/api/v1/competition', { body, headers });

describe('competition', () => {
  test('is recorded by operators and served by id and as the latest, in both versions', async () => {
    const order = await orderOf();
    expect((await record(competitionOf(7, order))).status).toBe(201);
    expect((await record(competitionOf(7, order, { auctionStartBlock: 6 }))).status).toBe(200);
    expect((await record(competitionOf(3, order))).status).toBe(201);
    const expected = {
      auctionId: 7,
      auctionStartBlock: 6,
      auctionDeadlineBlock: 10,
      transactionHashes: [],
      referenceScores: { [SOLVER]: '3' },
      auction: competitionOf(7, order).auction,
      // Worst estimate first.
      solutions: [...competitionOf(7, order).solutions].reverse().map((each) => ({
        clearingPrices: {},
        filteredOut: false,
        txHash: null,
        referenceScore: null,
        ...each,
      })),
    };
    for (const version of ['v1', 'v2']) {
      for (const which of ['7', 'latest']) {
        const answer = await http.send('GET', `/api/${version}/solver_competition/${which}`);
        expect([answer.status, answer.json()]).toEqual([200, expected]);
      }
      expect((await http.send('GET', `/api/${version}/solver_competition/4`)).status).toBe(404);
      expect((await http.send('GET', `/api/${version}/solver_competition/99999999999999999999`)).status).toBe(404);
      expect((await http.send('GET', `/api/${version}/solver_competition/-1`)).status).toBe(400);
      expect((await http.send('GET', `/api/${version}/solver_competition/by_tx_hash/0x12`)).status).toBe(400);
      expect((await http.send('GET', `/api/${version}/solver_competition/by_tx_hash/${hashOf('x')}`)).status).toBe(404);
    }
    const path = '/restricted/api/v2/solver_competition/7';
    expect((await http.send('GET', path)).status).toBe(403);
    expect((await http.send('GET', path, { headers: AUTHORIZATION })).json()).toEqual(expected);
  });

  test('may have the orders of a large auction', async () => {
    const order = await orderOf();
    const orders = Array.from({ length: 20_000 }, (_, i) => `0x${i.toString(16).padStart(112, '0')}`);
    const { auction } = competitionOf(8, order);
    expect((await record(competitionOf(8, order, { auction: { ...auction, orders } }))).status).toBe(201);
    const stored = await http.send('GET', '/api/v1/solver_competition/8');
    expect((stored.json() as { auction: { orders: string[] } }).auction.orders).toEqual(orders);
  });

  test('is rejected without operator rights', async () => {
    const order = await orderOf();
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: TOKEN },
      { authorization: `Bearer ${TOKEN}x` },
    ]) {
      const rejected = await record(competitionOf(7, order), headers);
      expect([rejected.status, rejected.json()]).toMatchObject([403, { errorType: 'Forbidden' }]);
    }
    const closed = directFixture(createApi(book), () => 0);
    const answer = await closed.send('POST', '/restricted/api/v1/competition', {
      body: competitionOf(7, order),
      headers: { authorization: 'Bearer undefined' },
    });
    expect(answer.status).toBe(403);
    expect(await book.auctions.latestCompetition()).toBeUndefined();
  });

  test.each([
    ['auctionId', { auctionId: 0 }],
    ['auctionDeadlineBlock', { auctionDeadlineBlock: -1 }],
    ['solutions.0.score', { solutions: [{ solverAddress: SOLVER, score: '-1', ranking: 1, isWinner: true }] }],
    ['auction.orders.0', { auction: { orders: ['0x12'] } }],
  ])('with an invalid %s is rejected by name', async (path, changes) => {
    const answer = await record(competitionOf(7, await orderOf(), changes));
    expect([answer.status, answer.json()]).toMatchObject([422, { errorType: 'InvalidBody', data: { path } }]);
  });

  test('is in the debug report of its orders, in the form of production', async () => {
    const metadata = { partnerFee: { bps: 100, recipient: SOLVER } };
    const order = await orderOf({ appData: JSON.stringify({ metadata }) });
    const { id } = await book.auctions.current();
    const read = async () => {
      const path = `/restricted/api/v1/debug/order/${order.uid}`;
      return debugReport.parse((await http.send('GET', path, { headers: AUTHORIZATION })).json());
    };
    await record(competitionOf(id, order));
    expect((await read()).events.map(({ label }) => label)).toEqual(['created', 'ready']);

    const [through, transactionHash] = [blockOf(8), hashOf('a settlement with a fee')];
    const data = settleData([{ order }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, id);
    const happenings = [tradeOf(order, 1000n, 600n, transactionHash), { ...SETTLEMENT_HAPPENING, transactionHash }];
    const settleCalls = new Map([[transactionHash, [data]]]);
    await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
    const { events, trades, auctions } = await read();
    expect(events.map(({ label }) => label)).toEqual(['created', 'traded']);
    expect(trades).toMatchObject([{ txHash: transactionHash, auctionId: id }]);
    expect(auctions).toMatchObject([
      {
        id,
        block: 5,
        deadline: 10,
        nativePrices: { [WETH_]: String(10n ** 18n), [COW_]: String(2n * 10n ** 18n) },
        proposedSolutions: [
          { solutionUid: 1, ranking: 2, executedSell: '1000', executedBuy: '580' },
          { solutionUid: 0, ranking: 1, executedSell: '1000', executedBuy: '590', isWinner: true },
        ],
        executions: [{ blockNumber: 8, protocolFees: [{ token: order.buyToken, amount: '6' }] }],
        feePolicies: [{ kind: 'volume', volumeFactor: 0.01 }],
      },
    ]);
  });

  test('has the orders of its auction, also one that an earlier version has stored', async () => {
    const store = memoryStore();
    await reopen({ store });
    const order = await orderOf();
    await record(competitionOf(77, order));
    const recorded = await book.auctions.competition(77);
    expect(recorded?.auction.orders.length).toBeGreaterThan(0);
    await store.auctions.record({ auctionId: 77, deadline: 9, body: JSON.stringify(recorded), orders: undefined }, 9);
    expect(await book.auctions.competition(77)).toEqual(recorded);
    expect(await book.auctions.latestCompetition()).toEqual(recorded);
  });

  test('has the orders of an earlier version that has replaced it beside this one', async () => {
    const store = memoryStore();
    await reopen({ store });
    await record(competitionOf(77, await orderOf()));
    const found = await book.auctions.competition(77);
    const recorded = await store.auctions.competition(77);
    // That version has the orders in the body, and keeps the value of a column that it does not know.
    const orders = [hashOf('another order').padEnd(114, '0')];
    const body = JSON.stringify({ ...found, auction: { orders, prices: {} } });
    await store.auctions.record({ auctionId: 77, deadline: 9, body, orders: recorded?.orders }, 9);
    expect((await book.auctions.competition(77))?.auction.orders).toEqual(orders);
  });

  test('lists its settlement transactions while they are on chain', async () => {
    const order = await orderOf();
    await record(competitionOf(77, order));
    const transactionHash = hashOf('a settlement');
    const data = settleData([{ order }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, 77);
    const through = blockOf(8);
    const happenings = [tradeOf(order, 1000n, 600n, transactionHash), { ...SETTLEMENT_HAPPENING, transactionHash }];
    await book.chain.apply({
      events: eventsIn(through, happenings),
      through,
      settleCalls: new Map([[transactionHash, [data]]]),
    });
    const settled = (
      await http.send('GET', `/api/v2/solver_competition/by_tx_hash/${transactionHash}`)
    ).json() as Competition; // response format
    expect(settled.transactionHashes).toEqual([transactionHash]);
    expect(settled.solutions.map(({ txHash }) => txHash)).toEqual([null, null, transactionHash]);
    await book.chain.rollback(7);
    expect((await book.auctions.competition(77))?.transactionHashes).toEqual([]);
  });

  test('of a traded order is that of its settlement, if a transaction settles two auctions', async () => {
    const [first, second] = [await orderOf(), await orderOf({ sellAmount: '1001' })] as const;
    await record(competitionOf(77, first));
    await record(
      competitionOf(78, second, {
        solutions: [solution(SOLVER, 1, [{ order: second, sell: '1001', buy: '600' }], true)],
      }),
    );
    const through = blockOf(8);
    const transactionHash = hashOf('both settlements');
    const prices = { [first.sellToken]: 60n, [first.buyToken]: 100n };
    const happenings = [
      tradeOf(first, 1000n, 600n, transactionHash),
      { ...SETTLEMENT_HAPPENING, transactionHash },
      tradeOf(second, 1001n, 600n, transactionHash),
      { ...SETTLEMENT_HAPPENING, transactionHash },
    ];
    const calls = [settleData([{ order: first }], prices, 77), settleData([{ order: second }], prices, 78)];
    const settleCalls = new Map([[transactionHash, calls]]);
    await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
    expect(await book.orders.competitionStatus(second.uid)).toEqual({
      type: 'traded',
      value: [{ solver: SOLVER, executedAmounts: { sell: '1001', buy: '600' } }],
    });
    expect(await book.orders.competitionStatus(first.uid)).toMatchObject({
      value: [{ executedAmounts: null }, {}, { executedAmounts: { sell: '1000' } }],
    });
  });

  test('distinguishes the transactions of several winning solutions of one solver by their orders', async () => {
    const orders = [
      await orderOf(),
      await orderOf({ sellAmount: '1001' }),
      await orderOf({ sellAmount: '1002' }),
    ] as const;
    const solutions = orders.map((order, i) =>
      solution(SOLVER, i + 1, [{ order, sell: order.sellAmount, buy: '590' }], i < 2),
    );
    await record(competitionOf(77, orders[0], { solutions }));
    const through = blockOf(8);
    const [first, second] = [hashOf('first settlement'), hashOf('second settlement')] as const;
    const dataOf = (order: Order) => settleData([{ order }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, 77);
    const happenings = [
      tradeOf(orders[1], 1001n, 600n, first),
      { ...SETTLEMENT_HAPPENING, transactionHash: first },
      tradeOf(orders[0], 1000n, 600n, second),
      { ...SETTLEMENT_HAPPENING, transactionHash: second },
    ];
    const settleCalls = new Map([
      [first, [dataOf(orders[1])]],
      [second, [dataOf(orders[0])]],
    ]);
    await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
    const byOrder = (await book.auctions.competition(77))?.solutions.map(({ orders: [bid], txHash }) => [
      bid?.id,
      txHash,
    ]);
    expect(new Map(byOrder as [string, string | null][])).toEqual(
      new Map<string, string | null>([
        [orders[0].uid, second],
        [orders[1].uid, first],
        [orders[2].uid, null],
      ]),
    );
  });
});

describe('hidden competition', () => {
  test('is shown to operators at once, and to others after its deadline block', async () => {
    const hidden = directFixture(createApi(book, { operatorToken: TOKEN, hideCompetitions: true }), () => 0);
    const order = await orderOf();
    await applyBlock(5, [tradeOf(order, 100n, 50n), SETTLEMENT_HAPPENING]);
    await record(competitionOf(6, order, { auctionDeadlineBlock: 4 }));
    await record(competitionOf(7, order));
    const status = async (which: string) => (await hidden.send('GET', `/api/v2/solver_competition/${which}`)).status;
    const latest = async () =>
      (await hidden.send('GET', '/api/v2/solver_competition/latest')).json() as { auctionId: number };
    expect([await status('6'), await status('7')]).toEqual([200, 404]);
    expect((await latest()).auctionId).toBe(6);
    const restricted = await hidden.send('GET', '/restricted/api/v2/solver_competition/7', { headers: AUTHORIZATION });
    expect(restricted.status).toBe(200);
    await applyBlock(10);
    expect(await status('7')).toBe(404);
    await applyBlock(11);
    expect(await status('7')).toBe(200);
    expect((await latest()).auctionId).toBe(7);
  });

  test('does not hide the newest one that is shown, however many others wait', async () => {
    const order = await orderOf();
    await applyBlock(5);
    await record(competitionOf(6, order, { auctionDeadlineBlock: 4 }));
    for (const last of [9, 10, 25, 26]) {
      for (let id = 7; id <= last; id++) await record(competitionOf(id, order));
      expect((await book.auctions.latestCompetition({ published: true }))?.auctionId).toBe(6);
    }
  });
});

describe('order competition status', () => {
  const statusOf = async ({ uid }: Order) => (await http.send('GET', `/api/v1/orders/${uid}/status`)).json();

  test('follows an order from placement to fill', async () => {
    const order = await orderOf();
    expect(await statusOf(order)).toEqual({ type: 'scheduled' });
    await auction();
    expect(await statusOf(order)).toEqual({ type: 'active' });
    const value = [
      { solver: `0x${'52'.repeat(20)}`, executedAmounts: null },
      { solver: `0x${'51'.repeat(20)}`, executedAmounts: { sell: '1000', buy: '580' } },
      { solver: SOLVER, executedAmounts: { sell: '1000', buy: '590' } },
    ];
    const { solutions } = competitionOf(77, order);
    const lost = solutions.map((each) => ({ ...each, isWinner: false }));
    await record(competitionOf(76, order, { solutions: lost }));
    expect(await statusOf(order)).toEqual({ type: 'solved', value });
    await record(competitionOf(77, order));
    expect(await statusOf(order)).toEqual({ type: 'executing', value });
    // After its deadline an auction has no result.
    await applyBlock(11);
    expect(await statusOf(order)).toEqual({ type: 'active' });

    const transactionHash = hashOf('a settlement');
    const data = settleData([{ order }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, 77);
    const through = blockOf(12);
    const happenings = [tradeOf(order, 1000n, 600n, transactionHash), { ...SETTLEMENT_HAPPENING, transactionHash }];
    await book.chain.apply({
      events: eventsIn(through, happenings),
      through,
      settleCalls: new Map([[transactionHash, [data]]]),
    });
    expect(await statusOf(order)).toEqual({ type: 'traded', value });
  });
});

test('order with bids in the current auction is not replaced', async () => {
  const order = await orderOf();
  const replace = async () => {
    const appData = JSON.stringify({ metadata: { replacedOrder: { uid: order.uid } } });
    const signed = await signOrder(ALICE, { validTo: http.now() + 500, appData });
    return book.orders.submit(signed);
  };
  await record(competitionOf(7, order));
  expect(await replace()).toMatchObject({ status: 'rejected', error: { code: 'OldOrderActivelyBidOn' } });
  for (let id = 8; id < 13; id++) await record(competitionOf(id, order, { solutions: [] }));
  expect(await replace()).toMatchObject({ status: 'accepted' });
});

describe('trade surplus', () => {
  const surplus = async () => (await http.send('GET', `/api/v1/users/${ALICE.address}/total_surplus`)).json();

  test.each(['of the auction', 'of the competition'])('is valued with the prices %s', async (source) => {
    const order = await orderOf({ partiallyFillable: true });
    let id = 77;
    if (source === 'of the auction') {
      await reopen({
        quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '2', estimate: () => undefined }] },
      });
      await orderOf({ partiallyFillable: true });
      id = (await auction()).id;
    }
    // Two fills of 500 and 300, each at 0.6 with a limit of 0.4: 100 and 60 surplus atoms, at 2 wei.
    const fills = [500n, 300n].map((sold) => ({ sold, bought: (sold * 6n) / 10n }));
    const prices = source === 'of the auction' ? {} : competitionOf(id, order).auction.prices;
    const { uid } = order;
    const competition = wonWith(
      fills.map((fill) => [{ order, ...fill }]),
      id,
    );
    await book.auctions.record({ ...competition, auction: { orders: [uid], prices } });
    for (const [i, { sold, bought }] of fills.entries()) {
      const transactionHash = hashOf(`settlement ${i}`);
      const data = settleData([{ order, executed: sold }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, id);
      const through = blockOf(8 + i);
      const trade = tradeOf(order, sold, bought, transactionHash);
      const events = eventsIn(through, [trade, { ...SETTLEMENT_HAPPENING, transactionHash }]);
      await book.chain.apply({ events, through, settleCalls: new Map([[transactionHash, [data]]]) });
    }
    expect(await surplus()).toEqual({ totalSurplus: '320' });
    await book.chain.rollback(8);
    expect(await surplus()).toEqual({ totalSurplus: '200' });
  });
});
