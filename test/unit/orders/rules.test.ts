import type { Address, OrderCreation } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import { account, COW, signCancellation, signOrder, WETH } from '../../support/orders.ts';
import type { AdmissionFixture } from './admission-fixture.ts';
import {
  ALICE,
  accepted,
  admissionFixture,
  alice,
  BOB,
  bob,
  byContract,
  documentOf,
  NOW,
  orderOf,
  outcome,
  outcomeOf,
  presigned,
  rejection,
  settle,
} from './admission-fixture.ts';

describe('deny list policy', () => {
  test('is called once with owner and receiver', async () => {
    const recordedCalls: Address[] = [];
    await using fixture = await admissionFixture({
      isDenied(address) {
        recordedCalls.push(address);
        return false;
      },
    });
    await accepted(fixture.book, await orderOf({ receiver: null }));
    await accepted(fixture.book, await orderOf({ receiver: ALICE.address }));
    await accepted(fixture.book, await orderOf({ receiver: `0x${'0'.repeat(40)}` }));
    expect(recordedCalls).toEqual([alice, alice, alice]);
    await accepted(fixture.book, await orderOf({ receiver: BOB.address }));
    expect(recordedCalls.slice(3)).toEqual([alice, bob]);
  });

  test.each([
    [alice, 'owner'],
    [bob, 'receiver'],
  ])('rejects the %s of %s by name', async (denied, field) => {
    await using fixture = await admissionFixture({ isDenied: async (address) => address === denied });
    const error = await rejection(fixture.book, await orderOf({ receiver: BOB.address }));
    expect(error).toMatchObject({ code: 'Forbidden', status: 403, data: { field, address: denied } });
    expect(fixture.calls.insert).toBe(0);
  });

  test.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('the list of secret-host is gone');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the list of secret-host is gone')) as never],
    ['returns nothing', () => undefined as never],
    ['returns an object', () => 'no' as never],
  ])('rejects all orders when it %s, and reports the cause only to the host', async (_, isDenied) => {
    await using fixture = await admissionFixture({ isDenied });
    const error = await rejection(fixture.book, await orderOf());
    expect(error).toMatchObject({ code: 'InternalServerError', retryable: true, message: '' });
    expect(JSON.stringify(error)).not.toMatch(/secret/);
    expect(fixture.failures).toHaveLength(1);
    expect(fixture.calls.insert).toBe(0);
  });

  test('rejects all orders when it does not respond', async () => {
    let signal: AbortSignal | undefined;
    await using fixture = await admissionFixture({
      checkTimeout: 50,
      isDenied(_, call) {
        signal = call.signal;
        return new Promise(() => {});
      },
    });
    const submitting = outcome(fixture.book, await orderOf());
    await settle();
    fixture.clock.advance(50);
    expect(await submitting).toBe('InternalServerError');
    expect(signal?.aborted).toBe(true);
  });

  test('is not affected by a failure listener that throws', async () => {
    await using fixture = await admissionFixture({
      isDenied() {
        throw new Error('down');
      },
    });
    fixture.book.on('failure', () => {
      throw new Error('the listener is down too');
    });
    expect(await outcome(fixture.book, await orderOf())).toBe('InternalServerError');
  });
});

describe('order replacement', () => {
  const replacing = (uid: string, more: object = {}) => documentOf({ replacedOrder: { uid }, ...more });

  test('cancels the old order and emits both events in one step', async () => {
    await using fixture = await admissionFixture();
    const emitted: string[] = [];
    const uids: string[] = [];
    fixture.book.on('orderCreated', ({ uid }) => emitted.push(`created ${uid}`));
    fixture.book.on('orderCancelled', ({ uid }) => emitted.push(`cancelled ${uid}`));
    const old = await accepted(fixture.book, await orderOf());
    const next = await accepted(fixture.book, await orderOf({ appData: replacing(old) }));
    uids.push(old, next);
    expect(await fixture.book.orders.get(old)).toMatchObject({ status: 'cancelled', invalidated: true });
    expect(await fixture.book.orders.get(next)).toMatchObject({ status: 'open' });
    await settle();
    expect(emitted).toEqual([`created ${old}`, `cancelled ${old}`, `created ${next}`]);
  });

  test('lets exactly one of two concurrent replacements succeed', async () => {
    await using fixture = await admissionFixture();
    const old = await accepted(fixture.book, await orderOf());
    const rivals = await Promise.all(Array.from({ length: 8 }, () => orderOf({ appData: replacing(old) })));
    const outcomes = await Promise.all(rivals.map((order) => outcome(fixture.book, order)));
    expect(outcomes.sort()).toEqual([...Array(7).fill('AlreadyCancelled'), 'accepted']);
    const { orders } = await fixture.book.orders.list({ status: 'open' });
    expect(orders).toHaveLength(1);
  });

  test.each<[string, (book: Awaited<ReturnType<typeof admissionFixture>>) => Promise<string>, string]>([
    ['does not exist', async () => `0x${'ab'.repeat(32)}${alice.slice(2)}ffffffff`, 'OrderNotFound'],
    ['belongs to another owner', ({ book }) => orderOf({}, BOB).then((order) => accepted(book, order)), 'WrongOwner'],
    [
      'belongs to another owner and does not exist',
      async () => `0x${'ab'.repeat(32)}${bob.slice(2)}ffffffff`,
      'WrongOwner',
    ],
    [
      'was cancelled',
      async ({ book }) => {
        const uid = await accepted(book, await orderOf());
        await book.orders.cancel({ orderUids: [uid], ...(await signCancellation(ALICE, { orderUids: [uid] })) });
        return uid;
      },
      'AlreadyCancelled',
    ],
    [
      'has expired',
      async ({ book, clock }) => {
        const uid = await accepted(book, await orderOf({ validTo: NOW + 60 }));
        clock.advance(61_000);
        return uid;
      },
      'OrderExpired',
    ],
    ['waits for its presignature', async ({ book }) => accepted(book, presigned(await orderOf())), 'OnChainOrder'],
    ['was signed by a contract', async ({ book }) => accepted(book, byContract(await orderOf())), 'OnChainOrder'],
  ])('is rejected when the old order %s', async (_, make, code) => {
    await using fixture = await admissionFixture({ eip1271: 'accept-unverified' });
    const uid = await make(fixture);
    const error = await rejection(fixture.book, await orderOf({ appData: replacing(uid) }));
    expect(error.code).toBe(code);
    expect(error.data).toMatchObject({ uid });
  });

  test('requires an ECDSA signature', async () => {
    await using fixture = await admissionFixture({ eip1271: 'accept-unverified' });
    const old = await accepted(fixture.book, await orderOf());
    for (const how of [presigned, byContract]) {
      const error = await rejection(fixture.book, how(await orderOf({ appData: replacing(old) })));
      expect(error).toMatchObject({ code: 'InvalidSignature', data: { uid: old } });
    }
    expect(await fixture.book.orders.get(old)).toMatchObject({ status: 'open' });
  });

  test('can be forbidden by the host while the old order has bids', async () => {
    const recordedCalls: string[] = [];
    await using fixture = await admissionFixture({
      isActivelyBidOn: async (uid) => {
        recordedCalls.push(uid);
        return true;
      },
    });
    const old = await accepted(fixture.book, await orderOf());
    const error = await rejection(fixture.book, await orderOf({ appData: replacing(old) }));
    expect(error).toMatchObject({ code: 'OldOrderActivelyBidOn', data: { uid: old } });
    expect(recordedCalls).toEqual([old]);
    expect(await fixture.book.orders.get(old)).toMatchObject({ status: 'open' });
  });

  test('is rejected as retryable when the host check fails', async () => {
    await using fixture = await admissionFixture({ isActivelyBidOn: () => undefined as never });
    const old = await accepted(fixture.book, await orderOf());
    expect(await outcome(fixture.book, await orderOf({ appData: replacing(old) }))).toBe('InternalServerError');
  });

  test('is a duplicate when repeated', async () => {
    await using fixture = await admissionFixture();
    const old = await accepted(fixture.book, await orderOf());
    const order = await orderOf({ appData: replacing(old) });
    await accepted(fixture.book, order);
    expect(await outcome(fixture.book, order)).toBe('DuplicatedOrder');
  });

  test('frees capacity under the quota', async () => {
    await using fixture = await admissionFixture({ limits: { maxOpenOrders: 1 } });
    const old = await accepted(fixture.book, await orderOf());
    expect(await outcome(fixture.book, await orderOf())).toBe('TooManyLimitOrders');
    expect(await outcome(fixture.book, await orderOf({ appData: replacing(old) }))).toBe('accepted');
  });
});

describe('order quota', () => {
  test('of ten admits exactly ten of fifty concurrent submissions', async () => {
    await using fixture = await admissionFixture({ limits: { maxOpenOrders: 10 } });
    const orders = await Promise.all(Array.from({ length: 50 }, () => orderOf()));
    const outcomes = await Promise.all(orders.map((order) => outcome(fixture.book, order)));
    expect(outcomes.filter((each) => each === 'accepted')).toHaveLength(10);
    expect(outcomes.filter((each) => each === 'TooManyLimitOrders')).toHaveLength(40);
    expect((await fixture.book.orders.list({ owner: ALICE.address, limit: 100 })).orders).toHaveLength(10);
  });

  test('reports limit, count and quota class', async () => {
    await using fixture = await admissionFixture({ limits: { maxOpenOrders: 2, maxPendingOrders: 1 } });
    await accepted(fixture.book, await orderOf());
    await accepted(fixture.book, await orderOf());
    const { data } = await rejection(fixture.book, await orderOf());
    expect(data).toEqual({ limit: 2, count: 2, quotaClass: 'open', owner: alice });
    await accepted(fixture.book, presigned(await orderOf()));
    expect((await rejection(fixture.book, presigned(await orderOf()))).data).toMatchObject({
      limit: 1,
      quotaClass: 'pending',
    });
  });

  test('of an owner cannot be used up by other accounts', async () => {
    await using fixture = await admissionFixture({ limits: { maxOpenOrders: 1, maxPendingOrders: 3 } });
    for (let i = 0; i < 5; i++) await fixture.book.orders.submit(presigned(await orderOf()));
    expect(await outcome(fixture.book, await orderOf())).toBe('accepted');
  });

  describe('of unsigned orders', () => {
    const send = async (fixture: AdmissionFixture, client: string, signer = ALICE) => {
      const result = await fixture.book.orders.submit(presigned(await orderOf({ validTo: NOW + 5000 }, signer)), {
        client,
      });
      return { outcome: outcomeOf(result), uid: result.status === 'accepted' ? result.uid : '' };
    };
    const statusOf = async (fixture: AdmissionFixture, uid: string) => (await fixture.book.orders.get(uid))?.status;

    test('does not stop the owner when a stranger has used it up', async () => {
      await using fixture = await admissionFixture({ limits: { maxPendingOrders: 3 } });
      for (let i = 0; i < 3; i++) await send(fixture, 'stranger');
      for (let i = 0; i < 3; i++) expect((await send(fixture, 'owner')).outcome).toBe('accepted');
      for (const client of ['stranger', 'owner'])
        expect((await send(fixture, client)).outcome).toBe('TooManyLimitOrders');
    });

    test('stops a client that has as many orders as any other', async () => {
      await using fixture = await admissionFixture({ limits: { maxPendingOrders: 3 } });
      for (const client of ['a', 'b', 'c']) expect((await send(fixture, client)).outcome).toBe('accepted');
      expect((await send(fixture, 'c')).outcome).toBe('TooManyLimitOrders');
      expect((await send(fixture, 'd')).outcome).toBe('accepted');
      expect((await send(fixture, 'd')).outcome).toBe('TooManyLimitOrders');
    });

    test('counts orders of a client for any owners, for as long as they wait', async () => {
      const limits = { maxPendingOrders: 2, maxPendingValidity: 600 };
      await using fixture = await admissionFixture({ limits });
      expect((await send(fixture, 'client', ALICE)).outcome).toBe('accepted');
      expect((await send(fixture, 'client', BOB)).outcome).toBe('accepted');
      expect((await send(fixture, 'client', account(3))).outcome).toBe('TooManyLimitOrders');
      expect((await send(fixture, 'other', account(3))).outcome).toBe('accepted');
      fixture.clock.advance(601_000);
      expect((await send(fixture, 'client', account(3))).outcome).toBe('accepted');
    });

    test('counts orders of a client that are sent at once', async () => {
      const clients = ['one', 'batch'];
      await using fixture = await admissionFixture({ limits: { maxPendingOrders: 2 } });
      const orders = await Promise.all(
        [ALICE, BOB, account(3), account(4), account(5)].flatMap((signer) =>
          clients.map(async (_, i) => presigned(await orderOf({ validTo: NOW + 5000 + i }, signer))),
        ),
      );
      const single = orders.filter((_, i) => i % 2 === 0);
      const batch = orders.filter((_, i) => i % 2 === 1);
      const { submit, submitMany } = fixture.book.orders;
      const results = await Promise.all([
        ...single.map((order) => submit(order, { client: 'one' })),
        submitMany(batch, { client: 'batch' }),
      ]);
      const outcomes = results.flat().map(outcomeOf);
      for (const of of [outcomes.slice(0, 5), outcomes.slice(5)]) {
        expect(of.filter((each) => each === 'accepted')).toHaveLength(2);
        expect(of.filter((each) => each === 'TooManyLimitOrders')).toHaveLength(3);
      }
    });

    test('counts no order that was not stored', async () => {
      await using fixture = await admissionFixture({ limits: { maxPendingOrders: 2 } });
      const order = presigned(await orderOf({ validTo: NOW + 5000 }));
      const { submit } = fixture.book.orders;
      const repeated = await Promise.all([1, 2, 3].map(() => submit(order, { client: 'client' })));
      expect(repeated.map(outcomeOf)).toEqual(['accepted', 'DuplicatedOrder', 'DuplicatedOrder']);
      expect((await send(fixture, 'client', BOB)).outcome).toBe('accepted');
    });

    test('is free again after the time that an order waits for its signature', async () => {
      const limits = { maxPendingOrders: 1, maxPendingValidity: 600 };
      await using fixture = await admissionFixture({ limits });
      const order = presigned(await orderOf({ validTo: 4_294_967_295 }));
      const first = await fixture.book.orders.submit(order);
      expect(outcomeOf(first)).toBe('accepted');
      expect(await outcome(fixture.book, presigned(await orderOf({ validTo: NOW + 5000 })))).toBe('TooManyLimitOrders');
      fixture.clock.advance(601_000);
      expect(await statusOf(fixture, first.status === 'accepted' ? first.uid : '')).toBe('expired');
      expect(await outcome(fixture.book, presigned(await orderOf({ validTo: NOW + 5000 })))).toBe('accepted');
    });
  });

  test('can be raised, lowered or removed per owner', async () => {
    await using fixture = await admissionFixture({
      limits: { maxOpenOrders: 1, maxPendingOrders: 1 },
      ownerLimits: {
        [ALICE.address]: { maxOpenOrders: 3 },
        [BOB.address]: { maxOpenOrders: null, maxPendingOrders: 0 },
      },
    });
    const times = async (
      n: number,
      signer: typeof ALICE,
      how: (order: OrderCreation) => OrderCreation = (order) => order,
    ) => {
      const outcomes: string[] = [];
      for (let i = 0; i < n; i++)
        outcomes.push(outcomeOf(await fixture.book.orders.submit(how(await orderOf({}, signer)))));
      return outcomes.filter((each) => each === 'accepted').length;
    };
    expect(await times(5, ALICE)).toBe(3);
    expect(await times(5, BOB)).toBe(5);
    expect(await times(5, account(3))).toBe(1);
    expect(await times(2, ALICE, presigned as never)).toBe(1);
    expect(await times(2, BOB, presigned as never)).toBe(0);
  });
});

describe('validFrom', () => {
  test.each([
    [NOW + 600 - 61, 'accepted'],
    [NOW + 600 - 60, 'InvalidValidFrom'],
    [NOW + 600, 'InvalidValidFrom'],
    [0, 'accepted'],
  ])('%i is %s', async (validFrom, expected) => {
    await using fixture = await admissionFixture();
    const order = await orderOf({ validTo: NOW + 600, appData: documentOf({ validFrom }) });
    expect(await outcome(fixture.book, order)).toBe(expected);
  });

  test('is shown with its order only', async () => {
    await using fixture = await admissionFixture();
    const with_ = await accepted(fixture.book, await orderOf({ appData: documentOf({ validFrom: NOW + 7 }) }));
    const without = await accepted(fixture.book, await orderOf());
    expect((await fixture.book.orders.get(with_))?.validFrom).toBe(NOW + 7);
    expect(await fixture.book.orders.get(without)).not.toHaveProperty('validFrom');
  });

  test('that is too late is rejected with the window, with the margin of the host', async () => {
    await using fixture = await admissionFixture({ limits: { minValidity: 100 } });
    const { code, data } = await rejection(
      fixture.book,
      await orderOf({ appData: documentOf({ validFrom: NOW + 500 }) }),
    );
    expect([code, data]).toEqual(['InvalidValidFrom', { validFrom: NOW + 500, validTo: NOW + 600, latest: NOW + 499 }]);
  });
});

describe('order app data', () => {
  const hook = { target: COW, callData: '0xabcd', gasLimit: '100000' };

  test('shows hooks as interactions of the order', async () => {
    await using fixture = await admissionFixture();
    const appData = documentOf({ hooks: { pre: [hook, hook], post: [hook] } });
    const order = await fixture.book.orders.get(await accepted(fixture.book, await orderOf({ appData })));
    expect(order?.interactions.pre).toHaveLength(1);
    expect(order?.interactions.post).toHaveLength(1);
    expect(order?.interactions.pre[0]).toMatchObject({
      target: '0x60bf78233f48ec42ee3f101b9a05ec7878728006',
      value: '0',
    });
    expect(order?.interactions.pre[0]?.callData).toMatch(/^0x760f2a0b/);
    expect(order?.fullAppData).toBe(appData);
    const plain = await fixture.book.orders.get(await accepted(fixture.book, await orderOf()));
    expect(plain?.interactions).toEqual({ pre: [], post: [] });
  });

  test('is known by its hash after an upload or an order', async () => {
    await using fixture = await admissionFixture();
    const document = documentOf({ signer: ALICE.address });
    const { hash } = (await fixture.book.appData.put(document)) as { hash: string };
    const byHash = () => orderOf({ appData: hash, appDataIsHash: true });
    const uid = await accepted(fixture.book, await byHash());
    expect((await fixture.book.orders.get(uid))?.fullAppData).toBe(document);
    expect(await fixture.book.appData.get(hash.toUpperCase().replace('X', 'x'))).toBe(document);
  });

  test('keeps a found document with its order under concurrent uploads', async () => {
    await using fixture = await admissionFixture({
      limits: { maxUnreferencedDocuments: 1 },
      isDenied: async () => {
        await fixture.book.appData.put('{"pushed":"out"}');
        return false;
      },
    });
    const document = '{"mine":1}';
    const { hash } = (await fixture.book.appData.put(document)) as { hash: string };
    const uid = await accepted(fixture.book, await orderOf({ appData: hash, appDataIsHash: true }));
    expect((await fixture.book.orders.get(uid))?.fullAppData).toBe(document);
  });

  test('rejects an unknown hash and accepts the zero hash as {}', async () => {
    await using fixture = await admissionFixture();
    const hash = `0x${'12'.repeat(32)}`;
    const error = await rejection(fixture.book, await orderOf({ appData: hash, appDataIsHash: true }));
    expect(error).toMatchObject({ code: 'InvalidAppData', data: { hash } });
    const zero = `0x${'00'.repeat(32)}`;
    const uid = await accepted(fixture.book, await orderOf({ appData: zero, appDataIsHash: true }));
    expect(await fixture.book.orders.get(uid)).toMatchObject({ appData: zero, fullAppData: '{}' });
  });

  test('can disable the hash form', async () => {
    await using fixture = await admissionFixture({ appDataHash: 'reject' });
    const zero = `0x${'00'.repeat(32)}`;
    expect(await outcome(fixture.book, await orderOf({ appData: zero, appDataIsHash: true }))).toBe('InvalidAppData');
    expect(await outcome(fixture.book, await orderOf())).toBe('accepted');
  });

  test('rejects a signer other than `from`, and otherwise names the owner', async () => {
    await using fixture = await admissionFixture();
    const appData = documentOf({ signer: BOB.address });
    const order = await orderOf({ appData });
    expect((await rejection(fixture.book, order)).data).toEqual({ from: alice, signer: bob });
    const { from: _, ...anonymous } = order;
    expect((await rejection(fixture.book, anonymous as never)).data).toMatchObject({ recovered: alice, expected: bob });
    const uid = await accepted(fixture.book, presigned(anonymous as never));
    expect(await fixture.book.orders.get(uid)).toMatchObject({ owner: bob });
  });

  test('rejects an invalid upload like one of an order', async () => {
    await using fixture = await admissionFixture();
    const put = async (text: unknown, hash?: string) => {
      const result = await fixture.book.appData.put(text as string, { hash });
      return result.status === 'rejected' ? result.error.code : result.status;
    };
    expect(await put('{}')).toBe('stored');
    expect(await put('{}')).toBe('known');
    expect(await put('[]')).toBe('InvalidAppData');
    expect(await put(`{"a":"${'é'.repeat(496)}"}`)).toBe('stored');
    expect(await put(`{"a":"${'é'.repeat(497)}"}`)).toBe('InvalidAppData');
    expect(await put('{"metadata":{"signer":7}}')).toBe('InvalidAppData');
    expect(await put('{"a":1}', `0x${'12'.repeat(32)}`)).toBe('AppDataHashMismatch');
    expect(await put(7)).toBe('InvalidBody');
    await expect(put('{}', 'hash')).rejects.toMatchObject({ code: 'InvalidParameter' });
    await expect(fixture.book.appData.get('0x12')).rejects.toMatchObject({ code: 'InvalidParameter' });
  });
});

describe('large document limit', () => {
  const escaped = (text: string) =>
    [...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  const maxAppDataSize = 100_000;
  const largest = `{"a":"${'x'.repeat(maxAppDataSize - 8)}"}`;

  test('applies to uploads without JSON escapes, and rejects a much larger body', async () => {
    await using fixture = await admissionFixture({ limits: { maxAppDataSize } });
    const put = (document: string) =>
      fixture.http.send('PUT', '/api/v1/app_data', { body: `{"fullAppData":"${escaped(document)}"}` });
    expect((await put(largest)).status).toBe(201);
    const larger = await put(`${largest} `);
    expect([larger.status, larger.json()]).toMatchObject([400, { errorType: 'InvalidAppData' }]);
    const muchLarger = await put(`${largest}${' '.repeat(10_000)}`);
    expect([muchLarger.status, muchLarger.json()]).toMatchObject([413, { errorType: 'PayloadTooLarge' }]);
  });

  test('applies to orders too', async () => {
    await using fixture = await admissionFixture({ limits: { maxAppDataSize } });
    const order = await orderOf({ appData: largest });
    expect((await fixture.http.send('POST', '/api/v1/orders', { body: order })).status).toBe(201);
  });
});

describe('order batch', () => {
  test('returns one result per order and stores accepted ones in one durable step', async () => {
    await using fixture = await admissionFixture({
      chain: scriptedChain({ balanceAndAllowance: FUNDED }),
      limits: { maxOpenOrders: 4 },
    });
    const stored = await orderOf();
    await accepted(fixture.book, stored);
    fixture.calls.insert = 0;
    fixture.calls.get = 0;
    const good = await Promise.all([orderOf(), orderOf(), orderOf()]);
    const wrong = { ...(await orderOf()), from: BOB.address };
    const batch = [good[0], wrong, stored, good[1], 'no order', good[0], good[2], await orderOf()];
    const results = await fixture.book.orders.submitMany(batch as OrderCreation[]);
    expect(results.map(outcomeOf)).toEqual([
      'accepted',
      'InvalidSignature',
      'DuplicatedOrder',
      'accepted',
      'InvalidBody',
      'DuplicatedOrder',
      'accepted',
      'TooManyLimitOrders',
    ]);
    expect(fixture.calls).toEqual({ get: 1, insert: 1 });
    const existing = await fixture.book.orders.submitMany(good, { acceptExisting: true });
    expect(existing).toEqual(
      results.filter(({ status }) => status === 'accepted').map((each) => ({ ...each, existing: true })),
    );
  });

  test('lets one order replace another of the same batch', async () => {
    await using fixture = await admissionFixture();
    const first = await orderOf();
    const probe = await admissionFixture();
    const uid = await accepted(probe.book, first);
    await probe.book.close();
    const second = await orderOf({ appData: documentOf({ replacedOrder: { uid } }) });
    expect((await fixture.book.orders.submitMany([first, second])).map(outcomeOf)).toEqual(['accepted', 'accepted']);
    expect(await fixture.book.orders.get(uid)).toMatchObject({ status: 'cancelled' });
  });

  test('accepts an empty list', async () => {
    await using fixture = await admissionFixture();
    expect(await fixture.book.orders.submitMany([])).toEqual([]);
    expect(fixture.calls.insert).toBe(0);
  });

  test('returns a thousand orders of many owners unchanged', async () => {
    await using fixture = await admissionFixture();
    const signers = Array.from({ length: 10 }, (_, i) => account(100 + i));
    const orders = await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        signOrder(signers[i % 10] ?? ALICE, { validTo: NOW + 600, sellAmount: `${i + 1}` }),
      ),
    );
    const results = await fixture.book.orders.submitMany(orders);
    expect(results.every(({ status }) => status === 'accepted')).toBe(true);
    const uids = results.flatMap((result) => (result.status === 'accepted' ? [result.uid] : []));
    const read = new Map((await fixture.book.orders.getMany(uids)).map(({ order }) => [order?.uid, order]));
    expect(uids.map((uid) => read.get(uid)?.sellAmount)).toEqual(orders.map(({ sellAmount }) => sellAmount));
  });
});

describe('book options', () => {
  test.each([
    [{ ownerLimits: { [WETH]: { maxOpenOrder: 1 } } }, /did you mean "maxOpenOrders"/],
    [{ ownerLimits: { x: {} } }, /ownerLimits must be 0x and 40 hex digits/],
    [{ ownerLimits: { [WETH]: { maxOpenOrders: -1 } } }, /ownerLimits.maxOpenOrders must be an integer/],
    [{ limits: { maxOpenOrders: 1.5 } }, /limits.maxOpenOrders must be an integer/],
    [{ limits: { minValidity: '60' } }, /limits.minValidity must be an integer/],
    [{ limits: { maxUnreferencedDocuments: 0 } }, /limits.maxUnreferencedDocuments must be an integer from 1 up/],
    [{ eip1271: 'accept' }, /eip1271 must be one of reject, accept-unverified/],
    [{ appDataHash: 'off' }, /appDataHash must be one of accept, reject/],
    [{ checkTimeout: 0 }, /checkTimeout/],
    [{ isDenied: [] }, /isDenied must be a function/],
    [{ isBanned: () => false }, /unknown option "isBanned"/],
    [{ vaultRelayer: '0x' }, /vaultRelayer must be/],
    [{ hooksTrampoline: '0x' }, /hooksTrampoline must be/],
  ])('rejects %j with a TypeError that names the option', async (options, message) => {
    await expect(admissionFixture(options as never)).rejects.toThrow(message);
    await expect(admissionFixture(options as never)).rejects.toThrow(TypeError);
  });

  test('keep the default of a limit that is undefined', async () => {
    await using fixture = await admissionFixture({ limits: { minValidity: undefined } as never });
    expect(await outcome(fixture.book, await orderOf({ validTo: NOW + 59 }))).toBe('InsufficientValidTo');
  });
});
