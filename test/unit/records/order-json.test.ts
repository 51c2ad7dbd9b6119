import type { StoredOrder } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { Address } from '../../../src/protocol/hex.ts';
import { formatIsoDate, prepareOrder, renderBody, renderPrepared } from '../../../src/records/order-json.ts';
import type { AdmittedOrder } from '../../../src/records/wire-order.ts';
import { NEW_ROW } from '../orders/new-row.ts';

const NOW = 1_700_000_000;
const OWNER: Address = `0x${'a1'.repeat(20)}`;
const UID = `0x${'0e'.repeat(32)}${OWNER.slice(2)}${(NOW + 600).toString(16)}` as const;
const WETH: Address = `0x${'e1'.repeat(20)}`;
const COW: Address = `0x${'c0'.repeat(20)}`;

const ADMITTED: AdmittedOrder = {
  uid: UID,
  owner: OWNER,
  signingScheme: 'eip712',
  signature: '0x12',
  creationDate: NOW * 1000 + 7,
  settlementContract: COW,
  interactions: { pre: [], post: [] },
  validFrom: undefined,
  data: {
    sellToken: WETH,
    buyToken: COW,
    receiver: null,
    sellAmount: 10n ** 30n,
    buyAmount: 5n,
    validTo: NOW + 600,
    appData: `0x${'ad'.repeat(32)}`,
    feeAmount: 0n,
    kind: 'sell',
    partiallyFillable: true,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'internal',
  },
};

const ROW: StoredOrder = {
  ...NEW_ROW,
  uid: UID,
  body: renderBody(ADMITTED),
  version: 3,
  creationDate: NOW * 1000,
  validTo: NOW + 600,
  fullAppData: '{"a":"é\\""}',
};

const rendered = (change: Partial<StoredOrder>, now = NOW) => renderPrepared(prepareOrder({ ...ROW, ...change }), now);
const read = (change: Partial<StoredOrder>, now?: number) => JSON.parse(rendered(change, now).json);

describe('constant members of an order', () => {
  test('are decimal text, ISO dates with milliseconds, and null', () => {
    expect(read({})).toMatchObject({
      uid: UID,
      sellAmount: `1${'0'.repeat(30)}`,
      buyAmount: '5',
      feeAmount: '0',
      receiver: null,
      creationDate: '2023-11-14T22:13:20.007Z',
      class: 'limit',
      isLiquidityOrder: false,
      availableBalance: null,
      partiallyFillable: true,
      buyTokenBalance: 'internal',
      settlementContract: COW,
    });
    expect(formatIsoDate(0)).toBe('1970-01-01T00:00:00.000Z');
  });

  test('include validFrom if it was given, also if it is 0', () => {
    expect('validFrom' in read({})).toBe(false);
    for (const validFrom of [0, 17]) {
      expect(read({ body: renderBody({ ...ADMITTED, validFrom }) }).validFrom).toBe(validFrom);
    }
  });
});

describe('variable members of an order', () => {
  test('report fees in the token that was charged, otherwise in the sell token', () => {
    expect(read({}).executedFeeToken).toBe(WETH);
    expect(read({ executedFeeToken: COW, executedFee: '9' })).toMatchObject({
      executedFeeToken: COW,
      executedFee: '9',
    });
  });

  test.each([
    ['0', '500', '500'],
    ['20', '500', '480'],
    ['500', '500', '0'],
  ])('report with a signed fee of %s for %s sold %s before fees', (executedFeeAmount, executedSellAmount, before) => {
    expect(read({ executedFeeAmount, executedSellAmount })).toMatchObject({
      executedFeeAmount,
      executedSellAmount,
      executedSellAmountBeforeFees: before,
    });
  });

  test('report the document as it was hashed, or null', () => {
    expect(read({}).fullAppData).toBe('{"a":"é\\""}');
    expect(read({ fullAppData: null }).fullAppData).toBeNull();
    expect(read({ fullAppData: '' }).fullAppData).toBe('');
  });

  test('include the members of a placement on chain', () => {
    const placement = '{"onchainUser":"0x12","onchainOrderData":{"sender":"0x12"}}';
    expect(read({ placement })).toMatchObject({
      onchainUser: '0x12',
      onchainOrderData: { sender: '0x12' },
      status: 'open',
    });
    expect('onchainUser' in read({})).toBe(false);
  });
});

describe('order entity tag', () => {
  test('depends on creation date, version, current status and whether the document is known', () => {
    const creation = NOW * 1000;
    expect(rendered({}).etag).toBe(`"${creation}-3-open"`);
    expect(rendered({}, NOW + 601).etag).toBe(`"${creation}-3-expired"`);
    expect(rendered({ version: 4, state: 'cancelled' }).etag).toBe(`"${creation}-4-cancelled"`);
    expect(rendered({ fullAppData: null }).etag).toBe(`"${creation}-3-open-hash"`);
    expect(rendered({ creationDate: NOW * 1000 + 1 }).etag).not.toBe(rendered({}).etag);
  });
});

describe('quote of an order is shown when it can no longer be filled', () => {
  const quote = { body: '{"solver":"s"}', metadata: '{"plan":[1]}' };

  test.each<[StoredOrder['state'], number, boolean]>([
    ['open', NOW, false],
    ['open', NOW + 600, false],
    ['presignaturePending', NOW, false],
    ['open', NOW + 601, true],
    ['presignaturePending', NOW + 601, true],
    ['fulfilled', NOW, true],
    ['cancelled', NOW, true],
  ])('%s at %i', (state, now, shown) => {
    expect(read({ state, quote }, now).quote).toEqual(
      shown ? { solver: 's', metadata: { plan: [1] } } : { solver: 's' },
    );
    expect('quote' in read({ state }, now)).toBe(false);
  });
});

test.each([
  ['truncated', ROW.body.slice(0, -1)],
  ['of another order', ROW.body.replace(UID, `0x${'0f'.repeat(56)}`)],
  ['of another order and truncated', ROW.body.replace(UID, `0x${'0f'.repeat(56)}`).slice(0, -1)],
  ['empty', ''],
])('row with a body that is %s is a failure that names the order', (_, body) => {
  expect(() => prepareOrder({ ...ROW, body })).toThrow(`the stored row of order ${UID} is damaged`);
});
