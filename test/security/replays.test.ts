import type { OrderCreation } from 'intentbook';
import { expect, test } from 'vitest';
import { signCancellation } from '../support/orders.ts';
import { ALICE, accepted, admissionFixture, BOB, orderOf, outcome } from '../unit/orders/admission-fixture.ts';

// The signed type has no nonce and no time (OrderCancellations): any observer of a cancellation can repeat it.
test('replayed cancellation cancels nothing more, and nothing reopens its order', async () => {
  await using fixture = await admissionFixture();
  const { book } = fixture;
  const order = await orderOf();
  const uid = await accepted(book, order);
  const request = { orderUids: [uid], ...(await signCancellation(ALICE, { orderUids: [uid] })) };
  expect(await book.orders.cancel(request)).toMatchObject({ status: 'cancelled' });
  const cancelled = await book.orders.get(uid);
  expect(await book.orders.cancel(request)).toMatchObject({ status: 'rejected', error: { code: 'AlreadyCancelled' } });
  expect(await outcome(book, order)).toBe('DuplicatedOrder');
  expect(await book.orders.get(uid)).toEqual(cancelled);
});

test('cancellation applies only to its list in its order, by its signer, in its domain', async () => {
  await using fixture = await admissionFixture();
  const { book } = fixture;
  const [mine, other] = [await accepted(book, await orderOf()), await accepted(book, await orderOf())];
  const bobs = await accepted(book, await orderOf({}, BOB));
  const domain = { chainId: 1, settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41' as const };
  const signed = async (orderUids: string[], signer = ALICE, options = {}) =>
    signCancellation(signer, { orderUids }, options);
  const attempts: [orderUids: string[], signature: Awaited<ReturnType<typeof signed>>][] = [
    [[other], await signed([mine])],
    [[mine, other], await signed([mine])],
    [[other, mine], await signed([mine, other])],
    [[bobs], await signed([bobs])],
    [[mine, bobs], await signed([mine, bobs])],
    [[mine], await signed([mine], ALICE, { domain })],
    [[mine], await signCancellation(BOB, { orderUids: [mine] })],
  ];
  for (const [orderUids, signature] of attempts) {
    const request = { orderUids, ...signature };
    expect(await book.orders.cancel(request)).toMatchObject({ status: 'rejected', error: { code: 'WrongOwner' } });
  }
  const states = await Promise.all([mine, other, bobs].map(async (uid) => (await book.orders.get(uid))?.status));
  expect(states).toEqual(['open', 'open', 'open']);
});

// Contracts of one owner can share a signature, because the signed order does not contain its owner.
test('signer of a contract signature is never guessed', async () => {
  await using fixture = await admissionFixture({ eip1271: 'accept-unverified' });
  const { from: _, ...order } = await orderOf();
  const unowned = { ...order, signingScheme: 'eip1271', signature: '0x1234' } as OrderCreation;
  expect(await fixture.book.orders.submit(unowned)).toMatchObject({ error: { code: 'MissingFrom' } });
});
