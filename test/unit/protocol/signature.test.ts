import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import type { EcdsaSignature } from '../../../src/protocol/signature.ts';
import {
  ECDSA_SCHEMES,
  isEcdsa,
  parseEcdsaSignature,
  parseSignature,
  SECP256K1_N,
  SIGNING_SCHEMES,
} from '../../../src/protocol/signature.ts';
import { hex, scheme, signedOrder, vectors } from '../../support/vectors/vectors.ts';
import { bytes, join, word } from './arbitraries.ts';

const HALF = SECP256K1_N / 2n;

function parsed(signature: `0x${string}`): EcdsaSignature {
  const answer = parseEcdsaSignature(signature);
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

describe('signature vectors', () => {
  // The service whose parser these cases come from passes r and s of zero to the recovery; here they are rejected
  // before.
  const cases = vectors.signatures.cases.map((vector) => ({
    ...vector,
    accepted: vector.accepted && !/^0x(00){64}/.test(vector.signature),
  }));

  test('differ from their source in one case only', () => {
    expect(cases.filter(({ accepted }, i) => accepted !== vectors.signatures.cases[i]?.accepted)).toHaveLength(1);
  });

  test.each(cases)('$signingScheme $signature', ({ signingScheme, signature, accepted, serializedAs }) => {
    const answer = parseSignature(scheme(signingScheme), hex(signature));
    if (accepted) expect(answer).toMatchObject({ scheme: signingScheme, hex: serializedAs });
    else expect(answer).toBeTypeOf('string');
  });

  test('match all 256 values of v', () => {
    const { other, ...known } = vectors.signatures.vNormalization;
    const normal = new Map(Object.entries(known));
    expect(other).toBe('rejected');
    for (let v = 0; v < 256; v++) {
      const digits = v.toString(16).padStart(2, '0');
      const answer = parseEcdsaSignature(`0x${'01'.repeat(32)}${'02'.repeat(32)}${digits}`);
      const stored = normal.get(digits);
      if (stored === undefined) expect(answer).toBe(`v must be 0, 1, 27 or 28, got ${v}`);
      else {
        expect(answer).toMatchObject({
          hex: `0x${'01'.repeat(32)}${'02'.repeat(32)}${stored}`,
          recoveryId: Number.parseInt(stored, 16) - 27,
        });
      }
    }
  });

  test.each(vectors.orders)('store the signatures of "$name" unchanged', ({ signatures }) => {
    for (const ecdsa of ECDSA_SCHEMES) expect(parsed(hex(signatures[ecdsa])).hex).toBe(signatures[ecdsa]);
  });

  test.each(vectors.eip1271)(
    'pass $name through unchanged',
    ({ order, ecdsaSignature, apiSignature, forSettlement }) => {
      const signature = hex(apiSignature);
      expect(parseSignature('eip1271', signature)).toEqual({ scheme: 'eip1271', hex: apiSignature });
      // On chain the address of the verifying contract comes first.
      expect(forSettlement.slice(42)).toBe(apiSignature.slice(2));
      expect(apiSignature).toContain(parsed(hex(ecdsaSignature)).hex.slice(2));
      expect(signedOrder(order, 'eip1271', apiSignature).signature).toBe(signature);
    },
  );
});

describe('signature scheme', () => {
  test.each(SIGNING_SCHEMES.map((name) => ({ name, ecdsa: name === 'eip712' || name === 'ethsign' })))(
    '$name recovers its signer: $ecdsa',
    ({ name, ecdsa }) => expect(isEcdsa(name)).toBe(ecdsa),
  );

  test.each(ECDSA_SCHEMES)('%s requires 65 bytes', (ecdsa) => {
    for (const size of [0, 1, 20, 32, 63, 64, 66, 96, 130]) {
      expect(parseSignature(ecdsa, `0x${'01'.repeat(size)}`)).toContain(`got ${size}`);
    }
    expect(parseSignature(ecdsa, join(1n, 1n, 27))).toEqual({ scheme: ecdsa, ...parsed(join(1n, 1n, 27)) });
  });

  test('presign accepts no bytes, or 20 bytes that it ignores', () => {
    for (let size = 0; size <= 66; size++) {
      const answer = parseSignature('presign', `0x${'ab'.repeat(size)}`);
      if (size === 0 || size === 20) expect(answer).toEqual({ scheme: 'presign', hex: '0x' });
      else expect(answer).toContain(`got ${size}`);
    }
  });

  test('eip1271 accepts any bytes unchanged', () => {
    fc.assert(
      fc.property(fc.nat(2000).chain(bytes), (signature) => {
        expect(parseSignature('eip1271', signature)).toEqual({ scheme: 'eip1271', hex: signature });
      }),
      { numRuns: 100 },
    );
  });
});

describe('signature r and s', () => {
  test.each([0n, SECP256K1_N, SECP256K1_N + 1n, 2n ** 256n - 1n])('%s is out of range for either', (value) => {
    expect(parseEcdsaSignature(join(value, 1n, 27))).toBe('r is out of range');
    expect(parseEcdsaSignature(join(1n, value, 27))).toBe('s is out of range');
  });

  test.each([1n, HALF, HALF + 1n, SECP256K1_N - 1n])('%s is in range for either', (value) => {
    expect(parseEcdsaSignature(join(value, 1n, 27))).toBeTypeOf('object');
    expect(parseEcdsaSignature(join(1n, value, 27))).toBeTypeOf('object');
  });

  test('a high s and its low twin have one stored form; the half itself is low', () => {
    expect(parsed(join(1n, HALF, 27)).hex).toBe(join(1n, HALF, 27));
    expect(parsed(join(1n, HALF + 1n, 27)).hex).toBe(join(1n, HALF, 28));
    const inRange = fc.bigInt({ min: 1n, max: SECP256K1_N - 1n });
    fc.assert(
      fc.property(inRange, inRange, fc.constantFrom(0, 1, 27, 28), (r, s, v) => {
        const answer = parsed(join(r, s, v));
        const twin = parsed(join(r, SECP256K1_N - s, v % 27 === 0 ? 28 : 27));
        expect(twin).toEqual(answer);
        const low = s <= HALF ? s : SECP256K1_N - s;
        expect(bytesToHex(answer.rs)).toBe(join(r, low, 0).slice(0, -2));
        expect(answer.recoveryId).toBe(low === s ? v % 27 : 1 - (v % 27));
        expect(answer.hex).toBe(join(r, low, 27 + answer.recoveryId));
        expect(parsed(answer.hex)).toEqual(answer);
      }),
      { numRuns: 500 },
    );
  });

  test('of any 65 bytes are in range or rejected with a reason', () => {
    const edge = fc.constantFrom(0n, 1n, HALF, HALF + 1n, SECP256K1_N - 1n, SECP256K1_N, 2n ** 256n - 1n).map(word);
    const part = fc.oneof(edge, bytes(32));
    fc.assert(
      fc.property(part, part, fc.oneof(fc.constantFrom(0, 1, 27, 28), fc.nat(255)), (r, s, v) => {
        const answer = parseEcdsaSignature(join(BigInt(r), BigInt(s), v));
        const inRange = [r, s].every((value) => BigInt(value) > 0n && BigInt(value) < SECP256K1_N);
        expect(typeof answer).toBe(inRange && [0, 1, 27, 28].includes(v) ? 'object' : 'string');
      }),
      { numRuns: 2000 },
    );
  });
});
