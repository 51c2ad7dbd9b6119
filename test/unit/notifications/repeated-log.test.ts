import type { Hex, Order, StoredEvent } from 'intentbook';
import { systemClock } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { recordPrunedBefore } from '../../../src/account-tools/pruned-notifications.ts';
import { createNotificationIndexer } from '../../../src/notifications/notification-indexer.ts';
import { subscribe, subscription } from '../../conformance/accounts/subscriptions.ts';

const OWNER: Hex = `0x${'a'.repeat(40)}`;
const AT = 1_700_000_000_000;
const uid = (n: number): Hex => `0x${n.toString(16).padStart(112, '0')}`;
const position = {
  blockNumber: 1,
  blockHash: `0x${'bb'.repeat(32)}`,
  logIndex: 0,
  transactionHash: `0x${'dd'.repeat(32)}`,
} as const;
const trade = { ordinal: 1, completes: true, sellAmount: '1000', buyAmount: '590', feeAmount: '0' };
const fill = { position, trade };

const BUY_TOKEN: Hex = `0x${'c'.repeat(40)}`;
/** A later notification of another account: the newest entry of the account log is kept. */
const OTHER = {
  type: 'notify',
  notification: { id: 'other', account: BUY_TOKEN, type: 'order_filled', at: AT + 10, body: '{}' },
} as const;

type Content = Pick<StoredEvent, 'type' | 'cause'>;

/** A log with these entries by their ids, and entries of other orders between them. */
function createLog(length: number, entries: Readonly<Record<number, Content>>): StoredEvent[] {
  return Array.from({ length }, (_, i) => {
    const id = i + 1;
    const entry = entries[id];
    return {
      id,
      uid: uid(entry === undefined ? 1000 + id : 1),
      owner: OWNER,
      at: AT,
      ...(entry ?? { type: 'created' }),
    };
  });
}

async function createSystem(signingScheme = 'eip712') {
  const store = memoryAccountStore();
  await store.open({ clock: systemClock });
  const types = ['order_filled', 'order_reverted', 'order_cancelled', 'price_improvement'] as const;
  await subscribe(store, subscription(1, { account: OWNER, types: [...types], createdAt: AT }));
  const failures: unknown[] = [];
  const terms = { owner: OWNER, kind: 'sell', signingScheme, sellToken: OWNER, buyToken: BUY_TOKEN };
  const amounts = { sellAmount: '1000', buyAmount: '400', executedSellAmount: '1000', executedBuyAmount: '590' };
  const toOrder = (each: Hex) => ({ order: { uid: each, ...terms, ...amounts } as unknown as Order });

  /** Indexes a log to its end, as a new process. Returns the visible notifications. */
  async function index(log: readonly StoredEvent[]) {
    const read = {
      last: async () => log.at(-1)?.id ?? 0,
      after: async (after: number, limit: number) => log.filter(({ id }) => id > after).slice(0, limit),
      prunedThrough: async () => 0,
      watch: () => () => {},
    };
    const orders = { getMany: async (uids: readonly Hex[]) => uids.map(toOrder) };
    // The members that are used.
    const book = { feed: 'log', env: 'local', book: { chainId: 1, log: read, orders } } as unknown as KnownBook;
    const indexer = createNotificationIndexer({
      book,
      store,
      clock: systemClock,
      tokens: async () => undefined,
      retention: undefined,
      revertedNotifications: true,
      onAppended() {},
      onFailure: (failure) => void failures.push(failure),
    });
    onTestFinished(() => indexer.stop());
    indexer.start();
    const end = log.at(-1)?.id ?? 0;
    await expect.poll(() => store.notifications.cursor('log'), { timeout: 5_000 }).toBe(end);
    await indexer.stop();
    return (await store.notifications.list({ account: OWNER, limit: 100 })).map(({ body }) => JSON.parse(body).message);
  }

  /** Delivers what is pending. Returns the messages. */
  async function deliver(): Promise<string[]> {
    const lane = { channel: 'webhook', limit: 50 };
    const lanes = [
      { ...lane, isReliable: true },
      { ...lane, isReliable: false },
    ];
    const query = { maxDelay: 60_000, limit: 100, perAccount: 50, busyAccounts: [], lanes };
    const messages: string[] = [];
    for (;;) {
      const now = Date.now() + 1;
      const { claimed } = await store.deliveries.claim({ ...query, now, until: now + 60_000 });
      if (claimed.length === 0) return messages;
      for (const { seq, claim, body } of claimed) {
        await store.deliveries.recordResult({ seq, claim, outcome: { status: 'delivered' } });
        messages.push(JSON.parse(body).message);
      }
    }
  }

  return { store, failures, index, deliver };
}

const traded: Content = { type: 'traded', cause: fill };
const reverted: Content = { type: 'reverted', cause: { ...fill, reverted: 'traded' } };
const moved: Content = { type: 'traded', cause: { trade, position: { ...position, blockNumber: 9 } } };

describe('a log that is read again after a restore', () => {
  test.each([
    ['reverted', { 10: traded, 310: reverted }],
    ['reverted in the same page', { 10: traded, 20: reverted }],
    ['restored', { 10: traded, 310: reverted, 520: moved }],
    ['restored and reverted', { 10: traded, 20: reverted, 30: moved, 310: reverted }],
  ] as const)('has no new notification of a fill that was %s', async (_name, entries) => {
    const { index, deliver, failures } = await createSystem();
    const log = createLog(600, entries);
    for (const id of [...Object.keys(entries).map(Number), 600]) await index(log.slice(0, id));
    await deliver();
    const before = await index(log);
    expect(await index(log.slice(0, 595))).toEqual(before);
    expect(failures.map(String)).toEqual([expect.stringContaining('is read from its start')]);
    expect(await deliver()).toEqual([]);

    // Later changes of the fill are corrected as if the log had not been read again.
    const next = before.some((message: string) => message.includes('was filled')) ? reverted : moved;
    const more = createLog(600, { ...entries, 599: next });
    const after = await index(more);
    expect(after.filter((message: string) => message.includes('reverted'))).toHaveLength(1);
    expect(await deliver()).toContainEqual(expect.stringContaining(next === reverted ? 'reverted a fill' : 'again'));
  });

  test('counts presignatures anew', async () => {
    const { index } = await createSystem('presign');
    const cause = { position };
    const entries = { 10: { type: 'presigned', cause } } as const;
    await index(createLog(600, entries));
    const ended = { ...entries, 590: { type: 'reverted', cause: { position, reverted: 'presigned' } } } as const;
    await index(createLog(595, ended));
    expect(await index(createLog(601, { ...ended, 601: { type: 'cancelled' } }))).toEqual([]);
  });

  test('does not show again what retention has deleted', async () => {
    const { store, index, deliver } = await createSystem();
    const log = createLog(600, { 10: traded, 600: moved });
    await index(log);
    await deliver();
    const before = AT + 1;
    await recordPrunedBefore(store, before);
    const through = (await store.notifications.last()) + 1;
    await store.notifications.append({ feed: 'other', after: null, through: 1, changes: [OTHER] });
    expect(await store.retention.pruneNotifications({ before, through, limit: 100 })).toBeGreaterThan(0);
    await index(log.slice(0, 595));
    expect(await deliver()).toEqual([]);
    expect(await index(log.slice(0, 595))).toEqual([]);
  });
});
