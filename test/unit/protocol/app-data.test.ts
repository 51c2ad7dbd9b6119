import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { LatestAppDataDocVersion } from '@cowprotocol/sdk-app-data';
import { MetadataApi, stringifyDeterministic } from '@cowprotocol/sdk-app-data';
import { keccak256, stringToBytes } from 'viem';
import { describe, expect, test } from 'vitest';
import { appDataHash, ZERO_APP_DATA } from '../../../src/protocol/app-data.ts';
import type { Metadata } from '../../../src/protocol/metadata.ts';
import { NO_METADATA } from '../../../src/protocol/metadata.ts';
import { parseAppData } from '../../../src/protocol/parse-app-data.ts';

const ALICE = '0xb6BAd41ae76A11D10f7b0E664C5007b908bC77C9';
const alice = ALICE.toLowerCase();
const UID = `0x${'ff2e2e54d178997f173266817c1e9ed6fee1a1aae4b43971c53b543cffcc2969845c6f5599fbb25dbdd1b9b013daf85c03f3c63763e4bc4a'}`;

const read = (metadata: unknown): Metadata | string => parseAppData(JSON.stringify({ metadata }));

describe('app data hash', () => {
  test('of the empty document and of a published one is correct', () => {
    expect(appDataHash('{}')).toBe(keccak256(stringToBytes('{}')));
    const published =
      '{"appCode":"CoW Swap","environment":"production","metadata":{"quote":{"slippageBips":"50","version":"0.2.0"},' +
      '"orderClass":{"orderClass":"market","version":"0.1.0"}},"version":"0.6.0"}';
    expect(appDataHash(published)).toBe('0x8af4e8c9973577b08ac21d17d331aade86c11ebcc5124744d621ca8365ec9424');
    expect(ZERO_APP_DATA).toMatch(/^0x0{64}$/);
  });

  test.each([' {}', '{} ', '{"b":1,"a":2}', '{"a":"é 漢字 😀"}', '{"a":"\\u00e9"}', '{"a":1.0}'])(
    'covers the exact bytes: %s',
    (document) => expect(appDataHash(document)).toBe(keccak256(stringToBytes(document))),
  );
});

describe('app data document', () => {
  test.each([
    ['{}', 'nothing'],
    [' \n{ } ', 'blanks'],
    ['{"metadata":null,"backend":null}', 'nulls'],
    ['{"metadata":{"utm":{"utmSource":"x"},"quote":7},"version":"9.9.9","appCode":[]}', 'keys of the application'],
    ['{"enableFastPath":true,"signer":"x"}', 'protocol keys in the wrong place'],
  ])('%s has no protocol content: %s', (document) => expect(parseAppData(document)).toEqual(NO_METADATA));

  test.each([
    ['', /^the app data must be a JSON object, got "/],
    ['{', /^the app data must be a JSON object, got "/],
    ['{"a":1}x', /^the app data must be a JSON object, got "/],
    ["{'a':1}", /^the app data must be a JSON object, got "/],
    ['\ufeff{}', /^the app data must be a JSON object, got "/],
    ['[]', /^the app data must be a JSON object, got "/],
    ['"{}"', /^the app data must be a JSON object, got "/],
    ['null', /^the app data must be a JSON object, got "/],
    ['no JSON '.repeat(100), /^the app data must be a JSON object, got "(?:no JSON ){8}"$/],
    ['0x00', /^the app data must be a JSON object, got "/],
    ['{"metadata":[]}', /^metadata must be an object, got /],
    ['{"metadata":"x"}', /^metadata must be an object, got /],
    ['{"backend":7}', /^backend must be an object, got /],
    ['{"a":"\ud800"}', /not well-formed Unicode/],
    [`{"a":${'['.repeat(64)}${']'.repeat(64)}}`, /nested deeper than 64/],
  ])('%j is rejected', (document, reason) => expect(parseAppData(document)).toMatch(reason));

  test('can be nested 64 deep and contain brackets in text', () => {
    expect(parseAppData(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`)).toEqual(NO_METADATA);
    expect(parseAppData(JSON.stringify({ text: `\\"${'[{'.repeat(100)}` }))).toEqual(NO_METADATA);
  });

  test('has `metadata`, otherwise `backend`', () => {
    const backend = { signer: ALICE };
    expect(parseAppData(JSON.stringify({ backend }))).toMatchObject({ signer: alice });
    expect(parseAppData(JSON.stringify({ metadata: null, backend }))).toMatchObject({ signer: alice });
    expect(parseAppData(JSON.stringify({ metadata: {}, backend: { signer: 'spoilt' } }))).toEqual(NO_METADATA);
    expect(parseAppData(JSON.stringify({ backend: { signer: 'x' } }))).toMatch(/^backend.signer must be 0x/);
  });

  test('cannot reach a prototype', () => {
    const hostile =
      '{"__proto__":{"metadata":{"signer":"x"}},"constructor":{"prototype":{"validFrom":"x"}},' +
      '"metadata":{"__proto__":{"signer":"x","validFrom":1},"constructor":1,"partnerFee":{"__proto__":{"bps":1}}}}';
    expect(parseAppData(hostile)).toMatch(/^metadata.partnerFee.0/);
    const harmless = hostile.replace(/,"partnerFee".*$/, '}}');
    expect(parseAppData(harmless)).toEqual(NO_METADATA);
    expect(({} as Record<string, unknown>)['validFrom']).toBeUndefined();
    expect(({} as Record<string, unknown>)['signer']).toBeUndefined();
  });
});

const hook = { target: ALICE, callData: '0xAB', gasLimit: '18446744073709551615' };
const readHook = { target: alice, callData: '0xab', gasLimit: 2n ** 64n - 1n };
const loan = { liquidityProvider: ALICE, protocolAdapter: ALICE, receiver: ALICE, token: ALICE, amount: '0017' };

describe('app data protocol key', () => {
  test.each<[string, unknown, Partial<Record<keyof Metadata, unknown>>]>([
    [
      'hooks',
      { hooks: { pre: [hook, hook], post: [hook], version: 1 } },
      { hooks: { pre: [readHook, readHook], post: [readHook] } },
    ],
    ['hooks of one side', { hooks: { post: [{ ...hook, dappId: 7 }] } }, { hooks: { pre: [], post: [readHook] } }],
    ['empty hooks', { hooks: {} }, {}],
    ['signer', { signer: ALICE }, { signer: alice }],
    ['null signer', { signer: null }, {}],
    ['replacedOrder', { replacedOrder: { uid: UID.toUpperCase().replace('X', 'x') } }, { replacedOrder: UID }],
    ['null replacedOrder', { replacedOrder: null }, {}],
    [
      'flashloan',
      { flashloan: loan },
      {
        flashloan: {
          ...loan,
          liquidityProvider: alice,
          protocolAdapter: alice,
          receiver: alice,
          token: alice,
          amount: 17n,
        },
      },
    ],
    [
      'flashloan with an amount in hex',
      { flashloan: { ...loan, amount: '0x11' } },
      {
        flashloan: {
          ...loan,
          liquidityProvider: alice,
          protocolAdapter: alice,
          receiver: alice,
          token: alice,
          amount: 17n,
        },
      },
    ],
    ['null flashloan', { flashloan: null }, {}],
    [
      'wrappers',
      {
        wrappers: [
          { address: ALICE, data: '0x01', isOmittable: true },
          { address: ALICE, data: '0x' },
        ],
      },
      {
        wrappers: [
          { address: alice, data: '0x01', isOmittable: true },
          { address: alice, data: '0x', isOmittable: false },
        ],
      },
    ],
    ['no wrappers', { wrappers: [] }, {}],
    ['validFrom', { validFrom: 4294967295 }, { validFrom: 4294967295 }],
    ['validFrom 0', { validFrom: 0 }, { validFrom: 0 }],
    ['null validFrom', { validFrom: null }, {}],
    ['no partner fees', { partnerFee: [] }, {}],
    [
      'bps',
      { partnerFee: { recipient: ALICE, bps: 0, note: 'x' } },
      { partnerFees: [{ kind: 'volume', bps: 0, recipient: alice }] },
    ],
    [
      'volumeBps',
      { partnerFee: [{ recipient: ALICE, volumeBps: 50 }] },
      { partnerFees: [{ kind: 'volume', bps: 50, recipient: alice }] },
    ],
    [
      'surplusBps',
      { partnerFee: { recipient: ALICE, surplusBps: 1, maxVolumeBps: 2 } },
      { partnerFees: [{ kind: 'surplus', bps: 1, maxVolumeBps: 2, recipient: alice }] },
    ],
    [
      'priceImprovementBps',
      { partnerFee: { recipient: ALICE, priceImprovementBps: 1, maxVolumeBps: 2 } },
      { partnerFees: [{ kind: 'priceImprovement', bps: 1, maxVolumeBps: 2, recipient: alice }] },
    ],
  ])('%s is parsed', (_, metadata, expected) => expect(read(metadata)).toEqual({ ...NO_METADATA, ...expected }));

  const fee = (members: object) => ({ partnerFee: { recipient: ALICE, ...members } });
  test.each<[unknown, RegExp]>([
    [{ hooks: null }, /^metadata.hooks must be an object, got /],
    [{ hooks: [] }, /^metadata.hooks must be an object, got /],
    [{ hooks: { pre: null } }, /^metadata.hooks.pre must be an array, got /],
    [{ hooks: { pre: [{ ...hook, gasLimit: 100 }] } }, /^metadata.hooks.pre.0.gasLimit must be a string, got /],
    [
      { hooks: { pre: [{ ...hook, gasLimit: '0x1' }] } },
      /^metadata.hooks.pre.0.gasLimit must be decimal digits of a uint64/,
    ],
    [
      { hooks: { pre: [{ ...hook, gasLimit: '18446744073709551616' }] } },
      /gasLimit must be decimal digits of a uint64/,
    ],
    [{ hooks: { post: [hook, { ...hook, callData: '0x1' }] } }, /^metadata.hooks.post.1.callData must be 0x and pairs/],
    [{ hooks: { post: [{ callData: '0x', gasLimit: '1' }] } }, /^metadata.hooks.post.0.target is missing/],
    [{ signer: '0x12' }, /^metadata.signer must be 0x and 40 hex digits/],
    [{ signer: {} }, /^metadata.signer/],
    [{ replacedOrder: UID }, /^metadata.replacedOrder must be an object, got /],
    [{ replacedOrder: { uid: UID.slice(0, -2) } }, /^metadata.replacedOrder.uid must be 0x and 112 hex digits/],
    [{ replacedOrder: { uid: UID.slice(2) } }, /^metadata.replacedOrder.uid/],
    [{ partnerFee: null }, /^metadata.partnerFee must be an array, got /],
    [{ partnerFee: 'all' }, /^metadata.partnerFee must be an array, got /],
    [fee({}), /^metadata.partnerFee.0 must have volumeBps, or maxVolumeBps/],
    [fee({ bps: 1, volumeBps: 1 }), /^metadata.partnerFee.0 must have/],
    [fee({ surplusBps: 1 }), /^metadata.partnerFee.0 must have/],
    [fee({ surplusBps: 1, priceImprovementBps: 1, maxVolumeBps: 1 }), /^metadata.partnerFee.0 must have/],
    [fee({ volumeBps: 1.5 }), /^metadata.partnerFee.0.volumeBps must be a whole number/],
    [fee({ volumeBps: '50' }), /^metadata.partnerFee.0.volumeBps/],
    [fee({ volumeBps: -1 }), /^metadata.partnerFee.0.volumeBps/],
    [{ partnerFee: [{ recipient: ALICE, bps: 1 }, { bps: 1 }] }, /^metadata.partnerFee.1.recipient is missing/],
    [{ flashloan: { ...loan, amount: 17 } }, /^metadata.flashloan.amount/],
    [
      { flashloan: { ...loan, amount: String(2n ** 256n) } },
      /^metadata.flashloan.amount must be decimal digits of a uint256/,
    ],
    [{ flashloan: { ...loan, token: undefined } }, /^metadata.flashloan.token is missing/],
    [{ wrappers: null }, /^metadata.wrappers/],
    [{ wrappers: { address: ALICE } }, /^metadata.wrappers must be an array, got /],
    [{ wrappers: [{ data: '0x' }] }, /^metadata.wrappers.0.address is missing/],
    // A driver of production could not read the document.
    [{ wrappers: [{ address: ALICE }] }, /^metadata.wrappers.0.data is missing/],
    [
      { wrappers: [{ address: ALICE, data: '0x', isOmittable: 'no' }] },
      /^metadata.wrappers.0.isOmittable must be a boolean, got /,
    ],
    [{ validFrom: 1.5 }, /^metadata.validFrom must be whole seconds/],
    [{ validFrom: '1' }, /^metadata.validFrom/],
    [{ validFrom: -1 }, /^metadata.validFrom/],
    [{ validFrom: 4294967296 }, /^metadata.validFrom/],
  ])('of the wrong type is rejected with its document: %j', (metadata, reason) =>
    expect(read(metadata)).toMatch(reason),
  );
});

describe('app-data package', () => {
  const api = new MetadataApi();
  const folder = dirname(dirname(createRequire(import.meta.url).resolve('@cowprotocol/sdk-app-data')));
  const versions = readdirSync(`${folder}/schemas`).map((file) => file.slice(1, -'.json'.length));

  /** Values that the schemas allow, by key; each schema version accepts the keys and forms that it defines. */
  const FORMS: Readonly<Record<string, readonly unknown[]>> = {
    hooks: [{ pre: [hook], post: [hook] }],
    signer: [ALICE],
    replacedOrder: [{ uid: UID }],
    partnerFee: [
      { volumeBps: 50, recipient: ALICE },
      { surplusBps: 100, maxVolumeBps: 50, recipient: ALICE },
      [
        { priceImprovementBps: 100, maxVolumeBps: 50, recipient: ALICE },
        { volumeBps: 1, recipient: ALICE },
      ],
      { bps: 50, recipient: ALICE },
    ],
    flashloan: [{ ...loan, amount: '17' }],
    wrappers: [[{ address: ALICE, data: '0x01', isOmittable: true }], [{ address: ALICE, data: '0x' }]],
  };

  test('produces valid protocol keys that are parsed, in every schema version', async () => {
    const read = new Map<string, number>();
    for (const version of versions) {
      for (const [key, forms] of Object.entries(FORMS)) {
        for (const form of forms) {
          const document = { version, appCode: 'test', metadata: { [key]: form } };
          if (!(await api.validateAppDataDoc(document as never)).success) continue;
          const parsed = parseAppData(await stringifyDeterministic(document));
          expect(parsed, `${version} ${key}`).toBeTypeOf('object');
          expect(parsed, `${version} ${key}`).not.toEqual(NO_METADATA);
          read.set(key, (read.get(key) ?? 0) + 1);
        }
      }
    }
    // Each key occurred, most of them in many versions.
    expect(Object.fromEntries(read)).toMatchObject({
      hooks: expect.any(Number),
      signer: expect.any(Number),
      replacedOrder: expect.any(Number),
      partnerFee: expect.any(Number),
      flashloan: expect.any(Number),
      wrappers: expect.any(Number),
    });
    expect(Math.min(...read.values())).toBeGreaterThan(2);
  });

  test('produces a document with every key that is parsed completely', async () => {
    const metadata = {
      hooks: { version: '0.2.0', pre: [hook], post: [hook] },
      signer: ALICE,
      replacedOrder: { uid: UID },
      partnerFee: { volumeBps: 50, recipient: ALICE },
      flashloan: { ...loan, amount: '17' },
      wrappers: [{ address: ALICE, data: '0x01' }],
      quote: { slippageBips: 50 },
      orderClass: { orderClass: 'limit' },
      utm: { utmSource: 'a' },
      widget: undefined,
    };
    const document: LatestAppDataDocVersion = await api.generateAppDataDoc({
      appCode: 'test',
      environment: 'production',
      metadata: metadata as never,
    });
    expect(parseAppData(await stringifyDeterministic(document))).toMatchObject({
      hooks: { pre: [readHook], post: [readHook] },
      signer: alice,
      replacedOrder: UID,
      partnerFees: [{ kind: 'volume', bps: 50 }],
      flashloan: { amount: 17n },
      wrappers: [{ data: '0x01' }],
    });
  });

  test('form of a flash loan of schema 1.6.0 alone is rejected by name', async () => {
    const flashloan = { lender: ALICE, borrower: ALICE, token: ALICE, amount: '17' };
    const document = { version: '1.6.0', metadata: { flashloan } };
    expect((await api.validateAppDataDoc(document as never)).success).toBe(true);
    expect(parseAppData(JSON.stringify(document))).toBe('metadata.flashloan.liquidityProvider is missing');
  });
});
