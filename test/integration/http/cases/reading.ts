import assert from 'node:assert/strict';
import { COW, signCancellation, signOrder, WETH } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, MISSING_UID, newOwner, ORDERS, place } from '../case.ts';

export const READING: readonly HttpCase[] = [
  {
    name: 'an order of either ECDSA scheme is accepted with its UID and returned field for field',
    async run(fixture) {
      for (const scheme of ['eip712', 'ethsign'] as const) {
        const owner = newOwner();
        const order = await signOrder(
          owner,
          { validTo: inTenMinutes(fixture), appData: '{"appCode":"ä"}' },
          { scheme },
        );
        const uid = await place(fixture, order);
        assert.match(uid, /^0x[0-9a-f]{112}$/);
        const read = await fixture.send('GET', `${ORDERS}/${uid}`);
        assert.equal(read.status, 200);
        const body = read.json() as Record<string, unknown>;
        const { appData: document, from, ...signed } = order;
        const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value);
        for (const [name, value] of Object.entries(signed)) assert.equal(body[name], lower(value), name);
        assert.equal(body['fullAppData'], document);
        assert.equal(body['owner'], from?.toLowerCase());
        assert.equal(body['status'], 'open');
        assert.equal(body['class'], 'limit');
        assert.equal(body['availableBalance'], null);
        assert.match(String(body['creationDate']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        for (const hidden of ['from', 'quoteId', 'appDataHash', 'fullBalanceCheck'])
          assert.ok(!(hidden in body), hidden);
      }
    },
  },
  {
    name: 'UIDs and addresses are accepted in either case and returned in lower case',
    async run(fixture) {
      const owner = newOwner();
      const uid = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) }));
      const upper = `0x${uid.slice(2).toUpperCase()}`;
      assert.equal(((await fixture.send('GET', `${ORDERS}/${upper}`)).json() as { uid: string }).uid, uid);
      const listed = (await fixture.send('GET', `/api/v1/account/${owner.address}/orders`)).json() as { uid: string }[];
      assert.deepEqual(
        listed.map((order) => order.uid),
        [uid],
      );
    },
  },
  {
    name: 'by_uids returns each order once, omits missing ones and accepts an empty list',
    async run(fixture) {
      const owner = newOwner();
      const validTo = inTenMinutes(fixture);
      const uids = [
        await place(fixture, await signOrder(owner, { validTo })),
        await place(fixture, await signOrder(owner, { validTo: validTo + 1 })),
      ];
      const answer = await fixture.send('POST', `${ORDERS}/by_uids`, { body: [...uids, uids[0], MISSING_UID] });
      assert.equal(answer.status, 200);
      assert.equal(answer.header('cache-control'), 'no-store');
      assert.equal(answer.header('etag'), undefined);
      const found = (answer.json() as { order: { uid: string } }[]).map(({ order }) => order.uid);
      assert.deepEqual(found.sort(), [...uids].sort());
      assert.deepEqual((await fixture.send('POST', `${ORDERS}/by_uids`, { body: [] })).json(), []);
      const many = Array.from({ length: 128 }, () => uids[0]);
      assert.equal(((await fixture.send('POST', `${ORDERS}/by_uids`, { body: many })).json() as unknown[]).length, 1);
    },
  },
  {
    name: 'a listing is paged by cursor through Link, newest first, without gaps or repeats',
    async run(fixture) {
      const owner = newOwner();
      const uids: string[] = [];
      for (let i = 0; i < 5; i++)
        uids.push(await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) + i })));
      const path = `/api/v1/account/${owner.address}/orders`;
      const seen: string[] = [];
      let query = '?limit=2';
      for (let page = 0; page < 5 && query !== ''; page++) {
        const answer = await fixture.send('GET', path + query);
        const orders = answer.json() as { uid: string; creationDate: string }[];
        seen.push(...orders.map(({ uid }) => uid));
        query = /^<(\?[^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1] ?? '';
      }
      assert.equal(seen.length, 5);
      assert.deepEqual([...seen].sort(), [...uids].sort());
      const whole = (await fixture.send('GET', `${path}?limit=1000`)).json() as { uid: string }[];
      assert.deepEqual(
        whole.map(({ uid }) => uid),
        seen,
      );
      const skipped = (await fixture.send('GET', `${path}?offset=3&limit=10`)).json() as { uid: string }[];
      assert.deepEqual(
        skipped.map(({ uid }) => uid),
        seen.slice(3),
      );
    },
  },
  {
    name: 'an unknown filter of a listing or of a stream is rejected with the name that was probably meant',
    async run(fixture) {
      for (const [path, meant] of [
        [`${ORDERS}?sellTokn=${WETH}`, 'did you mean "sellToken"?'],
        [`${ORDERS}?status=open&state=open`, 'did you mean "status"?'],
        [`${ORDERS}/stream?ownr=${WETH}`, 'did you mean "owner"?'],
        [`${ORDERS}?${'x'.repeat(5000)}=1`, 'unknown filter'],
      ] as const) {
        const answer = await fixture.send('GET', path);
        assert.equal(answer.status, 400, path);
        const { errorType, description } = answer.json() as Record<string, string>;
        assert.equal(errorType, 'InvalidParameter');
        assert.ok(description?.includes(meant), description);
        assert.ok((description?.length ?? 0) < 300);
      }
    },
  },
  {
    name: 'orders are filtered by owner, tokens and status together',
    async run(fixture) {
      const owner = newOwner();
      const token = newOwner().address.toLowerCase();
      const uid = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture), buyToken: token }));
      const find = async (query: string) =>
        ((await fixture.send('GET', `${ORDERS}?${query}`)).json() as { uid: string }[]).map((order) => order.uid);
      assert.deepEqual(await find(`buyToken=${token}`), [uid]);
      assert.deepEqual(await find(`buyToken=${token}&sellToken=${WETH}&owner=${owner.address}&status=open&limit=1`), [
        uid,
      ]);
      assert.deepEqual(await find(`buyToken=${token}&status=cancelled`), []);
      assert.deepEqual(await find(`buyToken=${token}&sellToken=${COW}`), []);
      assert.deepEqual(await find(`owner=${newOwner().address}`), []);
    },
  },
  {
    name: 'an order is cancelled by the batch type, by the single type, and on the single route by a list of one',
    async run(fixture) {
      const owner = newOwner();
      const validTo = inTenMinutes(fixture);
      const place1 = async (i: number) => place(fixture, await signOrder(owner, { validTo: validTo + i }));
      const batch = [await place1(0), await place1(1)];
      const signed = await signCancellation(owner, { orderUids: batch });
      const answer = await fixture.send('DELETE', ORDERS, { body: { orderUids: batch, ...signed } });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json(), 'Cancelled');
      for (const uid of batch) {
        const order = (await fixture.send('GET', `${ORDERS}/${uid}`)).json() as {
          status: string;
          invalidated: boolean;
        };
        assert.deepEqual([order.status, order.invalidated], ['cancelled', true]);
      }
      const single = await place1(2);
      const bySingle = await signCancellation(owner, { orderUid: single }, { scheme: 'ethsign' });
      assert.equal((await fixture.send('DELETE', `${ORDERS}/${single}`, { body: bySingle })).json(), 'Cancelled');
      const other = await place1(3);
      const byList = await signCancellation(owner, { orderUids: [other] });
      assert.equal((await fixture.send('DELETE', `${ORDERS}/${other}`, { body: byList })).json(), 'Cancelled');
    },
  },
  {
    name: 'presign orders are pending and show no signature',
    async run(fixture) {
      const owner = newOwner();
      const signed = await signOrder(owner, { validTo: inTenMinutes(fixture) });
      const uid = await place(fixture, { ...signed, signingScheme: 'presign', signature: '0x' });
      const order = (await fixture.send('GET', `${ORDERS}/${uid}`)).json() as { status: string; signature: string };
      assert.deepEqual([order.status, order.signature], ['presignaturePending', '0x']);
    },
  },
  {
    name: 'version returns the domain as text, the root returns it as JSON, and ready returns its checks',
    async run(fixture) {
      const version = await fixture.send('GET', '/api/v1/version');
      assert.match(version.header('content-type') ?? '', /^text\/plain/);
      assert.match(version.text, /chain \d+ settlement 0x[0-9a-f]{40}$/);
      const root = (await fixture.send('GET', '/')).json() as { chainId: number; settlementContract: string };
      assert.ok(version.text.includes(`chain ${root.chainId} settlement ${root.settlementContract}`));
      const ready = await fixture.send('GET', '/api/v1/ready');
      assert.equal(ready.status, 200);
      assert.deepEqual((ready.json() as { ready: boolean }).ready, true);
    },
  },
];
