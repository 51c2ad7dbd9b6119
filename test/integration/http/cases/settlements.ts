import assert from 'node:assert/strict';
import { signOrder } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, MISSING_UID, newOwner, ORDERS, place, rejected } from '../case.ts';

const OWNER = `0x${'5e'.repeat(20)}`;

export const SETTLEMENTS: readonly HttpCase[] = [
  {
    name: 'trades require exactly one of owner and orderUid',
    async run(fixture) {
      for (const version of ['v1', 'v2']) {
        const path = `/api/${version}/trades`;
        for (const query of ['', `?owner=${OWNER}&orderUid=${MISSING_UID}`]) {
          rejected(await fixture.send('GET', path + query), 400, 'InvalidTradeFilter');
        }
        for (const query of ['?owner=0x12', '?orderUid=0x12', '?owner=']) {
          rejected(await fixture.send('GET', path + query), 400, 'InvalidParameter');
        }
        rejected(await fixture.send('GET', `${path}?owner=${OWNER}&owner=${OWNER}`), 400, 'InvalidParameter');
        for (const query of [`?owner=${OWNER}`, `?orderUid=${MISSING_UID}`]) {
          const answer = await fixture.send('GET', path + query);
          assert.deepEqual([answer.status, answer.json()], [200, []]);
        }
      }
    },
  },
  {
    name: 'pages of trades have 1 to 1000 entries',
    async run(fixture) {
      const path = `/api/v2/trades?owner=${OWNER}`;
      for (const query of ['limit=0', 'limit=1001', 'limit=x', 'limit=-1', 'limit=', 'limit=1&limit=1']) {
        rejected(await fixture.send('GET', `${path}&${query}`), 400, 'InvalidLimit');
      }
      for (const query of [
        'offset=-1',
        'offset=1&offset=1',
        'offset=1e3',
        'cursor=',
        'cursor=1',
        'cursor=1-x',
        'cursor=1-9999999999',
      ]) {
        rejected(await fixture.send('GET', `${path}&${query}`), 400, 'InvalidParameter');
      }
      for (const query of ['limit=1', 'limit=1000', 'offset=0', 'offset=1000&limit=10', 'cursor=7-0']) {
        assert.equal((await fixture.send('GET', `${path}&${query}`)).status, 200);
      }
    },
  },
  {
    name: 'a transaction without settlements has no orders',
    async run(fixture) {
      const answer = await fixture.send('GET', `/api/v1/transactions/0x${'AB'.repeat(32)}/orders`);
      assert.deepEqual([answer.status, answer.json()], [200, []]);
      rejected(await fixture.send('GET', '/api/v1/transactions/0x12/orders'), 400, 'InvalidParameter');
    },
  },
  {
    name: 'an account without trades has zero surplus',
    async run(fixture) {
      const answer = await fixture.send('GET', `/api/v1/users/${OWNER}/total_surplus`);
      assert.deepEqual([answer.status, answer.json()], [200, { totalSurplus: '0' }]);
      rejected(await fixture.send('GET', '/api/v1/users/0x12/total_surplus'), 400, 'InvalidParameter');
    },
  },
  {
    name: 'the auction lists an open order without authentication',
    async run(fixture) {
      const uid = await place(fixture, await signOrder(newOwner(), { validTo: inTenMinutes(fixture) }));
      const answer = await fixture.send('GET', '/api/v1/auction');
      assert.equal(answer.status, 200);
      const { id, orders, ...rest } = answer.json() as { id: number; orders: { uid: string }[] };
      assert.ok(Number.isSafeInteger(id) && id > 0);
      assert.ok(orders.some((order) => order.uid === uid));
      assert.deepEqual(Object.keys(rest).sort(), ['block', 'prices', 'surplusCapturingJitOrderOwners']);
    },
  },
  {
    name: 'competitions are readable without authentication, and writable by operators only',
    async run(fixture) {
      for (const version of ['v1', 'v2']) {
        rejected(await fixture.send('GET', `/api/${version}/solver_competition/4294967296`), 404, 'NotFound');
        rejected(await fixture.send('GET', `/api/${version}/solver_competition/x`), 400, 'InvalidParameter');
        rejected(
          await fixture.send('GET', `/api/${version}/solver_competition/by_tx_hash/0x`),
          400,
          'InvalidParameter',
        );
      }
      const sent = { body: {}, headers: { authorization: 'Bearer unknown' } };
      rejected(await fixture.send('POST', '/restricted/api/v1/competition', sent), 403, 'Forbidden');
    },
  },
  {
    name: 'a known order has a competition status, and an unknown one is 404',
    async run(fixture) {
      const uid = await place(fixture, await signOrder(newOwner(), { validTo: inTenMinutes(fixture) }));
      const answer = await fixture.send('GET', `${ORDERS}/${uid}/status`);
      assert.equal(answer.status, 200);
      assert.deepEqual(Object.keys(answer.json() as object), ['type']);
      rejected(await fixture.send('GET', `${ORDERS}/${MISSING_UID}/status`), 404, 'NotFound');
      rejected(await fixture.send('GET', `${ORDERS}/0x12/status`), 400, 'InvalidParameter');
    },
  },
];
