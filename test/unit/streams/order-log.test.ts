import type { Hex, StoredEvent } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { EventLog } from '../../../src/records/event-log.ts';
import type { RenderedResult } from '../../../src/records/order-json.ts';
import { ALL_ORDERS, orderLog, toOwnerKey, toUidKey } from '../../../src/streams/order-log.ts';

const address = (digit: string): Hex => `0x${digit.repeat(40)}`;
const [ALICE, BOB, CONTRACT] = [address('a'), address('b'), address('c')];
const uid = (n: number): Hex => `0x${n.toString(16).padStart(112, '0')}`;

const entry = (id: number, of: number, owner = ALICE): StoredEvent => ({
  id,
  type: 'created',
  uid: uid(of),
  owner,
  at: 0,
});
const json = (of: number, members = '') => `{"uid":"${uid(of)}"${members}}`;
const item = (id: number, of: number, members?: string) => ({
  type: 'item',
  id,
  event: 'order',
  data: json(of, members),
});

const POSITION = { blockNumber: 1, blockHash: uid(1), logIndex: 0, transactionHash: uid(2) };

interface Fixture {
  readonly entries: readonly StoredEvent[];
  /** Further members of an order's JSON. */
  readonly members?: Readonly<Record<Hex, string>>;
  readonly deleted?: readonly Hex[];
  readonly damaged?: readonly Hex[];
  /** Orders that Bob has placed on chain. */
  readonly placed?: readonly Hex[];
}

/** The stream log over given entries, and the reads of orders that it makes. */
function fixture({ entries, members = {}, deleted = [], damaged = [], placed = [] }: Fixture) {
  const reads: Hex[][] = [];
  const log: EventLog = {
    last: async () => entries.at(-1)?.id ?? 0,
    prunedThrough: async () => 0,
    after: async (id, limit) => entries.filter((each) => each.id > id).slice(0, limit),
    watch: () => () => {},
  };
  const stream = orderLog(log, {
    async read(uids) {
      reads.push([...uids]);
      return uids.flatMap((each): RenderedResult[] => {
        if (deleted.includes(each)) return [];
        if (damaged.includes(each)) return [{ error: { uid: each } }] as unknown as RenderedResult[];
        const text = `{"uid":"${each}"${members[each] ?? ''}}`;
        return [{ order: { uid: each, json: text } }] as unknown as RenderedResult[]; // the members that are used
      });
    },
    filterPlaced: async (account, uids) => (account === BOB ? uids.filter((each) => placed.includes(each)) : []),
  });
  return { stream, reads };
}

describe('order log for all subscribers', () => {
  test('reads each order once and returns its keys with each entry', async () => {
    const { stream, reads } = fixture({ entries: [entry(1, 7), entry(2, 8, BOB), entry(3, 7)] });
    expect(await stream.follow(0, new Set([ALL_ORDERS]))).toEqual({
      items: [item(1, 7), item(2, 8), item(3, 7)],
      keysOf: [
        [ALL_ORDERS, toUidKey(uid(7)), toOwnerKey(ALICE)],
        [ALL_ORDERS, toUidKey(uid(8)), toOwnerKey(BOB)],
        [ALL_ORDERS, toUidKey(uid(7)), toOwnerKey(ALICE)],
      ],
      through: 3,
      gapEnd: undefined,
    });
    expect(reads).toEqual([[uid(7), uid(8)]]);
  });

  test('reads only the orders of its subscribers if all of them follow single orders', async () => {
    const { stream, reads } = fixture({ entries: [entry(1, 7), entry(2, 8), entry(3, 9)] });
    const { items, through } = await stream.follow(0, new Set([toUidKey(uid(8)), toUidKey(uid(5))]));
    expect(items).toEqual([item(2, 8)]);
    expect(through).toBe(3);
    expect(reads).toEqual([[uid(8)]]);
  });

  test('reads every order if one of its subscribers follows an owner', async () => {
    const { stream, reads } = fixture({ entries: [entry(1, 7), entry(2, 8)] });
    const { items } = await stream.follow(0, new Set([toUidKey(uid(8)), toOwnerKey(BOB)]));
    expect(items).toEqual([item(1, 7), item(2, 8)]);
    expect(reads).toEqual([[uid(7), uid(8)]]);
  });

  test('reads nothing without new entries', async () => {
    const { stream, reads } = fixture({ entries: [entry(4, 7)] });
    expect(await stream.follow(4, new Set([ALL_ORDERS]))).toMatchObject({ items: [], keysOf: [], through: 4 });
    expect(await stream.resume(4, ALL_ORDERS, 4)).toEqual({ items: [], through: 4 });
    expect(reads).toEqual([]);
  });

  test('has the key of the account that has placed an order on chain, beside its owner', async () => {
    const { stream } = fixture({
      entries: [entry(1, 7, CONTRACT), entry(2, 8, BOB)],
      members: { [uid(7)]: `,"onchainUser":"${BOB}"`, [uid(8)]: `,"onchainUser":"${BOB}"` },
    });
    const { keysOf } = await stream.follow(0, new Set([ALL_ORDERS]));
    expect(keysOf).toEqual([
      [ALL_ORDERS, toUidKey(uid(7)), toOwnerKey(CONTRACT), toOwnerKey(BOB)],
      [ALL_ORDERS, toUidKey(uid(8)), toOwnerKey(BOB)],
    ]);
  });

  test('withdraws a placement that was rolled back for the account that had placed it', async () => {
    const cause = { position: POSITION, onchainUser: BOB, reverted: 'created' } as const;
    const reverted: StoredEvent = { ...entry(3, 7, CONTRACT), type: 'reverted', cause };
    const { stream } = fixture({ entries: [entry(2, 8, CONTRACT), reverted], deleted: [uid(7)] });
    const withdrawn = { type: 'item', id: 3, event: 'withdrawn', data: JSON.stringify({ id: uid(7) }) };
    const { items, keysOf } = await stream.follow(0, new Set([toOwnerKey(BOB)]));
    expect(items[1]).toEqual(withdrawn);
    expect(keysOf[1]).toContain(toOwnerKey(BOB));
    expect(await stream.resume(0, toOwnerKey(BOB), 3)).toEqual({ items: [withdrawn], through: 3 });
  });

  test('withdraws a deleted order, and omits one that cannot be read', async () => {
    const { stream } = fixture({
      entries: [entry(1, 7), entry(2, 8), entry(3, 9)],
      deleted: [uid(7)],
      damaged: [uid(8)],
    });
    const { items, keysOf, through } = await stream.follow(0, new Set([ALL_ORDERS]));
    expect(items).toEqual([
      { type: 'item', id: 1, event: 'withdrawn', data: JSON.stringify({ id: uid(7) }) },
      item(3, 9),
    ]);
    expect(keysOf).toEqual([
      [ALL_ORDERS, toUidKey(uid(7)), toOwnerKey(ALICE)],
      [ALL_ORDERS, toUidKey(uid(9)), toOwnerKey(ALICE)],
    ]);
    expect(through).toBe(3);
  });

  test('reads 128 entries per page', async () => {
    const { stream, reads } = fixture({ entries: Array.from({ length: 129 }, (_, i) => entry(i + 1, i)) });
    const page = await stream.follow(0, new Set([ALL_ORDERS]));
    expect(page.through).toBe(128);
    expect(page.items).toHaveLength(128);
    expect((await stream.resume(0, ALL_ORDERS, 129)).through).toBe(128);
    expect((await stream.resume(128, ALL_ORDERS, 129)).through).toBe(129);
    expect(reads.map((each) => each.length)).toEqual([128, 128, 1]);
  });
});

describe('order log for one subscriber that resumes', () => {
  const entries = [entry(1, 7), entry(2, 8, BOB), entry(3, 9, CONTRACT), entry(4, 6, CONTRACT)];
  const members = { [uid(9)]: `,"onchainUser":"${BOB}"` };
  const placed = [uid(9)];

  test.each([
    [ALL_ORDERS, [1, 2, 3, 4], [7, 8, 9, 6]],
    [toUidKey(uid(8)), [2], [8]],
    [toUidKey(uid(5)), [], []],
    [toOwnerKey(ALICE), [1], [7]],
    [toOwnerKey(BOB), [2, 3], [8, 9]],
  ])('by the key %s reads its orders only', async (key, ids, orders) => {
    const { stream, reads } = fixture({ entries, members, placed });
    const { items, through } = await stream.resume(0, key, 4);
    expect(items.map(({ id }) => id)).toEqual(ids);
    expect(through).toBe(4);
    expect(reads).toEqual(orders.length === 0 ? [] : [orders.map(uid)]);
  });

  test('omits an order that was deleted after it was selected, since its account is unknown', async () => {
    const { stream } = fixture({ entries, members, placed, deleted: [uid(9)] });
    const { items } = await stream.resume(0, toOwnerKey(BOB), 4);
    expect(items.map(({ id }) => id)).toEqual([2]);
  });

  test('omits orders that cannot be read', async () => {
    const { stream } = fixture({ entries, damaged: [uid(7)] });
    expect(await stream.resume(0, toOwnerKey(ALICE), 4)).toEqual({ items: [], through: 4 });
  });
});
