import type { ExplainedOrder, SignatureExplanation } from 'intentbook';
import { explainSignature } from 'intentbook';
import type { Hex } from 'viem';
import { hashTypedData, keccak256, toHex } from 'viem';
import { expect, test } from 'vitest';
import type { OrderChoice } from '../../support/orders.ts';
import { account, COW, ORDER_TYPES, SEPOLIA, SEPOLIA_DOMAIN, signOrder, WETH } from '../../support/orders.ts';

const owner = account(1);
const address = owner.address.toLowerCase();
const STAGING = '0xf553d092b50bdcbdded1a99af2ca29fbe5e2cb13';
const DOCUMENT = '{"version":"1.3.0", "metadata":{}}';
const ZERO_HASH = `0x${'0'.repeat(64)}`;
const hashOf = (document: string) => keccak256(toHex(document));

type How = NonNullable<Parameters<typeof signOrder>[2]>;

/** Signs one order, submits another, and returns the explanation. */
async function explained(
  signed: OrderChoice,
  sent: Partial<ExplainedOrder>,
  { how = {}, options = {} }: { how?: How; options?: Parameters<typeof explainSignature>[2] } = {},
): Promise<SignatureExplanation> {
  const { signature, ...order } = await signOrder(owner, { validTo: 2_000_000_000, ...signed }, how);
  return explainSignature({ ...order, ...sent }, signature, { chainId: SEPOLIA, ...options });
}

test('explainer accepts an order signed by its owner with either scheme', async () => {
  for (const scheme of ['eip712', 'ethsign'] as const) {
    const found = await explained({}, {}, { how: { scheme } });
    expect(found).toMatchObject({ matches: true, expected: address, recovered: address, differences: [] });
    expect(found.domain).toEqual(SEPOLIA_DOMAIN);
    expect(found.digest).toMatch(/^0x[0-9a-f]{64}$/);
  }
});

const elsewhere = (chainId: number, settlementContract: string = SEPOLIA_DOMAIN.settlementContract): How => ({
  domain: { chainId, settlementContract: settlementContract as Hex },
});

test.each<[string, OrderChoice, Partial<ExplainedOrder>, How, string, string, string]>([
  ['another chain', {}, {}, elsewhere(1), 'chainId', '11155111', '1'],
  [
    'the staging contract',
    {},
    {},
    elsewhere(SEPOLIA, STAGING),
    'settlementContract',
    SEPOLIA_DOMAIN.settlementContract,
    STAGING,
  ],
  [
    'ethsign instead of eip712',
    {},
    { signingScheme: 'eip712' },
    { scheme: 'ethsign' },
    'signingScheme',
    'eip712',
    'ethsign',
  ],
  ['eip712 instead of ethsign', {}, { signingScheme: 'ethsign' }, {}, 'signingScheme', 'ethsign', 'eip712'],
  ['a key instead of a contract', {}, { signingScheme: 'eip1271' }, {}, 'signingScheme', 'eip1271', 'eip712'],
  ['no signed fee', { feeAmount: '0' }, { feeAmount: '7' }, {}, 'feeAmount', '7', '0'],
  ['a signed null receiver', { receiver: null }, { receiver: owner.address }, {}, 'receiver', address, 'null'],
  [
    'the owner signed as receiver',
    { receiver: owner.address },
    { receiver: COW },
    {},
    'receiver',
    COW.toLowerCase(),
    address,
  ],
  ['the other kind', { kind: 'buy' }, { kind: 'sell' }, {}, 'kind', 'sell', 'buy'],
  [
    'partial filling',
    { partiallyFillable: true },
    { partiallyFillable: false },
    {},
    'partiallyFillable',
    'false',
    'true',
  ],
  ['the hash of {}', { appData: '{}' }, { appData: DOCUMENT }, {}, 'appData', hashOf(DOCUMENT), hashOf('{}')],
  [
    'no app data',
    { appData: ZERO_HASH, appDataIsHash: true },
    { appData: '{}' },
    {},
    'appData',
    hashOf('{}'),
    ZERO_HASH,
  ],
  [
    'a reserialised document',
    { appData: JSON.stringify(JSON.parse(DOCUMENT)) },
    { appData: DOCUMENT },
    {},
    'appData',
    hashOf(DOCUMENT),
    hashOf('{"version":"1.3.0","metadata":{}}'),
  ],
  [
    'the hash in the appDataHash member',
    { appData: '{"x":1}' },
    { appData: '{"y":1}', appDataHash: hashOf('{"x":1}') },
    {},
    'appData',
    hashOf('{"y":1}'),
    hashOf('{"x":1}'),
  ],
])('explainer names %s as the difference', async (_, signed, sent, how, field, was, is) => {
  const found = await explained(signed, sent, { how });
  expect(found.differences).toEqual([{ field, sent: was, signed: is }]);
  expect(found).toMatchObject({ matches: false, expected: address });
  expect(found.summary).toBe(`signed with ${field} ${is} where ${was} was sent`);
  expect(found.recovered).not.toBe(address);
});

test('explainer finds a signed quote fee, also after it was moved into the sell amount', async () => {
  const options = { feeAmounts: ['12', 'nonsense', '34'] };
  const kept = await explained({ feeAmount: '34' }, { feeAmount: '0' }, { options });
  expect(kept.differences).toEqual([{ field: 'feeAmount', sent: '0', signed: '34' }]);
  const moved = await explained(
    { feeAmount: '34', sellAmount: '966' },
    { feeAmount: '0', sellAmount: '1000' },
    { options },
  );
  expect(moved.differences).toEqual([
    { field: 'sellAmount', sent: '1000', signed: '966' },
    { field: 'feeAmount', sent: '0', signed: '34' },
  ]);
  expect((await explained({ feeAmount: '34' }, { feeAmount: '0' })).differences).toBeUndefined();
});

test('explainer recognises a digest that was signed as text', async () => {
  const { signature: _, ...order } = await signOrder(owner, { validTo: 2_000_000_000 });
  const digest = hashTypedData({
    domain: {
      name: 'Gnosis Protocol',
      version: 'v2',
      chainId: SEPOLIA,
      verifyingContract: SEPOLIA_DOMAIN.settlementContract,
    },
    types: ORDER_TYPES,
    primaryType: 'Order',
    message: {
      ...order,
      sellToken: WETH,
      buyToken: COW,
      receiver: owner.address,
      appData: hashOf('{}'),
      sellAmount: BigInt(order.sellAmount),
      buyAmount: BigInt(order.buyAmount),
      feeAmount: 0n,
    },
  });
  const signature = await owner.signMessage({ message: digest });
  const found = await explainSignature({ ...order, signingScheme: 'ethsign' }, signature, { chainId: SEPOLIA });
  expect(found.differences).toEqual([
    { field: 'signingScheme', sent: 'ethsign', signed: 'ethsign over the hex text of the digest' },
  ]);
});

test('explainer names two mistakes at once and does not search for three', async () => {
  const two = await explained(
    { kind: 'buy' },
    { kind: 'sell', signingScheme: 'eip712' },
    { how: { scheme: 'ethsign' } },
  );
  expect(two.differences).toEqual([
    { field: 'signingScheme', sent: 'eip712', signed: 'ethsign' },
    { field: 'kind', sent: 'sell', signed: 'buy' },
  ]);
  const three = await explained(
    { kind: 'buy', partiallyFillable: true },
    { kind: 'sell', partiallyFillable: false, signingScheme: 'eip712' },
    { how: { scheme: 'ethsign' } },
  );
  expect(three).toMatchObject({ matches: false, differences: undefined });
});

test('explainer reports no cause for an uncommon mistake', async () => {
  const found = await explained({ buyAmount: '1' }, { buyAmount: '2' });
  expect(found).toMatchObject({ matches: false, expected: address, differences: undefined });
  expect(found.summary).toMatch(
    new RegExp(`^not signed by ${address}: signed by ${found.recovered}, or for an order with other`),
  );
});

test('explainer without a chain finds the matching one', async () => {
  const { signature, ...order } = await signOrder(owner, { validTo: 2_000_000_000 }, elsewhere(100));
  const found = await explainSignature(order, signature);
  expect(found).toMatchObject({ matches: true, differences: [], domain: { chainId: 100 } });
  expect(found.summary).toBe(`signed by ${address} for chain 100`);
});

test('explainer without `from` reports the signer and uses the signer of the app data as owner', async () => {
  const unrecoverable = await explained({}, { from: null });
  expect(unrecoverable).toMatchObject({ matches: true, expected: undefined, recovered: address, differences: [] });
  const appData = JSON.stringify({ metadata: { signer: COW } });
  expect(await explained({ appData }, { from: undefined })).toMatchObject({
    matches: false,
    expected: COW.toLowerCase(),
  });
});

test('explainer reports that a contract signature or presignature is verified on chain', async () => {
  const order = await signOrder(owner, { validTo: 2_000_000_000 });
  const explain = (sent: Partial<ExplainedOrder>, signature: string) =>
    explainSignature({ ...order, ...sent }, signature, { chainId: SEPOLIA });
  expect(await explain({ signingScheme: 'presign' }, '0x')).toMatchObject({
    matches: undefined,
    summary: expect.stringMatching(/signs on chain/),
  });
  expect(await explain({ signingScheme: 'eip1271' }, '0x1234')).toMatchObject({
    matches: undefined,
    summary: expect.stringMatching(/only the contract/),
  });
  expect(await explain({ signingScheme: 'eip1271', from: COW }, order.signature)).toMatchObject({ matches: undefined });
});

test.each<[string, unknown]>([
  ['the order must be an object', null],
  ['the order must be an object', 'order'],
  ['appData must be a document or 32 bytes of hex text', { appData: undefined }],
  ['appData must be a document or 32 bytes of hex text', { appData: {} }],
  ['from must be 20 bytes of hex text', { from: '0x12' }],
  ['signingScheme must be one of eip712, ethsign, presign, eip1271', { signingScheme: 'eip191' }],
])('explainer names what is wrong: %s', async (summary, change) => {
  const { signature, ...order } = await signOrder(owner, { validTo: 2_000_000_000 });
  const sent = typeof change === 'object' && change !== null ? { ...order, ...change } : change;
  expect(await explainSignature(sent as ExplainedOrder, signature, { chainId: SEPOLIA })).toEqual({
    matches: false,
    summary,
    expected: undefined,
    recovered: undefined,
    digest: undefined,
    domain: undefined,
    differences: undefined,
  });
});

test('explainer names a malformed signature or order', async () => {
  const order = await signOrder(owner, { validTo: 2_000_000_000 });
  const explain = (sent: Partial<ExplainedOrder>, signature: string) =>
    explainSignature({ ...order, ...sent }, signature, { chainId: SEPOLIA });
  const summaries = await Promise.all([
    explain({}, 'hello'),
    explain({}, order.signature.slice(0, -2)),
    explain({}, `${order.signature.slice(0, -2)}05`),
    explain({ sellAmount: '1.5' }, order.signature),
    explain({ buyToken: '0x12' }, order.signature),
  ]);
  expect(summaries.map(({ matches }) => matches)).toEqual([false, false, false, false, false]);
  expect(summaries.map(({ summary }) => summary)).toEqual([
    'the signature is not hex text',
    'an ECDSA signature must have 65 bytes, got 64',
    'v must be 0, 1, 27 or 28, got 5',
    'sellAmount must be a decimal uint256',
    'buyToken must be 20 bytes of hex text',
  ]);
});
