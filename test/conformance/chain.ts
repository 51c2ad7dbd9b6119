import assert from 'node:assert/strict';
import type {
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  Hex,
  InvalidationChainEvent,
  NewOrder,
  PlacementChainEvent,
  PresignatureChainEvent,
  RefundChainEvent,
  Store,
  StoredOrder,
  TradeChainEvent,
} from 'intentbook';
import type { Rule } from './harness.ts';
import {
  ALICE,
  address,
  BOB,
  NOW,
  order,
  PLACED_AT,
  place,
  presignOrder,
  range,
  USDC,
  uid,
  WETH,
  word,
} from './orders.ts';

export const SELL = order(1, { body: JSON.stringify({ kind: 'sell', sellAmount: '100', buyAmount: '50' }) });
const BUY = order(2, { body: JSON.stringify({ kind: 'buy', sellAmount: '100', buyAmount: '50' }) });
export const FLOW = address(0xf10);
/** Returns an order that Bob places through a contract. */
export const PLACED: NewOrder = {
  ...order(9, { owner: FLOW, validTo: 0xffff_ffff, signingScheme: 'eip1271' }),
  validTo: NOW + 600,
  creationDate: PLACED_AT - 5000,
  body: JSON.stringify({ kind: 'sell', sellAmount: '10', buyAmount: '5' }),
};

const block = (number: number, fork = 0): BlockRef => ({ number, hash: word(number * 16 + fork) });
export const at = (number: number, logIndex = 0, fork = 0) => ({
  blockNumber: number,
  blockHash: block(number, fork).hash,
  logIndex,
  transactionHash: word(number * 1000 + fork),
  timestamp: NOW + number,
});

export const trade = (of: NewOrder, number: number, changes: Partial<TradeChainEvent> = {}): TradeChainEvent => ({
  type: 'trade',
  ...at(number),
  uid: of.uid,
  owner: of.owner,
  sellToken: WETH,
  buyToken: USDC,
  sellAmount: '40',
  buyAmount: '20',
  feeAmount: '0',
  executedFee: '3',
  prices: null,
  protocolFees: [],
  ...changes,
});
export const invalidation = (of: NewOrder, number: number): InvalidationChainEvent => ({
  type: 'invalidation',
  ...at(number),
  uid: of.uid,
});
export const presignature = (of: NewOrder, number: number, signed: boolean): PresignatureChainEvent => ({
  type: 'presignature',
  ...at(number),
  uid: of.uid,
  signed,
});
export const refund = (of: NewOrder, number: number): RefundChainEvent => ({
  type: 'refund',
  ...at(number),
  uid: of.uid,
});
export const placement = (number: number, changes: Partial<PlacementChainEvent> = {}): PlacementChainEvent => ({
  type: 'placement',
  ...at(number),
  uid: PLACED.uid,
  order: PLACED,
  sender: BOB,
  userValidTo: PLACED.validTo,
  placementError: null,
  ...changes,
});

export const batch = (through: number | BlockRef, ...facts: ChainEvent[]): ChainEventBatch => ({
  events: facts,
  blocks: [],
  through: typeof through === 'number' ? block(through) : through,
  forgetBelow: 0,
  at: PLACED_AT,
});

export async function apply(store: Store, through: number, ...facts: ChainEvent[]): Promise<void> {
  const outcome = await store.chain.apply(batch(through, ...facts));
  assert.equal(outcome.status, 'applied');
}

export async function read(store: Store, of: NewOrder): Promise<StoredOrder> {
  const [found] = await store.orders.get([of.uid]);
  assert.ok(found, 'the order is there');
  return found;
}

const log = async (store: Store) =>
  (await store.events.after(0, 1000)).map(({ type, uid: of, cause }) => [
    type,
    of,
    cause?.position.blockNumber,
    cause?.reverted,
  ]);

export const CHAIN: readonly Rule[] = [
  {
    name: 'has no indexed block before the first batch',
    async run({ store }) {
      assert.deepEqual(await store.chain.progress(), { indexedBlock: null });
      assert.deepEqual(await store.chain.rollback({ to: 5, at: PLACED_AT }), {
        status: 'rolledBack',
        removed: 0,
        indexedBlock: null,
      });
      assert.deepEqual(await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 }), []);
    },
  },
  {
    name: 'removes the first block of the chain by a rollback to block -1',
    async run({ store }) {
      await apply(store, 0);
      await apply(store, 1);
      const outcome = await store.chain.rollback({ to: -1, after: block(1), at: PLACED_AT });
      assert.deepEqual(outcome, { status: 'rolledBack', removed: 0, indexedBlock: null });
      assert.deepEqual(await store.chain.progress(), { indexedBlock: null, rolledBackTo: -1 });
    },
  },
  {
    name: 'adds trades to an order until it is filled, with one event each',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10));
      const { version, state, executedSellAmount, executedBuyAmount, executedFee, executedFeeToken } = await read(
        store,
        SELL,
      );
      assert.deepEqual([version, state, executedSellAmount, executedBuyAmount], [2, 'open', '40', '20']);
      assert.deepEqual([executedFee, executedFeeToken], ['3', WETH]);
      await apply(store, 11, trade(SELL, 11, { sellAmount: '60', buyAmount: '31', executedFee: null }));
      const filled = await read(store, SELL);
      assert.deepEqual([filled.version, filled.state, filled.executedSellAmount], [3, 'fulfilled', '100']);
      assert.deepEqual([filled.executedBuyAmount, filled.executedFee], ['51', '3']);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
      const { timestamp, ...where } = at(11);
      assert.deepEqual(await store.events.after(2, 10), [
        {
          id: 3,
          type: 'traded',
          uid: SELL.uid,
          owner: ALICE,
          at: timestamp * 1000,
          cause: {
            position: where,
            trade: { ordinal: 1, completes: true, sellAmount: '60', buyAmount: '31', feeAmount: '0' },
          },
        },
      ]);
    },
  },
  {
    name: 'fills a buy order by the bought amount, and a sell order by the sold amount before the signed fee',
    async run({ store }) {
      await place(store, SELL, BUY);
      await apply(
        store,
        10,
        trade(BUY, 10, { buyAmount: '49' }),
        trade(SELL, 10, { ...at(10, 1), sellAmount: '109', feeAmount: '10' }),
      );
      assert.equal((await read(store, BUY)).state, 'open');
      assert.equal((await read(store, SELL)).state, 'open');
      await apply(store, 11, trade(BUY, 11, { buyAmount: '1' }), trade(SELL, 11, { ...at(11, 1), sellAmount: '1' }));
      assert.equal((await read(store, BUY)).state, 'fulfilled');
      const sold = await read(store, SELL);
      assert.deepEqual([sold.state, sold.executedSellAmount, sold.executedFeeAmount], ['fulfilled', '110', '10']);
    },
  },
  {
    name: 'keeps executed totals above 2^256',
    async run({ store }) {
      await place(store, SELL);
      const much = String(2n ** 256n - 1n);
      await apply(
        store,
        10,
        ...range(3).map((i) => trade(SELL, 10, { ...at(10, i), sellAmount: much, executedFee: much })),
      );
      const { executedSellAmount, executedFee } = await read(store, SELL);
      assert.deepEqual(
        [executedSellAmount, executedFee],
        [String(3n * (2n ** 256n - 1n)), String(3n * (2n ** 256n - 1n))],
      );
    },
  },
  {
    name: 'numbers the trades of an order within each transaction',
    async run({ store }) {
      await place(store, SELL);
      const one = (number: number, i: number) => trade(SELL, number, { ...at(number, i), sellAmount: '1' });
      await apply(store, 11, one(10, 0), one(10, 4), one(11, 0));
      const ordinals = (await store.events.after(1, 10)).map(({ cause }) => cause?.trade?.ordinal);
      assert.deepEqual(ordinals, [1, 2, 1]);
    },
  },
  {
    name: 'ignores a batch that was already applied',
    async run({ store }) {
      await place(store, SELL);
      const facts = [trade(SELL, 10), invalidation(SELL, 11)];
      assert.deepEqual(await store.chain.apply(batch(12, ...facts)), {
        status: 'applied',
        applied: 2,
        known: 0,
        indexedBlock: block(12),
      });
      const before = await read(store, SELL);
      for (const through of [12, 11, 13]) {
        const indexedBlock = block(Math.max(12, through));
        const outcome = await store.chain.apply(batch(through, ...facts));
        assert.deepEqual(outcome, { status: 'applied', applied: 0, known: 2, indexedBlock });
      }
      assert.deepEqual(await read(store, SELL), before);
      assert.equal(await store.events.last(), 3);
    },
  },
  {
    name: 'reaches the same order state whichever chain event is applied first',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 12, trade(SELL, 12, { sellAmount: '60' }));
      await apply(store, 12, trade(SELL, 10, { sellAmount: '40' }));
      assert.equal((await read(store, SELL)).state, 'fulfilled');
      const stands = (await store.events.after(0, 100)).filter(({ type }) => type === 'traded').at(-1);
      assert.deepEqual([stands?.cause?.position.blockNumber, stands?.cause?.trade?.completes], [12, true]);
    },
  },
  {
    name: 'stores a chain event once if nodes number the logs of its block differently',
    async run({ store }) {
      await place(store, SELL);
      const fill = (log: number) => trade(SELL, 10, { ...at(10, log), sellAmount: '60' });
      const twice = (log: number) => trade(SELL, 10, { ...at(10, log), sellAmount: '10', transactionHash: word(77) });
      const first = [fill(5), twice(6), twice(7)];
      await apply(store, 10, ...first);
      const again = batch(10, fill(8), twice(0), twice(9));
      const indexedBlock = block(10);
      assert.deepEqual(await store.chain.apply(again), { status: 'applied', applied: 0, known: 3, indexedBlock });
      // The third equal event is new.
      const third = batch(10, twice(1), twice(2), twice(3));
      assert.deepEqual(await store.chain.apply(third), { status: 'applied', applied: 1, known: 2, indexedBlock });
      assert.deepEqual(await store.chain.apply(batch(10, ...first)), {
        status: 'applied',
        applied: 0,
        known: 3,
        indexedBlock,
      });
      const { executedSellAmount } = await read(store, SELL);
      assert.equal(executedSellAmount, '90');
      const trades = await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 });
      assert.deepEqual(
        trades.map(({ logIndex }) => logIndex),
        [7, 6, 5, 3],
      );
    },
  },
  {
    name: 'gives the chain events of a block the indices of a batch with logs that were missing',
    async run({ store }) {
      await place(store, SELL);
      const fill = (log: number, sellAmount: string) => trade(SELL, 10, { ...at(10, log), sellAmount });
      await apply(store, 10, fill(0, '10'), fill(1, '20'));
      const indexedBlock = block(10);
      // The first answer lacked the first log of the block.
      const complete = batch(10, fill(0, '30'), fill(1, '10'), fill(2, '20'));
      const outcome = { status: 'applied', applied: 1, known: 2, indexedBlock };
      assert.deepEqual(await store.chain.apply(complete), outcome);
      assert.deepEqual(await store.chain.apply(complete), { ...outcome, applied: 0, known: 3 });
      const trades = await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 });
      assert.deepEqual(
        trades.map(({ logIndex, sellAmount }) => [logIndex, sellAmount]),
        [
          [2, '20'],
          [1, '10'],
          [0, '30'],
        ],
      );
      assert.equal((await read(store, SELL)).executedSellAmount, '60');
      // A batch that lacks a stored event has no better indices.
      const other = fill(1, '7');
      const conflict = { status: 'conflict', block: 10, stored: block(10).hash, log: 2, indexedBlock };
      assert.deepEqual(await store.chain.apply(batch(10, fill(0, '30'), other, fill(2, '10'))), conflict);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.equal((await read(store, SELL)).executedSellAmount, '0');
    },
  },
  {
    name: 'rejects two different chain events at one log position',
    async run({ store }) {
      await place(store, SELL);
      const [stored, other] = [trade(SELL, 10), trade(SELL, 10, { sellAmount: '2' })];
      const elsewhere = trade(SELL, 10, { transactionHash: word(77) });
      const outcome = (indexedBlock: BlockRef) =>
        ({ status: 'conflict', block: 10, stored: block(10).hash, log: stored.logIndex, indexedBlock }) as const;
      assert.deepEqual(await store.chain.apply(batch(10, stored, elsewhere)), outcome(block(10)));
      assert.equal((await store.chain.progress()).indexedBlock, null);
      await apply(store, 10, stored);
      for (const event of [other, elsewhere])
        assert.deepEqual(await store.chain.apply(batch(12, event)), outcome(block(10)));
      assert.deepEqual((await store.chain.progress()).indexedBlock, block(10));
      assert.equal((await read(store, SELL)).version, 2);
    },
  },
  {
    name: 'rejects a batch of another fork and names the block',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10));
      const indexedBlock = block(10);
      for (const rejected of [
        batch(block(10, 1), trade(SELL, 9, { ...at(9) })),
        batch(12, trade(SELL, 10, { ...at(10, 1, 1) }), trade(SELL, 11)),
        { ...batch(12), blocks: [block(10, 1)] },
      ]) {
        assert.deepEqual(await store.chain.apply(rejected), {
          status: 'conflict',
          block: 10,
          stored: block(10).hash,
          indexedBlock,
        });
      }
      assert.equal((await read(store, SELL)).version, 2);
      assert.deepEqual((await store.chain.progress()).indexedBlock, indexedBlock);
    },
  },
  {
    name: 'rejects another fork of a block whose events a rollback has kept without a checkpoint',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 5, trade(SELL, 5));
      await store.chain.apply({ ...batch(20), forgetBelow: 20 });
      const outcome = await store.chain.rollback({ to: 10, at: PLACED_AT });
      assert.deepEqual(outcome, { status: 'rolledBack', removed: 0, indexedBlock: null });
      const other = batch(block(6, 1), trade(SELL, 5, { ...at(5, 1, 1) }));
      const conflict = { status: 'conflict', block: 5, stored: block(5).hash } as const;
      assert.deepEqual(await store.chain.apply(other), { ...conflict, indexedBlock: block(6, 1) });
      await apply(store, 3);
      assert.deepEqual(await store.chain.apply(other), { ...conflict, indexedBlock: block(3) });
      const indexedBlock = block(6);
      assert.deepEqual(await store.chain.apply(batch(6, trade(SELL, 5))), {
        status: 'applied',
        applied: 0,
        known: 1,
        indexedBlock,
      });
    },
  },
  {
    name: 'applies nothing of a batch that builds on another indexed block',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10);
      for (const after of [null, block(9), block(10, 1)]) {
        assert.deepEqual(await store.chain.apply({ ...batch(11, trade(SELL, 11)), after }), {
          status: 'moved',
          indexedBlock: block(10),
        });
        assert.deepEqual(await store.chain.rollback({ to: 3, after, at: PLACED_AT }), {
          status: 'moved',
          indexedBlock: block(10),
        });
      }
      assert.equal((await read(store, SELL)).version, 1);
      const outcome = await store.chain.apply({ ...batch(11, trade(SELL, 11)), after: block(10) });
      assert.deepEqual(outcome, { status: 'applied', applied: 1, known: 0, indexedBlock: block(11) });
    },
  },
  {
    name: 'applies exactly one of several concurrent batches upon one indexed block',
    async run({ store, writers }) {
      await place(store, SELL);
      await apply(store, 10);
      const outcomes = await Promise.all(
        range(12).map(
          async (n) =>
            await writers[n % writers.length]?.chain.apply({
              ...batch(block(11, n), trade(SELL, 11, at(11, 0, n))),
              after: block(10),
            }),
        ),
      );
      assert.equal(outcomes.filter((outcome) => outcome?.status === 'applied').length, 1);
      assert.equal((await read(store, SELL)).executedSellAmount, '40');
      assert.equal(await store.events.last(), 2);
    },
  },
  {
    name: 'stores an invalidation after the fill without a log entry',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10, { sellAmount: '100' }));
      const last = await store.events.last();
      await apply(store, 11, invalidation(SELL, 11));
      const { state, invalidated } = await read(store, SELL);
      assert.deepEqual([state, invalidated], ['fulfilled', true]);
      await store.chain.rollback({ to: 10, at: PLACED_AT });
      assert.equal((await read(store, SELL)).invalidated, false);
      assert.equal(await store.events.last(), last);
    },
  },
  {
    name: 'adds the signed fee of trades to the executed fee',
    async run({ store }) {
      await place(store, SELL);
      await apply(
        store,
        10,
        trade(SELL, 10, { feeAmount: '4' }),
        trade(SELL, 10, { ...at(10, 1), feeAmount: '5', executedFee: null }),
      );
      const { executedFeeAmount, executedFee, executedFeeToken } = await read(store, SELL);
      assert.deepEqual([executedFeeAmount, executedFee, executedFeeToken], ['9', '12', WETH]);
    },
  },
  {
    name: 'restores rows, counters and totals on rollback and logs it',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10));
      const before = await read(store, SELL);
      await apply(store, 12, trade(SELL, 11, { sellAmount: '60' }), trade(BUY, 11, at(11, 1)), invalidation(SELL, 12));
      assert.deepEqual(await store.chain.rollback({ to: 10, at: PLACED_AT + 9 }), {
        status: 'rolledBack',
        removed: 3,
        indexedBlock: block(10),
      });
      assert.deepEqual(await read(store, SELL), { ...before, version: 4 });
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.equal((await store.orders.list({ owner: ALICE, status: { is: 'open', now: NOW }, limit: 9 })).length, 1);
      assert.deepEqual(await log(store), [
        ['created', SELL.uid, undefined, undefined],
        ['traded', SELL.uid, 10, undefined],
        ['traded', SELL.uid, 11, undefined],
        ['reverted', SELL.uid, 11, 'traded'],
      ]);
      assert.equal((await store.events.after(3, 1))[0]?.at, PLACED_AT + 9);
      assert.deepEqual(await store.chain.trades({ filter: { uid: BUY.uid }, limit: 9 }), []);
    },
  },
  {
    name: 'applies another fork after a rollback',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 9);
      await apply(store, 10, trade(SELL, 10));
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      const outcome = await store.chain.apply(
        batch(block(10, 1), trade(SELL, 10, { ...at(10, 0, 1), sellAmount: '100' })),
      );
      assert.deepEqual(outcome, { status: 'applied', applied: 1, known: 0, indexedBlock: block(10, 1) });
      assert.deepEqual(
        [(await read(store, SELL)).state, (await read(store, SELL)).executedSellAmount],
        ['fulfilled', '100'],
      );
    },
  },
  {
    name: 'keeps an order cancelled by its owner when a block is rolled back',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10));
      await store.orders.cancel({ uids: [SELL.uid], now: NOW, cancelledAt: PLACED_AT });
      await apply(store, 11, trade(SELL, 11, { sellAmount: '60' }));
      const filled = await read(store, SELL);
      assert.deepEqual([filled.state, filled.invalidated], ['fulfilled', true]);
      await store.chain.rollback({ to: 0, at: PLACED_AT });
      const { state, invalidated, executedSellAmount } = await read(store, SELL);
      assert.deepEqual([state, invalidated, executedSellAmount], ['cancelled', true, '0']);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
    },
  },
  {
    name: 'rejects the cancellation of an order cancelled on chain until that block is rolled back',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, invalidation(SELL, 10));
      const request = { uids: [SELL.uid], now: NOW, cancelledAt: PLACED_AT };
      assert.deepEqual(await store.orders.cancel(request), { status: 'rejected', uid: SELL.uid, reason: 'cancelled' });
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(await store.orders.cancel(request), { status: 'cancelled' });
    },
  },
  {
    name: 'lets an order wait anew whose signature is rolled back, also if only a fill has proved it',
    async run({ store }) {
      const [signed, filled] = [3, 4].map((n) => {
        const longest = NOW + 7 * 86_400;
        return presignOrder(n, { uid: uid(n, ALICE, longest), validTo: NOW + 60, body: SELL.body });
      }) as [NewOrder, NewOrder];
      await place(store, signed, filled);
      await apply(store, 9, presignature(signed, 9, false));
      assert.equal((await read(store, signed)).validTo, NOW + 60);
      await apply(store, 10, presignature(signed, 10, true), trade(filled, 10, { logIndex: 1 }));
      for (const each of [signed, filled]) {
        assert.equal((await read(store, each)).validTo, NOW + 7 * 86_400);
      }
      await store.chain.rollback({ to: 9, at: (NOW + 100) * 1000, pendingValidity: 86_400 });
      for (const each of [signed, filled]) {
        const { state, validTo } = await read(store, each);
        assert.deepEqual([state, validTo], ['presignaturePending', NOW + 100 + 86_400]);
      }
    },
  },
  {
    name: 'opens an order by its presignature, moves it to the other quota class, and reverts both',
    async run({ store }) {
      const waiting = presignOrder(3);
      await place(store, waiting);
      for (const [number, signed, state, counts] of [
        [10, true, 'open', { open: 1, pending: 0 }],
        [11, false, 'presignaturePending', { open: 0, pending: 1 }],
        [12, true, 'open', { open: 1, pending: 0 }],
      ] as const) {
        await apply(store, number, presignature(waiting, number, signed));
        assert.equal((await read(store, waiting)).state, state);
        assert.deepEqual(await store.orders.count(ALICE, NOW), counts);
      }
      await store.chain.rollback({ to: 11, at: PLACED_AT });
      assert.equal((await read(store, waiting)).state, 'presignaturePending');
      assert.deepEqual(
        (await log(store)).map(([type]) => type),
        ['created', 'presigned', 'presignatureRevoked', 'presigned', 'reverted'],
      );
    },
  },
  {
    name: 'keeps chain events of an unknown order until it is inserted',
    async run({ store }) {
      const waiting = presignOrder(3);
      await apply(
        store,
        10,
        trade(SELL, 10),
        { ...presignature(waiting, 10, true), logIndex: 1 },
        { ...invalidation(BUY, 10), logIndex: 2 },
      );
      await apply(
        store,
        11,
        { ...presignature(waiting, 11, true), logIndex: 1 },
        { ...invalidation(BUY, 11), logIndex: 2 },
      );
      assert.deepEqual(await store.chain.trades({ filter: { uid: SELL.uid }, limit: 9 }), [trade(SELL, 10)]);
      assert.equal(await store.events.last(), 0);
      await place(store, SELL, BUY, waiting);
      const sold = await read(store, SELL);
      assert.deepEqual([sold.state, sold.executedSellAmount, sold.executedFee], ['open', '40', '3']);
      assert.deepEqual([(await read(store, BUY)).state, (await read(store, BUY)).invalidated], ['cancelled', true]);
      assert.equal((await read(store, waiting)).state, 'open');
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 2, pending: 0 });
      await store.chain.rollback({ to: 0, at: PLACED_AT });
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 2, pending: 1 });
    },
  },
  {
    name: 'applies waiting chain events once to an order that occurs twice in a batch',
    async run({ store }) {
      await apply(store, 10, trade(SELL, 10));
      const outcomes = await store.orders.insert([{ order: SELL }, { order: SELL }]);
      assert.deepEqual(outcomes, [{ status: 'inserted' }, { status: 'duplicate' }]);
      const events = await store.events.after(0, 10);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['created', 'traded'],
      );
      assert.equal((await read(store, SELL)).executedSellAmount, '40');
    },
  },
  {
    name: 'applies waiting chain events before the checks of later orders in a batch',
    async run({ store }) {
      const [filled, next, over, instead] = [SELL, order(5), order(6), order(7)];
      await apply(store, 10, invalidation(filled, 10));
      const outcomes = await store.orders.insert([
        { order: filled, quota: 1 },
        { order: instead, replaces: filled.uid, quota: 1 },
        { order: next, quota: 1 },
        { order: over, quota: 1 },
      ]);
      assert.deepEqual(outcomes, [
        { status: 'inserted' },
        { status: 'notReplaceable', reason: 'cancelled' },
        { status: 'inserted' },
        { status: 'quotaExceeded', quota: 1, count: 1 },
      ]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.deepEqual(
        (await log(store)).map(([type]) => type),
        ['created', 'cancelled', 'created'],
      );
    },
  },
  {
    name: 'counts an order with a waiting presignature against later orders of its batch',
    async run({ store }) {
      const signed = presignOrder(5);
      await apply(store, 10, presignature(signed, 10, true));
      assert.deepEqual(
        await store.orders.insert([
          { order: signed, quota: 10 },
          { order: order(6), quota: 1 },
        ]),
        [{ status: 'inserted' }, { status: 'quotaExceeded', quota: 1, count: 1 }],
      );
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
    },
  },
  {
    name: 'applies waiting chain events after a first copy in the batch was rejected',
    async run({ store }) {
      const gone = order(5);
      await apply(store, 10, invalidation(gone, 10));
      await place(store, order(6));
      assert.deepEqual(
        await store.orders.insert([
          { order: gone, quota: 1 },
          { order: gone, quota: 2 },
          { order: order(7), quota: 2 },
        ]),
        [{ status: 'quotaExceeded', quota: 1, count: 1 }, { status: 'inserted' }, { status: 'inserted' }],
      );
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 2, pending: 0 });
    },
  },
  {
    name: 'stores an order placed on chain with its sender until its block is rolled back',
    async run({ store }) {
      await apply(store, 10, placement(10));
      const placed = await read(store, PLACED);
      assert.deepEqual(
        [placed.state, placed.validTo, placed.creationDate],
        ['open', PLACED.validTo, PLACED.creationDate],
      );
      assert.deepEqual(JSON.parse(placed.placement ?? ''), {
        onchainUser: BOB,
        onchainOrderData: { sender: BOB },
        ethflowData: { userValidTo: PLACED.validTo, refundTxHash: null, isRefunded: false },
      });
      for (const owner of [FLOW, BOB]) {
        assert.deepEqual(
          (await store.orders.list({ owner, limit: 9 })).map((each) => each.uid),
          [PLACED.uid],
        );
      }
      assert.deepEqual(await store.orders.count(FLOW, NOW), { open: 1, pending: 0 });
      assert.deepEqual(await store.orders.insert([{ order: PLACED }]), [{ status: 'duplicate' }]);

      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(await store.orders.get([PLACED.uid]), []);
      assert.deepEqual(await store.orders.list({ owner: BOB, limit: 9 }), []);
      assert.deepEqual(await store.orders.count(FLOW, NOW), { open: 0, pending: 0 });
      assert.deepEqual(
        (await log(store)).map(([type, , , reverted]) => reverted ?? type),
        ['created', 'created'],
      );

      await apply(store, 10, placement(10));
      assert.ok((await read(store, PLACED)).version > placed.version, 'a version names one state of a row');
    },
  },
  {
    name: 'leaves a tombstone of an order that was cancelled off chain when its only trade is rolled back',
    async run({ store }) {
      const [cancelled, open] = [SELL, order(3)];
      const trades = [cancelled, open].map((each, logIndex) => trade(each, 10, { order: each, logIndex }));
      const apply10 = () => apply(store, 10, ...trades);
      await apply10();
      for (let n = 0; n < 2; n++) {
        const outcome = await store.orders.cancel({ uids: [cancelled.uid], now: NOW, cancelledAt: PLACED_AT });
        assert.deepEqual(outcome, { status: 'cancelled' });
        await store.chain.rollback({ to: 9, at: PLACED_AT });
        assert.deepEqual(await store.orders.get([cancelled.uid, open.uid]), []);
        assert.deepEqual(await store.orders.insert([{ order: cancelled }]), [{ status: 'duplicate' }]);
        // The trade adds the order again.
        await apply10();
      }
      assert.equal((await store.orders.get([cancelled.uid, open.uid])).length, 2);
      // Retention leaves a tombstone that is there already.
      await store.orders.cancel({ uids: [cancelled.uid], now: NOW, cancelledAt: PLACED_AT });
      assert.equal(await store.orders.prune({ before: cancelled.validTo + 1, limit: 9 }), 2);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      const outcomes = await store.orders.insert([{ order: cancelled }, { order: open }]);
      assert.deepEqual(outcomes, [{ status: 'duplicate' }, { status: 'inserted' }]);
    },
  },
  {
    name: 'returns the error of a placement and its refund with the order',
    async run({ store }) {
      await apply(store, 10, placement(10, { placementError: 'QuoteNotFound' }));
      await apply(store, 11, refund(PLACED, 11));
      const { placement: shown, state } = await read(store, PLACED);
      assert.equal(state, 'open');
      assert.deepEqual(JSON.parse(shown ?? ''), {
        onchainUser: BOB,
        onchainOrderData: { sender: BOB, placementError: 'QuoteNotFound' },
        ethflowData: { userValidTo: PLACED.validTo, refundTxHash: at(11).transactionHash, isRefunded: true },
      });
      await store.chain.rollback({ to: 10, at: PLACED_AT });
      assert.equal(JSON.parse((await read(store, PLACED)).placement ?? '').ethflowData.isRefunded, false);
    },
  },
  {
    name: 'keeps the row of a submitted order when its placement on chain is rolled back',
    async run({ store }) {
      const sent: NewOrder = { ...PLACED, validTo: 0xffff_ffff, creationDate: PLACED_AT };
      await place(store, sent);
      await apply(store, 10, placement(10));
      const placed = await read(store, sent);
      assert.deepEqual(
        [placed.validTo, placed.creationDate, placed.placement !== null],
        [PLACED.validTo, PLACED_AT, true],
      );
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      const { validTo, placement: shown, version } = await read(store, sent);
      assert.deepEqual([validTo, shown, version], [0xffff_ffff, null, 3]);
      assert.deepEqual(
        (await log(store)).map(([type]) => type),
        ['created', 'placed', 'reverted'],
      );
    },
  },
  {
    name: 'pages trades by order, account or transaction, newest first',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 9, placement(9));
      const facts = [
        trade(SELL, 10),
        trade(SELL, 10, at(10, 2)),
        trade(BUY, 11),
        trade(PLACED, 12),
        trade({ ...SELL, uid: uid(77, BOB), owner: BOB }, 13),
      ];
      await apply(store, 13, ...facts);
      const places = async (...args: Parameters<Store['chain']['trades']>) =>
        (await store.chain.trades(...args)).map(({ blockNumber, logIndex }) => `${blockNumber}.${logIndex}`);
      const limit = 10;
      assert.deepEqual(await store.chain.trades({ filter: { uid: BUY.uid }, limit }), [facts[2]]);
      assert.deepEqual(await places({ filter: { uid: SELL.uid }, limit }), ['10.2', '10.0']);
      assert.deepEqual(await places({ filter: { account: ALICE }, limit }), ['11.0', '10.2', '10.0']);
      assert.deepEqual(await places({ filter: { account: BOB }, limit }), ['13.0', '12.0']);
      assert.deepEqual(await places({ filter: { account: FLOW }, limit }), ['12.0']);
      assert.deepEqual(await places({ filter: { account: BOB }, limit: 1, offset: 1 }), ['12.0']);
      assert.deepEqual(await places({ filter: { account: ALICE }, limit: 1, offset: 1 }), ['10.2']);
      const transactionHash: Hex = at(10).transactionHash;
      assert.deepEqual(await places({ filter: { transactionHash }, limit }), ['10.2', '10.0']);
    },
  },
  {
    name: 'continues trades after a position, for every filter',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 9, placement(9));
      const other = { ...SELL, uid: uid(77, BOB), owner: BOB };
      await apply(store, 10, trade(SELL, 10), trade(SELL, 10, at(10, 2)));
      await apply(store, 13, trade(SELL, 11), trade(PLACED, 12), trade(other, 13));
      const after = (blockNumber: number, logIndex: number) => ({ blockNumber, logIndex });
      const places = async (query: Omit<Parameters<Store['chain']['trades']>[0], 'limit'>, limit = 10) =>
        (await store.chain.trades({ ...query, limit })).map((each) => `${each.blockNumber}.${each.logIndex}`);
      const filter = { uid: SELL.uid };
      assert.deepEqual(await places({ filter, after: after(11, 0) }), ['10.2', '10.0']);
      assert.deepEqual(await places({ filter, after: after(10, 2) }), ['10.0']);
      assert.deepEqual(await places({ filter, after: after(10, 0) }), []);
      assert.deepEqual(await places({ filter, after: after(12, 9) }, 1), ['11.0']);
      assert.deepEqual(await places({ filter, after: after(12, 9), offset: 1 }, 1), ['10.2']);
      assert.deepEqual(await places({ filter: { account: BOB }, after: after(13, 0) }), ['12.0']);
      assert.deepEqual(await places({ filter: { account: BOB }, after: after(12, 0) }), []);
      assert.deepEqual(await places({ filter: { account: ALICE }, after: after(11, 0) }), ['10.2', '10.0']);
      const { transactionHash } = at(10);
      assert.deepEqual(await places({ filter: { transactionHash }, after: after(10, 2) }), ['10.0']);
    },
  },
  {
    name: 'lists trades of an account whose placements arrive later or are rolled back',
    async run({ store }) {
      const trades = async () =>
        (await store.chain.trades({ filter: { account: BOB }, limit: 9 })).map(({ blockNumber }) => blockNumber);
      await apply(store, 12, trade(PLACED, 12));
      assert.deepEqual(await trades(), []);
      await apply(store, 12, placement(9));
      assert.deepEqual(await trades(), [12]);
      await apply(store, 14, trade(PLACED, 14));
      assert.deepEqual(await trades(), [14, 12]);
      await store.chain.rollback({ to: 13, at: PLACED_AT });
      assert.deepEqual(await trades(), [12]);
      await store.chain.rollback({ to: 8, at: PLACED_AT });
      assert.deepEqual(await trades(), []);
    },
  },
  {
    name: 'returns the orders that an account has placed on chain, among given UIDs',
    async run({ store }) {
      await place(store, SELL);
      assert.deepEqual(await store.orders.filterPlaced(BOB, [SELL.uid, PLACED.uid]), []);
      await apply(store, 9, placement(9));
      assert.deepEqual(await store.orders.filterPlaced(BOB, [SELL.uid, PLACED.uid]), [PLACED.uid]);
      assert.deepEqual(await store.orders.filterPlaced(BOB, [SELL.uid]), []);
      assert.deepEqual(await store.orders.filterPlaced(BOB, []), []);
      assert.deepEqual(await store.orders.filterPlaced(ALICE, [SELL.uid, PLACED.uid]), []); // owns one, placed none
      await store.chain.rollback({ to: 8, at: PLACED_AT });
      assert.deepEqual(await store.orders.filterPlaced(BOB, [PLACED.uid]), []);
    },
  },
  {
    name: 'returns the first trade of a token by lowest block, and removes it with its block',
    async run({ store }) {
      const first = () => Promise.all([WETH, USDC, BOB].map((token) => store.chain.firstTrade(token)));
      assert.deepEqual(await first(), [undefined, undefined, undefined]);
      await apply(store, 12, trade(SELL, 12), trade(BUY, 12, { ...at(12, 1), sellToken: BOB }));
      assert.deepEqual(await first(), [12, 12, 12]);
      // Older blocks can arrive later, and known chain events can be repeated.
      await apply(store, 14, trade(SELL, 10, { buyToken: BOB }), trade(SELL, 12), trade(SELL, 14));
      assert.deepEqual(await first(), [10, 12, 10]);
      await store.chain.rollback({ to: 13, at: PLACED_AT });
      assert.deepEqual(await first(), [10, 12, 10]);
      await store.chain.rollback({ to: 11, at: PLACED_AT });
      assert.deepEqual(await first(), [10, undefined, 10]);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(await first(), [undefined, undefined, undefined]);
      await apply(store, 11, trade(SELL, 11));
      assert.deepEqual(await first(), [11, 11, undefined]);
    },
  },
  {
    name: 'returns the settlements of a transaction in order',
    async run({ store }) {
      const settlement = (logIndex: number, auctionId: number | null) =>
        ({ type: 'settlement', ...at(10, logIndex), solver: BOB, auctionId }) as const;
      await apply(store, 10, settlement(3, 7), settlement(5, null));
      assert.deepEqual(await store.chain.settlements(at(10).transactionHash), [settlement(3, 7), settlement(5, null)]);
      assert.deepEqual(await store.chain.settlements(word(1)), []);
      assert.deepEqual(await store.chain.settlementsOfAuction(7), [settlement(3, 7)]);
      assert.deepEqual(await store.chain.settlementsOfAuction(8), []);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(await store.chain.settlements(at(10).transactionHash), []);
    },
  },
  {
    name: 'keeps block hashes as far back as requested',
    async run({ store }) {
      await store.chain.apply({ ...batch(12, trade(SELL, 10)), blocks: [block(9), block(11)] });
      assert.deepEqual(await store.chain.progress(), { indexedBlock: block(12) });
      assert.deepEqual(
        await store.chain.blocks(),
        [12, 11, 10, 9].map((n) => block(n)),
      );
      await store.chain.apply({ ...batch(13), forgetBelow: 11 });
      assert.deepEqual(
        await store.chain.blocks(),
        [13, 12, 11].map((n) => block(n)),
      );
      assert.deepEqual(await store.chain.rollback({ to: 12, at: PLACED_AT }), {
        status: 'rolledBack',
        removed: 0,
        indexedBlock: block(12),
      });
      assert.deepEqual(await store.chain.rollback({ to: 10, at: PLACED_AT }), {
        status: 'rolledBack',
        removed: 0,
        indexedBlock: null,
      });
      assert.deepEqual(await store.chain.trades({ filter: { uid: SELL.uid }, limit: 9 }), [trade(SELL, 10)]);
    },
  },
  {
    name: 'returns the block of a rollback that left no checkpoint until the next batch',
    async run({ store }) {
      const rollBack = async (to: number) => {
        const { status, indexedBlock } = await store.chain.rollback({ to, at: PLACED_AT });
        assert.deepEqual([status, indexedBlock], ['rolledBack', null]);
        return (await store.chain.progress()).rolledBackTo;
      };
      assert.equal(await rollBack(20), undefined); // nothing was stored
      await store.chain.apply({ ...batch(12, trade(SELL, 8), trade(SELL, 10)), forgetBelow: 12 });
      assert.equal(await rollBack(9), 9);
      assert.equal(await rollBack(11), 9); // events of block 10 are still missing
      assert.equal(await rollBack(7), 7);
      assert.deepEqual(await store.chain.progress(), { indexedBlock: null, rolledBackTo: 7 });
      const other: BlockRef = { number: 8, hash: block(9).hash };
      await store.chain.apply({ ...batch(9, trade(SELL, 8)), forgetBelow: 9 });
      assert.equal(await rollBack(8), 8);
      assert.equal((await store.chain.apply(batch(other))).status, 'conflict'); // the trade is of another fork
      assert.equal(await rollBack(7), 7);
      await apply(store, 7);
      assert.deepEqual(await store.chain.progress(), { indexedBlock: block(7) });
      assert.deepEqual(await store.chain.blocks(), [block(7)]);
    },
  },
  {
    name: 'applies nothing of a batch that is based on another rollback without a checkpoint',
    async run({ store }) {
      await store.chain.apply({ ...batch(12), forgetBelow: 12 });
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      const next = { ...batch(9), after: null, rolledBackTo: 9 };
      await store.chain.rollback({ to: 7, at: PLACED_AT });
      assert.deepEqual(await store.chain.apply(next), { status: 'moved', indexedBlock: null });
      assert.equal((await store.chain.progress()).rolledBackTo, 7);
      assert.equal((await store.chain.apply({ ...batch(7), after: null, rolledBackTo: 7 })).status, 'applied');
      assert.equal((await store.chain.apply({ ...batch(8), rolledBackTo: 7 })).status, 'moved');
    },
  },
  {
    name: 'keeps chain state after the store is closed and reopened',
    async run({ store, open }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10), placement(10, at(10, 1)));
      const look = async (seen: Store) => ({
        orders: await seen.orders.list({ limit: 9 }),
        progress: await seen.chain.progress(),
        blocks: await seen.chain.blocks(),
        trades: await seen.chain.trades({ filter: { account: ALICE }, limit: 9 }),
        events: await seen.events.after(0, 99),
      });
      const before = await look(store);
      await store.close();
      assert.deepEqual(await look(await open()), before);
    },
  },
];
