import {
  computeOrderUid,
  hashOrder,
  ORDER_TYPE_HASH,
  OrderBalance,
  OrderKind,
} from '@cowprotocol/contracts/lib/commonjs/order.js';
import fc from 'fast-check';
import { hashTypedData } from 'viem';
import { describe, expect, test } from 'vitest';
import { keccak256Text } from '../../../src/crypto/keccak.ts';
import type { Domain } from '../../../src/protocol/eip712.ts';
import { typedDataDigest } from '../../../src/protocol/eip712.ts';
import { bytesToHex, hexToBytes, packUid, ZERO_ADDRESS } from '../../../src/protocol/hex.ts';
import type { OrderData } from '../../../src/protocol/order.ts';
import {
  BUY_TOKEN_DESTINATIONS,
  createOrderHasher,
  MAX_UINT32,
  ORDER_KINDS,
  ORDER_TYPE,
  SELL_TOKEN_SOURCES,
} from '../../../src/protocol/order.ts';
import { hex, orderData, vectors } from '../../support/vectors/vectors.ts';
import { domain, EXTREME_AMOUNTS, ethersDomain, order, orderTypedData } from './arbitraries.ts';

const digestOf = (of: Domain, data: OrderData) => bytesToHex(createOrderHasher(of).digest(data));

describe('order vectors', () => {
  test('match the EIP-712 type and its hash', () => {
    expect(ORDER_TYPE).toBe(vectors.eip712.orderType);
    expect(bytesToHex(keccak256Text(ORDER_TYPE))).toBe(vectors.eip712.orderTypeHash);
    expect(ORDER_TYPE_HASH).toBe(vectors.eip712.orderTypeHash);
  });

  test('match the names and hashes of the enumerations', () => {
    const { kind, balance } = vectors.eip712;
    expect(Object.keys(kind).sort()).toEqual([...ORDER_KINDS].sort());
    expect(Object.keys(balance).sort()).toEqual([...SELL_TOKEN_SOURCES].sort());
    for (const [name, hash] of Object.entries({ ...kind, ...balance })) {
      expect(bytesToHex(keccak256Text(name))).toBe(hash);
    }
  });

  test.each(vectors.orders)('match the hashes and the UID of $name', (vector) => {
    const data = orderData(vector.order);
    const chain = vector.chainId === undefined ? undefined : { chainId: vector.chainId, contract: vector.settlement };
    // The domain of the reference order is known by its separator only; a struct hash does not depend on the domain.
    const hasher = createOrderHasher({
      chainId: chain?.chainId ?? 1,
      settlementContract: chain?.contract === undefined ? ZERO_ADDRESS : hex(chain.contract),
    });
    expect(bytesToHex(hasher.structHash(data))).toBe(vector.structHash);
    const digest = bytesToHex(typedDataDigest(hexToBytes(hex(vector.domainSeparator)), hasher.structHash(data)));
    expect(digest).toBe(vector.digest);
    expect(packUid({ digest, owner: hex(vector.owner), validTo: data.validTo })).toBe(vector.uid);
    if (chain !== undefined) {
      expect(bytesToHex(hasher.separator)).toBe(vector.domainSeparator);
      expect(bytesToHex(hasher.digest(data))).toBe(vector.digest);
    }
  });

  test('match a null receiver hashed as the zero address', () => {
    const zero = vectors.orders.filter(({ order: { receiver } }) => receiver === ZERO_ADDRESS);
    expect(zero).toHaveLength(1);
    for (const { chainId = 0, settlement = '', order: wire, digest } of zero) {
      const of = { chainId, settlementContract: hex(settlement) };
      expect(digestOf(of, { ...orderData(wire), receiver: null })).toBe(digest);
    }
  });

  test('match the UID of an order that sells native currency', () => {
    const placed = vectors.ethflow.flatMap((vector) => (vector.order === undefined ? [] : [vector]));
    expect(placed).toHaveLength(1);
    for (const { chainId, ethflow, order: wire, digest, uid } of placed) {
      const settlementContract = hex(vectors.domains[0]?.verifyingContract ?? '');
      const data = orderData(wire);
      expect(digestOf({ chainId, settlementContract }, data)).toBe(digest);
      expect(packUid({ digest: hex(digest), owner: hex(ethflow), validTo: data.validTo })).toBe(uid);
    }
  });
});

describe('order digest', () => {
  test('of any order equals viem', () => {
    fc.assert(
      fc.property(domain, order, (of, data) => {
        expect(digestOf(of, data)).toBe(hashTypedData(orderTypedData(of, data)));
      }),
      { numRuns: 3000 },
    );
  });

  test('and UID of any order equal the contracts package', () => {
    fc.assert(
      fc.property(domain, order, (of, data) => {
        const { receiver, ...fields } = data;
        const theirs = {
          ...fields,
          // The package has other names for the same texts, and rejects the zero address instead of a null receiver.
          kind: data.kind === 'buy' ? OrderKind.BUY : OrderKind.SELL,
          sellTokenBalance: BALANCES[data.sellTokenBalance],
          buyTokenBalance: BALANCES[data.buyTokenBalance],
          ...(receiver === null || receiver === ZERO_ADDRESS ? {} : { receiver }),
        };
        const digest = digestOf(of, data);
        expect(digest).toBe(hashOrder(ethersDomain(of), theirs));
        const uid = packUid({ digest, owner: data.sellToken, validTo: data.validTo });
        expect(uid).toBe(computeOrderUid(ethersDomain(of), theirs, data.sellToken));
      }),
      { numRuns: 1000 },
    );
  });

  test('of each field at each extreme equals viem', () => {
    const of: Domain = { chainId: 1, settlementContract: `0x${'11'.repeat(20)}` };
    const extremes = [
      ...['sellAmount', 'buyAmount', 'feeAmount'].flatMap((name) =>
        EXTREME_AMOUNTS.map((value) => ({ [name]: value })),
      ),
      ...[0, 1, 2 ** 31, MAX_UINT32].map((validTo) => ({ validTo })),
      ...['sellToken', 'buyToken', 'receiver'].flatMap((name) => endsOf(20).map((value) => ({ [name]: value }))),
      ...endsOf(32).map((appData) => ({ appData })),
      { receiver: null },
      ...ORDER_KINDS.map((kind) => ({ kind })),
      ...[true, false].map((partiallyFillable) => ({ partiallyFillable })),
      ...SELL_TOKEN_SOURCES.map((sellTokenBalance) => ({ sellTokenBalance })),
      ...BUY_TOKEN_DESTINATIONS.map((buyTokenBalance) => ({ buyTokenBalance })),
    ];
    const hasher = createOrderHasher(of);
    for (const extreme of extremes) {
      const data = { ...PLAIN, ...extreme };
      expect(bytesToHex(hasher.digest(data))).toBe(hashTypedData(orderTypedData(of, data)));
    }
  });
});

describe('order hasher buffer', () => {
  test('keeps nothing of the previous order', () => {
    fc.assert(
      fc.property(domain, fc.array(order, { minLength: 2, maxLength: 8 }), (of, all) => {
        const reused = createOrderHasher(of);
        const alone = all.map((data) => digestOf(of, data));
        for (const turn of [all, [...all].reverse(), [...all, ...all]]) {
          expect(turn.map((data) => bytesToHex(reused.digest(data)))).toEqual(
            turn.map((data) => alone[all.indexOf(data)]),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  test('hashes a null receiver after a set one, and small amounts after large ones', () => {
    const hasher = createOrderHasher({ chainId: 1, settlementContract: ZERO_ADDRESS });
    const small = { ...PLAIN, receiver: null, sellAmount: 0n, buyAmount: 1n, feeAmount: 0n, validTo: 0 };
    const max = EXTREME_AMOUNTS.at(-1) ?? 0n;
    const large: OrderData = {
      ...PLAIN,
      receiver: `0x${'ff'.repeat(20)}`,
      sellAmount: max,
      buyAmount: max,
      feeAmount: max,
    };
    const before = bytesToHex(hasher.digest(small));
    const other = bytesToHex(hasher.digest(large));
    expect(other).not.toBe(before);
    expect(bytesToHex(hasher.digest(small))).toBe(before);
    expect(bytesToHex(hasher.digest({ ...small, receiver: ZERO_ADDRESS }))).toBe(before);
    expect(bytesToHex(hasher.digest(large))).toBe(other);
  });

  test('is separate for two domains', () => {
    fc.assert(
      fc.property(domain, domain, fc.array(order, { minLength: 1, maxLength: 5 }), (one, two, all) => {
        const [first, second] = [createOrderHasher(one), createOrderHasher(two)];
        for (const data of all) {
          const [a, b] = [first.digest(data), second.digest(data)];
          expect(bytesToHex(a)).toBe(digestOf(one, data));
          expect(bytesToHex(b)).toBe(digestOf(two, data));
          expect(first.structHash(data)).toEqual(second.structHash(data));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('is separate from its results, which later calls do not change', () => {
    fc.assert(
      fc.property(domain, order, order, (of, data, next) => {
        const hasher = createOrderHasher(of);
        const kept = hasher.digest(data);
        const text = bytesToHex(kept);
        const expected = digestOf(of, next);
        hasher.digest(next);
        expect(bytesToHex(kept)).toBe(text);
        kept.fill(0);
        hasher.structHash(data).fill(0);
        hasher.separator.fill(0);
        expect(bytesToHex(hasher.digest(next))).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });
});

const BALANCES = { erc20: OrderBalance.ERC20, internal: OrderBalance.INTERNAL, external: OrderBalance.EXTERNAL };

const PLAIN: OrderData = {
  sellToken: `0x${'01'.repeat(20)}`,
  buyToken: `0x${'02'.repeat(20)}`,
  receiver: `0x${'03'.repeat(20)}`,
  sellAmount: 42n,
  buyAmount: 13n,
  validTo: 1_700_000_000,
  appData: `0x${'04'.repeat(32)}`,
  feeAmount: 7n,
  kind: 'sell',
  partiallyFillable: false,
  sellTokenBalance: 'erc20',
  buyTokenBalance: 'erc20',
};

function endsOf(size: number) {
  return ['00', 'ff'].map((byte) => `0x${byte.repeat(size)}` as const);
}
