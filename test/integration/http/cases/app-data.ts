import assert from 'node:assert/strict';
import { keccak256, toHex } from 'viem';
import { signOrder } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, newOwner, ORDERS, place, rejected } from '../case.ts';

const APP_DATA = '/api/v1/app_data';

let made = 0;
/** Returns a document that no other case uses. */
const newDocument = (more: object = {}) => JSON.stringify({ case: `${process.pid}-${++made}`, ...more });
const hashOf = (document: string) => keccak256(toHex(document));

export const APP_DATA_CASES: readonly HttpCase[] = [
  {
    name: 'PUT app data returns 201 for a new document and 200 for a known one, and GET returns it unchanged',
    async run(fixture) {
      for (const path of [(_: string) => APP_DATA, (hash: string) => `${APP_DATA}/${hash}`]) {
        const fullAppData = newDocument({ text: 'é 漢字 😀 \u2028 "\\' });
        const hash = hashOf(fullAppData);
        for (const status of [201, 200]) {
          const answer = await fixture.send('PUT', path(hash), { body: { fullAppData } });
          assert.deepEqual([answer.status, answer.json()], [status, hash]);
        }
        const read = await fixture.send('GET', `${APP_DATA}/${hash.toUpperCase().replace('X', 'x')}`);
        assert.deepEqual([read.status, read.json()], [200, { fullAppData }]);
        assert.match(read.header('cache-control') ?? '', /immutable/);
      }
    },
  },
  {
    name: 'a document is readable after its order, and an uploaded one serves an order by its hash',
    async run(fixture) {
      const appData = newDocument();
      await place(fixture, await signOrder(newOwner(), { validTo: inTenMinutes(fixture), appData }));
      const read = await fixture.send('GET', `${APP_DATA}/${hashOf(appData)}`);
      assert.deepEqual(read.json(), { fullAppData: appData });

      const fullAppData = newDocument();
      await fixture.send('PUT', APP_DATA, { body: { fullAppData } });
      const order = { validTo: inTenMinutes(fixture), appData: hashOf(fullAppData), appDataIsHash: true };
      const uid = await place(fixture, await signOrder(newOwner(), order));
      const placed = (await fixture.send('GET', `${ORDERS}/${uid}`)).json() as Record<string, unknown>;
      assert.deepEqual([placed['appData'], placed['fullAppData']], [hashOf(fullAppData), fullAppData]);
    },
  },
  {
    name: 'the empty document is readable before any order, under its hash and the zero hash',
    async run(fixture) {
      for (const hash of [hashOf('{}'), `0x${'00'.repeat(32)}`]) {
        const read = await fixture.send('GET', `${APP_DATA}/${hash}`);
        assert.deepEqual([read.status, read.json()], [200, { fullAppData: '{}' }]);
      }
    },
  },
  {
    name: 'an invalid, too large or mismatched document is rejected like one of an order',
    async run(fixture) {
      const put = (fullAppData: string, hash?: string) =>
        fixture.send('PUT', hash === undefined ? APP_DATA : `${APP_DATA}/${hash}`, { body: { fullAppData } });
      rejected(await put('[]'), 400, 'InvalidAppData');
      rejected(await put('{"metadata":{"hooks":null}}'), 400, 'InvalidAppData');
      const large = rejected(await put(`{"a":"${'x'.repeat(993)}"}`), 400, 'InvalidAppData');
      assert.deepEqual(large.data, { size: 1001, limit: 1000 });
      const fullAppData = newDocument();
      const other = hashOf('{}');
      const { data } = rejected(await put(fullAppData, other), 400, 'AppDataHashMismatch');
      assert.deepEqual(data, { actual: hashOf(fullAppData), expected: other });
      rejected(await fixture.send('GET', `${APP_DATA}/${hashOf(fullAppData)}`), 404, 'NotFound');
    },
  },
  {
    name: 'an invalid hash is InvalidParameter, an unknown one NotFound',
    async run(fixture) {
      for (const hash of ['x', '0x12', hashOf('{}').slice(2), `${hashOf('{}')}00`]) {
        rejected(await fixture.send('GET', `${APP_DATA}/${hash}`), 400, 'InvalidParameter');
        rejected(
          await fixture.send('PUT', `${APP_DATA}/${hash}`, { body: { fullAppData: '{}' } }),
          400,
          'InvalidParameter',
        );
      }
      const hash = hashOf(newDocument());
      assert.deepEqual(rejected(await fixture.send('GET', `${APP_DATA}/${hash}`), 404, 'NotFound').data, { hash });
      const { data } = rejected(
        await fixture.send('POST', `${APP_DATA}/${hash}`, { body: {} }),
        405,
        'MethodNotAllowed',
      );
      assert.deepEqual(data?.['allow'], ['PUT', 'GET', 'HEAD']);
    },
  },
  {
    name: 'an app data body of the wrong shape is InvalidBody',
    async run(fixture) {
      for (const body of [[], {}, { fullAppData: 7 }, { fullAppData: null }, { fullAppData: {} }, { appData: '{}' }]) {
        rejected(await fixture.send('PUT', APP_DATA, { body }), 422, 'InvalidBody');
      }
    },
  },
  {
    name: 'the document limit counts bytes without JSON escapes',
    async run(fixture) {
      const fullAppData = `{"a":"${'\u00e9'.repeat(400)}${newDocument().replaceAll('"', "'")}"}`;
      const escaped = [...fullAppData].map(
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      const answer = await fixture.send('PUT', APP_DATA, { body: `{"fullAppData":"${escaped.join('')}"}` });
      assert.deepEqual([answer.status, answer.json()], [201, hashOf(fullAppData)]);
    },
  },
  {
    name: 'a lone surrogate in a document is rejected',
    async run(fixture) {
      const body = '{"fullAppData":"{\\"a\\":\\"\\ud800\\"}"}';
      rejected(await fixture.send('PUT', APP_DATA, { body }), 400, 'InvalidAppData');
    },
  },
];
