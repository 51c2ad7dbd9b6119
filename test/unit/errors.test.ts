import { memoryStore } from 'intentbook/memory';
import { describe, expect, test, vi } from 'vitest';
import type { ErrorCode } from '../../src/errors.ts';
import { ERRORS, OrderBookError } from '../../src/errors.ts';
import * as intentbook from '../../src/index.ts';
import { manualClock } from '../support/clock.ts';
import { account, SEPOLIA, signCancellation } from '../support/orders.ts';

/** Minimum content of the error table: status, then the codes with it. */
const AT_LEAST: Readonly<Record<number, string>> = {
  400:
    'InvalidJson InvalidParameter TooManyOrderUids InvalidSignature MissingFrom AppdataFromMismatch ' +
    'UnsupportedSigningScheme DuplicatedOrder NonZeroFee ZeroAmount SellAmountOverflow BuyAmountOverflow OrderExpired ' +
    'InsufficientValidTo ExcessiveValidTo InvalidValidFrom SameBuyAndSellToken InvalidNativeSellToken UnsupportedToken ' +
    'InvalidAppData AppDataHashMismatch InsufficientBalance InsufficientAllowance TransferSimulationFailed ' +
    'TooManyLimitOrders OldOrderActivelyBidOn OnChainOrder OrderFullyExecuted AlreadyCancelled NoLiquidity ' +
    'SellAmountDoesNotCoverFee',
  401: 'WrongOwner',
  403: 'Forbidden',
  404: 'NotFound OrderNotFound',
  405: 'MethodNotAllowed',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  422: 'InvalidBody',
  429: 'RateLimited',
  500: 'InternalServerError ChainUnavailable OutcomeUnknown',
};
const RETRYABLE = ['RateLimited', 'InternalServerError', 'ChainUnavailable', 'UpstreamUnavailable', 'OutcomeUnknown'];

const statuses = new Map<string, number>(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));
const codes = Object.keys(ERRORS) as ErrorCode[]; // the codes are the keys of the table

describe('error table', () => {
  const expected = Object.entries(AT_LEAST).flatMap(([status, names]) =>
    names.split(' ').map((code) => ({ code, status: Number(status) })),
  );

  test.each(expected)('maps $code to $status', ({ code, status }) => {
    expect(statuses.get(code)).toBe(status);
  });

  test('marks only temporary errors as retryable', () => {
    expect(codes.filter((code) => ERRORS[code].retryable).sort()).toEqual([...RETRYABLE].sort());
  });

  test('has error statuses and complete sentences', () => {
    for (const { status, meaning } of Object.values(ERRORS)) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(meaning).toMatch(/^[A-Z`].*\.$/);
    }
  });
});

describe('OrderBookError', () => {
  test('has the meaning of its code in the style of all messages: in lower case, without a full stop', () => {
    expect(new OrderBookError('RateLimited').message).toBe(
      'too many requests; retry after the seconds in `Retry-After`',
    );
    for (const code of codes) expect(new OrderBookError(code).message).toMatch(/^[a-z`].*[^.]$/);
  });

  test.each(codes)('%s has the status and retryability of its entry, and its meaning as message', (code) => {
    const error = new OrderBookError(code);
    expect(error).toBeInstanceOf(Error);
    const { status, retryable, meaning } = ERRORS[code];
    expect(error).toMatchObject({ name: 'OrderBookError', code, status, retryable });
    expect(error.toJSON()).toEqual({ errorType: code, description: error.message });
    expect(`${error.message.replaceAll('; ', '. ')}.`.toLowerCase()).toBe(meaning.toLowerCase());
  });

  test('serialises only type, description and data', () => {
    const error = new OrderBookError('TooManyLimitOrders', 'ten is the limit', { limit: 10, count: 11 });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      errorType: 'TooManyLimitOrders',
      description: 'ten is the limit',
      data: { limit: 10, count: 11 },
    });
    expect(Object.keys(new OrderBookError('NotFound').toJSON())).toEqual(['errorType', 'description']);
  });

  test('keeps an empty description', () => {
    expect(new OrderBookError('InternalServerError', '').toJSON().description).toBe('');
  });
});

describe('error of another copy of the package', () => {
  /** The package that a module has installed which supplies a store or a node. */
  async function loadCopy(): Promise<typeof intentbook> {
    vi.resetModules();
    const copy = await import('../../src/index.ts');
    expect(copy.StoreError).not.toBe(intentbook.StoreError);
    return copy;
  }

  test('is recognised by its class, and no other error', async () => {
    const copy = await loadCopy();
    for (const [mine, other] of [
      [intentbook, copy],
      [copy, intentbook],
    ] as const) {
      expect(new other.StoreError('Unavailable', 'no connection')).toBeInstanceOf(mine.StoreError);
      expect(new other.ChainMismatch('another chain')).toBeInstanceOf(mine.ChainMismatch);
      for (const value of [new Error('x'), new other.OrderBookError('NotFound'), { name: 'StoreError' }, null, 'x']) {
        expect(value instanceof mine.StoreError || value instanceof mine.ChainMismatch).toBe(false);
      }
    }
  });

  test('has the effect of its code in a book', async () => {
    const copy = await loadCopy();
    const store = memoryStore();
    const book = intentbook.createOrderBook({
      chainId: SEPOLIA,
      clock: manualClock(),
      store: {
        ...store,
        check: () => Promise.reject(new copy.StoreError('WriterLost', 'the lease was lost')),
        orders: {
          ...store.orders,
          cancel: () => Promise.reject(new copy.StoreError('OutcomeUnknown', 'the commit was not confirmed')),
        },
      },
    });
    await book.start();
    expect((await book.ready()).checks['store']).toBe('WriterLost');
    const orderUids = [`0x${'12'.repeat(32)}${account(1).address.slice(2)}ffffffff`];
    const signature = await signCancellation(account(1), { orderUids });
    expect((await book.orders.cancel({ orderUids, ...signature })).status).toBe('unknown');
    await book.close();
  });

  test('ends the start of a book if a node serves another chain', async () => {
    const copy = await loadCopy();
    const verify = () => Promise.reject(new copy.ChainMismatch('the node serves chain 1'));
    const chain = { verify } as unknown as intentbook.ChainClient;
    const book = intentbook.createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock: manualClock(), chain });
    await expect(book.start()).rejects.toThrow('the node serves chain 1');
  });
});
