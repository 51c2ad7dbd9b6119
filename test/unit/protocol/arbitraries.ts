import fc from 'fast-check';
import type { Domain } from '../../../src/protocol/eip712.ts';
import type { Address, Hex } from '../../../src/protocol/hex.ts';
import { ZERO_ADDRESS } from '../../../src/protocol/hex.ts';
import type { OrderData } from '../../../src/protocol/order.ts';
import {
  BUY_TOKEN_DESTINATIONS,
  MAX_UINT32,
  ORDER_KINDS,
  ORDER_TYPE,
  SELL_TOKEN_SOURCES,
} from '../../../src/protocol/order.ts';
import { SECP256K1_N } from '../../../src/protocol/signature.ts';
import { MAX_UINT256 } from '../../../src/protocol/uint256.ts';

/** Boundaries of the encoding: 64-bit words, the last exact integer of a double, the sign bit, both ends. */
const EDGES = [53n, 63n, 64n, 65n, 127n, 128n, 129n, 191n, 192n, 193n, 255n].flatMap((bits) => [
  (1n << bits) - 1n,
  1n << bits,
  (1n << bits) + 1n,
]);
export const EXTREME_AMOUNTS: readonly bigint[] = [0n, 1n, ...EDGES, MAX_UINT256 - 1n, MAX_UINT256];

export const amount = fc.oneof(fc.constantFrom(...EXTREME_AMOUNTS), fc.bigInt({ min: 0n, max: MAX_UINT256 }));

export function bytes(size: number): fc.Arbitrary<Hex> {
  return fc
    .uint8Array({ minLength: size, maxLength: size })
    .map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
}

export const address: fc.Arbitrary<Address> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<Address>(ZERO_ADDRESS, `0x${'ff'.repeat(20)}`, `0x${'00'.repeat(19)}01`) },
  { weight: 4, arbitrary: bytes(20) },
);

const hash = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<Hex>(`0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`) },
  { weight: 4, arbitrary: bytes(32) },
);

export const validTo = fc.oneof(
  fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 31, MAX_UINT32 - 1, MAX_UINT32),
  fc.nat({ max: MAX_UINT32 }),
);

export const order: fc.Arbitrary<OrderData> = fc.record({
  sellToken: address,
  buyToken: address,
  receiver: fc.option(address, { freq: 3 }),
  sellAmount: amount,
  buyAmount: amount,
  validTo,
  appData: hash,
  feeAmount: amount,
  kind: fc.constantFrom(...ORDER_KINDS),
  partiallyFillable: fc.boolean(),
  sellTokenBalance: fc.constantFrom(...SELL_TOKEN_SOURCES),
  buyTokenBalance: fc.constantFrom(...BUY_TOKEN_DESTINATIONS),
});

export const domain: fc.Arbitrary<Domain> = fc.record({
  chainId: fc.oneof(
    fc.constantFrom(1, 100, 31337, 11155111, MAX_UINT32, 2 ** 32, Number.MAX_SAFE_INTEGER),
    fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  ),
  settlementContract: address,
});

export const uid = bytes(56);

export const privateKey = fc.bigInt({ min: 1n, max: SECP256K1_N - 1n }).map(word);

/** Encodes an unsigned number as 32 bytes of hex. */
export function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

/** Converts a domain to the type of other libraries. */
export function typedDomain({ chainId, settlementContract }: Domain) {
  return { name: 'Gnosis Protocol', version: 'v2', chainId, verifyingContract: settlementContract } as const;
}

/** Converts a domain for ethers, which treats numbers as exact only below 2^53 − 1. */
export function ethersDomain(of: Domain) {
  return { ...typedDomain(of), chainId: of.chainId.toString() };
}

/** Parses the hashed order type into the type of other libraries. */
export const ORDER_FIELDS = ORDER_TYPE.slice('Order('.length, -1)
  .split(',')
  .map((field) => {
    const [type = '', name = ''] = field.split(' ');
    return { type, name };
  });

/** Returns the typed data that viem needs to hash or sign an order. */
export function orderTypedData(of: Domain, { receiver, ...fields }: OrderData) {
  return {
    domain: typedDomain(of),
    types: { Order: ORDER_FIELDS },
    primaryType: 'Order',
    message: { ...fields, receiver: receiver ?? ZERO_ADDRESS },
  } as const;
}

/** Encodes r, s and v as the 65 bytes of a signature. */
export function join(r: bigint, s: bigint, v: number): Hex {
  return `${word(r)}${word(s).slice(2)}${v.toString(16).padStart(2, '0')}`;
}
