import assert from 'node:assert/strict';
import type { WireOrder } from '../../../support/orders.ts';
import { COW, signOrder, WETH } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, newOwner, ORDERS, rejected, WRONG } from '../case.ts';

const ZERO = `0x${'00'.repeat(20)}`;

export const SUBMISSION: readonly HttpCase[] = [
  {
    name: 'a wrong type in any field is rejected with the name of the field',
    async run(fixture) {
      const good = await signOrder(newOwner(), { validTo: inTenMinutes(fixture) });
      for (const name of Object.keys(good)) {
        for (const value of WRONG) {
          const answer = await fixture.send('POST', ORDERS, { body: { ...good, [name]: value } });
          if (answer.status === 201) continue; // `receiver: null` and similar values are valid
          assert.ok(answer.status === 422 || answer.status === 400, `${name}: ${JSON.stringify(value)} ${answer.text}`);
          const { errorType, data } = answer.json() as { errorType: string; data?: { path?: string } };
          if (errorType === 'InvalidBody') assert.equal(data?.path, name);
        }
        const { [name as keyof WireOrder]: _, ...without } = good;
        const answer = await fixture.send('POST', ORDERS, { body: without });
        const optional = ['receiver', 'sellTokenBalance', 'buyTokenBalance', 'from'].includes(name);
        if (!optional) assert.equal(rejected(answer, 422, 'InvalidBody').data?.['path'], name);
      }
    },
  },
  {
    name: 'keys that reach for a prototype are ignored like any unknown key',
    async run(fixture) {
      const order = await signOrder(newOwner(), { validTo: inTenMinutes(fixture) });
      const text = JSON.stringify(order).replace(
        '{',
        '{"__proto__":{"kind":"buy","polluted":1},"constructor":{"prototype":{"polluted":1}},"extra":1,',
      );
      const answer = await fixture.send('POST', ORDERS, { body: text });
      assert.equal(answer.status, 201, answer.text);
      assert.equal(({} as { polluted?: number }).polluted, undefined);
      rejected(await fixture.send('POST', ORDERS, { body: '{"__proto__":{"sellToken":"0x"}}' }), 422, 'InvalidBody');
    },
  },
  {
    name: 'each admission rule has its own code',
    async run(fixture) {
      const owner = newOwner();
      const now = fixture.now();
      const validTo = now + 600;
      const signed = (choice: Parameters<typeof signOrder>[1]) => signOrder(owner, choice);
      const good = await signed({ validTo });
      const max = 2n ** 256n;
      const native = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
      const rows: [string, number, unknown][] = [
        ['NonZeroFee', 400, await signed({ validTo, feeAmount: '1' })],
        ['NonZeroFee', 400, { ...good, feeAmount: max.toString() }],
        ['SellAmountOverflow', 400, { ...good, sellAmount: max.toString() }],
        ['BuyAmountOverflow', 400, { ...good, buyAmount: `1${max}` }],
        ['ZeroAmount', 400, await signed({ validTo, sellAmount: '0' })],
        ['ZeroAmount', 400, await signed({ validTo, buyAmount: '0' })],
        ['SameBuyAndSellToken', 400, await signed({ validTo, buyToken: WETH })],
        ['SameBuyAndSellToken', 400, await signed({ validTo, buyToken: native })],
        ['InvalidNativeSellToken', 400, await signed({ validTo, sellToken: native })],
        ['OrderExpired', 400, await signed({ validTo: now - 10 })],
        ['InsufficientValidTo', 400, await signed({ validTo: now + 50 })],
        ['ExcessiveValidTo', 400, await signed({ validTo: now + 366 * 86400 })],
        ['InvalidAppData', 400, { ...good, appData: 'x' }],
        ['InvalidAppData', 400, { ...good, appData: '[]' }],
        ['InvalidAppData', 400, { ...good, appData: `{"a":"${'é'.repeat(500)}"}` }],
        ['InvalidAppData', 400, { ...good, appData: `0x${'12'.repeat(32)}` }],
        ['AppDataHashMismatch', 400, { ...good, appDataHash: `0x${'12'.repeat(32)}` }],
        ['InvalidBody', 422, { ...good, appDataHash: '0x12' }],
        ['AppdataFromMismatch', 400, { ...good, appData: JSON.stringify({ metadata: { signer: COW } }) }],
        ['MissingFrom', 400, { ...good, from: null, signingScheme: 'presign', signature: '0x' }],
        ['MissingFrom', 400, { ...good, from: ZERO, signingScheme: 'presign', signature: '0x' }],
        ['MissingFrom', 400, { ...good, from: ZERO, signingScheme: 'eip1271', signature: '0x12' }],
        ['InvalidSignature', 400, { ...good, from: ZERO }],
        ['UnsupportedSigningScheme', 400, { ...good, signingScheme: 'eip1271', signature: '0x1234' }],
        ['InvalidSignature', 400, { ...good, signature: '0x' }],
        ['InvalidSignature', 400, { ...good, signature: `0x${'00'.repeat(65)}` }],
        ['InvalidSignature', 400, { ...good, signature: `${good.signature.slice(0, -2)}05` }],
        ['InvalidSignature', 400, { ...good, signingScheme: 'presign', signature: '0x1234' }],
        ['InvalidSignature', 400, { ...good, signingScheme: 'ethsign' }],
        ['InvalidSignature', 400, { ...good, buyAmount: '1' }],
        ['InvalidBody', 422, { ...good, signature: 'nonsense' }],
        ['InvalidBody', 422, { ...good, kind: 'Sell' }],
        ['InvalidBody', 422, []],
      ];
      for (const [code, status, body] of rows) rejected(await fixture.send('POST', ORDERS, { body }), status, code);
    },
  },
  {
    name: 'a wrong signer is rejected with the recovered signer, the digest and the domain',
    async run(fixture) {
      const owner = newOwner();
      const otherOwner = newOwner();
      const order = await signOrder(owner, { validTo: inTenMinutes(fixture) });
      const { data } = rejected(
        await fixture.send('POST', ORDERS, { body: { ...order, from: otherOwner.address } }),
        400,
        'InvalidSignature',
      );
      assert.equal(data?.['recovered'], owner.address.toLowerCase());
      assert.equal(data?.['expected'], otherOwner.address.toLowerCase());
      assert.match(String(data?.['digest']), /^0x[0-9a-f]{64}$/);
      assert.deepEqual((data?.['domain'] as { name: string } | undefined)?.name, 'Gnosis Protocol');
    },
  },
  {
    name: 'a second submission is DuplicatedOrder, a high-s twin too, and fifty concurrent ones store one order',
    async run(fixture) {
      const order = await signOrder(newOwner(), { validTo: inTenMinutes(fixture) });
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => fixture.send('POST', ORDERS, { body: order })),
      );
      assert.equal(answers.filter(({ status }) => status === 201).length, 1);
      for (const answer of answers) if (answer.status !== 201) rejected(answer, 400, 'DuplicatedOrder');
      const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      const { signature } = order;
      const s = n - BigInt(`0x${signature.slice(66, 130)}`);
      const v = signature.endsWith('1b') ? '1c' : '1b';
      const twin = `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`;
      rejected(await fixture.send('POST', ORDERS, { body: { ...order, signature: twin } }), 400, 'DuplicatedOrder');
    },
  },
];
