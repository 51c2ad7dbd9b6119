import type { Hex, OrderQuote } from 'intentbook';
import type { EmittedOrder } from 'intentbook/chain-events';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/admission/limits.ts';
import type { PlacementQuote } from '../../../src/chain/batch-context.ts';
import type { OrderPlacement } from '../../../src/chain/placement.ts';
import { readPlacement } from '../../../src/chain/placement.ts';
import { NATIVE_MARKER } from '../../../src/protocol/chains.ts';
import { packUid } from '../../../src/protocol/hex.ts';
import { createOrderHasher } from '../../../src/protocol/order.ts';
import { blockOf, eventsIn, hashOf, placementOf, TRADER } from '../../support/chain-events.ts';
import { COW, SEPOLIA_DOMAIN, WETH } from '../../support/orders.ts';

const AT = 1_700_000_000;
const FLOW: Hex = `0x${'ef'.repeat(20)}`;
const WALLET: Hex = `0x${'77'.repeat(20)}`;
const TOKENS = { sellToken: WETH.toLowerCase() as Hex, buyToken: COW.toLowerCase() as Hex }; // in lower case
const WRAP = { target: FLOW, value: '0', callData: '0x4c84c1c8' };

type Rules = Parameters<typeof readPlacement>[2];

const context: Rules = {
  hasher: createOrderHasher(SEPOLIA_DOMAIN),
  settlementContract: SEPOLIA_DOMAIN.settlementContract,
  hooksTrampoline: `0x${'60'.repeat(20)}`,
  documents: { ...memoryStore().appData, get: async () => undefined },
  limits: DEFAULT_LIMITS,
  tokens: {
    wrappedNative: TOKENS.sellToken,
    deniedTokens: new Set<Hex>([FLOW]),
    pairs: { sameToken: 'reject', wrappedToNative: 'reject' },
  },
};

type Choice = NonNullable<Parameters<typeof placementOf>[1]>;
interface Changes {
  readonly order?: Partial<EmittedOrder>;
  readonly choice?: Choice;
  readonly event?: Partial<OrderPlacement>;
}

function eventOf({ order = {}, choice, event = {} }: Changes = {}): OrderPlacement {
  const [placed] = eventsIn(blockOf(5), [placementOf({ ...TOKENS, ...order }, choice)]);
  return { ...(placed as OrderPlacement), ...event }; // an event of this type
}

/** The placement of an event, and the query for its quote. */
async function place(changes: Changes = {}, quote?: OrderQuote | 'none' | 'past', of: Partial<Rules> = {}) {
  const queries: PlacementQuote[] = [];
  const findQuote = async (query: PlacementQuote) => {
    queries.push(query);
    return quote ?? 'past';
  };
  const read = await readPlacement(eventOf(changes), AT, { ...context, ...of, ...(quote && { findQuote }) });
  return { read, query: queries[0], body: read?.order && JSON.parse(read.order.body) };
}

describe('placement of a contract that owns the order', () => {
  test('has the terms of the event, the validity of its user and the wrapping', async () => {
    const event = eventOf();
    const { read, body } = await place();
    const digest = createOrderHasher(SEPOLIA_DOMAIN).digest({
      ...TOKENS,
      receiver: TRADER,
      sellAmount: 1000n,
      buyAmount: 400n,
      validTo: 0xffff_ffff,
      appData: hashOf('{}'),
      feeAmount: 0n,
      kind: 'sell',
      partiallyFillable: false,
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
    });
    const uid = packUid({
      digest: `0x${Buffer.from(digest).toString('hex')}`,
      owner: FLOW,
      validTo: 0xffff_ffff,
    });
    const { order, ...rest } = read ?? {};
    expect(rest).toEqual({
      type: 'placement',
      blockNumber: 5,
      blockHash: event.blockHash,
      logIndex: 0,
      transactionHash: event.transactionHash,
      timestamp: AT,
      uid,
      sender: TRADER,
      userValidTo: 1_700_003_600,
      placementError: null,
    });
    expect(order).toMatchObject({
      uid,
      owner: FLOW,
      creationDate: AT * 1000,
      ...TOKENS,
      signingScheme: 'eip1271',
      validTo: 1_700_003_600,
      state: 'open',
      quotaClass: 'open',
      appData: hashOf('{}'),
    });
    expect(order).not.toHaveProperty('quote');
    expect(body).toMatchObject({
      receiver: TRADER,
      sellAmount: '1000',
      buyAmount: '400',
      kind: 'sell',
      signature: FLOW,
      interactions: { pre: [WRAP], post: [] },
      class: 'limit',
    });
    expect(body).not.toHaveProperty('validFrom');
  });

  test.each([
    ['buy', 'external', 'internal'],
    ['sell', 'internal', 'erc20'],
  ])('has the names of the hashes of %s, %s and %s', async (kind, source, destination) => {
    const hashes = { kind: hashOf(kind), sellTokenBalance: hashOf(source), buyTokenBalance: hashOf(destination) };
    const { body } = await place({ order: hashes });
    expect(body).toMatchObject({ kind, sellTokenBalance: source, buyTokenBalance: destination });
  });

  test.each(['kind', 'sellTokenBalance', 'buyTokenBalance'])('is ignored with an unknown %s', async (name) => {
    expect((await place({ order: { [name]: hashOf('swap') } })).read).toBeUndefined();
  });

  test('has no receiver for the zero address', async () => {
    const { body } = await place({ order: { receiver: `0x${'00'.repeat(20)}` } });
    expect(body.receiver).toBeNull();
  });
});

describe('signer of a placement', () => {
  test('by contract is the beginning of the signature data, and only the owner shortens the validity', async () => {
    const data: Hex = `${WALLET}1234`;
    const { read, body } = await place({ event: { signature: { scheme: 0, data } } });
    expect(read).toMatchObject({ userValidTo: null, order: { owner: WALLET, validTo: 0xffff_ffff, state: 'open' } });
    expect(body).toMatchObject({ signature: data, signingScheme: 'eip1271', interactions: { pre: [], post: [] } });
  });

  test('by pre-signature is the sender, whose order waits for its signature', async () => {
    const signature = { scheme: 1, data: '0x' as const };
    const { read, body, query } = await place({ event: { signature } }, 'past');
    expect(read?.order).toMatchObject({
      owner: TRADER,
      signingScheme: 'presign',
      state: 'presignaturePending',
      quotaClass: 'pending',
    });
    expect(body).toMatchObject({ signature: '0x', interactions: { pre: [], post: [] } });
    expect(query?.presigns).toBe(true);
  });

  test.each<[string, OrderPlacement['signature']]>([
    ['another scheme', { scheme: 2, data: WALLET }],
    ['19 bytes of data', { scheme: 0, data: `0x${'77'.repeat(19)}` }],
  ])('with %s is ignored', async (_, signature) => {
    expect((await place({ event: { signature } })).read).toBeUndefined();
  });
});

describe('quote of a placement', () => {
  test.each([
    ['sell', '1000'],
    ['buy', '400'],
  ])('of a %s order is found by its terms, of amount %s', async (kind, amount) => {
    const { read, query } = await place({ order: { kind: hashOf(kind) }, choice: { quoteId: 77 } }, 'past');
    expect(query).toEqual({
      uid: read?.uid,
      terms: { kind, ...TOKENS, amount },
      id: 77,
      owner: FLOW,
      presigns: false,
      at: AT * 1000,
      validTo: 1_700_003_600,
    });
    expect(read?.order).not.toHaveProperty('quote');
    expect(read?.placementError).toBeNull();
  });

  test('is stored, and its absence is an error unless the order breaks a rule', async () => {
    const quote = { body: '{}', metadata: '{}' };
    expect((await place({}, quote)).read?.order?.quote).toBe(quote);
    expect((await place({}, 'none')).read).toMatchObject({ placementError: 'QuoteNotFound' });
    const broken = await place({ order: { buyAmount: 0n } }, 'none');
    expect(broken.read).toMatchObject({ placementError: 'PreValidationError' });
  });

  test('has a signed id of 64 bits', async () => {
    const { query } = await place({ choice: { data: `0x${'f'.repeat(16)}65535bf0` } }, 'past');
    expect(query).toMatchObject({ id: -1, validTo: 0x65535bf0 });
  });

  test.each(['0x', `0x${'00'.repeat(11)}`, `0x${'00'.repeat(13)}`] as const)('is unreadable in %s', async (data) => {
    expect((await place({ choice: { data } })).read).toBeUndefined();
  });
});

describe('rules of a placement', () => {
  const errorOf = async (changes: Changes) => (await place(changes)).read?.placementError;
  const YEAR = 365 * 24 * 60 * 60;

  test.each<[string | null, Changes]>([
    [null, { choice: { userValidTo: AT + YEAR } }],
    ['ValidToTooFarInFuture', { choice: { userValidTo: AT + YEAR + 1 } }],
    [null, { choice: { userValidTo: AT + 60 } }],
    ['PreValidationError', { choice: { userValidTo: AT + 59 } }],
    ['PreValidationError', { order: { sellAmount: 0n } }],
    ['PreValidationError', { order: { buyAmount: 0n } }],
    ['PreValidationError', { order: { feeAmount: 1n } }],
    ['PreValidationError', { order: { buyToken: FLOW } }],
    ['PreValidationError', { order: { buyToken: TOKENS.sellToken } }],
    ['PreValidationError', { order: { buyToken: NATIVE_MARKER } }],
    [null, { order: { sellToken: TOKENS.buyToken, buyToken: NATIVE_MARKER } }],
    // A presignature has no maximum validity.
    [null, { order: { validTo: AT + YEAR + 1 }, event: { signature: { scheme: 1, data: '0x' } } }],
    ['PreValidationError', { order: { validTo: AT + 59 }, event: { signature: { scheme: 1, data: '0x' } } }],
  ])('%s: case %#', async (error, changes) => {
    expect(await errorOf(changes)).toBe(error);
  });

  test.each<[string | null, Rules['tokens']['pairs']['sameToken'], 'sell' | 'buy']>([
    [null, 'accept', 'buy'],
    [null, 'sell', 'sell'],
    ['PreValidationError', 'sell', 'buy'],
  ])('%s: equal tokens with the rule %s, order of kind %s', async (error, sameToken, kind) => {
    const tokens = { ...context.tokens, pairs: { ...context.tokens.pairs, sameToken } };
    const order = { buyToken: TOKENS.sellToken, kind: hashOf(kind) };
    expect((await place({ order }, 'past', { tokens })).read?.placementError).toBe(error);
  });
});

describe('document of a placement', () => {
  const hook = { target: WALLET, callData: '0x1234', gasLimit: '21000' };
  const document = JSON.stringify({ metadata: { hooks: { pre: [hook] } }, version: '1.3.0' });

  test('adds its hooks behind the wrapping', async () => {
    const findDocument = async (hash: Hex) => (hash === hashOf(document) ? document : undefined);
    const { body } = await place({ order: { appData: hashOf(document) } }, 'past', { findDocument });
    expect(body.interactions.pre).toHaveLength(2);
    expect(body.interactions.pre[0]).toEqual(WRAP);
    expect(body.interactions.pre[1]).toMatchObject({ target: context.hooksTrampoline });
  });

  test('has no effect if it is invalid', async () => {
    const findDocument = async () => '{"metadata":';
    const { read, body } = await place({ order: { appData: hashOf('{"metadata":') } }, 'past', { findDocument });
    expect(body.interactions).toEqual({ pre: [WRAP], post: [] });
    expect(read?.placementError).toBeNull();
  });
});
