import { describe, expect, test } from 'vitest';
import { parseListQuery } from '../../../src/orders/list-query.ts';
import { toOrderPage } from '../../../src/orders/orders.ts';
import { formatCursor, type ListQuery } from '../../../src/records/results.ts';
import { requireUid } from '../../../src/validation/options.ts';

const ADDRESS = `0x${'Ab'.repeat(20)}`;
const UID = `0x${'Cd'.repeat(56)}`;
const uid = UID.toLowerCase() as `0x${string}`;

describe('listing parameters have defaults and accept either case', () => {
  test('without values', () => expect(parseListQuery({})).toStrictEqual({ offset: 0, limit: 10 }));

  test('with all values', () => {
    const filters = { owner: ADDRESS, sellToken: ADDRESS, buyToken: ADDRESS };
    const query: ListQuery = { ...filters, status: 'open', cursor: `17-${UID}`, offset: 1_000_000, limit: 1000 };
    const address = ADDRESS.toLowerCase();
    expect(parseListQuery(query)).toStrictEqual({
      owner: address,
      sellToken: address,
      buyToken: address,
      status: 'open',
      after: { creationDate: 17, uid },
      offset: 1_000_000,
      limit: 1000,
    });
  });
});

describe('listing parameter is rejected by name with its valid range', () => {
  const WHOLE = (from: number, to: number) => `must be an integer from ${from} to ${to}`;
  test.each<[keyof ListQuery, unknown, string]>([
    ['owner', '0x12', 'must be 0x and 40 hex digits'],
    ['sellToken', ADDRESS.slice(2), 'must be 0x and 40 hex digits'],
    ['buyToken', UID, 'must be 0x and 40 hex digits'],
    ['status', 'opne', 'unknown status "opne", did you mean "open"?'],
    ['state' as 'status', 'open', 'unknown filter "state", did you mean "status"?'],
    ['limit', 0, WHOLE(1, 1000)],
    ['limit', 1001, WHOLE(1, 1000)],
    ['limit', 1.5, WHOLE(1, 1000)],
    ['offset', -1, WHOLE(0, 1_000_000)],
    ['offset', 1_000_001, WHOLE(0, 1_000_000)],
    ...[
      '',
      '17',
      `-${UID}`,
      `17-${UID.slice(0, -1)}`,
      `17-${UID}0`,
      `x17-${UID}`,
      ` 17-${UID}`,
      `17-${UID} `,
      `1.7-${UID}`,
      `17-${UID.slice(2)}`,
      `17 ${UID}`,
      `${'1'.repeat(16)}-${UID}`,
      `-17-${UID}`,
    ].map((cursor): ['cursor', string, string] => ['cursor', cursor, 'must be the `next` value of a page']),
  ])('for %s of %j', (name, value, reason) => {
    let rejection: unknown;
    try {
      parseListQuery({ [name]: value });
    } catch (error) {
      rejection = error;
    }
    expect(rejection).toMatchObject({
      code: 'InvalidParameter',
      message: expect.stringContaining(reason),
      data: { parameter: name },
    });
    expect(String((rejection as Error).message).startsWith(`${name}: `)).toBe(true);
  });

  test('for a UID', () => {
    expect(requireUid(UID)).toBe(uid);
    expect(() => requireUid('0x12')).toThrow('uid: must be 0x and 112 hex digits');
  });
});

test('listing cursor of a page starts the next page, and the last page has none', () => {
  const last = { creationDate: 1_700_000_000_007, uid };
  const page = toOrderPage({ orders: [{ uid, json: '{"uid":"x"}', etag: '"1"' }], next: last });
  expect(page).toStrictEqual({ orders: [{ uid: 'x' }], next: `1700000000007-${uid}` });
  expect(parseListQuery({ cursor: formatCursor(last) }).after).toEqual(last);
  expect(toOrderPage({ orders: [] })).toStrictEqual({ orders: [] });
});
