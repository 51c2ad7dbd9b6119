import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { AccountStore, Hex, Order, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { test } from 'vitest';
import type { Happening } from '../support/chain-events.ts';
import { blockOf, eventsIn, hashOf, tradeOf } from '../support/chain-events.ts';
import type { ManualClock } from '../support/clock.ts';
import { manualClock } from '../support/clock.ts';
import type { WireOrder } from '../support/orders.ts';
import { SEPOLIA, signCancellation, signOrder } from '../support/orders.ts';
import { ALICE, ALICES, turns } from '../unit/accounts/accounts-fixture.ts';

/** Orders of random sequences, each for a sale of ten atoms, with a signed cancellation. */
const START = 1_700_000_000;
const SEQUENCE = [200, 400, 700];
const ORDERS = await Promise.all(
  SEQUENCE.map(async (sequence, n) => {
    const choice = { validTo: START + sequence, sellAmount: '10', buyAmount: String(10 + n), partiallyFillable: true };
    return signOrder(ALICE, choice);
  }),
);

type Step =
  | { readonly op: 'submit' | 'cancel'; readonly order: number }
  | {
      readonly op: 'block';
      readonly what: readonly { readonly order: number; readonly cancels: boolean; readonly tx: number }[];
    }
  | { readonly op: 'rollback'; readonly depth: number }
  | { readonly op: 'wait'; readonly seconds: number }
  /**
   * The process crashes at its next write of notifications: before it, or after it and before listeners are notified.
   */
  | { readonly op: 'crash'; readonly when: 'before' | 'after' };

const order = fc.nat(ORDERS.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('submit' as const), order }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('cancel' as const), order }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('block' as const),
      what: fc.array(fc.record({ order, cancels: fc.boolean(), tx: fc.nat(5) }), { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('rollback' as const), depth: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('wait' as const), seconds: fc.constantFrom(1, 100, 300) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('crash' as const),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
);

/** A store that can be crashed at a write in any process. */
function crashing(store: AccountStore): AccountStore & { crashAt: 'before' | 'after' | undefined } {
  const subject = {
    ...store,
    crashAt: undefined as 'before' | 'after' | undefined,
    // Several processes have it open.
    open: async () => {},
    close: async () => {},
    notifications: {
      ...store.notifications,
      append: async (batch: Parameters<AccountStore['notifications']['append']>[0]) => {
        const { crashAt } = subject;
        subject.crashAt = undefined;
        if (crashAt === 'before') throw new Error('died before the write');
        const outcome = await store.notifications.append(batch);
        if (crashAt === 'after') throw new Error('died after the write');
        return outcome;
      },
    },
  };
  return subject;
}

/** The expected state without a store, an engine or a log. */
interface Model {
  readonly blocks: { order: number; sold: number; tx: Hex; uid: string }[][];
  readonly submitted: Set<number>;
  readonly cancelled: Set<number>;
}

/**
 * A transaction trades the same amounts in any block. One of four chain events cancels an order, which sells nothing.
 */
const soldBy = ({ order: n, cancels, tx }: { order: number; cancels: boolean; tx: number }) =>
  cancels && tx % 2 === 0 ? 0 : 1 + ((3 * n + 2 * tx) % 6);

const BLOCK_TX = (tx: number) => hashOf(`transaction ${tx}`);

/** Returns the notifications that Alice must have, as text. */
function expected({ blocks, submitted, cancelled }: Model, now: number, uids: readonly string[]): string[] {
  const notified: string[] = [];
  for (const n of submitted) {
    let sold = 0;
    let filled = false;
    let invalidated = cancelled.has(n);
    if (invalidated) notified.push(`order_cancelled ${uids[n]} `);
    const ordinals = new Map<Hex, number>();
    for (const fact of blocks.flat().filter((each) => each.order === n)) {
      if (fact.sold === 0) {
        // An invalidation after the fill changes nothing.
        if (!invalidated && !filled) notified.push(`order_cancelled ${uids[n]} ${fact.tx}`);
        invalidated = true;
        continue;
      }
      const ordinal = (ordinals.get(fact.tx) ?? 0) + 1;
      ordinals.set(fact.tx, ordinal);
      sold += fact.sold;
      const completes: boolean = !filled && sold >= 10;
      filled ||= completes;
      notified.push(`${completes ? 'order_filled' : 'order_partially_filled'} ${uids[n]} ${fact.tx} ${fact.sold}`);
    }
    const validTo = ORDERS[n]?.validTo ?? 0;
    if (validTo < now && !filled && !invalidated) notified.push(`order_expired ${uids[n]} `);
  }
  return notified.sort();
}

/** Records the executed totals that the notification of an ended order may show: those since its cause. */
function recordTotals(totals: Map<string, Set<number>>, model: Model, now: number, uids: readonly string[]): void {
  for (const text of expected(model, now, uids)) if (isEnd(text) && !totals.has(text)) totals.set(text, new Set());
  for (const [text, seen] of totals) {
    const facts = model.blocks.flat().filter(({ uid }) => text.includes(uid));
    seen.add(facts.reduce((sum, { sold }) => sum + sold, 0));
  }
}

const isEnd = (text: string) => /^order_(cancelled|expired)/.test(text);

async function sequence(steps: readonly Step[]): Promise<void> {
  const clock: ManualClock = manualClock(START * 1000);
  const book: OrderBook = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
  const memory = memoryAccountStore();
  await memory.open({ clock });
  const store = crashing(memory);
  await book.start();
  const start = () => createAccounts({ books: [book], store, clock });
  const processes: [Accounts, Accounts] = [start(), start()];
  for (const each of processes) await each.start();

  const model: Model = { blocks: [], submitted: new Set(), cancelled: new Set() };
  const uids: string[] = [];
  const totals = new Map<string, Set<number>>();
  let forks = 0;
  for (const [n, signed] of ORDERS.entries()) uids[n] = await uidOf(signed);

  const rest = () =>
    turns(async () => {
      clock.advance(0);
      const feed = `log ${book.chainId} ${book.settlementContract}`;
      return ((await memory.notifications.cursor(feed)) ?? 0) === (await book.log.last());
    });
  const settle = async () => {
    // A restarted process retries after a second, and the expiry sweep runs every second.
    for (let i = 0; i < 3; i++) {
      clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    store.crashAt = undefined;
    clock.advance(1000);
    await rest();
  };

  for (const each of steps) {
    switch (each.op) {
      case 'submit': {
        const result = await book.orders.submit(ORDERS[each.order] as WireOrder);
        if (result.status === 'accepted') model.submitted.add(each.order);
        break;
      }
      case 'cancel': {
        const orderUids = [uids[each.order] ?? ''];
        const result = await book.orders.cancel({ orderUids, ...(await cancellation(each.order, orderUids)) });
        if (result.status === 'cancelled') model.cancelled.add(each.order);
        break;
      }
      case 'block': {
        const number = model.blocks.length + 1;
        const what = each.what.map((fact) => {
          const { order: n, tx } = fact;
          return { order: n, sold: soldBy(fact), tx: BLOCK_TX(tx), uid: uids[n] ?? '' };
        });
        const happenings = what.map(({ order: n, sold, tx, uid }, i): Happening => {
          const orderUid = uid as Hex; // of an order
          if (sold === 0) return { event: 'OrderInvalidated', owner: ALICES, orderUid, transactionHash: tx };
          const { sellToken, buyToken } = ORDERS[n] as WireOrder;
          // The trade data of the notification.
          const tokens = { sellToken: sellToken.toLowerCase(), buyToken: buyToken.toLowerCase() };
          const traded = { uid: orderUid, owner: ALICES, ...tokens } as Order;
          // Equal trades of one transaction would need its calldata.
          return tradeOf(traded, BigInt(sold), BigInt(sold + i), tx);
        });
        const through = blockOf(number, `fork ${forks} `);
        const outcome = await book.chain.apply({ events: eventsIn(through, happenings), through });
        assert.equal(outcome.status, 'applied');
        model.blocks.push(what);
        break;
      }
      case 'rollback':
        model.blocks.splice(Math.max(0, model.blocks.length - each.depth));
        forks++;
        await book.chain.rollback(model.blocks.length);
        break;
      case 'wait':
        clock.advance(each.seconds * 1000);
        break;
      case 'crash':
        store.crashAt = each.when;
        break;
    }
    recordTotals(totals, model, Math.floor(clock.now() / 1000), uids);
    await new Promise((resolve) => setImmediate(resolve));
    if (each.op === 'crash') {
      // One of the processes is restarted.
      await processes[0].close();
      processes[0] = start();
      await processes[0].start();
    }
  }
  await settle();
  recordTotals(totals, model, Math.floor(clock.now() / 1000), uids);

  const { notifications } = await processes[1].notifications.list(ALICES);
  const shown = notifications.map(({ type, metadata }) => {
    const { orderUid, txHash = '', executedSellAmount } = metadata as Record<string, string>;
    const text = `${type} ${orderUid} ${txHash}`;
    if (!isEnd(text)) return `${text} ${executedSellAmount}`;
    // The total at the time of the message. Later trades and rollbacks do not change it.
    assert.ok(totals.get(text)?.has(Number(executedSellAmount ?? 0)), `${text} shows ${executedSellAmount}`);
    return text;
  });
  const now = Math.floor(clock.now() / 1000);
  assert.deepEqual(shown.sort(), expected(model, now, uids));
  assert.equal(new Set(notifications.map(({ id }) => id)).size, notifications.length);

  // The streams delivered the same notifications.
  const visible = new Set<string>();
  for (const { type, notification } of await memory.notifications.after(0, 10_000)) {
    const known = visible.has(notification);
    assert.equal(known, type === 'withdrawn', 'a notification is sent once, and only a sent one is withdrawn');
    if (known) visible.delete(notification);
    else visible.add(notification);
  }
  assert.deepEqual([...visible].sort(), notifications.map(({ id }) => id).sort());
  for (const each of processes) await each.close();
  await book.close();
}

/** Returns the future UID of an order from a separate book. */
const known = new Map<WireOrder, Promise<string>>();
function uidOf(signed: WireOrder): Promise<string> {
  const found =
    known.get(signed) ??
    (async () => {
      const clock = manualClock(START * 1000);
      await using book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
      await book.start();
      const result = await book.orders.submit(signed);
      if (result.status !== 'accepted') throw result.error;
      return result.uid;
    })();
  known.set(signed, found);
  return found;
}

const cancellations = new Map<number, ReturnType<typeof signCancellation>>();
function cancellation(n: number, orderUids: readonly string[]): ReturnType<typeof signCancellation> {
  const found = cancellations.get(n) ?? signCancellation(ALICE, { orderUids });
  cancellations.set(n, found);
  return found;
}

test('notifications match the model after random orders and crashes', async () => {
  const numRuns = process.env['TEST_LONG'] === undefined ? 150 : 5000;
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 25 }), sequence), { numRuns });
});
