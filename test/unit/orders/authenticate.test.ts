import { beforeAll, describe, expect, test } from 'vitest';
import { parseOrderCreation } from '../../../src/admission/creation-schema.ts';
import { OrderBookError } from '../../../src/errors.ts';
import { authenticate, parseUnverifiedOrder } from '../../../src/orders/authenticate.ts';
import { appDataHash } from '../../../src/protocol/app-data.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import { NO_METADATA } from '../../../src/protocol/metadata.ts';
import { createVerifier } from '../../../src/verification/verifier.ts';
import type { WireOrder } from '../../support/orders.ts';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signOrder } from '../../support/orders.ts';

const ALICE = account(1);
const alice = ALICE.address.toLowerCase() as Address;
const bob = account(2).address.toLowerCase() as Address;
const VALID_TO = 2_000_000_000;
const UNRECOVERABLE = `0x${'00'.repeat(31)}05${'00'.repeat(31)}011b`; // 5 is not the x of a curve point
const SHOWN = {
  name: 'Gnosis Protocol',
  version: 'v2',
  chainId: SEPOLIA,
  verifyingContract: SEPOLIA_DOMAIN.settlementContract,
};

let context: Parameters<typeof authenticate>[1];
let order: WireOrder;

beforeAll(async () => {
  const verifier = await createVerifier(SEPOLIA_DOMAIN);
  context = { verifier, domain: SHOWN, hooksTrampoline: bob };
  order = await signOrder(ALICE, { validTo: VALID_TO });
});

/** Returns the owner of an order, or the rejection. */
async function authenticateChanged(change: object, signer?: Address) {
  const creation = parseOrderCreation({ ...order, ...change });
  if (creation instanceof OrderBookError) throw creation;
  const document = { hash: appDataHash('{}'), text: '{}', content: { ...NO_METADATA, signer } };
  const claim = parseUnverifiedOrder(creation, document, context.verifier.hasher, SHOWN);
  const [found] = await authenticate([claim], context);
  if (found === undefined) throw new Error('each has an answer');
  return found;
}

describe('order owner', () => {
  test.each<[string, object, Address | undefined]>([
    ['from `from`', {}, undefined],
    ['from the document', { from: null }, alice],
    ['from both', {}, alice],
    ['from the signature alone', { from: null }, undefined],
  ])('is authenticated %s', async (_, change, signer) => {
    const found = await authenticateChanged(change, signer);
    expect(found).toMatchObject({ owner: alice, signature: order.signature });
    expect(found).toMatchObject({
      uid: expect.stringMatching(new RegExp(`^0x[0-9a-f]{64}${alice.slice(2)}77359400$`)),
    });
  });

  test.each(['presign', 'eip1271'] as const)('by %s is the named owner without key recovery', async (signingScheme) => {
    expect(await authenticateChanged({ signingScheme, signature: '0x' })).toMatchObject({
      owner: alice,
      signature: '0x',
    });
    expect(await authenticateChanged({ signingScheme, signature: '0x', from: null }, bob)).toMatchObject({
      owner: bob,
    });
  });
});

describe('rejected signature reports digest and signer', () => {
  const digest = expect.stringMatching(/^0x[0-9a-f]{64}$/);
  test.each<[string, object, Address | undefined, string, readonly string[], object]>([
    [
      'conflicting owners',
      {},
      bob,
      'AppdataFromMismatch',
      [`from is ${alice}`, `metadata.signer is ${bob}`],
      { from: alice, signer: bob },
    ],
    [
      'no owner',
      { from: null, signingScheme: 'eip1271' },
      undefined,
      'MissingFrom',
      ['eip1271', '`from`'],
      { scheme: 'eip1271' },
    ],
    [
      'another owner',
      { from: bob },
      undefined,
      'InvalidSignature',
      [`by ${alice}`, `not by ${bob}`],
      { recovered: alice, expected: bob, scheme: 'eip712', digest, domain: SHOWN },
    ],
    [
      'another owner in the document',
      { from: null },
      bob,
      'InvalidSignature',
      [`not by ${bob}`],
      { recovered: alice, expected: bob, scheme: 'eip712', digest, domain: SHOWN },
    ],
    [
      'an unrecoverable key',
      { signature: UNRECOVERABLE },
      undefined,
      'InvalidSignature',
      ['no key can be recovered'],
      { scheme: 'eip712', digest, domain: SHOWN },
    ],
    [
      'an unrecoverable key without a named owner',
      { signature: UNRECOVERABLE, from: null },
      undefined,
      'InvalidSignature',
      ['no key can be recovered'],
      { scheme: 'eip712', digest, domain: SHOWN },
    ],
    [
      'a signature that is too short',
      { signature: '0x12' },
      undefined,
      'InvalidSignature',
      ['65 bytes'],
      { scheme: 'eip712', digest, domain: SHOWN },
    ],
    [
      'an invalid presignature',
      { signature: '0x12', signingScheme: 'presign' },
      undefined,
      'InvalidSignature',
      [''],
      { scheme: 'presign', digest, domain: SHOWN },
    ],
  ])('for %s', async (_, change, signer, code, words, data) => {
    const found = await authenticateChanged(change, signer);
    expect(found).toMatchObject({ code });
    if (!(found instanceof OrderBookError)) throw new Error('it has an owner');
    expect(found.data).toEqual(data);
    for (const each of words) expect(found.message).toContain(each);
  });
});

test('authentication returns one result per order, in order', async () => {
  const claimOf = (change: object) => {
    const creation = parseOrderCreation({ ...order, ...change });
    if (creation instanceof OrderBookError) throw creation;
    const document = { hash: appDataHash('{}'), text: '{}', content: NO_METADATA };
    return parseUnverifiedOrder(creation, document, context.verifier.hasher, SHOWN);
  };
  const rejected = new OrderBookError('NonZeroFee');
  const claims = [
    rejected,
    claimOf({}),
    claimOf({ from: bob }),
    claimOf({ from: bob, signingScheme: 'presign', signature: '0x' }),
  ];
  const [first, second, third, fourth] = await authenticate(claims, context);
  expect(first).toBe(rejected);
  expect(second).toMatchObject({ owner: alice });
  expect(third).toMatchObject({ code: 'InvalidSignature' });
  expect(fourth).toMatchObject({ owner: bob });
});
