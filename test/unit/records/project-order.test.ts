import type { Hex, NewEvent, NewOrder, OrderChainEvent } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { unpackUid } from '../../../src/protocol/hex.ts';
import type { KnownOrder, OrderStateProjection } from '../../../src/records/project-order.ts';
import { computeProgress, projectOrderState } from '../../../src/records/project-order.ts';
import { at, FLOW, invalidation, PLACED, placement, presignature, refund, trade } from '../../conformance/chain.ts';
import { ALICE, BOB, NOW, order, PLACED_AT, USDC, uid, WETH } from '../../conformance/orders.ts';

const VALID_TO = NOW + 600;
const body = (kind: string, sellAmount: string, buyAmount: string) => JSON.stringify({ kind, sellAmount, buyAmount });
const SELL = order(1, { uid: uid(1, ALICE, VALID_TO), body: body('sell', '100', '50'), validTo: VALID_TO });
const BUY = order(2, { uid: uid(2, ALICE, VALID_TO), body: body('buy', '100', '50'), validTo: VALID_TO });

const known = (of: NewOrder, changes: Partial<KnownOrder> = {}): KnownOrder => ({
  uid: of.uid,
  body: of.body,
  signingScheme: of.signingScheme,
  quotaClass: of.quotaClass,
  validTo: of.validTo,
  cancelledOffChain: false,
  placedOnChain: false,
  expiryRecorded: false,
  ...changes,
});
const presigned = (changes: Partial<KnownOrder> = {}) =>
  known(SELL, { signingScheme: 'presign', quotaClass: 'pending', ...changes });

interface Change {
  readonly before?: readonly OrderChainEvent[];
  readonly after?: readonly OrderChainEvent[];
}
const project = (of: KnownOrder | undefined, uidOf: Hex, { before = [], after = [] }: Change): OrderStateProjection =>
  projectOrderState([{ uid: uidOf, order: of, before, after }], PLACED_AT);

/** The type of each entry with its block and the type of a reverted entry. */
const story = ({ events }: { readonly events: readonly NewEvent[] }) =>
  events.map(({ type, cause }) => [type, cause?.position.blockNumber, cause?.reverted].filter(Boolean).join(' '));

describe('progress of an order', () => {
  test('without chain events is that of its submission', () => {
    expect(computeProgress(known(SELL), [])).toEqual({
      state: 'open',
      invalidated: false,
      quotaClass: 'open',
      validTo: VALID_TO,
      expiryRecorded: false,
      executedSellAmount: '0',
      executedBuyAmount: '0',
      executedFeeAmount: '0',
      executedFee: '0',
      executedFeeToken: null,
      placement: null,
      onchainUser: null,
    });
  });

  test('sums trades: signed fees are part of the sold amount and of the fee', () => {
    const events = [
      trade(SELL, 5, { sellAmount: '42', buyAmount: '20', feeAmount: '2', executedFee: null }),
      trade(SELL, 6, { sellAmount: '11', buyAmount: '7', feeAmount: '1', executedFee: '4', sellToken: USDC }),
      trade(SELL, 7, { sellAmount: '5', buyAmount: '1', executedFee: '8', sellToken: WETH }),
    ];
    expect(computeProgress(known(SELL), events)).toMatchObject({
      state: 'open',
      executedSellAmount: '58',
      executedBuyAmount: '28',
      executedFeeAmount: '3',
      executedFee: '15',
      executedFeeToken: USDC, // of the first trade with a known fee
    });
    expect(computeProgress(known(SELL), events.slice(0, 1))).toMatchObject({
      executedFee: '2',
      executedFeeToken: null,
    });
  });

  test.each([
    ['sell', SELL, { sellAmount: '99', buyAmount: '500' }, 'open'],
    ['sell', SELL, { sellAmount: '100', buyAmount: '1' }, 'fulfilled'],
    ['sell', SELL, { sellAmount: '101', buyAmount: '1', feeAmount: '2' }, 'open'],
    ['buy', BUY, { sellAmount: '1000', buyAmount: '49' }, 'open'],
    ['buy', BUY, { sellAmount: '1', buyAmount: '50' }, 'fulfilled'],
  ] as const)('of a %s order is filled by its fixed amount without fees', (_, of, amounts, state) => {
    expect(computeProgress(known(of), [trade(of, 5, amounts)]).state).toBe(state);
  });

  test('of an order of amount 0 or with an unreadable body is never filled', () => {
    const nothing = trade(SELL, 5, { sellAmount: '0', buyAmount: '0' });
    expect(computeProgress(known(SELL, { body: body('sell', '0', '0') }), [nothing]).state).toBe('open');
    expect(computeProgress(known(SELL, { body: '{' }), [trade(SELL, 5, { sellAmount: '1000' })]).state).toBe('open');
  });

  test('of a filled order stays fulfilled after an invalidation, which is recorded', () => {
    const events = [trade(SELL, 5, { sellAmount: '100' }), invalidation(SELL, 6)];
    expect(computeProgress(known(SELL), events)).toMatchObject({ state: 'fulfilled', invalidated: true });
    expect(computeProgress(known(SELL), [invalidation(SELL, 6)])).toMatchObject({ state: 'cancelled' });
    expect(computeProgress(known(SELL, { cancelledOffChain: true }), [])).toMatchObject({
      state: 'cancelled',
      invalidated: true,
    });
  });

  test('of a presigned order follows its last pre-signature', () => {
    const [signed, revoked] = [presignature(SELL, 5, true), presignature(SELL, 6, false)];
    const of = presigned();
    expect(computeProgress(of, [])).toMatchObject({ state: 'presignaturePending', quotaClass: 'pending' });
    const partial = trade(SELL, 6, { sellAmount: '50' });
    expect(computeProgress(of, [partial])).toMatchObject({ state: 'presignaturePending', quotaClass: 'pending' });
    expect(computeProgress(of, [signed])).toMatchObject({ state: 'open', quotaClass: 'open' });
    expect(computeProgress(of, [signed, revoked])).toMatchObject({
      state: 'presignaturePending',
      quotaClass: 'pending',
    });
    // The signature of another scheme does not depend on it.
    expect(computeProgress(known(SELL), [revoked])).toMatchObject({ state: 'open', quotaClass: 'open' });
    expect(computeProgress(known(SELL, { quotaClass: 'pending' }), [signed])).toMatchObject({ quotaClass: 'pending' });
  });

  test('of a placement has its user, its validity and the first refund', () => {
    const [first, second] = [
      placement(5, { userValidTo: NOW + 60 }),
      placement(6, { userValidTo: NOW + 90, sender: ALICE }),
    ];
    const refunds = [refund(PLACED, 7), refund(PLACED, 8)];
    const progress = computeProgress(known(PLACED), [first, second, ...refunds]);
    expect(progress).toMatchObject({ validTo: NOW + 60, onchainUser: BOB });
    expect(JSON.parse(progress.placement ?? '')).toEqual({
      onchainUser: BOB,
      onchainOrderData: { sender: BOB },
      ethflowData: { userValidTo: NOW + 60, refundTxHash: refunds[0]?.transactionHash, isRefunded: true },
    });
    const open = computeProgress(known(PLACED), [placement(5, { placementError: 'QuoteNotFound' })]);
    expect(JSON.parse(open.placement ?? '')).toEqual({
      onchainUser: BOB,
      onchainOrderData: { sender: BOB, placementError: 'QuoteNotFound' },
      ethflowData: { userValidTo: PLACED.validTo, refundTxHash: null, isRefunded: false },
    });
  });

  test('of a placement without a validity of its user ends with the signed one', () => {
    const progress = computeProgress(known(SELL), [placement(5, { uid: SELL.uid, userValidTo: null })]);
    expect(progress.validTo).toBe(VALID_TO);
    expect(JSON.parse(progress.placement ?? '')).toEqual({ onchainUser: BOB, onchainOrderData: { sender: BOB } });
  });

  test('keeps a recorded expiry only of an order that is neither filled nor cancelled and not valid for longer', () => {
    const expired = known(SELL, { expiryRecorded: true });
    const isRecorded = (of: KnownOrder, ...events: OrderChainEvent[]) => computeProgress(of, events).expiryRecorded;
    expect(isRecorded(expired)).toBe(true);
    expect(isRecorded(known(SELL))).toBe(false);
    expect(isRecorded(expired, trade(SELL, 5, { sellAmount: '100' }))).toBe(false);
    expect(isRecorded(expired, invalidation(SELL, 5))).toBe(false);
    expect(isRecorded({ ...expired, validTo: VALID_TO - 1 })).toBe(false);
    expect(isRecorded({ ...expired, validTo: VALID_TO + 1 })).toBe(true);
  });
});

describe('projection of a stored order', () => {
  test('adds one entry per trade, with its number in the transaction and whether it fills the order', () => {
    const sameTransaction = at(5).transactionHash;
    const after = [
      trade(SELL, 5, { sellAmount: '41', feeAmount: '1' }),
      trade(SELL, 5, { logIndex: 1, sellAmount: '60', buyAmount: '30' }),
      trade(SELL, 6, { sellAmount: '1', buyAmount: '1', timestamp: null }),
    ];
    const { rows, events } = project(known(SELL), SELL.uid, { after });
    expect(rows).toEqual([{ type: 'update', uid: SELL.uid, progress: computeProgress(known(SELL), after) }]);
    expect(events).toMatchObject([
      {
        type: 'traded',
        uid: SELL.uid,
        owner: ALICE,
        at: (NOW + 5) * 1000,
        cause: {
          position: { blockNumber: 5, blockHash: at(5).blockHash, logIndex: 0, transactionHash: sameTransaction },
          trade: { ordinal: 1, completes: false, sellAmount: '41', buyAmount: '20', feeAmount: '1' },
        },
      },
      { type: 'traded', cause: { trade: { ordinal: 2, completes: true, sellAmount: '60', buyAmount: '30' } } },
      { type: 'traded', at: PLACED_AT, cause: { trade: { ordinal: 1, completes: false } } },
    ]);
  });

  test('of a buy order is completed by the bought amount', () => {
    const after = [trade(BUY, 5, { buyAmount: '30' }), trade(BUY, 6, { buyAmount: '20' })];
    const { events } = project(known(BUY), BUY.uid, { after });
    expect(events.map(({ cause }) => cause?.trade?.completes)).toEqual([false, true]);
  });

  test('adds one cancellation, and none to a filled or cancelled order', () => {
    const [first, second] = [invalidation(SELL, 5), invalidation(SELL, 6)];
    expect(story(project(known(SELL), SELL.uid, { after: [first, second] }))).toEqual(['cancelled 5']);
    expect(story(project(known(SELL, { cancelledOffChain: true }), SELL.uid, { after: [first] }))).toEqual([]);
    const filled = [trade(SELL, 4, { sellAmount: '100' }), first];
    expect(story(project(known(SELL), SELL.uid, { after: filled }))).toEqual(['traded 4']);
    expect(project(known(SELL), SELL.uid, { after: [first] }).events[0]?.cause).toEqual({
      position: {
        blockNumber: 5,
        blockHash: at(5).blockHash,
        logIndex: 0,
        transactionHash: at(5).transactionHash,
      },
    });
  });

  test('adds an entry for each change of the pre-signature, for presigned orders only', () => {
    const after = [
      presignature(SELL, 4, false),
      presignature(SELL, 5, true),
      presignature(SELL, 6, true),
      presignature(SELL, 7, false),
    ];
    expect(story(project(presigned(), SELL.uid, { after }))).toEqual(['presigned 5', 'presignatureRevoked 7']);
    expect(story(project(known(SELL), SELL.uid, { after }))).toEqual([]);
  });

  test('adds one placement and one refund', () => {
    const after = [placement(5), placement(6), refund(PLACED, 7), refund(PLACED, 8)];
    expect(story(project(known(PLACED), PLACED.uid, { after }))).toEqual(['placed 5', 'refunded 7']);
  });

  test('is written although no entry is added, if a column changes', () => {
    const filled = trade(SELL, 4, { sellAmount: '100' });
    const { rows, events } = project(known(SELL), SELL.uid, {
      before: [filled],
      after: [filled, invalidation(SELL, 5)],
    });
    expect(rows).toMatchObject([{ type: 'update', progress: { state: 'fulfilled', invalidated: true } }]);
    expect(events).toEqual([]);
  });

  test('is not written if nothing changes', () => {
    const [filled, ignored] = [trade(SELL, 4, { sellAmount: '100' }), presignature(SELL, 5, true)];
    expect(project(known(SELL), SELL.uid, { before: [filled], after: [filled, ignored] })).toEqual({
      rows: [],
      events: [],
    });
    expect(project(known(SELL), SELL.uid, {})).toEqual({ rows: [], events: [] });
  });

  test('reverts the entries that are no longer true, newest first, and adds the others in order', () => {
    const before = [trade(SELL, 4), trade(SELL, 5), trade(SELL, 6)];
    const after = [trade(SELL, 4), trade(SELL, 5, { sellAmount: '1' }), trade(SELL, 7)];
    const projection = project(known(SELL), SELL.uid, { before, after });
    expect(story(projection)).toEqual(['reverted 6 traded', 'reverted 5 traded', 'traded 5', 'traded 7']);
    expect(projection.events[0]).toEqual({
      type: 'reverted',
      uid: SELL.uid,
      owner: ALICE,
      at: PLACED_AT,
      cause: {
        position: { blockNumber: 6, blockHash: at(6).blockHash, logIndex: 0, transactionHash: at(6).transactionHash },
        trade: { ordinal: 1, completes: true, sellAmount: '40', buyAmount: '20', feeAmount: '0' },
        reverted: 'traded',
      },
    });
    const [row] = projection.rows;
    expect(row?.type === 'update' && row.progress.executedSellAmount).toBe('81');
  });

  test('of a placement names the account that is not the owner, also after it was rolled back', () => {
    const stored = known(PLACED, { placedOnChain: true });
    const placed = projectOrderState([{ uid: PLACED.uid, order: undefined, before: [], after: [placement(5)] }], 0);
    expect(placed.events).toMatchObject([{ type: 'created', cause: { onchainUser: BOB } }]);
    const removed = projectOrderState([{ uid: PLACED.uid, order: stored, before: [placement(5)], after: [] }], 0);
    expect(removed.events).toMatchObject([{ type: 'reverted', cause: { onchainUser: BOB, reverted: 'created' } }]);
    const own = [placement(5, { sender: unpackUid(PLACED.uid).owner })];
    const [created] = projectOrderState([{ uid: PLACED.uid, order: undefined, before: [], after: own }], 0).events;
    expect(created?.cause).not.toHaveProperty('onchainUser');
  });

  test('orders the entries of several orders by their position', () => {
    const { events } = projectOrderState(
      [
        { uid: SELL.uid, order: known(SELL), before: [trade(SELL, 1), trade(SELL, 9)], after: [trade(SELL, 5)] },
        { uid: BUY.uid, order: known(BUY), before: [trade(BUY, 2)], after: [trade(BUY, 3), trade(BUY, 7)] },
      ],
      PLACED_AT,
    );
    expect(story({ events })).toEqual([
      'reverted 9 traded',
      'reverted 2 traded',
      'reverted 1 traded',
      'traded 3',
      'traded 5',
      'traded 7',
    ]);
  });
});

describe('projection of an expiry', () => {
  const expired = known(SELL, { expiryRecorded: true });

  test('is reinstated by a late fill, and recorded again when it is rolled back', () => {
    const fill = [trade(SELL, 5, { sellAmount: '100' })];
    const reinstated = project(expired, SELL.uid, { after: fill });
    expect(story(reinstated)).toEqual(['reinstated', 'traded 5']);
    expect(reinstated.events[0]).toEqual({ type: 'reinstated', uid: SELL.uid, owner: ALICE, at: PLACED_AT });
  });

  test('stays recorded after a partial fill', () => {
    const projection = project(expired, SELL.uid, { after: [trade(SELL, 5)] });
    expect(story(projection)).toEqual(['traded 5']);
    expect(projection.rows).toMatchObject([{ progress: { expiryRecorded: true } }]);
  });

  test('of a presigned order is emitted once it was signed', () => {
    const of = presigned({ expiryRecorded: true });
    const [signed, revoked] = [presignature(SELL, 5, true), presignature(SELL, 6, false)];
    const added = project(of, SELL.uid, { after: [signed] });
    expect(story(added)).toEqual(['presigned 5', 'expired']);
    expect(added.events[1]).toEqual({ type: 'expired', uid: SELL.uid, owner: ALICE, at: (VALID_TO + 1) * 1000 });
    expect(story(project(of, SELL.uid, { after: [presignature(SELL, 5, false)] }))).toEqual([]);
    expect(story(project(of, SELL.uid, { after: [invalidation(SELL, 5)] }))).toEqual(['cancelled 5']);
    // A revoked pre-signature was valid before.
    expect(story(project(of, SELL.uid, { before: [signed], after: [signed, revoked] }))).toEqual([
      'presignatureRevoked 6',
    ]);
    expect(story(project(of, SELL.uid, { before: [signed], after: [] }))).toEqual([
      'reinstated',
      'reverted 5 presigned',
    ]);
  });
});

describe('projection of an order from the chain', () => {
  test('is inserted with a placement', () => {
    const after = [placement(5), refund(PLACED, 6)];
    const { rows, events } = project(undefined, PLACED.uid, { after });
    expect(rows).toEqual([{ type: 'insert', order: PLACED, progress: computeProgress(known(PLACED), after) }]);
    expect(story({ events })).toEqual(['created 5', 'refunded 6']);
    expect(events[0]?.owner).toBe(FLOW);
  });

  test('is inserted with the first trade that has the order, and has one creation', () => {
    const withOrder = { order: SELL };
    const after = [trade(SELL, 4), trade(SELL, 5, withOrder), trade(SELL, 6, withOrder)];
    const { rows, events } = project(undefined, SELL.uid, { after });
    expect(rows).toMatchObject([{ type: 'insert', order: SELL, progress: { executedSellAmount: '120' } }]);
    expect(story({ events })).toEqual(['created 5', 'traded 4', 'traded 5', 'traded 6']);
    const removed = project(known(SELL, { placedOnChain: true }), SELL.uid, {
      before: after,
      after: after.slice(0, 1),
    });
    expect(removed.rows).toEqual([{ type: 'delete', uid: SELL.uid }]);
    expect(story(removed)).toEqual([
      'reverted 6 traded',
      'reverted 5 traded',
      'reverted 4 traded',
      'reverted 5 created',
    ]);
  });

  test('keeps the order of its entries among those of other orders', () => {
    const change = [trade(SELL, 4), trade(SELL, 7, { order: SELL })];
    const affected = [
      { uid: BUY.uid, order: known(BUY), before: [], after: [trade(BUY, 3), trade(BUY, 6)] },
      { uid: SELL.uid, order: undefined, before: change.slice(0, 1), after: change },
    ];
    expect(story(projectOrderState(affected, PLACED_AT))).toEqual([
      'traded 3',
      'created 7',
      'traded 4',
      'traded 6',
      'traded 7',
    ]);
  });

  test('is created again, with all entries after it, by a placement that is read after a trade', () => {
    const of = known(PLACED, { placedOnChain: true });
    const before = [trade(PLACED, 6, { order: PLACED })];
    const { rows, events } = project(of, PLACED.uid, { before, after: [placement(5), ...before] });
    expect(rows).toMatchObject([{ type: 'update', progress: { executedSellAmount: '40' } }]);
    expect(story({ events })).toEqual(['reverted 6 traded', 'reverted 6 created', 'created 5', 'traded 6']);
  });

  test('waits for its order without one', () => {
    expect(project(undefined, SELL.uid, { after: [trade(SELL, 5), invalidation(SELL, 6)] })).toEqual({
      rows: [],
      events: [],
    });
  });

  test('of an order that was submitted has no creation', () => {
    const projection = project(known(SELL), SELL.uid, { after: [trade(SELL, 5, { order: SELL })] });
    expect(story(projection)).toEqual(['traded 5']);
    expect(projection.rows).toMatchObject([{ type: 'update' }]);
  });

  test.each([
    ['its known chain events are read again', []],
    ['it is refunded', [refund(PLACED, 7)]],
    ['it is invalidated', [invalidation(PLACED, 7)]],
  ])('stays deleted by retention when %s', (_, late) => {
    const before = [placement(5), trade(PLACED, 6)];
    const after = [...before, ...late];
    const again = projectOrderState([{ uid: PLACED.uid, order: undefined, before, after }], 0);
    expect(again).toEqual({ rows: [], events: [] });
  });

  test('is inserted if it was deleted with its placement', () => {
    const after = [placement(5), trade(PLACED, 6)];
    const { rows } = projectOrderState([{ uid: PLACED.uid, order: undefined, before: [trade(PLACED, 6)], after }], 0);
    expect(rows.map(({ type }) => type)).toEqual(['insert']);
  });

  test('is deleted with its placement, and all of its entries are reverted', () => {
    const before = [placement(5), trade(PLACED, 6)];
    const of = known(PLACED, { placedOnChain: true });
    const { rows, events } = project(of, PLACED.uid, { before, after: [] });
    expect(rows).toEqual([{ type: 'delete', uid: PLACED.uid }]);
    expect(story({ events })).toEqual(['reverted 6 traded', 'reverted 5 created']);
    const left = project(of, PLACED.uid, { before, after: [trade(PLACED, 6)] });
    expect(left.rows).toEqual([{ type: 'delete', uid: PLACED.uid }]);
    expect(story(left)).toEqual(['reverted 6 traded', 'reverted 5 created']);
  });

  test('that was expired is reinstated when it is deleted', () => {
    const of = known(PLACED, { placedOnChain: true, expiryRecorded: true });
    expect(story(project(of, PLACED.uid, { before: [placement(5)] }))).toEqual(['reinstated', 'reverted 5 created']);
  });

  test('keeps its row while its placement is stored', () => {
    const of = known(PLACED, { placedOnChain: true });
    const { rows, events } = project(of, PLACED.uid, {
      before: [placement(5)],
      after: [placement(5), refund(PLACED, 6)],
    });
    expect(rows).toMatchObject([{ type: 'update' }]);
    expect(story({ events })).toEqual(['refunded 6']);
  });
});
