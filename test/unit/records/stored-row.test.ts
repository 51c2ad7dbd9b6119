import { describe, expect, test } from 'vitest';
import type { StoredOrder } from '../../../src/ports/store.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { findDamage, isSoundBody, renderBody } from '../../../src/records/order-json.ts';
import type { AdmittedOrder } from '../../../src/records/wire-order.ts';
import { NEW_ROW } from '../orders/new-row.ts';

const VALID_TO = 1_800_000_000;
const OWNER: Hex = `0x${'c0'.repeat(20)}`;
const UID: Hex = `0x${'d1'.repeat(32)}${OWNER.slice(2)}${VALID_TO.toString(16)}`;
const TOKEN: Hex = `0x${'70'.repeat(20)}`;

const ADMITTED: AdmittedOrder = {
  uid: UID,
  owner: OWNER,
  creationDate: 1_700_000_000_000,
  settlementContract: `0x${'5e'.repeat(20)}`,
  signingScheme: 'eip712',
  signature: `0x${'51'.repeat(65)}`,
  interactions: { pre: [], post: [] },
  validFrom: undefined,
  data: {
    sellToken: TOKEN,
    buyToken: TOKEN,
    receiver: null,
    validTo: VALID_TO,
    sellAmount: 10n,
    buyAmount: 5n,
    appData: `0x${'ad'.repeat(32)}`,
    feeAmount: 0n,
    kind: 'sell',
    partiallyFillable: true,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
  },
};
const BODY = renderBody(ADMITTED);
const QUOTE = { body: '{"gasAmount":"100","gasPrice":"1.5","sellTokenPrice":"0.25"}', metadata: '{}' };

const ROW: StoredOrder = {
  ...NEW_ROW,
  uid: UID,
  body: BODY,
  creationDate: ADMITTED.creationDate,
  validTo: VALID_TO,
};

/** A row with values that a damaged store may return. */
const row = (damage: Readonly<Record<string, unknown>>) => ({ ...ROW, ...damage }) as StoredOrder; // not of its types

describe('stored row', () => {
  test.each<Record<string, unknown>>([
    {},
    { state: 'presignaturePending' },
    { state: 'cancelled', invalidated: true },
    { state: 'fulfilled', executedSellAmount: '10', executedBuyAmount: '123456' },
    { version: 0, creationDate: 0 },
    { executedFeeAmount: '7', executedFee: '8', executedFeeToken: TOKEN },
    { fullAppData: '{}' },
    { placement: '{"onchainUser":"0x"}' },
    { placement: '{}', validTo: VALID_TO - 1 },
    { quote: QUOTE },
    { quote: { body: '{}', metadata: '{"a":1}' } },
  ])('is sound with %j', (values) => {
    expect(findDamage(row(values))).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>]>([
    ['body', { body: BODY.replace('"sell"', '"give"') }],
    ['body', { uid: UID.replace('d1', 'd2') }],
    ['state', { state: 'expired' }],
    ['state', { invalidated: 0 }],
    ['version', { version: 1.5 }],
    ['version', { version: -1 }],
    ['version', { creationDate: -1 }],
    ['version', { creationDate: '0' }],
    ['validTo', { validTo: VALID_TO + 1 }],
    ['validTo', { validTo: -1, placement: '{}' }],
    ['executed amount', { executedSellAmount: '-1' }],
    ['executed amount', { executedSellAmount: '1e3' }],
    ['executed amount', { executedBuyAmount: 0 }],
    ['executed amount', { executedBuyAmount: '' }],
    ['executed fee', { executedFeeAmount: 'x1' }],
    ['executed fee', { executedFee: '1x' }],
    ['executed fee token', { executedFeeToken: `1${TOKEN}` }],
    ['executed fee token', { executedFeeToken: `${TOKEN}0` }],
    ['document', { fullAppData: 5 }],
    ['placement', { placement: '[]' }],
    ['placement', { placement: 'null' }],
    ['placement', { placement: '5' }],
    ['placement', { placement: '{' }],
    ['placement', { placement: '{} ' }],
    ['quote', { quote: { ...QUOTE, body: '{"gasPrice":"-1"}' } }],
    ['quote', { quote: { ...QUOTE, body: '{"feeAmount":"1."}' } }],
    ['quote', { quote: { ...QUOTE, body: '{"gasAmount":"1","feeAmount":"x1"}' } }],
    ['quote', { quote: { ...QUOTE, body: '{"gasAmount":"1x"}' } }],
    ['quote', { quote: { ...QUOTE, body: '[]' } }],
    ['quote', { quote: { ...QUOTE, metadata: 'metadata' } }],
  ])('has damage of the column %s with %j', (column, values) => {
    expect(findDamage(row(values))).toBe(column);
  });

  test('is not compared with the structure again after its checksum', () => {
    const other = BODY.replace('"sell"', '"give"');
    expect(findDamage(row({ body: other }), true)).toBeUndefined();
    expect(findDamage(row({ body: other, uid: UID.replace('d1', 'd2') }), true)).toBe('body');
  });
});

describe('stored body', () => {
  test('is sound as it is rendered, also with interactions and a start', () => {
    const call = { target: TOKEN, value: '0', callData: '0xab' } as const;
    const interactions = { pre: [call, call], post: [call] };
    expect(isSoundBody(BODY, UID)).toBe(true);
    expect(isSoundBody(renderBody({ ...ADMITTED, interactions, validFrom: 5 }), UID)).toBe(true);
  });

  test.each([
    ['another UID', BODY, UID.replace('d1', 'd2')],
    ['another first member', BODY.replace('{"uid":"', '["uid":"'), UID],
    ['another owner', BODY.replace(`"owner":"${OWNER}"`, `"owner":"${TOKEN}"`), UID],
    ['a missing member', BODY.replace('"feeAmount":"0",', ''), UID],
    ['further text', `${BODY} `, UID],
  ])('is damaged with %s', (_, body, uid) => {
    expect(isSoundBody(body, uid)).toBe(false);
  });
});
