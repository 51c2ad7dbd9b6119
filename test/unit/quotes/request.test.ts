import type { QuoteRequest } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { fixedPrices } from 'intentbook/estimators';
import { memoryStore } from 'intentbook/memory';
import { keccak256, toHex } from 'viem';
import { describe, expect, test } from 'vitest';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { COW, WETH } from '../../support/orders.ts';
import { answering, ETHER, quoted, quotesFixture, rejected, SELL, source } from './quotes-fixture.ts';

const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const ZERO_HASH = `0x${'00'.repeat(32)}`;
const PRICES = { [WETH]: '1', [COW]: '0.0003' };
const X = 1000n * ETHER;
const without = (key: keyof QuoteRequest) => ({ ...SELL, [key]: undefined });
const buying = (amount: string) =>
  ({ ...without('sellAmountBeforeFee'), kind: 'buy', buyAmountAfterFee: amount }) as const;
const fixture = (options = {}) => quotesFixture({ estimators: [fixedPrices(PRICES)], ...options });

describe('quote response', () => {
  // 150000 units of gas at 10 gwei, in a token worth 0.0003: 5 COW.
  const FEE = 5n * ETHER;

  test('to a sale before fee has a sell amount and fee that add up to the request', async () => {
    const { book, clock } = await fixture();
    expect(await quoted(book, SELL)).toEqual({
      quote: {
        sellToken: COW.toLowerCase(),
        buyToken: WETH.toLowerCase(),
        receiver: null,
        sellAmount: String(X - FEE),
        buyAmount: String(((X - FEE) * 3n) / 10_000n),
        validTo: clock.now() / 1000 + 1800,
        appData: ZERO_HASH,
        feeAmount: String(FEE),
        gasAmount: '150000',
        gasPrice: '10000000000',
        sellTokenPrice: '0.0003',
        kind: 'sell',
        partiallyFillable: false,
        sellTokenBalance: 'erc20',
        buyTokenBalance: 'erc20',
        signingScheme: 'eip712',
      },
      from: SELL.from,
      expiration: new Date(clock.now() + 60_000).toISOString(),
      id: 1,
      verified: false,
    });
  });

  test('to a sale with an invalid amount before fee uses the amount after fee', async () => {
    const { book } = await fixture();
    for (const sellAmountBeforeFee of ['0', '', 'x', null]) {
      const { quote } = await quoted(book, { ...SELL, sellAmountBeforeFee, sellAmountAfterFee: String(X) });
      expect(quote.sellAmount).toBe(String(X));
    }
    for (const sellAmountAfterFee of ['5', 'x']) {
      expect((await quoted(book, { ...SELL, sellAmountAfterFee })).quote.sellAmount).toBe(String(X - FEE));
    }
  });

  test('to a sale after fee trades the full amount and reports the fee', async () => {
    const { book } = await fixture();
    const { quote } = await quoted(book, { ...without('sellAmountBeforeFee'), sellAmountAfterFee: String(X) });
    expect(quote).toMatchObject({
      sellAmount: String(X),
      buyAmount: String((X * 3n) / 10_000n),
      feeAmount: String(FEE),
    });
  });

  test('to both amounts uses the one before fee', async () => {
    const { book } = await fixture();
    const { quote } = await quoted(book, { ...SELL, sellAmountAfterFee: '7' });
    expect(quote.sellAmount).toBe(String(X - FEE));
  });

  test('to a purchase has the requested buy amount and ignores sell amounts', async () => {
    const { book } = await fixture();
    const { quote } = await quoted(book, { ...buying('300'), sellAmountBeforeFee: 'nonsense' });
    expect(quote).toMatchObject({ kind: 'buy', sellAmount: '1000000', buyAmount: '300', feeAmount: String(FEE) });
  });

  test('includes gas of hooks and contract signatures in the fee but not in gasAmount', async () => {
    const { book } = await fixture();
    const hook = (gasLimit: string) => ({ target: COW, callData: '0x', gasLimit });
    const appData = JSON.stringify({
      metadata: { hooks: { pre: [hook('30000')], post: [hook('20000'), hook('50000')] } },
    });
    const { quote } = await quoted(book, { ...SELL, appData, signingScheme: 'eip1271', verificationGasLimit: 50_000 });
    expect([quote.gasAmount, quote.feeAmount]).toEqual(['150000', String(2n * FEE)]);
    const standard = await quoted(book, { ...SELL, signingScheme: 'eip1271' });
    expect(BigInt(standard.quote.feeAmount)).toBe((FEE * 177n) / 150n);
    const presign = await quoted(book, { ...SELL, signingScheme: 'presign' });
    expect(BigInt(presign.quote.feeAmount)).toBe(FEE);
  });

  test('to native currency uses its wrapped token and includes the gas to unwrap it', async () => {
    const { book } = await fixture();
    const { quote } = await quoted(book, { ...SELL, buyToken: NATIVE });
    expect(quote).toMatchObject({ buyToken: NATIVE.toLowerCase(), gasAmount: '159223' });
  });

  test.each([
    [undefined, undefined, { appData: ZERO_HASH }],
    [null, null, { appData: ZERO_HASH }],
    [ZERO_HASH, undefined, { appData: ZERO_HASH }],
    ['{}', undefined, { appData: '{}', appDataHash: keccak256(toHex('{}')) }],
    [
      '{ "a": 1 }',
      keccak256(toHex('{ "a": 1 }')),
      { appData: '{ "a": 1 }', appDataHash: keccak256(toHex('{ "a": 1 }')) },
    ],
  ])('to app data %o with hash %o returns %o', async (appData, appDataHash, echo) => {
    const { book } = await fixture();
    const { quote } = await quoted(book, { ...SELL, appData, appDataHash });
    expect({ appData: quote.appData, appDataHash: quote.appDataHash }).toEqual({ appDataHash: undefined, ...echo });
  });

  test.each([
    [{}, 1800],
    [{ validFor: 60 }, 60],
    [{ validFor: null, validTo: null }, 1800],
    [{ validTo: 1_700_000_600 }, 600],
  ])('to %o is valid for %s s', async (validity, seconds) => {
    const { book, clock } = await fixture();
    expect((await quoted(book, { ...SELL, ...validity })).quote.validTo).toBe(clock.now() / 1000 + seconds);
  });

  test.each([
    [{}, 60],
    [{ signingScheme: 'presign' }, 60],
    [{ signingScheme: 'presign', onchainOrder: true }, 600],
    [{ signingScheme: 'eip1271', onchainOrder: true, verificationGasLimit: 0 }, 600],
  ] as const)('to %o is kept for %s s', async (scheme, seconds) => {
    const { book, clock } = await fixture();
    const { expiration } = await quoted(book, { ...SELL, ...scheme });
    expect(Date.parse(expiration) - clock.now()).toBe(seconds * 1000);
  });

  test.each([
    [200, '2'],
    [30, '0.3'],
    [0, '0'],
  ])('has a volume fee of %s parts per million as %s basis points', async (ppm, bps) => {
    const { book } = await fixture({ volumeFee: ppm });
    const plain = await quoted((await fixture()).book, SELL);
    const response = await quoted(book, SELL);
    expect(response.protocolFeeBps).toBe(bps);
    const before = BigInt(plain.quote.buyAmount);
    expect(BigInt(response.quote.buyAmount)).toBe(before - (before * BigInt(ppm)) / 1_000_000n);
    expect(response.quote.sellAmount).toBe(plain.quote.sellAmount);
    const purchase = await quoted(book, buying('300000000'));
    const [sold, fee] = [1_000_000_000_000n, BigInt(purchase.quote.feeAmount)];
    expect(BigInt(purchase.quote.sellAmount)).toBe(sold + ((sold + fee) * BigInt(ppm)) / 1_000_000n);
  });

  test('has a volume fee that can depend on the tokens and be zero', async () => {
    const { book } = await fixture({ volumeFee: (sold: string) => (sold === COW.toLowerCase() ? 100 : undefined) });
    expect((await quoted(book, SELL)).protocolFeeBps).toBe('1');
    const other = await quoted(book, { ...SELL, sellToken: WETH, buyToken: COW });
    expect(other).not.toHaveProperty('protocolFeeBps');
  });

  test('has decimal prices without an exponent', async () => {
    const { book } = await fixture({
      estimators: [fixedPrices({ [WETH]: 1, [COW]: 4e-10 })],
      gasPrice: 1e-7,
    });
    const { quote } = await quoted(book, { ...SELL, sellAmountBeforeFee: String(10n ** 30n) });
    expect([quote.gasPrice, quote.sellTokenPrice]).toEqual(['0.0000001', '0.0000000004']);
  });

  test('supports amounts of 256 bits', async () => {
    const max = String(2n ** 256n - 1n);
    const { book } = await fixture({ estimators: [answering('one', 2n ** 256n - 1n)] });
    const { quote } = await quoted(book, { ...SELL, sellAmountBeforeFee: max });
    expect(BigInt(quote.sellAmount) + BigInt(quote.feeAmount)).toBe(2n ** 256n - 1n);
    const half = await fixture({ estimators: [answering('half', 2n ** 255n)] });
    expect((await quoted(half.book, buying(max))).quote).toMatchObject({
      sellAmount: String(2n ** 255n),
      buyAmount: max,
    });
  });
});

/** Invalid requests, and the field that is named. */
const MALFORMED: readonly (readonly [string, string, unknown])[] = [
  ['nothing', '', null],
  ['a list', '', []],
  ['text', '', 'quote'],
  ['no kind', 'kind', without('kind')],
  ['an unknown kind', 'kind', { ...SELL, kind: 'swap' }],
  ['a kind in upper case', 'kind', { ...SELL, kind: 'SELL' }],
  ['a numeric kind', 'kind', { ...SELL, kind: 0 }],
  ['no sell token', 'sellToken', without('sellToken')],
  ['a buy token without 0x', 'buyToken', { ...SELL, buyToken: WETH.slice(2) }],
  ['a buy token too short', 'buyToken', { ...SELL, buyToken: '0x12' }],
  ['no from', 'from', without('from')],
  ['a null from', 'from', { ...SELL, from: null }],
  ['an invalid receiver', 'receiver', { ...SELL, receiver: 'me' }],
  ['no amount', 'sellAmountBeforeFee', without('sellAmountBeforeFee')],
  ['a null amount', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: null }],
  ['an amount of zero', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: '0' }],
  ['an amount of many zeros', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: '0'.repeat(100) }],
  ['an amount as a number', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: 5 }],
  ['an amount in hex', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: '0x10' }],
  ['a negative amount', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: '-1' }],
  ['an amount with a decimal point', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: '1.5' }],
  ['an amount of 257 bits', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: String(2n ** 256n) }],
  ['a purchase without its amount', 'buyAmountAfterFee', { ...SELL, kind: 'buy' }],
  ['a purchase of zero', 'buyAmountAfterFee', buying('0')],
  ['validTo and validFor', 'validFor', { ...SELL, validTo: 1_700_000_600, validFor: 600 }],
  ['validTo as text', 'validTo', { ...SELL, validTo: '1700000600' }],
  ['validFor beyond 32 bits', 'validFor', { ...SELL, validFor: 2 ** 32 }],
  ['a fraction of a second', 'validFor', { ...SELL, validFor: 0.5 }],
  ['app data that is an object', 'appData', { ...SELL, appData: {} }],
  ['a hash without its document', 'appDataHash', { ...SELL, appDataHash: ZERO_HASH }],
  ['an invalid hash', 'appDataHash', { ...SELL, appData: '{}', appDataHash: '0x' }],
  ['an unknown balance', 'sellTokenBalance', { ...SELL, sellTokenBalance: 'vault' }],
  ['a null balance', 'buyTokenBalance', { ...SELL, buyTokenBalance: null }],
  ['an unknown scheme', 'signingScheme', { ...SELL, signingScheme: 'schnorr' }],
  ['a null scheme', 'signingScheme', { ...SELL, signingScheme: null }],
  ['an ECDSA order on chain', 'onchainOrder', { ...SELL, onchainOrder: true }],
  ['onchainOrder as text', 'onchainOrder', { ...SELL, signingScheme: 'presign', onchainOrder: 'yes' }],
  ['two invalid amounts', 'sellAmountBeforeFee', { ...SELL, sellAmountBeforeFee: '0', sellAmountAfterFee: 'x' }],
  ['the other amount, invalid', 'sellAmountAfterFee', { ...without('sellAmountBeforeFee'), sellAmountAfterFee: '0' }],
  [
    'gas above the safe integers',
    'verificationGasLimit',
    { ...SELL, signingScheme: 'eip1271', verificationGasLimit: 2 ** 53 },
  ],
  ['gas as text', 'verificationGasLimit', { ...SELL, signingScheme: 'eip1271', verificationGasLimit: '1' }],
  ['gas to verify an ECDSA signature', 'verificationGasLimit', { ...SELL, verificationGasLimit: 1 }],
  ['negative gas', 'verificationGasLimit', { ...SELL, signingScheme: 'eip1271', verificationGasLimit: -1 }],
  ['an unknown quality', 'priceQuality', { ...SELL, priceQuality: 'best' }],
  ['a negative timeout', 'timeout', { ...SELL, timeout: -1 }],
];

const documentOf = (metadata: object) => JSON.stringify({ metadata });
const GREEDY_HOOK = { target: COW, callData: '0x', gasLimit: '8000001' };

describe('quote request with', () => {
  test.each(MALFORMED)('%s is InvalidParameter for %j', async (_, path, request) => {
    const { book } = await fixture();
    const error = await rejected(book, request);
    expect(error).toMatchObject({ code: 'InvalidParameter', status: 400, data: { path } });
    if (path !== '') expect(error.message).toContain(path);
    expect(error.message).not.toMatch(/expected|received|invalid|too/i); // as formatted by the shape parser
  });

  test.each(MALFORMED)('%s is 400 over HTTP on either route', async (_, path, body) => {
    const { book, clock } = await fixture();
    const http = directFixture(createApi(book), clock.now);
    for (const route of ['/api/v1/quote', '/api/v1/quote/stream']) {
      const answer = await http.send('POST', route, { body: JSON.stringify(body) });
      expect([answer.status, answer.json()]).toEqual([
        400,
        { errorType: 'InvalidParameter', description: expect.any(String), data: { path } },
      ]);
    }
  });

  test.each([
    ['equal tokens', { buyToken: COW }, 'SameBuyAndSellToken'],
    ['wrapped for native currency', { sellToken: WETH, buyToken: NATIVE }, 'SameBuyAndSellToken'],
    ['native currency to sell', { sellToken: NATIVE }, 'InvalidNativeSellToken'],
    ['a denied token', { buyToken: '0x00000000000000000000000000000000000000dd' }, 'UnsupportedToken'],
    ['validTo in the past', { validTo: 1 }, 'OrderExpired'],
    ['validTo too soon', { validFor: 59 }, 'InsufficientValidTo'],
    ['validTo too late', { validFor: 366 * 24 * 3600 }, 'ExcessiveValidTo'],
    ['invalid JSON as app data', { appData: 'x' }, 'InvalidAppData'],
    ['an unknown app data hash', { appData: `0x${'12'.repeat(32)}` }, 'InvalidAppData'],
    ['app data with another hash', { appData: '{}', appDataHash: ZERO_HASH }, 'AppDataHashMismatch'],
    ['hooks with too much gas', { appData: documentOf({ hooks: { pre: [GREEDY_HOOK] } }) }, 'TooMuchGas'],
    ['validFrom too late', { validFor: 600, appData: documentOf({ validFrom: 4_000_000_000 }) }, 'InvalidValidFrom'],
    ['another signer', { appData: documentOf({ signer: COW }) }, 'AppdataFromMismatch'],
    ['a contract signature without a chain', { signingScheme: 'eip1271' }, 'UnsupportedSigningScheme'],
    ['a balance of the vault to sell', { sellTokenBalance: 'internal' }, 'UnsupportedSellTokenSource'],
    ['a balance of the vault to buy', { buyTokenBalance: 'internal' }, 'UnsupportedBuyTokenDestination'],
    ['a denied owner', { from: '0x00000000000000000000000000000000000000bd' }, 'Forbidden'],
    ['a denied receiver', { receiver: '0x00000000000000000000000000000000000000bd' }, 'Forbidden'],
    ['a token without a price', { buyToken: '0x00000000000000000000000000000000000000cc' }, 'NoLiquidity'],
  ])('%s is rejected like its order', async (_, change, code) => {
    const { clock } = await fixture();
    const book = createOrderBook({
      chainId: 11155111,
      store: memoryStore(),
      clock,
      deniedTokens: ['0x00000000000000000000000000000000000000dd'],
      isDenied: (address) => address.endsWith('bd'),
      rules: { vaultBalances: 'reject' },
      quotes: { estimators: [fixedPrices(PRICES)], gasPrice: 1 },
    });
    await book.start();
    expect((await rejected(book, { ...SELL, ...change })).code).toBe(code);
  });

  test('rules of submissions do not apply to an order on chain or without a known owner', async () => {
    const { book } = await fixture();
    const appData = documentOf({ hooks: { pre: [GREEDY_HOOK] }, validFrom: 4_000_000_000, signer: COW });
    const onchain = await quoted(book, { ...SELL, appData, signingScheme: 'eip1271', onchainOrder: true });
    expect(onchain.quote.kind).toBe('sell');
    const from = `0x${'00'.repeat(20)}`;
    expect((await quoted(book, { ...SELL, from, appData: documentOf({ signer: COW }) })).quote.kind).toBe('sell');
  });

  test('validity of a year is rejected for ECDSA and quoted for a presignature, like its order', async () => {
    const { book } = await fixture();
    const request = { ...SELL, validFor: 366 * 24 * 3600 };
    expect((await rejected(book, request)).code).toBe('ExcessiveValidTo');
    await quoted(book, { ...request, signingScheme: 'presign' });
  });

  test('validFor beyond 32 bits is capped', async () => {
    const { book } = await fixture();
    const { quote } = await quoted(book, { ...SELL, signingScheme: 'presign', validFor: 2 ** 32 - 1 });
    expect(quote.validTo).toBe(2 ** 32 - 1);
  });

  test('a sell amount below the fee is SellAmountDoesNotCoverFee with the lowest fee', async () => {
    const { book } = await fixture({
      estimators: [answering('dear', 10n ** 40n, 200_000), answering('cheap', 10n ** 6n, 150_000)],
    });
    const fee = String(5n * ETHER);
    expect(await rejected(book, { ...SELL, sellAmountBeforeFee: fee })).toMatchObject({
      code: 'SellAmountDoesNotCoverFee',
      status: 400,
      data: { fee_amount: fee },
    });
    const { quote } = await quoted(book, { ...SELL, sellAmountBeforeFee: String(5n * ETHER + ETHER) });
    expect(quote.sellAmount).toBe(String(ETHER));
  });

  test('a sell amount without output after the fee is SellAmountDoesNotCoverFee', async () => {
    const { book } = await fixture({ estimators: [answering('one', 1n)] });
    expect((await rejected(book, SELL)).code).toBe('SellAmountDoesNotCoverFee');
  });

  test('a fee beyond 256 bits is rejected', async () => {
    const { book } = await fixture({
      gasPrice: '1e76',
      estimators: [source('one', () => ({ amount: 1n, gas: 10 ** 12 }))],
    });
    expect((await rejected(book, buying('5'))).code).toBe('NoLiquidity');
  });

  test('a book without estimators is NoLiquidity', async () => {
    const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
    await book.start();
    const error = { code: 'NoLiquidity', message: 'this book has no estimators; see the option `quotes`' };
    expect(await rejected(book, SELL)).toMatchObject(error);
    expect(await book.quotes.nativePrice(COW)).toMatchObject({ status: 'rejected', error });
    expect(book.quotes.counters()).toEqual({});
    await book.close();
  });
});

describe('quote options', () => {
  const make = (quotes: object) => () =>
    createOrderBook({
      chainId: 11155111,
      store: memoryStore(),
      quotes: { estimators: [], gasPrice: 1, ...quotes } as never,
    });

  test.each([
    ['a misspelled name', { estimator: [] }, /did you mean "estimators"/],
    ['a gas price as words', { gasPrice: 'cheap' }, /gasPrice/],
    ['a negative gas price', { gasPrice: -1 }, /gasPrice/],
    ['a volume fee of 100 percent', { volumeFee: 1_000_000 }, /volumeFee/],
    ['half a part per million', { volumeFee: 0.5 }, /volumeFee/],
    ['a gas price beyond 256 bits', { gasPrice: '1e100' }, /gasPrice must be a decimal number of wei below 2\^256/],
    ['a negative timeout', { timeout: -1 }, /timeout/],
    ['a fractional expiry', { expiry: 0.5 }, /expiry must be an integer from 0 to/],
    ['a fractional expiry on chain', { onchainExpiry: 600.001 }, /onchainExpiry must be an integer from 0 to/],
    ['a timeout above the timer limit', { maxTimeout: 2 ** 31 }, /maxTimeout/],
    ['an infinite lifetime', { quoteCacheTtl: Number.POSITIVE_INFINITY }, /quoteCacheTtl/],
    ['an invalid estimator', { estimators: [{}] }, /estimators\[0\]/],
    ['no probe amount for prices', { priceAmount: 0n }, /priceAmount/],
  ])('with %s are rejected when the book is created', (_, quotes, message) => {
    expect(make(quotes)).toThrow(message);
  });

  test('with equal estimator names keep them distinct', async () => {
    const { book } = await fixture({ estimators: [answering('a', 1n), answering('a', 1n), () => undefined] });
    expect(Object.keys(book.quotes.counters())).toEqual(['a', 'a 2', 'estimator 3']);
  });
});
