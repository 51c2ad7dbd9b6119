import type { Hex, OrderBook } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { describe, expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import { blockOf, eventsIn, placementOf } from '../../support/chain-events.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import { accountFixture } from '../accounts/account-api-fixture.ts';
import { admissionFixture, alice, orderOf } from '../orders/admission-fixture.ts';

const NATIVE: Hex = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Methods that take a list, and a call of each with a value of another type. */
const LISTS: Readonly<Record<string, (book: OrderBook, value: never) => Promise<unknown>>> = {
  'orders.submitMany': ({ orders }, value) => orders.submitMany(value),
  'orders.getMany': ({ orders }, value) => orders.getMany(value),
  'orders.rendered.getMany': ({ orders }, value) => orders.rendered.getMany(value),
  'orders.rendered.getManyBytes': ({ orders }, value) => orders.rendered.getManyBytes(value),
  'balances.get': ({ balances }, value) => balances.get(alice, value),
  'balances.funds': ({ balances }, value) => balances.funds(value),
  'balances.tokens': ({ balances }, value) => balances.tokens(value),
};

/** Methods that take filters. */
const FILTERS: Readonly<Record<string, (book: OrderBook, value: never) => Promise<unknown>>> = {
  'orders.list': ({ orders }, value) => orders.list(value),
  'orders.rendered.listBytes': ({ orders }, value) => orders.rendered.listBytes(value),
  'orders.stream': ({ orders }, value) => orders.stream(value),
  'trades.list': ({ trades }, value) => trades.list(value),
  'trades.page': ({ trades }, value) => trades.page(value),
};

describe('a JavaScript caller', () => {
  test.each(Object.entries(LISTS))('%s rejects a value that is not a list with InvalidParameter', async (_, call) => {
    await using fixture = await admissionFixture({ chain: scriptedChain({ balanceAndAllowance: FUNDED }) });
    for (const value of [null, 5, 'x', {}, new Set(['x'])]) {
      const error = await call(fixture.book, value as never).then(String, (reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'InvalidParameter', message: expect.stringMatching(/must be a list, got /) });
    }
  });

  test.each(Object.entries(FILTERS))('%s rejects filters that are no object with InvalidParameter', async (_, call) => {
    await using fixture = await admissionFixture();
    for (const value of [null, 5, 'x']) {
      const error = await call(fixture.book, value as never).then(String, (reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'InvalidParameter',
        message: expect.stringMatching(/^filter: must be an object, got /),
      });
    }
  });

  test.each<[string, (book: OrderBook, options: never) => Promise<unknown>, object]>([
    ['orders.submit', ({ orders }, options) => orders.submit({} as never, options), { transacton: 1 }],
    ['orders.submit', ({ orders }, options) => orders.submitMany([], options), { acceptExisitng: true }],
    ['chain.rollback', ({ chain }, options) => chain.rollback(1, options), { afer: null }],
    ['chain.apply', ({ chain }, options) => chain.apply(options), { events: [], afer: null }],
    ['appData.put', ({ appData }, options) => appData.put('{}', options), { hsah: '0x12' }],
  ])('of %s receives the name of an unknown option', async (name, call, options) => {
    await using fixture = await admissionFixture();
    await expect(call(fixture.book, options as never)).rejects.toThrow(
      new RegExp(`^${name}: unknown option "\\w+", did you mean "\\w+"\\?$`),
    );
    await expect(call(fixture.book, null as never)).rejects.toThrow(`${name}: options must be an object`);
  });

  test('of chain.apply receives the name of a value that is not in lower case', async () => {
    await using fixture = await admissionFixture();
    const through = blockOf(5);
    const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}` as Hex;
    const [event] = eventsIn(through, [placementOf({ sellToken: WETH.toLowerCase() as Hex, buyToken: NATIVE })]);
    const invalidation = { ...event, event: 'OrderInvalidation', orderUid: `0x${'ab'.repeat(56)}` } as const;
    const batches: [string, object][] = [
      ['events[0].address', { events: [{ ...invalidation, address: upper(COW) }] }],
      ['events[0].orderUid', { events: [{ ...invalidation, orderUid: upper(invalidation.orderUid) }] }],
      ['events[0].order.sellToken', { events: [{ ...event, order: { sellToken: WETH } }] }],
      ['through.hash', { events: [], through: { number: 5, hash: upper(through.hash) } }],
      ['blocks[0].hash', { events: [], blocks: [{ number: 4, hash: upper(blockOf(4).hash) }] }],
      ['the hash of settleCalls', { events: [], settleCalls: new Map([[upper(through.hash), []]]) }],
    ];
    for (const [path, batch] of batches) {
      await expect(fixture.book.chain.apply({ through, ...batch } as never)).rejects.toThrow(
        `chain.apply: ${path} must be hex in lower case, got "0x`,
      );
    }
    expect((await fixture.book.chain.progress()).indexedBlock).toBeNull();
  });

  test('of chain.apply receives the name of a member that is missing', async () => {
    await using fixture = await admissionFixture();
    const apply = (batch: object) => fixture.book.chain.apply(batch as never);
    const through = blockOf(5);
    await expect(apply({})).rejects.toThrow('events: must be a list, got undefined');
    await expect(apply({ events: {}, through })).rejects.toThrow('events: must be a list, got an object');
    await expect(apply({ events: [], through, blocks: 5 })).rejects.toThrow('blocks: must be a list, got 5');
    for (const [value, text] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [5, '5'],
    ] as const) {
      const message = `chain.apply: through must be an object, got ${text}`;
      await expect(apply({ events: [], through: value })).rejects.toThrow(message);
    }
  });

  test('loses no order of a list that contains other values', async () => {
    await using fixture = await admissionFixture();
    const results = await fixture.book.orders.submitMany([null as never, await orderOf(), 5 as never]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'accepted', 'rejected']);
    expect((await fixture.book.orders.list()).orders).toHaveLength(1);
  });

  test.each([5, null, {}, ['open']])('lists no orders of the status %j', async (status) => {
    await using fixture = await admissionFixture();
    await expect(fixture.book.orders.list({ status: status as never })).rejects.toMatchObject({
      code: 'InvalidParameter',
      data: { parameter: 'status' },
    });
  });

  test.each<[string, (accounts: Accounts) => Promise<unknown>, object]>([
    ['tokens', ({ balances }) => balances.get(SEPOLIA, alice, null as never), { code: 'InvalidParameter' }],
    ['a token', ({ balances }) => balances.get(SEPOLIA, alice, [5 as never]), { status: 400 }],
    ['token details', ({ tokens }) => tokens.getMany(SEPOLIA, null as never), { code: 'InvalidParameter' }],
    ['pools', ({ pools }) => pools.list(SEPOLIA, null as never), { code: 'InvalidParameter' }],
    ['a pool', ({ pools }) => pools.list(SEPOLIA, [5 as never]), { code: 'InvalidParameter' }],
    ['a code', ({ affiliates }) => affiliates.byCode(5 as never), { code: 'InvalidParameter' }],
  ])('of accounts receives a rejection for %s of another type', async (_, call, rejection) => {
    const { accounts } = await accountFixture({}, { chain: scriptedChain({ balanceAndAllowance: FUNDED }) });
    await expect(call(accounts)).rejects.toMatchObject(rejection);
  });
});
