import {
  type AccountLogEntry,
  type AccountStore,
  type Hex,
  type Order,
  type StoredEvent,
  UNKNOWN_HASH,
} from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { deriveNotifications, getNotificationId } from '../../../src/notifications/notification-rules.ts';
import { createNotificationLog, toNotificationStreamEvent } from '../../../src/notifications/notification-stream.ts';
import type { ChainCause } from '../../../src/ports/order-events.ts';

const OWNER: Hex = `0x${'ab'.repeat(20)}`;
const TRADER: Hex = `0x${'7a'.repeat(20)}`;
const [SELL, BUY]: Hex[] = [`0x${'e7'.repeat(20)}`, `0x${'c0'.repeat(20)}`];
const UID: Hex = `0x${'12'.repeat(56)}`;
const AT = 1_700_000_000_000;
// The members that are used.
const BOOK = { book: { chainId: 5 }, env: 'production', feed: 'log' } as unknown as KnownBook;

const position = {
  blockNumber: 1,
  blockHash: `0x${'bb'.repeat(32)}`,
  logIndex: 0,
  transactionHash: `0x${'dd'.repeat(32)}`,
} as const;
const trade = { ordinal: 1, completes: true, sellAmount: '1000', buyAmount: '590', feeAmount: '0' };
const event = (type: StoredEvent['type'], cause?: ChainCause): StoredEvent => ({
  id: 1,
  type,
  uid: UID,
  owner: OWNER,
  at: AT,
  ...(cause && { cause }),
});

interface Choice {
  readonly order?: Partial<Order> | undefined;
  readonly marks?: Readonly<Record<string, string>>;
  readonly revertedNotifications?: boolean;
}

function derive(
  events: readonly StoredEvent[],
  { order = {}, marks = {}, revertedNotifications = false }: Choice = {},
) {
  const full = {
    uid: UID,
    owner: OWNER,
    sellToken: SELL,
    buyToken: BUY,
    sellAmount: '1000',
    buyAmount: '400',
    executedSellAmount: '0',
    executedBuyAmount: '0',
    ...order,
  };
  const derived = deriveNotifications(events, {
    book: BOOK,
    orders: new Map([[UID, { kind: 'sell', signingScheme: 'eip712', ...full } as unknown as Order]]),
    getTokens: () => ({ sell: { decimals: 2, symbol: 'S' }, buy: { decimals: 1, symbol: 'B' } }),
    marks: new Map(Object.entries(marks)),
    revertedNotifications,
  });
  const shown = derived.changes.map((change) =>
    change.type === 'withdraw' ? change.id : JSON.parse(change.notification.body),
  );
  return { ...derived, shown };
}

describe('notifications of log entries', () => {
  test('of a fill have the amounts and the transaction, for the trader of an order placed on chain', () => {
    const { changes, shown } = derive([event('traded', { position, trade })], { order: { onchainUser: TRADER } });
    const id = getNotificationId('order_filled', event('traded', { position, trade }));
    expect(shown).toEqual([
      {
        id,
        account: TRADER,
        type: 'order_filled',
        message: 'Your order was filled: 10 S for 59 B',
        timestamp: '2023-11-14T22:13:20.000Z',
        metadata: {
          orderUid: UID,
          chainId: 5,
          env: 'production',
          executedSellAmount: '1000',
          executedBuyAmount: '590',
          totalSellAmount: '1000',
          totalBuyAmount: '590',
          txHash: position.transactionHash,
        },
      },
    ]);
    expect(changes).toMatchObject([
      { type: 'notify', notification: { id, account: TRADER, type: 'order_filled', at: AT } },
    ]);
  });

  test('of a partial fill and of a price improvement name their amounts', () => {
    const quote = { sellAmount: '1000', buyAmount: '500', feeAmount: '0' } as unknown as NonNullable<Order['quote']>;
    const partial = { ...trade, completes: false };
    const { shown } = derive([event('traded', { position, trade: partial })], { order: { quote } });
    expect(shown).toMatchObject([
      { type: 'order_partially_filled', message: 'Your order was filled in part: 10 S for 59 B', account: OWNER },
      {
        type: 'price_improvement',
        message: 'You received 9 B more than you were quoted: 10 S for 59 B',
        metadata: { quotedBuyAmount: '500', surplusAmount: '90', executedBuyAmount: '590' },
      },
    ]);
  });

  test('of a trade without its data, or without an order, do not exist', () => {
    expect(derive([event('traded', { position })]).shown).toEqual([]);
    const unknown = { ...event('traded', { position, trade }), uid: `0x${'34'.repeat(56)}` as const };
    expect(derive([unknown, { ...unknown, type: 'expired' }, { ...unknown, type: 'cancelled' }]).shown).toEqual([]);
  });

  test('of a cancellation have a transaction if it was on chain', () => {
    const { shown } = derive([event('cancelled'), event('cancelled', { position })]);
    expect(shown).toMatchObject([
      { type: 'order_cancelled', message: 'Your order to exchange 10 S for 40 B was cancelled' },
      { type: 'order_cancelled', metadata: { txHash: position.transactionHash } },
    ]);
    expect(shown[0].metadata).toEqual({ orderUid: UID, chainId: 5, env: 'production' });
  });

  test('of an expiry are withdrawn when the order is reinstated, by any transaction', () => {
    const { shown } = derive([event('expired'), event('reinstated', { position })]);
    expect(shown[0]).toMatchObject({
      type: 'order_expired',
      message: 'Your order to exchange 10 S for 40 B has expired',
    });
    expect(shown[1]).toBe(shown[0].id);
  });

  test.each<[Exclude<ChainCause['reverted'], undefined>, boolean, readonly Parameters<typeof getNotificationId>[0][]]>([
    ['traded', true, ['order_filled', 'price_improvement']],
    ['traded', false, ['order_partially_filled', 'price_improvement']],
    ['cancelled', false, ['order_cancelled']],
    ['created', false, []],
    ['refunded', false, []],
  ])('are withdrawn when %s is reverted (completes: %s)', (reverted, completes, types) => {
    const cause = { position, trade: { ...trade, completes }, reverted };
    const { shown } = derive([event('reverted', cause)]);
    expect(shown).toEqual(types.map((type) => getNotificationId(type, event('traded', cause))));
  });

  test.each(['created', 'placed', 'presignatureRevoked', 'refunded'] as const)('of type %s do not exist', (type) => {
    expect(derive([event(type, { position })])).toMatchObject({ changes: [], marks: [] });
  });

  test('have ids that differ by type, order, transaction and ordinal, but not by block', () => {
    const base = { uid: UID, cause: { position, trade } };
    const ids = [
      getNotificationId('order_filled', base),
      getNotificationId('price_improvement', base),
      getNotificationId('order_filled', { ...base, uid: `0x${'34'.repeat(56)}` }),
      getNotificationId('order_filled', { ...base, cause: { position, trade: { ...trade, ordinal: 2 } } }),
      getNotificationId('order_filled', {
        ...base,
        cause: { position: { ...position, transactionHash: `0x${'ee'.repeat(32)}` }, trade },
      }),
      getNotificationId('order_filled', { uid: UID }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
    const moved = { position: { ...position, blockNumber: 2, blockHash: `0x${'99'.repeat(32)}` as const }, trade };
    expect(getNotificationId('order_filled', { uid: UID, cause: moved })).toBe(ids[0]);
  });
});

describe('cancellation of a presigned order', () => {
  const order = { signingScheme: 'presign' } as const;
  const cancelled = event('cancelled');
  const [signed, reverted] = [event('presigned', { position }), event('reverted', { position, reverted: 'presigned' })];

  test('is reported if it was signed before, also in an earlier batch', () => {
    expect(derive([cancelled], { order }).shown).toEqual([]);
    expect(derive([signed, cancelled], { order }).shown).toHaveLength(1);
    expect(derive([cancelled], { order, marks: { [UID]: '1' } }).shown).toHaveLength(1);
    expect(derive([cancelled]).shown).toHaveLength(1);
  });

  test('is not reported if the signature was reverted', () => {
    const gone = derive([reverted, cancelled], { order, marks: { [UID]: '1' } });
    expect([gone.shown, gone.marks]).toEqual([[], [{ key: UID, value: null }]]);
    const left = derive([reverted, cancelled], { order, marks: { [UID]: '2' } });
    expect([left.shown.length, left.marks]).toEqual([1, [{ key: UID, value: '1' }]]);
    expect(derive([reverted]).marks).toEqual([{ key: UID, value: null }]);
    expect(derive([signed, signed]).marks).toEqual([{ key: UID, value: '2' }]);
    expect(derive([event('reverted', { position, trade, reverted: 'traded' })]).marks).toEqual([]);
  });
});

describe('correction of what a reorganisation reverted', () => {
  const fill = event('traded', { position, trade });
  const [lost, ended] = [
    event('reverted', { position, trade, reverted: 'traded' }),
    event('reverted', { position, reverted: 'cancelled' }),
  ];
  const moved = { ...position, blockNumber: 9, blockHash: `0x${'99'.repeat(32)}` } as const;
  const again = event('traded', { position: moved, trade });

  function correct(batches: readonly (readonly StoredEvent[])[], order: Partial<Order> = {}) {
    const marks = new Map<string, string>();
    const visible = new Map<string, { message: string; metadata: object }>();
    const counts: number[] = [];
    for (const batch of batches) {
      const derived = derive(batch, { order, marks: Object.fromEntries(marks), revertedNotifications: true });
      for (const { key, value } of derived.marks) if (value !== null) marks.set(key, value);
      for (const change of derived.changes)
        if (change.type === 'withdraw') visible.delete(change.id);
        else visible.set(change.notification.id, JSON.parse(change.notification.body));
      const isCorrection = (each: (typeof derived.changes)[number]) =>
        each.type === 'notify' && each.notification.type === 'order_reverted';
      counts.push(derived.changes.filter(isCorrection).length);
    }
    return { visible: [...visible.values()], ids: [...visible.keys()], counts };
  }

  test('names the fill that was reverted, and that it is restored', () => {
    const { visible, counts } = correct([[fill], [lost]]);
    expect([visible.length, counts]).toEqual([1, [0, 1]]);
    expect(visible[0]).toMatchObject({
      type: 'order_reverted',
      message: 'A reorganisation of the chain reverted a fill of your order: 10 S for 59 B',
      metadata: { executedSellAmount: '1000', executedBuyAmount: '590', restored: false },
    });
    const restored = correct([[fill], [lost], [again]]);
    expect(restored.visible.map(({ message }) => message)).toEqual([
      'Your order was filled: 10 S for 59 B',
      'A fill of your order was reverted, and is on the chain again: 10 S for 59 B',
    ]);
  });

  test('has a separate id for each reversal, so that each is delivered', () => {
    const first = correct([[fill], [lost]]);
    const second = correct([[fill], [lost], [again], [lost]]);
    expect(second.counts).toEqual([0, 1, 1, 1]);
    expect(second.visible).toHaveLength(1);
    expect(second.ids).not.toEqual(first.ids);
  });

  test.each([
    ['a fill and its reversal in one batch', [[fill, lost]], 0],
    ['a reversal and the same transaction in one batch', [[fill], [lost, again]], 1],
    ['a fill that is reverted twice in one batch', [[fill], [lost, again, lost]], 1],
    ['a fill that was never notified', [[fill, lost], [again]], 1],
  ] as const)('considers only the state at the end of a batch: %s', (_name, batches, visible) => {
    expect(correct(batches).visible).toHaveLength(visible);
  });

  test('exists for a cancellation on chain, but not for one by a signature or of an unsigned order', () => {
    const cancelled = event('cancelled', { position });
    expect(correct([[cancelled], [ended]]).visible.map(({ message }) => message)).toEqual([
      'A reorganisation of the chain reverted the cancellation of your order to exchange 10 S for 40 B',
    ]);
    expect(correct([[cancelled], [ended], [cancelled]]).visible.at(-1)?.message).toBe(
      'The cancellation of your order to exchange 10 S for 40 B was reverted, and is on the chain again',
    );
    expect(correct([[event('cancelled')]]).counts).toEqual([0]);
    expect(correct([[cancelled], [ended]], { signingScheme: 'presign' }).visible).toEqual([]);
  });

  test('names neither the chain nor a transaction if only another book has reported the cancellation', () => {
    const unknown = { blockNumber: 0, blockHash: UNKNOWN_HASH, logIndex: 1, transactionHash: UNKNOWN_HASH };
    const cancelled = event('cancelled', { position: unknown });
    const reverted = event('reverted', { position: unknown, reverted: 'cancelled' });
    const subject = 'The cancellation of your order to exchange 10 S for 40 B was reverted';
    const first = correct([[cancelled], [reverted]]).visible;
    expect(first).toMatchObject([{ message: subject }]);
    expect(first[0]?.metadata).not.toHaveProperty('txHash');
    expect(correct([[cancelled], [reverted], [cancelled]]).visible.at(-1)?.message).toBe(
      `${subject}, and is valid again`,
    );
  });

  test('does not exist without the option', () => {
    expect(derive([lost]).changes.every(({ type }) => type === 'withdraw')).toBe(true);
    expect(derive([lost]).marks).toEqual([]);
  });
});

describe('stream log of notifications', () => {
  const entryOf = (id: number): AccountLogEntry =>
    id % 2 === 0
      ? { id, account: OWNER, type: 'withdrawn', notification: `n${id}`, body: '' }
      : { id, account: TRADER, type: 'notification', notification: `n${id}`, body: `{"id":"n${id}"}` };
  function logOf(count: number) {
    const store = memoryAccountStore();
    const queries: unknown[] = [];
    const notifications = {
      ...store.notifications,
      last: async () => count,
      async after(after: number, limit: number, account?: Hex) {
        queries.push([after, limit, account]);
        return Array.from({ length: count }, (_, i) => entryOf(i + 1))
          .filter(({ id }) => id > after)
          .slice(0, limit);
      },
    };
    const log = createNotificationLog({ ...store, notifications } as AccountStore, () => () => {});
    return { log, queries };
  }

  test('has the account of each entry as its key', async () => {
    const { log, queries } = logOf(2);
    expect(await log.follow(0, new Set())).toEqual({
      items: [
        { type: 'item', id: 1, event: 'notification', data: '{"id":"n1"}' },
        { type: 'item', id: 2, event: 'withdrawn', data: '{"id":"n2"}' },
      ],
      keysOf: [[TRADER], [OWNER]],
      through: 2,
      gapEnd: undefined,
    });
    expect(await log.follow(2, new Set())).toEqual({ items: [], keysOf: [], through: 2, gapEnd: undefined });
    expect(queries).toEqual([
      [0, 500, undefined],
      [2, 500, undefined],
    ]);
  });

  test.each([
    [2, 9, 9],
    [12, 9, 12],
    [499, 600, 600],
    [500, 600, 500],
  ])('resumes an account with %d entries, of which %d were delivered, up to %d', async (count, delivered, through) => {
    const { log, queries } = logOf(count);
    expect((await log.resume(0, OWNER, delivered)).through).toBe(through);
    expect(queries).toEqual([[0, 500, OWNER]]);
  });

  test('is converted to objects', () => {
    const gap = { type: 'gap', from: 1, to: 2 } as const;
    expect(toNotificationStreamEvent(gap)).toBe(gap);
    const item = { type: 'item', id: 3 } as const;
    expect([
      toNotificationStreamEvent({ ...item, event: 'withdrawn', data: '{"id":"n2"}' }),
      toNotificationStreamEvent({ ...item, event: 'notification', data: '{"id":"n1"}' }),
    ]).toEqual([
      { type: 'withdrawn', id: 3, notification: 'n2' },
      { type: 'notification', id: 3, notification: { id: 'n1' } },
    ]);
  });
});
