import type { OrderBookError } from 'intentbook';
import { StoreError } from 'intentbook';
import { beforeAll, describe, expect, test } from 'vitest';
import { cancel } from '../../../src/orders/cancel.ts';
import { cancellationDigest, cancellationsDigest } from '../../../src/protocol/cancellation.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { createVerifier } from '../../../src/verification/verifier.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signCancellation } from '../../support/orders.ts';

const ALICE = account(1);
const BOB = account(2);
const alice = ALICE.address.toLowerCase();
const bob = BOB.address.toLowerCase();
const START = 1_700_000_000_999;
const uidOf = (n: number, owner = alice): Hex => `0x${n.toString(16).padStart(64, '0')}${owner.slice(2)}ffffffff`;
const DOMAIN = {
  name: 'Gnosis Protocol',
  version: 'v2',
  chainId: SEPOLIA,
  verifyingContract: SEPOLIA_DOMAIN.settlementContract,
};

type Context = Parameters<typeof cancel>[1];

let verifier: Context['verifier'];
const recordedCalls: object[] = [];
let context: Context;

beforeAll(async () => {
  verifier = await createVerifier(SEPOLIA_DOMAIN);
  const orders = {
    async cancel(request: object) {
      recordedCalls.push(request);
      return { status: 'cancelled' };
    },
  };
  context = {
    store: { orders } as unknown as Context['store'],
    clock: manualClock(START),
    verifier,
    relay: undefined,
    domain: DOMAIN,
  };
});

async function rejection(input: unknown): Promise<OrderBookError> {
  recordedCalls.length = 0;
  const result = await cancel(input, context);
  expect(recordedCalls).toEqual([]); // the store is not read for unverified requests
  if (result.status !== 'rejected') throw new Error('it was cancelled');
  return result.error;
}

const UNRECOVERABLE = `0x${'00'.repeat(31)}05${'00'.repeat(31)}011b`; // 5 is not the x of a curve point

describe('signed cancellation of own orders at the current time', () => {
  test('accepts a list of up to 128', async () => {
    for (const count of [1, 2, 128]) {
      const orderUids = Array.from({ length: count }, (_, n) => uidOf(n));
      recordedCalls.length = 0;
      const signed = { orderUids, ...(await signCancellation(ALICE, { orderUids })) };
      expect(await cancel(signed, context)).toEqual({ status: 'cancelled', uids: orderUids });
      expect(recordedCalls).toEqual([{ uids: orderUids, now: 1_700_000_000, cancelledAt: START }]);
    }
  });

  test('accepts one order by the single type and by the batch type', async () => {
    const orderUid = uidOf(7);
    for (const what of [{ orderUid }, { orderUids: [orderUid] }]) {
      for (const scheme of ['eip712', 'ethsign'] as const) {
        const signed = { orderUid, ...(await signCancellation(ALICE, what, { scheme })) };
        expect(await cancel(signed, context)).toEqual({ status: 'cancelled', uids: [orderUid] });
      }
    }
  });

  test('rejects a list of one with a signature of the single type', async () => {
    const orderUid = uidOf(7);
    const signed = { orderUids: [orderUid], ...(await signCancellation(ALICE, { orderUid })) };
    expect((await rejection(signed)).code).toBe('WrongOwner');
  });
});

describe('rejected cancellation reports digest and signer', () => {
  test('names the order of another owner at any position', async () => {
    for (const orderUids of [
      [uidOf(1), uidOf(2, bob), uidOf(3)],
      [uidOf(1), uidOf(2), uidOf(3, bob)],
    ]) {
      const signed = await signCancellation(ALICE, { orderUids });
      const foreign = orderUids.find((uid) => uid.includes(bob.slice(2)));
      const error = await rejection({ orderUids, ...signed });
      expect(error).toMatchObject({ code: 'WrongOwner' });
      for (const words of [`by ${alice}`, `order ${foreign}`, `belongs to ${bob}`])
        expect(error.message).toContain(words);
      const digest = bytesToHex(cancellationsDigest(verifier.hasher.separator, orderUids));
      expect(error.data).toEqual({
        recovered: alice,
        expected: bob,
        uid: foreign,
        scheme: 'eip712',
        digest,
        domain: DOMAIN,
      });
    }
  });

  test('reports the digest of the single type for one order', async () => {
    const orderUid = uidOf(1);
    const error = await rejection({ orderUid, ...(await signCancellation(BOB, { orderUid })) });
    const digest = bytesToHex(cancellationDigest(verifier.hasher.separator, orderUid));
    expect(error.data).toMatchObject({ recovered: bob, expected: alice, digest });
  });

  test.each([
    ['a list', { orderUids: [uidOf(1)] }],
    ['one order', { orderUid: uidOf(1) }],
  ])('names the chain for which %s is signed', async (_, what) => {
    for (const scheme of ['eip712', 'ethsign'] as const) {
      const signed = await signCancellation(ALICE, what, { domain: { ...SEPOLIA_DOMAIN, chainId: 1 }, scheme });
      const error = await rejection({ ...what, ...signed });
      const message = `signed by ${alice} for chain 1, this book is of chain ${SEPOLIA}`;
      expect(error).toMatchObject({ code: 'WrongOwner', message });
    }
  });

  test.each([
    ['without a recoverable key', UNRECOVERABLE, 'no key can be recovered'],
    ['that is too short', '0x12', '65 bytes'],
  ])('for a signature %s', async (_, signature, words) => {
    for (const what of [{ orderUid: uidOf(1) }, { orderUids: [uidOf(1)] }]) {
      const error = await rejection({ ...what, signature, signingScheme: 'eip712' });
      expect(error).toMatchObject({ code: 'InvalidSignature', message: expect.stringContaining(words) });
      expect(error.data).toMatchObject({ scheme: 'eip712', domain: DOMAIN });
    }
  });
});

describe('malformed cancellation', () => {
  const rest = { signature: UNRECOVERABLE, signingScheme: 'eip712' };
  test.each<[unknown, string, string]>([
    [undefined, 'InvalidBody', 'the body is missing'],
    [null, 'InvalidBody', 'must be an object, got null'],
    [7, 'InvalidBody', 'must be an object, got 7'],
    ['orderUids', 'InvalidBody', 'must be an object, got "orderUids"'],
    [rest, 'InvalidBody', 'orderUids is missing'],
    [{ ...rest, orderUids: [] }, 'InvalidBody', 'must name an order'],
    [{ ...rest, orderUids: 'x'.repeat(200) }, 'InvalidBody', `orderUids must be an array, got "${'x'.repeat(64)}"`],
    [{ ...rest, orderUids: [uidOf(1), '0x12'] }, 'InvalidBody', 'orderUids.1 must be 0x and 112 hex digits'],
    [{ ...rest, orderUid: '0x12' }, 'InvalidBody', 'orderUid must be 0x and 112 hex digits'],
    [
      { ...rest, orderUid: uidOf(1), signingScheme: 'presign' },
      'InvalidBody',
      'signingScheme must be one of eip712, ethsign',
    ],
    [
      { ...rest, orderUids: Array(129).fill('counted before it is read') },
      'TooManyOrderUids',
      'at most 128 UIDs, got 129',
    ],
  ])('rejects %j', async (input, code, words) => {
    expect(await rejection(input)).toMatchObject({ code, message: expect.stringContaining(words) });
  });
});

describe('outcome of a cancellation', () => {
  const cancelWith = async (outcome: () => Promise<unknown>) => {
    const orderUids = [uidOf(1), uidOf(2)];
    const signed = { orderUids, ...(await signCancellation(ALICE, { orderUids })) };
    // The method that is used.
    const store = { orders: { cancel: outcome } } as unknown as Context['store'];
    return cancel(signed, { ...context, store });
  };

  test('is unknown if the store does not know it, with the UIDs to query', async () => {
    const unknown = () => Promise.reject(new StoreError('OutcomeUnknown', 'the connection was lost'));
    const uids = [uidOf(1), uidOf(2)];
    expect(await cancelWith(unknown)).toMatchObject({
      status: 'unknown',
      error: { code: 'OutcomeUnknown', data: { uids } },
    });
  });

  test.each([
    new StoreError('Unavailable', 'offline'),
    Object.assign(new Error('of another kind'), { code: 'OutcomeUnknown' }),
  ])('is thrown if it is a failure: %s', async (failure) => {
    await expect(cancelWith(() => Promise.reject(failure))).rejects.toBe(failure);
  });

  test('is a rejection with the order that has another state', async () => {
    const missing = async () => ({ status: 'rejected', reason: 'missing', uid: uidOf(2) });
    expect(await cancelWith(missing)).toMatchObject({
      status: 'rejected',
      error: { code: 'OrderNotFound', data: { uid: uidOf(2) } },
    });
  });
});
