import { Wallet } from 'ethers';
import { createOrderBook } from 'intentbook';
import { fixedPrices } from 'intentbook/estimators';
import { memoryStore } from 'intentbook/memory';
import type { OrderToSign } from 'intentbook/sign';
import {
  accountDomain,
  affiliateCodeTypedData,
  appDataDocument,
  appDataHash,
  cancellationTypedData,
  limitOrder,
  orderFromQuote,
  orderTypedData,
  orderUid,
  signingDomain,
  subscriptionTypedData,
  typedDataDigest,
  typedDataJson,
} from 'intentbook/sign';
import { hashTypedData, keccak256, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { vectors } from '../../support/vectors/vectors.ts';

const WETH = '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14';
const COW = '0x0625aFB445C3B6B7B929342a04A22599fd5dBB59';
const DOMAIN = signingDomain({ chainId: 11155111 });

const order: OrderToSign = {
  sellToken: WETH,
  buyToken: COW,
  sellAmount: '1000000000000000000',
  buyAmount: 5_000_000_000_000_000_000_000n,
  validTo: 1_800_000_000,
  appData: '{}',
  kind: 'sell',
};

describe('typed data of accounts', () => {
  const key = generatePrivateKey();
  const wallet = privateKeyToAccount(key);
  const removal = { account: wallet.address, target: 'a'.repeat(32), nonce: 2n, deadline: 1_800_000_000 };
  const subscription = { ...removal, channel: 'webhook', types: ['order_filled', 'order_expired'] };
  it.each([
    ['a subscription', subscriptionTypedData(accountDomain(), subscription)],
    ['a removal', subscriptionTypedData(accountDomain('Example'), removal)],
    ['an affiliate code', affiliateCodeTypedData(accountDomain(), wallet.address, 'my-code')],
  ])('of %s has the digest of viem, also after JSON', async (_, typedData) => {
    const hash = typedDataDigest(typedData);
    expect(hashTypedData(typedData as Parameters<typeof hashTypedData>[0])).toBe(hash);
    const { EIP712Domain, ...types } = JSON.parse(typedDataJson(typedData)).types;
    expect(EIP712Domain).toHaveLength(2);
    expect(hashTypedData({ ...JSON.parse(typedDataJson(typedData)), types })).toBe(hash);
  });

  it.each([
    [{ nonce: 5 }, 'nonce must be'],
    [{ deadline: '1800000000' }, 'deadline must be'],
    [{ types: 'order_filled' }, 'types must be a list'],
    [{ type: [] }, 'subscriptionTypedData: unknown member "type"'],
    [{ account: '0x12' }, 'account must be 0x and 40 hex digits'],
  ])('of a subscription rejects %j', (change, message) => {
    const changed = { ...subscription, ...change } as typeof subscription;
    expect(() => subscriptionTypedData(accountDomain(), changed)).toThrow(message);
  });

  it('of an affiliate code rejects a code that the server rejects', () => {
    expect(() => affiliateCodeTypedData(accountDomain(), wallet.address, 'a b')).toThrow('code must be 5 to 20');
  });
});

describe('typed data of an order', () => {
  it.each(vectors.cancellations)('has the digest and signature of the vector: $name', async (vector) => {
    const domain = signingDomain({ chainId: vector.chainId, settlementContract: vector.settlement });
    const typedData = cancellationTypedData(domain, vector.orderUids);
    expect(typedDataDigest(typedData)).toBe(vector.digest);
    const signature = await privateKeyToAccount(vector.privateKey as `0x${string}`).signTypedData(typedData);
    expect(signature).toBe(vector.signatures.eip712);
  });

  const known = vectors.orders.filter((vector) => 'chainId' in vector && 'settlement' in vector);
  it('has vectors of orders with a domain', () => {
    expect(known.length).toBeGreaterThan(0);
  });
  it.each(known)('has the digest and the UID of the vector: $name', (vector) => {
    const { chainId, settlement, owner } = vector as { chainId: number; settlement: string; owner: string };
    const typedData = orderTypedData(signingDomain({ chainId, settlementContract: settlement }), {
      ...(vector.order as OrderToSign),
    });
    expect(typedDataDigest(typedData)).toBe(vector.digest);
    if (owner !== undefined) expect(orderUid(typedData, owner)).toBe(vector.uid);
  });

  it('is hashed by viem, by ethers and by this package to one digest', async () => {
    const typedData = orderTypedData(DOMAIN, order);
    const digest = hashTypedData(typedData);
    expect(typedDataDigest(typedData)).toBe(digest);
    const wallet = Wallet.createRandom();
    const { domain, types, message } = typedData;
    const byEthers = await wallet._signTypedData(domain, types as never, message); // its type is mutable
    const key = wallet.privateKey as `0x${string}`;
    expect(byEthers).toBe(await privateKeyToAccount(key).signTypedData(typedData));
    expect(byEthers).toBe(await sign({ hash: typedDataDigest(typedData), privateKey: key, to: 'hex' }));
  });

  it('survives the JSON of eth_signTypedData_v4', () => {
    const typedData = orderTypedData(DOMAIN, order);
    const { EIP712Domain, ...types } = JSON.parse(typedDataJson(typedData)).types;
    expect(EIP712Domain).toHaveLength(4);
    expect(hashTypedData({ ...JSON.parse(typedDataJson(typedData)), types })).toBe(typedDataDigest(typedData));
  });

  it('has the zero address for an order without a receiver', () => {
    for (const receiver of [null, undefined]) {
      const { message } = orderTypedData(DOMAIN, { ...order, ...(receiver === undefined ? {} : { receiver }) });
      expect(message.receiver).toBe('0x0000000000000000000000000000000000000000');
    }
  });

  it.each([
    [{ sellToken: 'WETH' }, 'sellToken must be 0x and 40 hex digits, got "WETH"'],
    [{ sellAmount: '1.5' }, 'sellAmount must be whole atoms below 2^256, as a bigint or a text of digits, got "1.5"'],
    [{ buyAmount: -1n }, 'buyAmount must be whole atoms below 2^256, as a bigint or a text of digits, got -1n'],
    [
      { validTo: 2 ** 32 },
      'validTo must be a number of whole seconds since 1970, got the number 4294967296, which looks like milliseconds',
    ],
    [{ kind: 'swap' }, 'kind must be one of sell, buy, got "swap"'],
    [{ partiallyFillable: 'false' }, 'partiallyFillable must be a boolean, got "false"'],
    [{ appData: undefined }, 'appData must be a text, got undefined'],
    [{ appData: { version: '1.0.0' } }, 'appData must be a text, got an object'],
  ])('rejects a malformed member (%#)', (change, message) => {
    expect(() => orderTypedData(DOMAIN, { ...order, ...change } as OrderToSign)).toThrow(new TypeError(message));
  });
});

describe('limitOrder', () => {
  it('has every member that a book reads, and the digest of its terms', () => {
    const { kind: _, appData: __, ...terms } = order;
    const complete = limitOrder(terms);
    expect(complete).toMatchObject({ feeAmount: '0', kind: 'sell', appData: '{}', receiver: null, quoteId: null });
    expect(orderTypedData(DOMAIN, complete)).toEqual(orderTypedData(DOMAIN, order));
  });

  it.each([
    [
      { sellAmount: 1 },
      'sellAmount must be whole atoms below 2^256, as a bigint or a text of digits, got the number 1',
    ],
    [
      { buyAmount: 1.5 },
      'buyAmount must be whole atoms below 2^256, as a bigint or a text of digits, got the number 1.5',
    ],
    [{ buyAmount: '1e18' }, 'buyAmount must be whole atoms below 2^256, as a bigint or a text of digits, got "1e18"'],
    [{ validTo: new Date(0) }, 'validTo must be a number of whole seconds since 1970, got a Date'],
    [{ validTo: '1800000000' }, 'validTo must be a number of whole seconds since 1970, got "1800000000"'],
    [
      { validTo: 1_764_212_881_000 },
      'validTo must be a number of whole seconds since 1970, got the number 1764212881000, which looks like milliseconds',
    ],
    [{ sellToken: 'WETH' }, 'sellToken must be 0x and 40 hex digits, got "WETH"'],
    [{ buyToken: undefined }, 'buyToken must be 0x and 40 hex digits, got undefined'],
    [{ receiver: 'me' }, 'receiver must be 0x and 40 hex digits, got "me"'],
    [{ kind: 'SELL' }, 'kind must be one of sell, buy, got "SELL"'],
  ])('rejects a value that is not valid (%#)', (change, message) => {
    const { kind: _, appData: __, ...terms } = order;
    const wrong = { ...terms, ...change } as Parameters<typeof limitOrder>[0];
    expect(() => limitOrder(wrong)).toThrow(new TypeError(message));
    expect(() => orderTypedData(DOMAIN, { ...order, ...change } as OrderToSign)).toThrow(new TypeError(message));
  });

  it.each([
    [{ validTo: Date.UTC(2027, 1, 1) }, /^validTo must be .* looks like milliseconds$/],
    [{ receiver: 'me' }, /^receiver must be/],
    [{ partiallyFillable: 1 }, /^partiallyFillable must be a boolean, got the number 1/],
    [{ appData: {} }, /^appData must be a text, got an object/],
    [{ slippageBps: '50' }, /^slippageBps must be an integer from 0 to 10000, got "50"/],
  ])('and orderFromQuote reject a value that is not valid (%#)', (options, message) => {
    const quote = { quote: { ...order, sellAmount: '990', feeAmount: '10', buyAmount: '990000' } };
    expect(() => orderFromQuote(quote, options as Parameters<typeof orderFromQuote>[1])).toThrow(message);
  });

  it('requires terms and addresses by its types', () => {
    // @ts-expect-error a symbol is not an address
    expect(() => limitOrder({ ...order, sellToken: 'WETH' })).toThrow();
    // @ts-expect-error an amount is not a number
    expect(() => limitOrder({ ...order, sellAmount: 1 })).toThrow();
    // @ts-expect-error no terms
    expect(() => limitOrder()).toThrow(/^limitOrder: must be an object with sellToken, /);
  });

  it('rejects a misspelled member, which would get its default', () => {
    const misspelled = { ...order, reciever: WETH } as Parameters<typeof limitOrder>[0];
    expect(() => limitOrder(misspelled)).toThrow(/^limitOrder: unknown member "reciever", use sellToken, .*receiver/);
  });
});

describe('orderTypedData', () => {
  it.each([undefined, null, 5])('requires an order, not %s', (value) => {
    const create = () => orderTypedData(DOMAIN, value as never);
    expect(create).toThrow(/^orderTypedData: must be an object with sellToken, .*, got /);
  });

  it.each([[undefined], [{ chainId: 11155111 }], [order]])('requires a domain (%#)', (domain) => {
    const message = 'orderTypedData: the domain must be that of signingDomain, got ';
    expect(() => orderTypedData(domain as never, order)).toThrow(message);
    expect(() => cancellationTypedData(domain as never, [])).toThrow(message.replace('order', 'cancellation'));
  });
});

describe('orderFromQuote', () => {
  it('rejects a misspelled option, which would get its default', () => {
    const options = { slipageBps: 10 } as Parameters<typeof orderFromQuote>[1];
    const message = /^orderFromQuote: unknown member "slipageBps", use slippageBps, /;
    expect(() => orderFromQuote({ quote: { ...order, feeAmount: '0' } }, options)).toThrow(message);
  });

  const quoteOf = (changes: object) => ({
    quote: { ...order, sellAmount: '990', feeAmount: '10', buyAmount: '990000', ...changes },
  });
  const partnerFee = (fee: unknown) => JSON.stringify({ metadata: { partnerFee: fee } });

  it.each([
    ['no fee', '{}', 985_050],
    ['a fee on the volume', partnerFee({ volumeBps: 100, recipient: WETH }), 975_100],
    ['a fee in the old format', partnerFee({ bps: 100, recipient: WETH }), 975_100],
    ['two fees', partnerFee([{ volumeBps: 60 }, { volumeBps: 40 }]), 975_100],
    ['a fee on the surplus', partnerFee({ surplusBps: 5000, maxVolumeBps: 100 }), 985_050],
  ])('subtracts the partner fee from the minimum of a sale: %s', (_, appData, least) => {
    // 990000 after the network fee are 1000000 before it: 1 % of them is 10000.
    expect(orderFromQuote(quoteOf({ appData })).buyAmount).toBe(String(least));
    expect(orderFromQuote(quoteOf({}), { appData }).buyAmount).toBe(String(least));
  });

  it.each(['1e400', '1e17'])('refuses a partner fee of %s basis points', (volumeBps) => {
    const appData = `{"metadata":{"partnerFee":{"volumeBps":${volumeBps}}}}`;
    expect(() => orderFromQuote(quoteOf({}), { appData })).toThrow(
      'appData: a partner fee must be a number of basis points',
    );
  });

  it('adds the partner fee to the maximum of a purchase', () => {
    const changes = { kind: 'buy', sellAmount: '10000', appData: partnerFee({ volumeBps: 100 }) };
    // 10000, 10 for the network and 100 for the partner; then 0.5 %.
    expect(orderFromQuote(quoteOf(changes)).sellAmount).toBe('10161');
  });

  it('has a minimum of one atom', () => {
    expect(orderFromQuote(quoteOf({ buyAmount: '1' })).buyAmount).toBe('1');
    expect(orderFromQuote(quoteOf({}), { slippageBps: 10_000 }).buyAmount).toBe('1');
  });

  it.each(['sell', 'buy'])('rejects an amount above 256 bits: %s', (kind) => {
    const sellAmount = String(2n ** 256n - 1n);
    expect(() => orderFromQuote(quoteOf({ kind, sellAmount }))).toThrow('sellAmount must be below 2^256, got ');
  });

  it.each([
    [undefined, 'undefined'],
    [{ status: 'accepted' }, 'an object'],
    [{ quote: null }, 'an object'],
    [{ ...order, feeAmount: '0' }, 'its member quote'],
  ])('requires the response of a quote (%#)', (response, got) => {
    const message = `orderFromQuote: response must be an object with quote, got ${got}`;
    expect(() => orderFromQuote(response as never)).toThrow(new TypeError(message));
  });

  it('rejects a quote without a kind, whose slippage would be added to the wrong side', () => {
    const quote = { ...order, feeAmount: '0', kind: undefined } as never;
    expect(() => orderFromQuote({ quote })).toThrow('kind must be one of sell, buy, got undefined');
  });
});

describe('appDataDocument', () => {
  it('gives equal text for equal options, and the keccak-256 of its bytes as hash', () => {
    const one = appDataDocument({ appCode: 'é', slippageBps: 50, metadata: { b: 1, a: { d: 1, c: 2 } } });
    const other = appDataDocument({ metadata: { a: { c: 2, d: 1 }, b: 1 }, slippageBps: 50, appCode: 'é' });
    expect(one).toBe(other);
    expect(appDataHash(one)).toBe(keccak256(toHex(one)));
  });

  it('sorts keys that are integers as texts', () => {
    const metadata = { 10: 'c', 9: 'b', 1: 'a', x: { 2: 0, 11: [1, { 20: 0, 3: 0 }] } };
    expect(appDataDocument({ metadata })).toBe(
      '{"metadata":{"1":"a","10":"c","9":"b","x":{"11":[1,{"20":0,"3":0}],"2":0}},"version":"1.15.0"}',
    );
  });

  it('keeps each key of the metadata that no option replaces', () => {
    const metadata = { signer: WETH, hooks: { post: [] }, quote: { slippageBips: 7, smartSlippage: true } };
    expect(JSON.parse(appDataDocument({ metadata })).metadata).toEqual(metadata);
    const { quote } = JSON.parse(appDataDocument({ metadata, slippageBps: 50 })).metadata;
    expect(quote).toEqual({ slippageBips: 50 });
  });

  it.each([
    [{ slippage: 5 }, /^appDataDocument: unknown member "slippage", use appCode, /],
    [{ hooks: { before: [] } }, /^hooks: unknown member "before", use pre, post/],
    [{ hooks: { pre: [{ target: WETH, callData: '0x', gas: 1 }] } }, /^hooks: unknown member "gas", use target, /],
    [{ orderClass: 'stop' }, /^orderClass must be one of market, limit, liquidity, twap, got "stop"/],
    [{ appCode: 5 }, /^appCode must be a text, got the number 5/],
    [{ signer: '' }, /^signer must be 0x and 40 hex digits, got ""/],
  ])('rejects a misspelled or malformed option (%#)', (options, message) => {
    expect(() => appDataDocument(options as never)).toThrow(TypeError);
    expect(() => appDataDocument(options as never)).toThrow(message);
  });
});

describe('an order book', () => {
  it.each(['sell', 'buy'] as const)('accepts an order from its own quote, and its cancellation: %s', async (kind) => {
    await using book = createOrderBook({
      chainId: 11155111,
      store: memoryStore(),
      quotes: { gasPrice: '1000000000', estimators: [fixedPrices({ [WETH]: '1', [COW]: '0.0001' })] },
    });
    await book.start();
    const account = privateKeyToAccount(generatePrivateKey());
    const side =
      kind === 'sell' ? { sellAmountBeforeFee: String(10n ** 18n) } : { buyAmountAfterFee: String(10n ** 21n) };
    const request = { sellToken: WETH, buyToken: COW, from: account.address, kind, ...side };
    const document = appDataDocument({ appCode: 'sign test', signer: account.address });
    for (const appData of [undefined, document]) {
      const quoted = await book.quotes.request({ ...request, appData });
      if (quoted.status !== 'quoted') throw quoted.error;
      const { quote } = quoted.quote;
      const unsigned = orderFromQuote(quoted.quote, { slippageBps: 100 });
      const full = BigInt(quote.sellAmount) + BigInt(quote.feeAmount);
      if (kind === 'sell') {
        expect(unsigned).toMatchObject({ sellAmount: String(full), feeAmount: '0', receiver: null });
        expect(BigInt(unsigned.buyAmount)).toBe((BigInt(quote.buyAmount) * 99n) / 100n);
      } else {
        expect(unsigned.buyAmount).toBe(quote.buyAmount);
        expect(BigInt(unsigned.sellAmount)).toBe((full * 101n + 99n) / 100n);
      }
      const domain = signingDomain(book);
      const typedData = orderTypedData(domain, unsigned);
      const signature = await account.signTypedData(typedData);
      const result = await book.orders.submit({
        ...unsigned,
        from: account.address,
        signature,
        signingScheme: 'eip712',
      });
      if (result.status !== 'accepted') throw result.error;
      expect(result.uid).toBe(orderUid(typedData, account.address));
      expect(await book.orders.get(result.uid)).toMatchObject({ quote: { solver: expect.any(String) } });
      const orderUids = [result.uid];
      const proof = await account.signTypedData(cancellationTypedData(domain, orderUids));
      const cancelled = await book.orders.cancel({ orderUids, signature: proof, signingScheme: 'eip712' });
      expect(cancelled.status).toBe('cancelled');
    }
  });
});
