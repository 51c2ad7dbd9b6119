import assert from 'node:assert/strict';
import { parseValidCreation } from '../../../src/admission/creation.ts';
import { parseOrderCreation } from '../../../src/admission/creation-schema.ts';
import type { ParsedCreation } from '../../../src/admission/verified-order.ts';
import { OrderBookError } from '../../../src/errors.ts';
import { readJson } from '../../../src/http/message.ts';
import type { AppData } from '../../../src/protocol/app-data.ts';
import { appDataHash } from '../../../src/protocol/app-data.ts';
import { parseAppData } from '../../../src/protocol/parse-app-data.ts';
import type { ParsedQuoteRequest } from '../../../src/quotes/request.ts';
import { parseQuoteRequest } from '../../../src/quotes/request.ts';
import type { Target } from '../target.ts';
import { isRejection, JSON_MARKS, textOf } from '../target.ts';

const ADDRESS = '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14';
const OTHER = '0x0625aFB445C3B6B7B929342a04A22599fd5dBB59';
const SIGNATURE = `0x${'1b'.repeat(65)}`;

const ORDER = {
  sellToken: ADDRESS,
  buyToken: OTHER,
  receiver: null,
  sellAmount: '1000',
  buyAmount: '400',
  validTo: 1767226200,
  appData: '{}',
  feeAmount: '0',
  kind: 'sell',
  partiallyFillable: false,
  sellTokenBalance: 'erc20',
  buyTokenBalance: 'erc20',
  signingScheme: 'eip712',
  signature: SIGNATURE,
  from: ADDRESS,
  quoteId: 7,
  appDataHash: null,
  fullBalanceCheck: true,
};
const JSON_WORDS = [
  ...JSON_MARKS,
  'true',
  'false',
  '1e9',
  '-0',
  '0.1',
  '1e400',
  '\\u0000',
  '\\ud800',
  '\ufeff',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
];
const ORDER_WORDS = [
  ...Object.keys(ORDER).map((key) => `"${key}"`),
  '"buy"',
  '"sell"',
  '"internal"',
  '"external"',
  '"ethsign"',
  '"presign"',
  '"eip1271"',
  '4294967295',
  '4294967296',
  `"${ADDRESS}"`,
  `"0x"`,
  `"${2n ** 256n - 1n}"`,
  `"${2n ** 256n}"`,
  `"0x${'ab'.repeat(32)}"`,
  '"00"',
  '9007199254740993',
  ...JSON_WORDS,
];

const json = {
  header: (name: string) => (name === 'content-type' ? 'application/json' : undefined),
  method: 'POST',
  path: '/',
  query: '',
};

/** Parses bytes as a request body with the usual limit. */
async function bodyOf(bytes: Uint8Array): Promise<unknown> {
  try {
    return await readJson({ ...json, body: { type: 'bytes', bytes } }, { limit: 65_536 });
  } catch (error) {
    if (error instanceof OrderBookError && ['InvalidJson', 'PayloadTooLarge'].includes(error.code)) return error;
    throw error;
  }
}

/** Checks that a parser neither changes built-in prototypes nor returns objects with another prototype. */
function assertClean(parsed: object): void {
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  for (const key in {}) assert.fail(`every object has ${key} now`);
  for (const key of Object.keys(parsed)) assert.notEqual(key, '__proto__');
}

const orderBody: Target = {
  name: 'order-body',
  words: ORDER_WORDS,
  seeds: [JSON.stringify(ORDER), JSON.stringify({ ...ORDER, receiver: OTHER, kind: 'buy', signingScheme: 'presign' })],
  async run(bytes) {
    const body = await bodyOf(bytes);
    if (isRejection(body)) return body;
    const parsed = parseOrderCreation(body);
    const valid = parseValidCreation(body);
    if (isRejection(parsed)) {
      assert.equal(valid, undefined);
      return parsed;
    }
    assert.deepEqual(valid, parsed);
    assertClean(parsed);
    assert.deepEqual(parseOrderCreation(JSON.parse(JSON.stringify(rendered(parsed)))), parsed);
    return parsed;
  },
};

/** Serialises a parsed order like a client. */
function rendered({ feeIsZero, sellAmount, buyAmount, ...order }: ParsedCreation): object {
  const amounts = { sellAmount: String(sellAmount), buyAmount: String(buyAmount), feeAmount: feeIsZero ? '0' : '1' };
  return { ...order, ...amounts };
}

const QUOTE = {
  sellToken: ADDRESS,
  buyToken: OTHER,
  from: ADDRESS,
  receiver: OTHER,
  kind: 'sell',
  sellAmountBeforeFee: '1000',
  validFor: 600,
  appData: '{}',
  signingScheme: 'eip712',
  onchainOrder: false,
  priceQuality: 'fast',
  timeout: 500,
};

const quoteBody: Target = {
  name: 'quote-body',
  words: [
    ...Object.keys(QUOTE).map((key) => `"${key}"`),
    '"sellAmountAfterFee"',
    '"buyAmountAfterFee"',
    '"validTo"',
    '"appDataHash"',
    '"verificationGasLimit"',
    '"optimal"',
    '"verified"',
    '"sellTokenBalance"',
    '"buyTokenBalance"',
    ...ORDER_WORDS,
  ],
  seeds: [
    JSON.stringify(QUOTE),
    JSON.stringify({
      ...QUOTE,
      kind: 'buy',
      buyAmountAfterFee: '5',
      signingScheme: 'eip1271',
      verificationGasLimit: 9,
    }),
    JSON.stringify({ ...QUOTE, sellAmountBeforeFee: null, sellAmountAfterFee: '5', validFor: null, validTo: 9 }),
  ],
  async run(bytes) {
    const body = await bodyOf(bytes);
    if (isRejection(body)) return body;
    const parsed = parseQuoteRequest(body);
    if (isRejection(parsed)) return parsed;
    assertClean(parsed);
    assert.deepEqual(parseQuoteRequest(JSON.parse(JSON.stringify(toRequest(parsed)))), parsed);
    return parsed;
  },
};

/** Serialises a parsed request like a client. */
function toRequest({ side, validity, signing, ...request }: ParsedQuoteRequest): object {
  const amounts = Object.entries(side).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? String(value) : value,
  ]);
  const scheme = { signingScheme: signing.scheme, onchainOrder: signing.onchain };
  const gas = signing.scheme === 'eip1271' ? { verificationGasLimit: signing.gas } : {};
  return { ...request, ...Object.fromEntries(amounts), ...validity, ...scheme, ...gas };
}

const HOOK = { target: ADDRESS, callData: '0xAb', gasLimit: '21000' };
const METADATA = {
  hooks: { pre: [HOOK], post: [HOOK] },
  signer: ADDRESS,
  replacedOrder: { uid: `0x${'cd'.repeat(56)}` },
  validFrom: 1767226200,
  partnerFee: [
    { recipient: ADDRESS, volumeBps: 5 },
    { recipient: ADDRESS, surplusBps: 5, maxVolumeBps: 9 },
    { recipient: ADDRESS, priceImprovementBps: 5, maxVolumeBps: 9 },
  ],
  flashloan: { liquidityProvider: ADDRESS, protocolAdapter: ADDRESS, receiver: OTHER, token: OTHER, amount: '5' },
  wrappers: [{ address: ADDRESS, data: '0x01', isOmittable: true }],
};

const appData: Target = {
  name: 'app-data',
  words: [
    '"metadata"',
    '"backend"',
    '"hooks"',
    '"pre"',
    '"post"',
    '"target"',
    '"callData"',
    '"gasLimit"',
    '"signer"',
    '"replacedOrder"',
    '"uid"',
    '"partnerFee"',
    '"recipient"',
    '"bps"',
    '"volumeBps"',
    '"surplusBps"',
    '"maxVolumeBps"',
    '"priceImprovementBps"',
    '"flashloan"',
    '"liquidityProvider"',
    '"protocolAdapter"',
    '"receiver"',
    '"token"',
    '"amount"',
    '"wrappers"',
    '"address"',
    '"data"',
    '"isOmittable"',
    '"validFrom"',
    `"${2n ** 64n}"`,
    '"18446744073709551615"',
    `"0x${'cd'.repeat(56)}"`,
    ...ORDER_WORDS,
  ],
  seeds: [
    '{}',
    JSON.stringify({ version: '1.6.0', appCode: 'App', metadata: METADATA }),
    JSON.stringify({ backend: { ...METADATA, partnerFee: { recipient: ADDRESS, bps: 5 } } }),
  ],
  run(bytes) {
    const document = textOf(bytes);
    const parsed = parseAppData(document);
    if (typeof parsed === 'string') return parsed;
    assertClean(parsed);
    assert.deepEqual(parseAppData(JSON.stringify({ metadata: described(parsed) })), parsed);
    return [parsed, appDataHash(document)];
  },
};

/** Serialises the content of a document as a document. */
function described({ replacedOrder, partnerFees, hooks, flashloan, ...rest }: AppData): object {
  const calls = (list: AppData['hooks']['pre']) => list.map((hook) => ({ ...hook, gasLimit: String(hook.gasLimit) }));
  const NAMES = { volume: 'volumeBps', surplus: 'surplusBps', priceImprovement: 'priceImprovementBps' };
  return {
    ...rest,
    hooks: { pre: calls(hooks.pre), post: calls(hooks.post) },
    replacedOrder: replacedOrder && { uid: replacedOrder },
    partnerFee: partnerFees.map(({ kind, bps, ...fee }) => ({ [NAMES[kind]]: bps, ...fee })),
    flashloan: flashloan && { ...flashloan, amount: String(flashloan.amount) },
  };
}

export const ORDER_TARGETS: readonly Target[] = [orderBody, quoteBody, appData];
