import assert from 'node:assert/strict';
import { COW, signOrder, WETH } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, MISSING_UID, newOwner, ORDERS, rejected } from '../case.ts';

export const CONVENTIONS: readonly HttpCase[] = [
  {
    name: 'a path with invalid percent-encoded UTF-8 is 400 InvalidParameter',
    validates: 'url',
    async run(fixture) {
      for (const uid of ['%zz', '%ff'])
        rejected(await fixture.send('GET', `${ORDERS}/${uid}`), 400, 'InvalidParameter');
    },
  },
  {
    name: 'a body that is a JSON string is rejected by shape',
    validates: 'body',
    async run(fixture) {
      rejected(await fixture.send('POST', `${ORDERS}/by_uids`, { body: '"x"' }), 422, 'InvalidBody');
      rejected(await fixture.send('POST', ORDERS, { body: '"x"' }), 422, 'InvalidBody');
    },
  },
  {
    name: 'OPTIONS returns 204 with the CORS headers on any path',
    async run(fixture) {
      for (const path of [ORDERS, '/api/nowhere/at/all', '/']) {
        const answer = await fixture.send('OPTIONS', path);
        assert.equal(answer.status, 204, path);
        assert.equal(answer.header('access-control-allow-origin'), '*');
        assert.equal(answer.header('access-control-allow-credentials'), undefined);
        assert.match(answer.header('access-control-allow-methods') ?? '', /DELETE/);
        const allowed = (answer.header('access-control-allow-headers') ?? '').toLowerCase();
        for (const name of [
          'content-type',
          'cache-control',
          'if-none-match',
          'x-api-key',
          'authorization',
          'last-event-id',
        ])
          assert.ok(allowed.includes(name), name);
      }
    },
  },
  {
    name: 'a trailing slash is ignored',
    async run(fixture) {
      assert.equal((await fixture.send('GET', `${ORDERS}/`)).status, 200);
      assert.equal((await fixture.send('POST', `${ORDERS}/by_uids/`, { body: [] })).status, 200);
    },
  },
  {
    name: 'an unknown route is 404, and a known one with another method is 405 with Allow',
    async run(fixture) {
      rejected(await fixture.send('GET', '/api/v1/nowhere'), 404, 'NotFound');
      rejected(await fixture.send('GET', '/api/v2/orders'), 404, 'NotFound');
      for (const [method, path, allow] of [
        ['GET', `${ORDERS}/by_uids`, 'POST'],
        ['PATCH', ORDERS, 'POST, GET, HEAD, DELETE'],
        ['PUT', `${ORDERS}/${MISSING_UID}`, 'GET, HEAD, DELETE'],
      ] as const) {
        const answer = await fixture.send(method, path);
        rejected(answer, 405, 'MethodNotAllowed');
        assert.deepEqual((answer.header('allow') ?? '').split(', ').sort(), allow.split(', ').sort());
      }
    },
  },
  {
    name: 'a missing order is 404 NotFound, a malformed UID 400 InvalidParameter',
    async run(fixture) {
      rejected(await fixture.send('GET', `${ORDERS}/${MISSING_UID}`), 404, 'NotFound');
      const malformed = [
        '0x12',
        MISSING_UID.slice(2),
        MISSING_UID.slice(0, -2),
        `${MISSING_UID}00`,
        `${MISSING_UID.slice(0, -1)}g`,
        '%00',
        '..%2f..',
      ];
      for (const uid of malformed) rejected(await fixture.send('GET', `${ORDERS}/${uid}`), 400, 'InvalidParameter');
    },
  },
  {
    name: 'a malformed query is 400 InvalidParameter naming the parameter',
    async run(fixture) {
      const account0 = `/api/v1/account/${newOwner().address}/orders`;
      for (const [path, parameter] of [
        [`${account0}?limit=0`, 'limit'],
        [`${account0}?limit=1001`, 'limit'],
        [`${account0}?limit=-1`, 'limit'],
        [`${account0}?limit=1.5`, 'limit'],
        [`${account0}?limit=`, 'limit'],
        [`${account0}?limit=1&limit=2`, 'limit'],
        [`${account0}?limit=99999999999999999999`, 'limit'],
        [`${account0}?offset=-1`, 'offset'],
        [`${account0}?offset=9223372036854775808`, 'offset'],
        [`${account0}?offset=999999999`, 'offset'],
        [`${account0}?cursor=abc`, 'cursor'],
        [`${ORDERS}?status=Open`, 'status'],
        [`${ORDERS}?status=`, 'status'],
        [`${ORDERS}?owner=0x12`, 'owner'],
        [`${ORDERS}?sellToken=WETH`, 'sellToken'],
        [`${ORDERS}?buyToken=${WETH}00`, 'buyToken'],
        [`${ORDERS}?owner=${WETH}&owner=${COW}`, 'owner'],
        ['/api/v1/account/0x12/orders', 'owner'],
      ] as const) {
        const { data } = rejected(await fixture.send('GET', path), 400, 'InvalidParameter');
        assert.equal(data?.['parameter'], parameter, path);
      }
      assert.equal((await fixture.send('GET', `${account0}?unknown=1&__proto__=2`)).status, 200);
    },
  },
  {
    name: 'a body must be declared as JSON and come uncompressed, else 415',
    validates: 'body',
    async run(fixture) {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/jsonp',
        'multipart/form-data; boundary=x',
      ]) {
        rejected(
          await fixture.send('POST', `${ORDERS}/by_uids`, { headers: { 'content-type': type }, body: '[]' }),
          415,
          'UnsupportedMediaType',
        );
      }
      for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.api+json']) {
        const answer = await fixture.send('POST', `${ORDERS}/by_uids`, {
          headers: { 'content-type': type },
          body: '[]',
        });
        assert.equal(answer.status, 200, type);
      }
      const squeezed = { headers: { 'content-encoding': 'gzip' }, body: '[]' };
      rejected(await fixture.send('POST', `${ORDERS}/by_uids`, squeezed), 415, 'UnsupportedMediaType');
    },
  },
  {
    name: 'a body that is not JSON is 400 InvalidJson',
    validates: 'body',
    async run(fixture) {
      const bytes = (...values: number[]) => new Uint8Array(values);
      const bodies: (string | Uint8Array)[] = [
        '',
        '{',
        '[1,]',
        '{"a":1} x',
        'NaN',
        "{'a':1}",
        '\u0000',
        bytes(0x22, 0xff, 0x22),
        bytes(0xc3),
      ];
      for (const body of bodies) {
        rejected(await fixture.send('POST', ORDERS, { body }), 400, 'InvalidJson');
        rejected(await fixture.send('DELETE', ORDERS, { body }), 400, 'InvalidJson');
      }
      const whole = JSON.stringify(await signOrder(newOwner(), { validTo: inTenMinutes(fixture) }));
      rejected(await fixture.send('POST', ORDERS, { body: whole.slice(0, -20) }), 400, 'InvalidJson');
    },
  },
  {
    name: 'nesting deeper than 64 is 400 InvalidJson, and 64 is accepted',
    async run(fixture) {
      const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
      rejected(await fixture.send('POST', `${ORDERS}/by_uids`, { body: nested(65) }), 400, 'InvalidJson');
      rejected(await fixture.send('POST', `${ORDERS}/by_uids`, { body: nested(30_000) }), 400, 'InvalidJson');
      rejected(await fixture.send('POST', `${ORDERS}/by_uids`, { body: nested(64) }), 422, 'InvalidBody');
      rejected(
        await fixture.send('POST', `${ORDERS}/by_uids`, { body: `["${'['.repeat(100)}\\"${'{'.repeat(100)}"]` }),
        422,
        'InvalidBody',
      );
    },
  },
  {
    name: 'a body past its limit is 413',
    async run(fixture) {
      const padding = 'x'.repeat(64 * 1024);
      rejected(await fixture.send('POST', ORDERS, { body: { padding } }), 413, 'PayloadTooLarge');
      rejected(await fixture.send('DELETE', `${ORDERS}/${MISSING_UID}`, { body: { padding } }), 413, 'PayloadTooLarge');
      rejected(
        await fixture.send('POST', `${ORDERS}/by_uids`, { body: ['x'.repeat(1024 * 1024)] }),
        413,
        'PayloadTooLarge',
      );
    },
  },
  {
    name: 'more than 128 UIDs are rejected before any is decoded',
    async run(fixture) {
      const uids = Array.from({ length: 129 }, () => MISSING_UID);
      const { data } = rejected(
        await fixture.send('POST', `${ORDERS}/by_uids`, { body: uids }),
        400,
        'TooManyOrderUids',
      );
      assert.deepEqual(data, { limit: 128, count: 129 });
      rejected(
        await fixture.send('POST', `${ORDERS}/by_uids`, { body: Array.from({ length: 200 }, () => 7) }),
        400,
        'TooManyOrderUids',
      );
      const body = {
        orderUids: Array.from({ length: 8000 }, () => MISSING_UID),
        signature: '0x',
        signingScheme: 'eip712',
      };
      const long = rejected(await fixture.send('DELETE', ORDERS, { body }), 400, 'TooManyOrderUids');
      // The commas of a long body are counted, and not all of them separate UIDs. A host may have parsed it.
      assert.ok([undefined, 8000].includes((long.data as { count?: number }).count));
    },
  },
  {
    name: 'an invalid UID in by_uids is 422 with its index',
    async run(fixture) {
      for (const bad of [
        '0x12',
        7,
        null,
        {},
        [],
        true,
        MISSING_UID.slice(0, -2),
        MISSING_UID.slice(2),
        `${MISSING_UID}00`,
      ]) {
        const { data } = rejected(
          await fixture.send('POST', `${ORDERS}/by_uids`, { body: [MISSING_UID, bad] }),
          422,
          'InvalidBody',
        );
        assert.equal(data?.['path'], '1');
      }
      for (const body of ['{}', 'null', '7'])
        rejected(await fixture.send('POST', `${ORDERS}/by_uids`, { body }), 422, 'InvalidBody');
    },
  },
];
