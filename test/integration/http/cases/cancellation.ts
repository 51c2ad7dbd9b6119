import assert from 'node:assert/strict';
import { signCancellation, signOrder } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, MISSING_UID, newOwner, ORDERS, place, rejected, WRONG } from '../case.ts';

export const CANCELLATION: readonly HttpCase[] = [
  {
    name: 'cancellation verifies the signature before it looks up the order',
    async run(fixture) {
      const owner = newOwner();
      const stranger = newOwner();
      const uid = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) }));
      for (const target of [uid, MISSING_UID]) {
        const signed = await signCancellation(stranger, { orderUids: [target] });
        const { data } = rejected(
          await fixture.send('DELETE', ORDERS, { body: { orderUids: [target], ...signed } }),
          401,
          'WrongOwner',
        );
        assert.equal(data?.['recovered'], stranger.address.toLowerCase());
        const single = await signCancellation(stranger, { orderUid: target });
        rejected(await fixture.send('DELETE', `${ORDERS}/${target}`, { body: single }), 401, 'WrongOwner');
      }
    },
  },
  {
    name: 'batch cancellation cancels all orders or none',
    async run(fixture) {
      const owner = newOwner();
      const uid = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) }));
      const unknown = `0x${'ab'.repeat(32)}${owner.address.slice(2).toLowerCase()}ffffffff`;
      const cancel = async (orderUids: string[]) =>
        fixture.send('DELETE', ORDERS, { body: { orderUids, ...(await signCancellation(owner, { orderUids })) } });
      rejected(await cancel([uid, unknown]), 404, 'OrderNotFound');
      assert.equal(((await fixture.send('GET', `${ORDERS}/${uid}`)).json() as { status: string }).status, 'open');
      assert.equal((await cancel([uid, uid])).status, 200);
      rejected(await cancel([uid]), 400, 'AlreadyCancelled');
    },
  },
  {
    name: 'presign orders cannot be cancelled by signature',
    async run(fixture) {
      const owner = newOwner();
      const signed = await signOrder(owner, { validTo: inTenMinutes(fixture) });
      const uid = await place(fixture, { ...signed, signingScheme: 'presign', signature: '0x' });
      const orderUids = [uid];
      const body = { orderUids, ...(await signCancellation(owner, { orderUids })) };
      rejected(await fixture.send('DELETE', ORDERS, { body }), 400, 'OnChainOrder');
    },
  },
  {
    name: 'a malformed cancellation is rejected by shape, and a malformed signature by its own code',
    async run(fixture) {
      const owner = newOwner();
      const uid = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) }));
      const good = { orderUids: [uid], ...(await signCancellation(owner, { orderUids: [uid] })) };
      for (const name of Object.keys(good)) {
        for (const value of [...WRONG, undefined]) {
          const answer = await fixture.send('DELETE', ORDERS, { body: { ...good, [name]: value } });
          const malformedBytes = name === 'signature' && value === '0x';
          rejected(answer, malformedBytes ? 400 : 422, malformedBytes ? 'InvalidSignature' : 'InvalidBody');
        }
      }
      rejected(
        await fixture.send('DELETE', ORDERS, { body: { ...good, signingScheme: 'presign' } }),
        422,
        'InvalidBody',
      );
      rejected(await fixture.send('DELETE', ORDERS, { body: { ...good, orderUids: ['0x12'] } }), 422, 'InvalidBody');
      rejected(await fixture.send('DELETE', `${ORDERS}/0x12`, { body: good }), 400, 'InvalidParameter');
      // The signature of a list depends on its order.
      const other = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) + 1 }));
      const signed = await signCancellation(owner, { orderUids: [uid, other] });
      rejected(
        await fixture.send('DELETE', ORDERS, { body: { orderUids: [other, uid], ...signed } }),
        401,
        'WrongOwner',
      );
    },
  },
];
