import fc from 'fast-check';
import { keccak256, recoverMessageAddress, recoverTypedDataAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import type { RecoveryBackend } from '../../../src/crypto/backend.ts';
import { wasmRecovery } from '../../../src/crypto/wasm.ts';
import { OrderBookError } from '../../../src/errors.ts';
import { cancellationsDigest } from '../../../src/protocol/cancellation.ts';
import type { Domain } from '../../../src/protocol/eip712.ts';
import { typedDataDigest } from '../../../src/protocol/eip712.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { bytesToHex, hexToBytes, ZERO_ADDRESS } from '../../../src/protocol/hex.ts';
import type { OrderData } from '../../../src/protocol/order.ts';
import type { EcdsaScheme } from '../../../src/protocol/signature.ts';
import { ECDSA_SCHEMES, parseEcdsaSignature, SECP256K1_N } from '../../../src/protocol/signature.ts';
import type { SignedOrder, Verifier } from '../../../src/verification/verifier.ts';
import { createVerifier } from '../../../src/verification/verifier.ts';
import { hex, orderData, signedOrder, vectors } from '../../support/vectors/vectors.ts';
import { bytes, domain, join, order, orderTypedData, privateKey } from '../protocol/arbitraries.ts';

const DOMAIN: Domain = { chainId: 11155111, settlementContract: hex(vectors.domains[0]?.verifyingContract ?? '') };
const wasm = await wasmRecovery();
const verifier = await createVerifier(DOMAIN);

/** Orders of this domain from the vectors, signed with both schemes. */
const SIGNED = vectors.orders
  .filter(({ chainId }) => chainId === DOMAIN.chainId)
  .flatMap((vector) =>
    ECDSA_SCHEMES.map((scheme) => ({
      name: `${vector.name}, ${scheme}`,
      owner: vector.owner,
      wire: signedOrder(vector.order, scheme, vector.signatures[scheme]),
    })),
  );

const [{ wire: GOOD, owner: OWNER }] = SIGNED as [(typeof SIGNED)[number]]; // the vectors are not empty

/** Returns code and text of the rejection of a call. Throws any other error. */
function rejectionOf(call: () => unknown): { code: string; message: string } | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof OrderBookError) return { code: error.code, message: error.message };
    throw error;
  }
}

function recoverDigest(by: Verifier, digest: Uint8Array, scheme: EcdsaScheme, signature: Hex): string | undefined {
  const parsed = parseEcdsaSignature(signature);
  return typeof parsed === 'string' ? parsed : by.recoverDigest(digest, scheme, parsed);
}

/** An order of an untyped caller. */
function malformed(field: string, value: unknown): SignedOrder {
  return Object.assign({ ...GOOD }, { [field]: value });
}

function wireOf(data: OrderData, signingScheme: EcdsaScheme, signature: Hex): SignedOrder {
  const { sellAmount, buyAmount, feeAmount } = data;
  return {
    ...data,
    sellAmount: sellAmount.toString(),
    buyAmount: buyAmount.toString(),
    feeAmount: feeAmount.toString(),
    signingScheme,
    signature,
  };
}

describe('verifier vectors', () => {
  test.each(SIGNED)('match the signer of: $name', ({ owner, wire }) => {
    expect(verifier.recover(wire)).toBe(owner);
  });

  test('match the signers of the reference order with a domain known by its separator', () => {
    const reference = vectors.orders.filter(({ chainId }) => chainId === undefined);
    expect(reference).toHaveLength(1);
    for (const { order: wire, domainSeparator, signatures, owner } of reference) {
      const digest = typedDataDigest(hexToBytes(hex(domainSeparator)), verifier.hasher.structHash(orderData(wire)));
      for (const scheme of ECDSA_SCHEMES) {
        expect(recoverDigest(verifier, digest, scheme, hex(signatures[scheme]))).toBe(owner);
      }
    }
  });

  test.each(vectors.cancellations)(
    'match the signers of: $name',
    ({ orderUids, signatures, owner, privateKey: secret }) => {
      expect(privateKeyToAccount(hex(secret)).address.toLowerCase()).toBe(owner);
      const digest = cancellationsDigest(verifier.hasher.separator, orderUids.map(hex));
      for (const scheme of ECDSA_SCHEMES) {
        expect(recoverDigest(verifier, digest, scheme, hex(signatures[scheme]))).toBe(owner);
      }
    },
  );

  test.each(vectors.eip1271)('match the ECDSA signature within: $name', ({ order: wire, ecdsaSignature }) => {
    expect(verifier.recover(signedOrder(wire, 'eip712', ecdsaSignature))).toBe(OWNER);
  });
});

describe('verifier recovers the signer of viem', () => {
  test('for any order signed by viem, in any domain, with either scheme', async () => {
    await fc.assert(
      fc.asyncProperty(domain, order, privateKey, async (of, data, secret) => {
        const account = privateKeyToAccount(secret);
        const own = await createVerifier({ ...of, backend: wasm });
        const raw = bytesToHex(own.hasher.digest(data));
        const eip712 = await account.signTypedData(orderTypedData(of, data));
        const ethsign = await account.signMessage({ message: { raw } });
        expect(own.recover(wireOf(data, 'eip712', eip712))).toBe(account.address.toLowerCase());
        expect(own.recover(wireOf(data, 'ethsign', ethsign))).toBe(account.address.toLowerCase());
      }),
      { numRuns: 60 },
    );
  });

  test('for a random signature', async () => {
    const scalar = fc.bigInt({ min: 1n, max: SECP256K1_N - 1n });
    await fc.assert(
      fc.asyncProperty(order, scalar, scalar, fc.constantFrom(27, 28), async (data, r, s, v) => {
        const signature = join(r, s, v);
        const raw = bytesToHex(verifier.hasher.digest(data));
        const theirs = {
          eip712: recoverTypedDataAddress({ ...orderTypedData(DOMAIN, data), signature }),
          ethsign: recoverMessageAddress({ message: { raw }, signature }),
        };
        for (const scheme of ECDSA_SCHEMES) {
          const expected = await theirs[scheme].then(
            (address) => address.toLowerCase(),
            () => 'no key can be recovered from the signature',
          );
          const wire = wireOf(data, scheme, signature);
          let ours = '';
          const rejection = rejectionOf(() => {
            ours = verifier.recover(wire);
          });
          expect(rejection?.message ?? ours).toBe(expected);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('verified signature', () => {
  test('has the same signer as its high-s twin and with v of 0 or 1', () => {
    for (const { wire, owner } of SIGNED) {
      const [r, s] = [BigInt(wire.signature.slice(0, 66)), BigInt(`0x${wire.signature.slice(66, 130)}`)];
      const v = Number.parseInt(wire.signature.slice(130), 16);
      const low = join(r, s, v);
      const forms = [join(r, s, v - 27), join(r, SECP256K1_N - s, 55 - v), join(r, SECP256K1_N - s, 28 - v)];
      for (const signature of [low, ...forms]) {
        expect(verifier.recover({ ...wire, signature })).toBe(owner);
        expect(parseEcdsaSignature(signature)).toMatchObject({ hex: low });
      }
    }
  });

  test('has the same signer in upper-case hex', () => {
    const signature = `0x${GOOD.signature.slice(2).toUpperCase()}`;
    expect(verifier.recover({ ...GOOD, signature })).toBe(OWNER);
  });

  test('of any 65 bytes has a signer other than zero, or is invalid', () => {
    const v = fc.oneof(
      fc.constantFrom('00', '01', '1b', '1c'),
      bytes(1).map((byte) => byte.slice(2)),
    );
    fc.assert(
      fc.property(bytes(64), v, (rs, last) => {
        const wire = { ...GOOD, signature: `${rs}${last}` };
        let signer = '';
        const rejection = rejectionOf(() => {
          signer = verifier.recover(wire);
        });
        if (rejection === undefined) {
          expect(signer).toMatch(/^0x[0-9a-f]{40}$/);
          expect(signer).not.toBe(ZERO_ADDRESS);
        } else expect(rejection.code).toBe('InvalidSignature');
      }),
      { numRuns: 1000 },
    );
  });

  test('without a curve point for r has no signer', () => {
    const wire = { ...GOOD, signature: join(5n, 1n, 27) }; // x³ + 7 is no square for 5
    expect(rejectionOf(() => verifier.recover(wire))?.message).toBe('no key can be recovered from the signature');
    const parsed = parseEcdsaSignature(join(5n, 1n, 27));
    if (typeof parsed === 'string') throw new Error(parsed);
    expect(verifier.recoverDigest(new Uint8Array(32), 'eip712', parsed)).toBeUndefined();
  });

  test.each(['presign', 'eip1271'] as const)('of %s has no recoverable signer', (signingScheme) => {
    const rejection = rejectionOf(() => verifier.recover({ ...GOOD, signingScheme }));
    expect(rejection).toEqual({ code: 'InvalidSignature', message: expect.stringContaining(signingScheme) });
  });
});

describe('verified order fields', () => {
  const changes: readonly Partial<SignedOrder>[] = [
    { sellToken: GOOD.buyToken },
    { buyToken: GOOD.sellToken },
    { receiver: null },
    { receiver: OWNER },
    { sellAmount: '500000000000001' },
    { buyAmount: '23000020001' },
    { validTo: 5000223 },
    { appData: `0x${'00'.repeat(31)}01` },
    { feeAmount: '0' },
    { kind: 'buy' },
    { partiallyFillable: false },
    { sellTokenBalance: 'internal' },
    { sellTokenBalance: 'external' },
    { buyTokenBalance: 'internal' },
    { signingScheme: 'ethsign' },
  ];

  test.each(changes)('with a changed %o have another signer', (change) => {
    let signer: string | undefined;
    const rejection = rejectionOf(() => {
      signer = verifier.recover({ ...GOOD, ...change });
    });
    expect(signer).not.toBe(OWNER);
    expect(rejection?.code ?? 'InvalidSignature').toBe('InvalidSignature');
  });

  test('with another chain or contract have another signer', async () => {
    for (const change of [{ chainId: 1 }, { settlementContract: ZERO_ADDRESS }]) {
      const other = await createVerifier({ ...DOMAIN, ...change, backend: wasm });
      expect(other.recover(GOOD)).not.toBe(OWNER);
    }
  });

  test('in another notation have the same signer', () => {
    const { sellTokenBalance, buyTokenBalance, ...others } = GOOD;
    expect([sellTokenBalance, buyTokenBalance]).toEqual(['erc20', 'erc20']);
    const capitals = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const spellings: readonly SignedOrder[] = [
      others,
      { ...GOOD, sellToken: capitals(GOOD.sellToken), appData: capitals(GOOD.appData) },
      { ...GOOD, sellAmount: `000${GOOD.sellAmount}` },
    ];
    for (const spelling of spellings) expect(verifier.recover(spelling)).toBe(OWNER);
  });

  test('accept a missing receiver, null and the zero address as equal', () => {
    const zero = SIGNED.find(({ wire }) => wire.receiver === ZERO_ADDRESS);
    if (zero === undefined) throw new Error('the vectors have such an order');
    const { receiver, ...without } = zero.wire;
    expect(receiver).toBe(ZERO_ADDRESS);
    expect(verifier.recover(without)).toBe(zero.owner);
    expect(verifier.recover({ ...without, receiver: null })).toBe(zero.owner);
  });

  const noText = [undefined, null, 0, 1n, true, {}, [], Symbol('0x'), () => '0x'];
  const badHex = (size: number) => [
    ...noText,
    '',
    '0x',
    `0x${'ab'.repeat(size - 1)}`,
    `0x${'ab'.repeat(size + 1)}`,
    `0x${'ab'.repeat(size)}a`,
    'ab'.repeat(size + 1),
    `0X${'ab'.repeat(size)}`,
    `0x${'zz'.repeat(size)}`,
    [`0x${'ab'.repeat(size)}`],
  ];
  const badAmount = [
    ...noText,
    500000000000000,
    '',
    '-1',
    '-0',
    '+1',
    '1.5',
    '1e3',
    '0x1',
    ' 1',
    '１',
    'NaN',
    (1n << 256n).toString(),
    '9'.repeat(1_000_000),
  ];
  const badName = [
    ...noText.filter((value) => value !== undefined),
    '',
    'SELL',
    'Erc20',
    'toString',
    '__proto__',
    ['sell'],
  ];
  const table: Readonly<Record<keyof SignedOrder, readonly unknown[]>> = {
    sellToken: badHex(20),
    buyToken: badHex(20),
    receiver: badHex(20).filter((value) => value !== null && value !== undefined),
    sellAmount: badAmount,
    buyAmount: badAmount,
    validTo: [
      ...noText.filter((value) => value !== 0),
      -1,
      1.5,
      2 ** 32,
      2 ** 53,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '1',
      '',
      [5000222],
      new Date(0),
    ],
    appData: badHex(32),
    feeAmount: badAmount,
    kind: [undefined, ...badName, 'erc20'],
    partiallyFillable: [...noText.filter((value) => value !== true), 'true', '', 1, Object(true)],
    sellTokenBalance: [...badName, 'sell'],
    buyTokenBalance: [...badName, 'external'],
    signingScheme: [undefined, ...badName, Object.create(null)],
    signature: [...badHex(65), Object.create(null)],
  };

  test.each(Object.entries(table))('reject a malformed %s as an invalid signature and name it', (field, values) => {
    for (const value of values) {
      const rejection = rejectionOf(() => verifier.recover(malformed(field, value)));
      expect(rejection, typeof value === 'string' ? value.slice(0, 80) : typeof value).toMatchObject({
        code: 'InvalidSignature',
        message: expect.stringContaining(field),
      });
    }
  });

  test.each([
    ['kind', 'Sell', 'kind must be one of buy, sell'],
    ['signingScheme', 'none', 'signingScheme must be one of eip712, ethsign, presign, eip1271'],
    ['sellTokenBalance', 'x', 'sellTokenBalance must be one of erc20, internal, external'],
    ['validTo', -1, 'validTo must be a uint32'],
    ['sellToken', '0x12', 'sellToken must be 20 bytes of hex text'],
    ['appData', '{}', 'appData must be 32 bytes of hex text'],
    ['buyAmount', '1.0', 'buyAmount must be a decimal uint256'],
    ['signature', 'x', 'the signature is not hex text'],
    ['signingScheme', 'presign', 'a presign signature does not contain its signer'],
  ])('reject %s of %j with the valid values', (field, value, message) => {
    expect(rejectionOf(() => verifier.recover(malformed(field, value)))).toMatchObject({ message });
  });

  test.each([undefined, null, 0, '', 'order', [], {}, () => GOOD])('reject %o as an order', (value) => {
    const orders: readonly unknown[] = [value];
    for (const candidate of orders as readonly SignedOrder[]) {
      // an untyped caller
      expect(rejectionOf(() => verifier.recover(candidate))).toMatchObject({ code: 'InvalidSignature' });
    }
  });

  test('with any value in any field cause no other error', () => {
    const fields = Object.keys(table);
    fc.assert(
      fc.property(
        fc.constantFrom(...fields),
        fc.anything({ withBigInt: true, withNullPrototype: true }),
        (field, value) => {
          rejectionOf(() => verifier.recover(malformed(field, value)));
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('recoverMany', () => {
  test('returns the results of recover, in order', async () => {
    const bad = [
      malformed('signature', '0x'),
      malformed('validTo', 2 ** 32),
      malformed('signingScheme', 'presign'),
      malformed('partiallyFillable', 'true'),
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...SIGNED.map(({ wire }) => wire), ...bad)), async (orders) => {
        const answers = await verifier.recoverMany(orders);
        const alone = orders.map((wire) => {
          let signer: string | undefined;
          const rejection = rejectionOf(() => {
            signer = verifier.recover(wire);
          });
          return rejection ?? signer;
        });
        expect(answers.map(({ signer, error }) => signer ?? { code: error?.code, message: error?.message })).toEqual(
          alone,
        );
      }),
      { numRuns: 30 },
    );
  });

  test('accepts an empty list', async () => {
    expect(await verifier.recoverMany([])).toEqual([]);
  });

  test('throws a failure instead of returning it as a rejection', async () => {
    const broken: RecoveryBackend = {
      name: 'native',
      recover: () => {
        throw new Error('out of memory');
      },
    };
    const faulty = await createVerifier({ ...DOMAIN, backend: broken });
    await expect(faulty.recoverMany([GOOD])).rejects.toThrow('out of memory');
    expect(() => faulty.recover(GOOD)).toThrow('out of memory');
  });
});

describe('createVerifier', () => {
  test('uses the compiled library if it is installed and reports its backend', async () => {
    expect(['system', 'native']).toContain(verifier.backend);
    expect((await createVerifier({ ...DOMAIN, backend: 'wasm' })).backend).toBe('wasm');
    const key = hexToBytes(`0x04${'11'.repeat(64)}`);
    const recordedCalls: [Hex, Hex, number][] = [];
    const other = await createVerifier({
      ...DOMAIN,
      backend: {
        name: 'native',
        recover(digest, rs, recoveryId) {
          recordedCalls.push([bytesToHex(digest), bytesToHex(rs), recoveryId]);
          return key;
        },
      },
    });
    expect(other.backend).toBe('native');
    expect(other.recover(GOOD)).toBe(`0x${keccak256(key.subarray(1)).slice(26)}`);
    const [first] = vectors.orders.filter(({ chainId }) => chainId === DOMAIN.chainId);
    expect(recordedCalls).toEqual([
      [first?.digest, GOOD.signature.slice(0, 130), Number.parseInt(GOOD.signature.slice(130), 16) - 27],
    ]);
  });

  test('accepts a contract with a checksum', async () => {
    const checksummed = vectors.domains[0]?.verifyingContract as Hex; // an address
    expect(checksummed).not.toBe(DOMAIN.settlementContract);
    const same = await createVerifier({ ...DOMAIN, settlementContract: checksummed, backend: wasm });
    expect(same.recover(GOOD)).toBe(OWNER);
  });

  test('rejects an invalid domain', async () => {
    await expect(createVerifier({ ...DOMAIN, chainId: 1.5 })).rejects.toThrow(TypeError);
    await expect(createVerifier({ ...DOMAIN, settlementContract: '0x9008' })).rejects.toThrow('settlementContract');
  });
});
