import fc from 'fast-check';
import type { OrderCreation } from 'intentbook';
import { createVerifier } from 'intentbook';
import { keccak256, toHex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_UINT256 } from '../../src/protocol/uint256.ts';
import type { OrderChoice, WireOrder } from '../support/orders.ts';
import { account, SEPOLIA_DOMAIN, signOrder } from '../support/orders.ts';
import type { AdmissionFixture } from '../unit/orders/admission-fixture.ts';
import { admissionFixture, documentOf, NOW, outcomeOf } from '../unit/orders/admission-fixture.ts';
import { address, EXTREME_AMOUNTS } from '../unit/protocol/arbitraries.ts';

const RUNS = process.env['TEST_LONG'] === '1' ? 5000 : 500;
const YEAR = 365 * 24 * 60 * 60;
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const WRAPPED = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';

let fixture: AdmissionFixture;
beforeAll(async () => {
  fixture = await admissionFixture();
});
afterAll(() => fixture.book.close());

const positive = fc.oneof(
  fc.constantFrom(...EXTREME_AMOUNTS.filter((amount) => amount > 0n)),
  fc.bigInt({ min: 1n, max: MAX_UINT256 }),
);
const hook = fc.record({
  target: address,
  callData: fc.uint8Array({ maxLength: 40 }).map((bytes) => toHex(bytes)),
  // Three hooks need less than the default of `maxOrderGas`.
  gasLimit: fc.bigInt({ min: 0n, max: 2_500_000n }).map(String),
});
const metadata = fc.record(
  {
    hooks: fc.record(
      { pre: fc.array(hook, { maxLength: 2 }), post: fc.array(hook, { maxLength: 1 }) },
      { requiredKeys: [] },
    ),
    validFrom: fc.integer({ min: 0, max: NOW - 1 }),
    utm: fc.string({ unit: 'grapheme', maxLength: 20 }),
  },
  { requiredKeys: [] },
);
const document = fc
  .oneof(fc.constant('{}'), metadata.map(documentOf))
  .filter((text) => Buffer.byteLength(text) <= 1000);

/** Orders that every book accepts, over the full range of each field. */
const choice: fc.Arbitrary<OrderChoice & { validTo: number; appData: string }> = fc
  .record({
    sellToken: address,
    buyToken: fc.oneof(address, fc.constant(NATIVE)),
    receiver: fc.option(address),
    sellAmount: positive.map(String),
    buyAmount: positive.map(String),
    validTo: fc.integer({ min: NOW + 60, max: NOW + YEAR }),
    appData: document,
    kind: fc.constantFrom('buy' as const, 'sell' as const),
    partiallyFillable: fc.boolean(),
    sellTokenBalance: fc.constantFrom('erc20' as const, 'internal' as const, 'external' as const),
    buyTokenBalance: fc.constantFrom('erc20' as const, 'internal' as const),
  })
  .filter(({ sellToken, buyToken }) => sellToken !== buyToken && sellToken !== NATIVE && sellToken !== WRAPPED);

const signer = fc.nat(20).map((n) => account(1000 + n));
const scheme = fc.constantFrom('eip712' as const, 'ethsign' as const);

test('book accepts any valid order and returns it field for field', async () => {
  let n = 0;
  await fc.assert(
    fc.asyncProperty(choice, signer, scheme, fc.boolean(), async (chosen, owner, signing, withFrom) => {
      // two runs can generate equal orders
      const fields = { ...chosen, validTo: Math.min(chosen.validTo + (n++ % 7), NOW + YEAR) };
      const { from, ...order } = await signOrder(owner, fields, { scheme: signing });
      const result = await fixture.book.orders.submit(
        { ...order, ...(withFrom ? { from } : {}) },
        { acceptExisting: true },
      );
      if (result.status !== 'accepted') throw result.error;
      const read = await fixture.book.orders.get(result.uid);
      const { appData, ...same } = order;
      expect(read).toMatchObject({
        ...same,
        appData: keccak256(toHex(appData)),
        fullAppData: appData,
        owner: owner.address.toLowerCase(),
        status: 'open',
        class: 'limit',
        invalidated: false,
        executedSellAmount: '0',
        executedBuyAmount: '0',
      });
      const over = await fixture.http.send('GET', `/api/v1/orders/${result.uid}`);
      expect(over.json()).toEqual(read);
    }),
    { numRuns: RUNS },
  );
}, 120_000);

type Signed = Exclude<keyof OrderChoice, 'feeAmount' | 'appData' | 'appDataIsHash'>;

/** Returns another value for a signed field. */
function mutate(order: WireOrder, field: Signed, salt: bigint): WireOrder {
  const other = { ...order };
  const flip = (text: string) => toHex((BigInt(text) + 1n + salt) % 2n ** 160n, { size: 20 });
  switch (field) {
    case 'sellToken':
    case 'buyToken':
      other[field] = flip(order[field]);
      break;
    case 'receiver':
      other.receiver = order.receiver === null ? toHex(1n + salt, { size: 20 }) : flip(order.receiver);
      break;
    case 'sellAmount':
    case 'buyAmount':
      other[field] = String((BigInt(order[field]) + 1n + salt) % (MAX_UINT256 + 1n));
      break;
    case 'validTo':
      other.validTo = (order.validTo + 1 + Number(salt % 1000n)) % 2 ** 32;
      break;
    case 'kind':
      other.kind = order.kind === 'sell' ? 'buy' : 'sell';
      break;
    case 'partiallyFillable':
      other.partiallyFillable = !order.partiallyFillable;
      break;
    case 'sellTokenBalance':
      other.sellTokenBalance = order.sellTokenBalance === 'erc20' ? 'internal' : 'erc20';
      break;
    case 'buyTokenBalance':
      other.buyTokenBalance = order.buyTokenBalance === 'erc20' ? 'internal' : 'erc20';
      break;
  }
  return other;
}

const SIGNED_FIELDS: readonly Signed[] = [
  ...([
    'sellToken',
    'buyToken',
    'receiver',
    'sellAmount',
    'buyAmount',
    'validTo',
    'kind',
    'partiallyFillable',
  ] as const),
  ...(['sellTokenBalance', 'buyTokenBalance'] as const),
];

test('book rejects any change of a signed field with the recovered and the expected signer', async () => {
  const verifier = await createVerifier(SEPOLIA_DOMAIN);
  await fc.assert(
    fc.asyncProperty(
      choice,
      signer,
      scheme,
      fc.constantFrom(...SIGNED_FIELDS),
      fc.bigInt({ min: 0n, max: 2n ** 64n }),
      async (chosen, owner, signing, field, salt) => {
        const forged = mutate(await signOrder(owner, chosen, { scheme: signing }), field, salt);
        const result = await fixture.book.orders.submit(forged);
        expect(outcomeOf(result)).toBe('InvalidSignature');
        if (result.status !== 'rejected') return;
        const [{ signer: recovered } = {}] = await verifier.recoverMany([
          { ...forged, appData: keccak256(toHex(forged.appData)) },
        ]);
        expect(result.error.data).toMatchObject({ recovered, expected: owner.address.toLowerCase(), scheme: signing });
        expect(recovered).not.toBe(owner.address.toLowerCase());
      },
    ),
    { numRuns: RUNS },
  );
}, 120_000);

test('book rejects any invalid input without a failure', async () => {
  const field = fc.constantFrom(
    ...SIGNED_FIELDS,
    'feeAmount',
    'appData',
    'appDataHash',
    'signature',
    'signingScheme',
    'from',
    'quoteId',
    'fullBalanceCheck',
  );
  await fc.assert(
    fc.asyncProperty(choice, field, fc.jsonValue(), async (chosen, name, value) => {
      const order = await signOrder(account(1), chosen);
      const result = await fixture.book.orders.submit({ ...order, [name]: value } as OrderCreation, {
        acceptExisting: true,
      });
      if (result.status === 'rejected') expect(result.error.status).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  );
  expect(fixture.failures).toEqual([]);
}, 120_000);
