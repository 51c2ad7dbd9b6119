import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { AccountStore, Funds, FundsQuery, Hex, Order } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import {
  blockOf,
  eventsIn,
  hashOf,
  placementOf,
  SETTLEMENT_HAPPENING,
  TRADER,
  tradeOf,
} from '../../support/chain-events.ts';
import { account, COW, signCancellation, signOrder, WETH } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';
import type { AccountFixture } from '../accounts/accounts-fixture.ts';
import { ALICE, ALICES, accountFixture, turns } from '../accounts/accounts-fixture.ts';

const INTERVAL = 60_000;
const SELL = WETH.toLowerCase() as Hex;
const YEAR = 31_536_000;

/** A fixture with scripted funds and a function that runs the check. */
async function fundedFixture(options: Parameters<typeof accountFixture>[0] = {}) {
  const ledger = new Map<string, Funds>();
  /** Owners whose amounts the token does not return. */
  const unknown = new Set<string>();
  const state = { out: false, recordedCalls: 0, refused: undefined as string | undefined };
  const chain = {
    ...scriptedChain({ balanceAndAllowance: ({ owner }: FundsQuery) => ledger.get(owner) ?? FUNDED }),
    async balancesAndAllowances(queries: readonly FundsQuery[]) {
      state.recordedCalls++;
      assert.ok(queries.length <= 100);
      if (state.out || queries.some(({ owner }) => owner === state.refused)) throw new Error('out of reach');
      return queries.map(({ owner }) => (unknown.has(owner) ? undefined : (ledger.get(owner) ?? FUNDED)));
    },
  };
  const fixture = await accountFixture({ ...options, bookOptions: { chain, ...options.bookOptions } });
  const looks = countLooks(fixture);
  return {
    ledger,
    unknown,
    state,
    fixture,
    has: (balance: bigint, allowance = balance, owner: string = ALICES) => ledger.set(owner, { balance, allowance }),
    order: (choice: Parameters<AccountFixture['order']>[0] = {}, changes = {}) =>
      fixture.order({ validTo: Math.floor(fixture.clock.now() / 1000) + YEAR, ...choice }, changes),
    look: (processes = 1) => looks.one(processes),
    listNotifications: async (who?: string) =>
      (await fixture.listNotifications(who)).filter(({ type }) => type === 'insufficient_balance'),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

/** Each check ends with a timer for the next one. */
function countLooks({ clock }: AccountFixture) {
  const { after } = clock;
  let ended = 0;
  const counting: typeof after = (ms, run) => {
    if (ms === INTERVAL) ended++;
    return after(ms, run);
  };
  Object.assign(clock, { after: counting });
  return {
    async one(processes: number) {
      const due = ended + processes;
      clock.advance(INTERVAL);
      await turns(() => ended >= due);
    },
  };
}

describe('funding check', () => {
  test('reports an order after two failed checks in a row, with required and available amounts', async () => {
    await using each = await fundedFixture({
      tokens: (_chainId, token) => (token === SELL ? { decimals: 2, symbol: 'WETH' } : undefined),
    });
    const order = await each.order();
    each.has(999n, 5000n);
    await each.look();
    assert.deepEqual(await each.listNotifications(), []);
    await each.look();
    const [listNotifications, ...more] = await each.listNotifications();
    assert.deepEqual(more, []);
    assert.deepEqual(
      { ...listNotifications, id: '' },
      {
        id: '',
        account: ALICES,
        type: 'insufficient_balance',
        message: `Your balance is too low for your order to exchange 10 WETH for 0.0000000000000004 COW: it needs 10 WETH, you have 9.99 WETH`,
        timestamp: new Date(each.fixture.clock.now()).toISOString(),
        metadata: {
          orderUid: order.uid,
          chainId: 11155111,
          env: 'production',
          token: SELL,
          requiredAmount: '1000',
          balance: '999',
          allowance: '5000',
        },
      },
    );
  });

  test('concludes nothing from amounts that the token does not return', async () => {
    await using each = await fundedFixture();
    await each.order();
    each.has(1n);
    await each.look();
    each.unknown.add(ALICES);
    for (let i = 0; i < 3; i++) await each.look();
    assert.deepEqual(await each.listNotifications(), []);
    each.unknown.clear();
    for (let i = 0; i < 2; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 1);
    // The report is kept meanwhile, so that it is not repeated.
    each.unknown.add(ALICES);
    await each.look();
    each.unknown.clear();
    for (let i = 0; i < 2; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 1);
  });

  test('reports a missing allowance', async () => {
    await using each = await fundedFixture({ tokens: () => undefined });
    await each.order();
    each.has(1000n, 1n);
    for (let i = 0; i < 2; i++) await each.look();
    const [listNotifications] = await each.listNotifications();
    assert.match(listNotifications?.message ?? '', /^Your allowance is too low .* you have allowed 0\.0{17}1 WETH$/);
  });

  test('reports an order again only after it was funded in between', async () => {
    await using each = await fundedFixture();
    await each.order();
    const counts: number[] = [];
    for (const balance of [0n, 0n, 0n, 500n, 0n, 1000n, 0n, 0n, 0n, 1000n, 1000n, 999n, 999n]) {
      each.has(balance);
      await each.look();
      counts.push((await each.listNotifications()).length);
    }
    assert.deepEqual(counts, [0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
    const ids = (await each.listNotifications()).map(({ id }) => id);
    assert.equal(new Set(ids).size, 3);
  });

  test('deletes the marker of an order that is not open any more', async () => {
    await using each = await fundedFixture();
    const order = await each.order();
    const { uid } = await each.order({ buyAmount: '401' });
    const { store } = each.fixture;
    const { chainId, settlementContract } = each.fixture.book;
    const readMarks = async () => {
      const marks = await store.notifications.marks(`funding ${chainId} ${settlementContract}`, [order.uid, uid]);
      return marks.map(({ key }) => key);
    };
    each.has(0n);
    for (let i = 0; i < 2; i++) await each.look();
    assert.deepEqual((await readMarks()).sort(), [order.uid, uid].sort());
    const orderUids = [order.uid];
    await each.fixture.book.orders.cancel({ orderUids, ...(await signCancellation(ALICE, { orderUids })) });
    for (let i = 0; i < 2; i++) await each.look();
    assert.deepEqual(await readMarks(), [uid]);
    assert.equal((await each.listNotifications()).length, 2);
  });

  test('does not report an order that fails one check only', async () => {
    await using each = await fundedFixture();
    await each.order();
    for (const balance of [0n, 1000n, 0n, 1000n, 0n]) {
      each.has(balance);
      await each.look();
    }
    assert.deepEqual(await each.listNotifications(), []);
  });

  test('does not repeat a report after a process restart', async () => {
    const store = memoryAccountStore();
    await using each = await fundedFixture({ store });
    await each.order();
    each.has(0n);
    for (let i = 0; i < 2; i++) await each.look();
    await each.fixture.accounts.close();
    await each.fixture.accounts.start();
    for (let i = 0; i < 3; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 1);
    each.has(1000n);
    await each.look();
    each.has(0n);
    for (let i = 0; i < 2; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 2);
  });

  test.each<[string, (each: Awaited<ReturnType<typeof fundedFixture>>, order: Order) => Promise<unknown>]>([
    ['was filled', ({ fixture }, order) => fixture.applyBlock(5, [tradeOf(order, 1000n, 400n)])],
    [
      'was cancelled on chain',
      ({ fixture }, { uid: orderUid, owner }) =>
        fixture.applyBlock(5, [{ event: 'OrderInvalidated', owner, orderUid }]),
    ],
    [
      'was cancelled by a signature',
      async ({ fixture }, { uid }) =>
        fixture.book.orders.cancel({ orderUids: [uid], ...(await signCancellation(ALICE, { orderUids: [uid] })) }),
    ],
    [
      'has expired',
      async ({ fixture }) => {
        fixture.clock.advance(2 * YEAR * 1000);
      },
    ],
  ])('does not report an order that %s, even while the chain is being read', async (_name, end) => {
    for (const late of [false, true]) {
      await using each = await fundedFixture();
      const order = await each.order();
      each.has(0n);
      await each.look();
      const ending = () => end(each, order);
      if (late) {
        const { balances } = each.fixture.book;
        const { funds } = balances;
        Object.assign(balances, {
          funds: async (...args: Parameters<typeof funds>) => {
            const found = await funds(...args);
            await ending();
            return found;
          },
        });
      } else await ending();
      for (let i = 0; i < 2; i++) await each.look();
      assert.deepEqual(await each.listNotifications(), []);
    }
  });

  test('does not report an order without a known requirement or before its validity', async () => {
    await using each = await fundedFixture({ bookOptions: { eip1271: 'accept-unverified' } });
    const { clock } = each.fixture;
    const hooks = { pre: [{ target: COW, callData: '0x', gasLimit: '1' }] };
    const wrappers = [{ address: COW, data: '0x' }];
    const choices: [object, object][] = [
      [{ appData: JSON.stringify({ metadata: { hooks } }) }, {}],
      [{ appData: JSON.stringify({ metadata: { wrappers } }) }, {}],
      [{ appData: JSON.stringify({ metadata: { validFrom: Math.floor(clock.now() / 1000) + 600 } }) }, {}],
      [{ sellTokenBalance: 'external' }, {}],
      [{ sellAmount: '7' }, { signingScheme: 'eip1271', signature: '0x12' }],
      [{ sellAmount: '8' }, { signingScheme: 'presign', signature: '0x' }],
    ];
    for (const [choice, changes] of choices) await each.order(choice, changes);
    await each.fixture.applyBlock(5, [placementOf({ sellToken: SELL, buyToken: COW.toLowerCase() as Hex })]);
    each.has(0n);
    each.has(0n, 0n, `0x${'ef'.repeat(20)}`);
    for (let i = 0; i < 3; i++) await each.look();
    assert.deepEqual(await each.listNotifications(), []);
    assert.deepEqual(await each.listNotifications(TRADER), []);
    clock.advance(600_000);
    for (let i = 0; i < 3; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 1, 'the one that may be settled by now');
  });

  test('does not report an order that a settlement has added', async () => {
    await using each = await fundedFixture({ bookOptions: { justInTimeOrders: 'all' } });
    await using other = await accountFixture();
    const order = await other.order({ partiallyFillable: true, sellAmount: '1000', buyAmount: '400' });
    const [through, transactionHash] = [blockOf(5), hashOf('a settlement')];
    const trade = tradeOf(order, 10n, 10n, transactionHash);
    const events = eventsIn(through, [trade, { ...SETTLEMENT_HAPPENING, transactionHash }]);
    const prices = { [order.sellToken]: 1n, [order.buyToken]: 1n };
    const settleCalls = new Map([[transactionHash, [settleData([{ order, executed: 10n }], prices)]]]);
    await each.fixture.book.chain.apply({ events, through, settleCalls });
    expect(await each.fixture.book.orders.get(order.uid)).toMatchObject({ status: 'open', class: 'liquidity' });
    each.has(0n);
    for (let i = 0; i < 3; i++) await each.look();
    expect(each.state.recordedCalls).toBe(0);
    expect(await each.listNotifications()).toEqual([]);
  });

  test('requires one atom of a partially fillable order', async () => {
    await using each = await fundedFixture();
    await each.order({ partiallyFillable: true });
    each.has(1n);
    for (let i = 0; i < 2; i++) await each.look();
    assert.deepEqual(await each.listNotifications(), []);
    each.has(0n);
    for (let i = 0; i < 2; i++) await each.look();
    assert.equal((await each.listNotifications())[0]?.metadata['requiredAmount'], '1');
  });

  test('waits while the chain is unreachable and continues afterwards', async () => {
    await using each = await fundedFixture();
    await each.order();
    each.has(0n);
    each.state.out = true;
    for (let i = 0; i < 3; i++) await each.look();
    assert.deepEqual(await each.listNotifications(), []);
    assert.equal(each.fixture.failures.length, 6, 'the chain’s own, and that of the look, each time');
    each.state.out = false;
    for (let i = 0; i < 2; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 1);
  });

  test.each(['catching up', 'standing by', 'unavailable', 'stopped: every node serves another chain'])(
    'waits while the indexer is %s, and leaves the lease to other processes',
    async (chain) => {
      await using each = await fundedFixture();
      await each.order();
      each.has(0n);
      const { ready } = each.fixture.book;
      Object.assign(each.fixture.book, {
        ready: async () => ({ ready: true, checks: { ...(await ready()).checks, chain } }),
      });
      for (let i = 0; i < 3; i++) await each.look();
      assert.equal(each.state.recordedCalls, 0);
    },
  );

  test('checks the other orders if the funds of some cannot be read', async () => {
    await using each = await fundedFixture();
    const validTo = Math.floor(each.fixture.clock.now() / 1000) + YEAR;
    await each.order();
    each.has(0n);
    each.fixture.clock.advance(1_000);
    const owners = Array.from({ length: 100 }, (_, i) => account(100 + i));
    const orders = await Promise.all(owners.map((owner) => signOrder(owner, { validTo, sellAmount: '1000' })));
    for (const { status } of await each.fixture.book.orders.submitMany(orders)) assert.equal(status, 'accepted');
    each.state.refused = owners[0]?.address.toLowerCase();
    for (let i = 0; i < 2; i++) await each.look();
    assert.equal((await each.listNotifications()).length, 1);
    assert.notEqual(each.fixture.failures.length, 0);
  });
});

test('funding check reads a hundred pairs at a time, in one of several processes', async () => {
  const store = memoryAccountStore();
  const shared: AccountStore = { ...store, open: async () => {}, close: async () => {} };
  await using each = await fundedFixture({ store: shared });
  const { book, clock } = each.fixture;
  await store.open({ clock });
  await using other = createAccounts({ books: [book], store: shared, clock });
  await other.start();
  const validTo = Math.floor(clock.now() / 1000) + YEAR;
  const owners = Array.from({ length: 130 }, (_, i) => account(100 + i));
  const orders = await Promise.all(
    owners.flatMap((owner) => [1, 2, 3, 4].map((n) => signOrder(owner, { validTo, sellAmount: String(1000 + n) }))),
  );
  for (const { status } of await book.orders.submitMany(orders)) assert.equal(status, 'accepted');
  each.state.recordedCalls = 0;
  for (const { address } of owners) each.has(1002n, 2000n, address.toLowerCase());
  await each.look(2);
  // 520 orders of 130 owners are two pages, the first with more than a hundred owners.
  assert.equal(each.state.recordedCalls, 3);
  await each.look(2);
  for (const { address } of owners) {
    const listNotifications = await each.listNotifications(address);
    assert.deepEqual(listNotifications.map(({ metadata }) => metadata['requiredAmount']).sort(), ['1003', '1004']);
  }
  await other.close();
});

type Step =
  | { readonly op: 'have'; readonly owner: number; readonly balance: number; readonly looks: number }
  | { readonly op: 'restart' }
  | { readonly op: 'die'; readonly when: 'before' | 'after' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('have' as const),
      owner: fc.nat(1),
      balance: fc.constantFrom(0, 10, 20),
      looks: fc.integer({ min: 1, max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restart' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('die' as const),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
);

/** Two owners, each with an order for ten atoms and one for twenty. */
async function sequence(steps: readonly Step[]): Promise<void> {
  const store = memoryAccountStore();
  const { append } = store.notifications;
  let crashAt: 'before' | 'after' | undefined;
  Object.assign(store.notifications, {
    append: async (batch: Parameters<typeof append>[0]) => {
      if (!batch.feed.startsWith('funding') || crashAt === undefined) return append(batch);
      if (crashAt === 'after') await append(batch);
      throw new Error('died');
    },
  });
  await using each = await fundedFixture({ store });
  const { fixture } = each;
  const owners = [account(1), account(2)];
  const orders: {
    uid: string;
    owner: number;
    needs: number;
    suspected: boolean;
    listNotifications: boolean;
    times: number;
  }[] = [];
  for (const [n, owner] of owners.entries()) {
    for (const needs of [10, 20]) {
      const validTo = Math.floor(fixture.clock.now() / 1000) + YEAR;
      const signed = await signOrder(owner, { validTo, sellAmount: String(needs) });
      const result = await fixture.book.orders.submit(signed);
      assert.equal(result.status, 'accepted');
      orders.push({ uid: result.uid, owner: n, needs, suspected: false, listNotifications: false, times: 0 });
    }
  }
  const balances = [100, 100];
  const restart = async () => {
    await fixture.accounts.close();
    await fixture.accounts.start();
    for (const order of orders) order.suspected = false;
  };
  for (const next of steps) {
    if (next.op === 'have') {
      balances[next.owner] = next.balance;
      each.has(BigInt(next.balance), 100n, owners[next.owner]?.address.toLowerCase());
      for (let i = 0; i < next.looks; i++) {
        await each.look();
        checkModel(orders, balances);
      }
    } else if (next.op === 'restart') await restart();
    else {
      crashAt = next.when;
      await each.look();
      if (crashAt === 'after') checkModel(orders, balances);
      await restart();
      crashAt = undefined;
    }
  }
  const listNotifications = (await Promise.all(owners.map(({ address }) => each.listNotifications(address)))).flat();
  const times = new Map<unknown, number>();
  for (const { metadata } of listNotifications)
    times.set(metadata['orderUid'], (times.get(metadata['orderUid']) ?? 0) + 1);
  for (const { uid, times: expected } of orders) assert.equal(times.get(uid) ?? 0, expected);
  assert.equal(new Set(listNotifications.map(({ id }) => id)).size, listNotifications.length);
}

function checkModel(
  orders: { owner: number; needs: number; suspected: boolean; listNotifications: boolean; times: number }[],
  balances: readonly number[],
): void {
  for (const order of orders) {
    const short = (balances[order.owner] ?? 0) < order.needs;
    if (!short) Object.assign(order, { suspected: false, listNotifications: false });
    else if (!order.listNotifications && order.suspected)
      Object.assign(order, { listNotifications: true, times: order.times + 1 });
    order.suspected = short;
  }
}

test('funding check reports each crossing once after random balances and crashes', async () => {
  const numRuns = process.env['TEST_LONG'] === undefined ? 60 : 1000;
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), sequence), { numRuns });
}, 600_000);
