import { beforeAll, describe, expect, test } from 'vitest';
import { parseOrderCreation } from '../../../src/admission/creation-schema.ts';
import { OrderBookError } from '../../../src/errors.ts';
import { authenticate, parseUnverifiedOrder } from '../../../src/orders/authenticate.ts';
import { appDataHash } from '../../../src/protocol/app-data.ts';
import { CHAINS, deployment } from '../../../src/protocol/chains.ts';
import type { Domain, SigningDomain } from '../../../src/protocol/eip712.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import { NO_METADATA } from '../../../src/protocol/metadata.ts';
import { createOrderHasher } from '../../../src/protocol/order.ts';
import type { Verifier } from '../../../src/verification/verifier.ts';
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

function createDomain(chainId: number, contract: Address) {
  return { ...SHOWN, chainId, verifyingContract: contract, settlementContract: contract };
}

function parseClaim(sent: object, domain: SigningDomain) {
  const creation = parseOrderCreation(sent);
  if (creation instanceof OrderBookError) throw creation;
  const document = { hash: appDataHash('{}'), text: '{}', content: NO_METADATA };
  const { chainId, verifyingContract: settlementContract } = domain;
  return parseUnverifiedOrder(creation, document, createOrderHasher({ chainId, settlementContract }), domain);
}

/** Returns the result of an order for a book of another domain. */
async function authenticateIn(domain: SigningDomain, sent: object) {
  const [found] = await authenticate([parseClaim(sent, domain)], { ...context, domain });
  return found;
}

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

describe('order signed in another domain', () => {
  const { settlementContract: production } = SEPOLIA_DOMAIN;
  const staging = deployment('staging').settlement;
  const own = createDomain(SEPOLIA, production);

  test.each<[string, Domain, SigningDomain, string]>([
    ['another chain', createDomain(1, production), own, 'for chain 1, this book is of chain 11155111'],
    ['Base', createDomain(8453, production), own, 'for chain 8453, this book is of chain 11155111'],
    [
      'the staging contract',
      createDomain(SEPOLIA, staging),
      own,
      `for contract ${staging}, this book is of contract ${production}`,
    ],
    [
      'the production contract and chain of a book of staging',
      createDomain(1, production),
      createDomain(SEPOLIA, staging),
      `for chain 1 and contract ${production}, this book is of chain 11155111 and contract ${staging}`,
    ],
    ['a chain, for a local book', createDomain(1, production), createDomain(31_337, production), 'for chain 1, '],
  ])('names %s', async (_, signed, domain, text) => {
    const foreign = await signOrder(ALICE, { validTo: VALID_TO }, { domain: signed });
    const found = await authenticateIn(domain, foreign);
    expect(found).toMatchObject({ code: 'InvalidSignature', message: expect.stringContaining(text) });
    expect(found).toMatchObject({ message: expect.stringContaining(alice) });
  });

  test('names no domain for a list of orders, whose recoveries would be many', async () => {
    const foreign = await signOrder(ALICE, { validTo: VALID_TO }, { domain: createDomain(1, production) });
    const parsed = parseClaim(foreign, own);
    let recovered = 0;
    const counting = {
      ...context.verifier,
      recoverDigests(signed: Parameters<Verifier['recoverDigests']>[0]) {
        recovered += signed.length;
        return context.verifier.recoverDigests(signed);
      },
    };
    const found = await authenticate([parsed, parsed], { ...context, verifier: counting });
    expect(found).toMatchObject([{ code: 'InvalidSignature' }, { code: 'InvalidSignature' }]);
    expect(recovered).toBe(2);
    await authenticate([parsed], { ...context, verifier: counting });
    expect(recovered - 3).toBeGreaterThan(1);
    expect(recovered - 3).toBeLessThanOrEqual(CHAINS.length + 2);
  });
});

test('authentication returns one result per order, in order', async () => {
  const claimOf = (change: object) => parseClaim({ ...order, ...change }, SHOWN);
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
