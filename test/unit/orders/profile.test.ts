import type { OrderBookOptions } from 'intentbook';
import { createOrderBook, OrderBookError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { toProductionError } from '../../../src/admission/production-error.ts';
import { scriptedChain } from '../../support/chain.ts';
import type { WireOrder } from '../../support/orders.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import { admissionFixture, alice, BOB, byContract, documentOf, NOW, orderOf } from './admission-fixture.ts';

const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Returns the code and the status of a submission, or "accepted". */
async function outcome(options: Partial<OrderBookOptions>, order: WireOrder | object): Promise<unknown> {
  await using fixture = await admissionFixture(options);
  const answer = await fixture.http.send('POST', '/api/v1/orders', { body: order });
  if (answer.status === 201) return 'accepted';
  return [(answer.json() as { errorType: string }).errorType, answer.status];
}

const funds = (balance: bigint, allowance: bigint) => scriptedChain({ balanceAndAllowance: { balance, allowance } });

describe('profile', () => {
  test.each<[string, OrderBookOptions['profile'], unknown]>([
    ['specification', undefined, ['InvalidSignature', 400]],
    ['production', 'production', ['WrongOwner', 400]],
  ])('%s: code of a signature of another signer', async (_, profile, expected) => {
    const order = { ...(await orderOf()), from: BOB.address };
    expect(await outcome(profile === undefined ? {} : { profile }, order)).toEqual(expected);
  });

  test('a rule can be set alone, in either direction', async () => {
    const order = { ...(await orderOf()), from: BOB.address };
    expect(await outcome({ rules: { codes: 'production' } }, order)).toEqual(['WrongOwner', 400]);
    expect(await outcome({ profile: 'production', rules: { codes: 'specification' } }, order)).toEqual([
      'InvalidSignature',
      400,
    ]);
  });

  test('production keeps the code of a malformed signature', async () => {
    const order = { ...(await orderOf()), signature: '0x12' };
    expect(await outcome({ profile: 'production' }, order)).toEqual(['InvalidSignature', 400]);
  });

  test('production accepts documents of 8192 bytes, unless a limit is given', async () => {
    const order = await orderOf({ appData: JSON.stringify({ text: 'x'.repeat(8192 - 11) }) });
    expect(order.appData).toHaveLength(8192);
    expect(await outcome({ profile: 'production' }, order)).toBe('accepted');
    expect(await outcome({}, order)).toEqual(['InvalidAppData', 400]);
    expect(await outcome({ profile: 'production', limits: { maxAppDataSize: 1000 } }, order)).toEqual([
      'InvalidAppData',
      400,
    ]);
  });

  test.each<[object, RegExp]>([
    [{ profile: 'gnosis' }, /profile must be one of specification, production, got "gnosis"/],
    [{ rules: { balance: 'half' } }, /rules.balance must be one of full, minimum, got "half"/],
    [{ rules: { fees: 'none' } }, /rules/],
  ])('rejects the options %j', (options, message) => {
    expect(() => createOrderBook({ chainId: SEPOLIA, store: memoryStore(), ...options })).toThrow(message);
  });
});

describe('quote of a book with production codes', () => {
  const request = { sellToken: COW, buyToken: WETH, from: alice, kind: 'sell', sellAmountBeforeFee: '1000' };
  const quoted = async (options: Partial<OrderBookOptions>, change: object, path = '/api/v1/quote') => {
    await using fixture = await admissionFixture(options);
    const answer = await fixture.http.send('POST', path, { body: { ...request, ...change } });
    return [(answer.json() as { errorType: string }).errorType, answer.status];
  };

  test('rejects an unknown enumeration value with 422', async () => {
    expect(await quoted({}, { kind: 'swap' })).toEqual(['InvalidParameter', 400]);
    expect(await quoted({ profile: 'production' }, { kind: 'swap' })).toEqual(['InvalidBody', 422]);
    expect(await quoted({ profile: 'production' }, { priceQuality: 'best' }, '/api/v1/quote/stream')).toEqual([
      'InvalidBody',
      422,
    ]);
  });

  test.each<[object]>([
    [{ sellAmountBeforeFee: '0' }],
    [{ sellAmountBeforeFee: null }],
    [{ kind: 'buy', buyAmountAfterFee: '1.5' }],
    [{ validTo: 4_000_000_000, validFor: 600 }],
    [{ signingScheme: 'eip712', onchainOrder: true }],
    [{ signingScheme: 'presign', verificationGasLimit: 1 }],
    [{ appDataHash: `0x${'00'.repeat(32)}` }],
  ])('rejects %j, which does not fit the type of a request, with 422', async (change) => {
    expect(await quoted({}, change)).toEqual(['InvalidParameter', 400]);
    expect(await quoted({ profile: 'production' }, change)).toEqual(['InvalidBody', 422]);
  });

  test('responds 404 without liquidity, also to a native price', async () => {
    const options = { profile: 'production', quotes: { estimators: [], gasPrice: 1 } } as const;
    expect(await quoted(options, {})).toEqual(['NoLiquidity', 404]);
    await using fixture = await admissionFixture(options);
    const answer = await fixture.http.send('GET', `/api/v1/token/${COW}/native_price`);
    expect(answer.status).toBe(404);
  });

  test('shows the reason of a solver as data without production codes', async () => {
    const estimate = () => ({ rejection: 'InsufficientLiquidity' as const, reason: 'pool is empty' });
    const quotes = { estimators: [{ name: 'solver', estimate, nativePrice: () => '1' }], gasPrice: 1 };
    await using fixture = await admissionFixture({ quotes });
    const answer = await fixture.http.send('POST', '/api/v1/quote', { body: request });
    expect([answer.status, answer.json()]).toEqual([
      400,
      { errorType: 'NoLiquidity', description: 'pool is empty', data: { reason: 'InsufficientLiquidity' } },
    ]);
  });

  test('prefers the reason of a solver to an unsupported token, and any price to both', async () => {
    const unsupported = {
      name: 'a',
      estimate: () => ({ unsupportedToken: COW as `0x${string}` }),
      nativePrice: () => '1',
    };
    const suspended = { name: 'b', estimate: () => ({ rejection: 'TokenTemporarilySuspended' as const }) };
    const priced = { name: 'c', estimate: () => ({ amount: 5n, gas: 1 }) };
    const options = (estimators: readonly (typeof unsupported | typeof suspended | typeof priced)[]) =>
      ({ profile: 'production', quotes: { estimators, gasPrice: 0 } }) as const;
    expect(await quoted(options([unsupported, suspended]), {})).toEqual(['TokenTemporarilySuspended', 400]);
    expect(await quoted(options([unsupported, suspended, priced]), {})).toEqual([undefined, 200]);
  });
});

describe('codes of production by route', () => {
  const PAST = NOW - 10;
  const production = { profile: 'production' } as const;

  async function send(options: Partial<OrderBookOptions>, method: string, path: string, body?: unknown) {
    await using fixture = await admissionFixture(options);
    const answer = await fixture.http.send(method, path, body === undefined ? {} : { body });
    return [(answer.json() as { errorType: string }).errorType, answer.status];
  }

  test('an order or a quote in the past has InsufficientValidTo, a cancellation of an expired order OrderExpired', async () => {
    const order = await orderOf({ validTo: PAST });
    expect(await outcome({}, order)).toEqual(['OrderExpired', 400]);
    expect(await outcome(production, order)).toEqual(['InsufficientValidTo', 400]);
    const quote = {
      sellToken: COW,
      buyToken: WETH,
      from: alice,
      kind: 'sell',
      sellAmountBeforeFee: '1000',
      validTo: PAST,
    };
    expect(await send({}, 'POST', '/api/v1/quote', quote)).toEqual(['OrderExpired', 400]);
    for (const path of ['/api/v1/quote', '/api/v1/quote/stream'])
      expect(await send(production, 'POST', path, quote)).toEqual(['InsufficientValidTo', 400]);
    expect(toProductionError(new OrderBookError('OrderExpired')).code).toBe('OrderExpired');
  });

  test.each(['0', '1001'])('a page of %s orders has LIMIT_OUT_OF_BOUNDS', async (limit) => {
    for (const path of [`/api/v1/account/${alice}/orders`, '/api/v1/orders']) {
      expect(await send({}, 'GET', `${path}?limit=${limit}`)).toEqual(['InvalidParameter', 400]);
      expect(await send(production, 'GET', `${path}?limit=${limit}`)).toEqual(['LIMIT_OUT_OF_BOUNDS', 400]);
      expect(await send(production, 'GET', `${path}?offset=-1`)).toEqual(['InvalidParameter', 400]);
    }
  });

  test('an upload of a malformed document has AppDataInvalid, an order with it InvalidAppData', async () => {
    const document = { fullAppData: '{"metadata":7}' };
    const hash = `0x${'12'.repeat(32)}`;
    for (const path of ['/api/v1/app_data', `/api/v1/app_data/${hash}`]) {
      expect(await send({}, 'PUT', path, document)).toEqual(['InvalidAppData', 400]);
      expect(await send(production, 'PUT', path, document)).toEqual(['AppDataInvalid', 400]);
      expect(await send(production, 'PUT', path, { fullAppData: `{"a":"${'x'.repeat(8192)}"}` })).toEqual([
        'AppDataInvalid',
        400,
      ]);
    }
    expect(await send(production, 'PUT', `/api/v1/app_data/${hash}`, { fullAppData: '{}' })).toEqual([
      'AppDataHashMismatch',
      400,
    ]);
    expect(await outcome(production, await orderOf({ appData: '{"metadata":7}' }))).toEqual(['InvalidAppData', 400]);
  });
});

describe('balance rule', () => {
  const minimum = (balance: bigint, allowance: bigint) =>
    ({ rules: { balance: 'minimum' }, chain: funds(balance, allowance) }) as const;

  test.each<[bigint, bigint, unknown]>([
    [1n, 1n, 'accepted'],
    [0n, 1000n, 'accepted'],
    [0n, 999n, ['InsufficientBalance', 400]],
    [1n, 0n, ['InsufficientAllowance', 400]],
  ])('minimum: balance %d and allowance %d for 1000 atoms', async (balance, allowance, expected) => {
    expect(await outcome(minimum(balance, allowance), await orderOf({ sellAmount: '1000' }))).toEqual(expected);
  });

  test('minimum: fullBalanceCheck requires the sell amount', async () => {
    const order = { ...(await orderOf({ sellAmount: '1000' })), fullBalanceCheck: true };
    expect(await outcome(minimum(999n, 5000n), order)).toEqual(['InsufficientBalance', 400]);
    expect(await outcome(minimum(1000n, 1000n), order)).toBe('accepted');
  });

  test('full: one atom is not sufficient for a fill-or-kill order', async () => {
    const order = await orderOf({ sellAmount: '1000' });
    expect(await outcome({ chain: funds(1n, 5000n) }, order)).toEqual(['InsufficientBalance', 400]);
  });
});

describe('pair policy', () => {
  const same = { sellToken: WETH, buyToken: WETH };
  const unwrapped = { sellToken: WETH, buyToken: NATIVE };

  test.each<[string, object, 'sell' | 'buy', object, unknown]>([
    ['sameToken sell', { sameToken: 'sell' }, 'sell', same, 'accepted'],
    ['sameToken sell', { sameToken: 'sell' }, 'buy', same, ['SameBuyAndSellToken', 400]],
    ['sameToken accept', { sameToken: 'accept' }, 'buy', same, 'accepted'],
    ['sameToken accept', { sameToken: 'accept' }, 'sell', unwrapped, ['SameBuyAndSellToken', 400]],
    ['wrappedToNative sell', { wrappedToNative: 'sell' }, 'sell', unwrapped, 'accepted'],
    ['wrappedToNative sell', { wrappedToNative: 'sell' }, 'buy', unwrapped, ['SameBuyAndSellToken', 400]],
    ['wrappedToNative accept', { wrappedToNative: 'accept' }, 'buy', unwrapped, 'accepted'],
  ])('%s %j: a %s order', async (_, rules, kind, tokens, expected) => {
    expect(await outcome({ rules }, await orderOf({ ...tokens, kind }))).toEqual(expected);
  });
});

describe('vault balances', () => {
  const external = { sellTokenBalance: 'external' } as const;
  const vault = (balance: bigint, allowance: bigint) => {
    const queries: unknown[] = [];
    const chain = {
      vaultFunds: async (query: unknown) => {
        queries.push(query);
        return { balance, allowance };
      },
    };
    return { chain, queries };
  };

  test('are checked at the vault', async () => {
    const { chain, queries } = vault(1000n, 1000n);
    const order = await orderOf({ sellAmount: '1000', ...external });
    expect(await outcome({ chain }, order)).toBe('accepted');
    expect(queries).toEqual([expect.objectContaining({ owner: alice, token: WETH.toLowerCase(), source: 'external' })]);
    expect(await outcome({ chain: vault(999n, 1000n).chain }, order)).toEqual(['InsufficientBalance', 400]);
    expect(await outcome({ chain: vault(1000n, 0n).chain }, order)).toEqual(['InsufficientAllowance', 400]);
  });

  test('of partially fillable orders need one atom', async () => {
    const order = await orderOf({ sellAmount: '1000', partiallyFillable: true, sellTokenBalance: 'internal' });
    expect(await outcome({ chain: vault(1n, 1n).chain }, order)).toBe('accepted');
    expect(await outcome({ chain: vault(0n, 1n).chain }, order)).toEqual(['InsufficientBalance', 400]);
  });

  test('follow the rule minimum', async () => {
    const order = await orderOf({ sellAmount: '1000', ...external });
    const check = (balance: bigint, allowance: bigint, choice: object = order) =>
      outcome({ rules: { balance: 'minimum' }, chain: vault(balance, allowance).chain }, choice);
    expect(await check(1n, 1n)).toBe('accepted');
    expect(await check(0n, 1000n)).toBe('accepted');
    expect(await check(0n, 999n)).toEqual(['InsufficientBalance', 400]);
    expect(await check(999n, 1000n, { ...order, fullBalanceCheck: true })).toEqual(['InsufficientBalance', 400]);
  });

  test('are rejected by the production profile', async () => {
    const order = await orderOf(external);
    expect(await outcome({ profile: 'production' }, order)).toEqual(['UnsupportedSellTokenSource', 400]);
  });
});

describe('gas limit', () => {
  const hook = (gasLimit: string) => ({ target: COW, callData: '0x', gasLimit });

  test('counts all hooks and the contract signature', async () => {
    const hooks = { pre: [hook('4000000')], post: [hook('3999000')] };
    const order = byContract(await orderOf({ appData: documentOf({ hooks }) }));
    const chain = (gas: number) => scriptedChain({ isValidSignature: { valid: true, gas } });
    expect(await outcome({ chain: chain(1000) }, order)).toBe('accepted');
    expect(await outcome({ chain: chain(1001) }, order)).toEqual(['TooMuchGas', 400]);
    expect(await outcome({ chain: chain(1001), limits: { maxOrderGas: 9_000_000 } }, order)).toBe('accepted');
  });
});

describe('enableFastPath', () => {
  const appData = documentOf({ enableFastPath: true });

  test('is rejected for orders and quotes; another value is ignored', async () => {
    expect(await outcome({}, await orderOf({ appData }))).toEqual(['InvalidAppData', 400]);
    expect(await outcome({}, await orderOf({ appData: documentOf({ enableFastPath: false }) }))).toBe('accepted');
    await using fixture = await admissionFixture();
    const body = { sellToken: COW, buyToken: WETH, from: alice, kind: 'sell', sellAmountBeforeFee: '1', appData };
    const answer = await fixture.http.send('POST', '/api/v1/quote', { body });
    expect([answer.status, answer.json()]).toMatchObject([
      400,
      { errorType: 'InvalidAppData', description: 'enableFastPath is not supported' },
    ]);
  });

  test('is rejected as a key of the body; another value is ignored', async () => {
    await using fixture = await admissionFixture();
    const quote = { sellToken: WETH, buyToken: COW, from: alice, kind: 'sell', sellAmountBeforeFee: '1' };
    const send = async (path: string, body: object) => {
      const answer = await fixture.http.send('POST', path, { body });
      return [answer.status, (answer.json() as { errorType?: string }).errorType];
    };
    expect(await send('/api/v1/quote', { ...quote, enableFastPath: true })).toEqual([400, 'InvalidParameter']);
    expect(await send('/api/v1/quote', { ...quote, enableFastPath: false })).toEqual([400, 'NoLiquidity']);
    const order = await orderOf({});
    expect(await send('/api/v1/orders', { ...order, enableFastPath: true })).toEqual([422, 'InvalidBody']);
    expect(await send('/api/v1/orders', { ...order, enableFastPath: 1 })).toEqual([201, undefined]);
  });
});

describe('requests whose shape production accepts or rejects with another status', () => {
  test('have the codes that the compatibility page lists', async () => {
    await using fixture = await admissionFixture({ profile: 'production' });
    const { http } = fixture;
    const order = await orderOf({});
    const send = async (method: string, changes: object) => {
      const answer = await http.send(method, '/api/v1/orders', { body: { ...order, ...changes } });
      return [answer.status, (answer.json() as { errorType?: string }).errorType];
    };
    expect(await send('POST', { sellAmount: '0x10' })).toEqual([422, 'InvalidBody']);
    expect(await send('POST', { sellAmount: String(2n ** 256n) })).toEqual([400, 'SellAmountOverflow']);
    expect(await send('POST', { signature: order.signature.slice(0, -2) })).toEqual([400, 'InvalidSignature']);
    expect(await send('DELETE', { orderUids: [] })).toEqual([422, 'InvalidBody']);
    expect((await http.send('GET', `/api/v1/app_data/0x${'00'.repeat(32)}`)).status).toBe(200);
  });
});
