import type { Address } from 'intentbook';
import {
  createDriver,
  createReferenceEngine,
  createSolver,
  fundsReader,
  httpAuctions,
  httpEngine,
  nodeSettler,
  uniswapV2Liquidity,
} from 'intentbook/solver';
import { describe, expect, it } from 'vitest';
import { addressOf, createOrder, SOLVER } from './orders.ts';

const client = { request: async () => '0x' };
const wallet = { address: SOLVER, sendTransaction: async () => '0x12' as const };
const settler = nodeSettler({ client, wallet });
const engine = { name: 'none', solve: async () => [] };
const auctions = { current: () => Promise.reject(new Error('unused')) };
const [factory, receiver] = [addressOf(1), addressOf(2)];
const liquidity = { read: () => Promise.reject(new Error('unused')) };
const url = 'http://127.0.0.1';

/** Calls a function with options that its type does not allow. */
const calling = (create: (...args: never[]) => unknown, ...args: unknown[]) => {
  return () => create(...(args as never[]));
};

describe('options of a solver', () => {
  it.each([
    [
      createSolver,
      [{ auctions, engine, settler, intervall: 5 }],
      'unknown option "intervall", did you mean "interval"?',
    ],
    [createSolver, [{ auctions, settler }], 'engine must be an object with solve(), got undefined'],
    [createSolver, [{ auctions: url, engine, settler }], 'auctions must be an object with current(), got a string'],
    [
      createSolver,
      [{ auctions, engine, settler: wallet }],
      'settler must be an object with simulate(), submit(), got an',
    ],
    [createDriver, [{ engine, settler, max: 1 }], 'unknown option "max"'],
    [createDriver, [{ engine: httpEngine, settler }], 'engine must be an object with solve(), got a function'],
    [nodeSettler, [{ client, wallet, settlement: factory }], 'unknown option "settlement"'],
    [nodeSettler, [{ client: url, wallet }], 'client must be an object with request(), got a string'],
    [nodeSettler, [{ client, wallet: {} }], 'wallet must be an object with sendTransaction()'],
    [nodeSettler, [{ client, wallet: { ...wallet, address: '0x1' } }], 'wallet.address must be 0x and 40 hex digits'],
    [
      nodeSettler,
      [{ client, wallet, settlementContract: 'x' }],
      'settlementContract must be 0x and 40 hex digits, got "x"',
    ],
    [httpEngine, [url, { timeOut: 5 }], 'unknown option "timeOut", did you mean "timeout"?'],
    [httpEngine, [url, { headers: { authorization: 'a\nb' } }], 'headers must be valid in HTTP headers'],
    [httpAuctions, [url, { token: 'x' }], 'unknown option "token"'],
    [httpAuctions, [url, { operatorToken: 'a\nb' }], 'operatorToken must be valid in HTTP headers'],
    [
      createReferenceEngine,
      [{ liquidity, wrappedNative: 'WETH' }],
      'wrappedNative must be 0x and 40 hex digits, got "WETH"',
    ],
    [
      createReferenceEngine,
      [{ liquidity, wrappedNative: factory, buffer: 1 }],
      'buffer must be a bigint from 0 up, got 1',
    ],
    [createReferenceEngine, [{ wrappedNative: factory }], 'liquidity must be an object with read(), got undefined'],
    [uniswapV2Liquidity, [client, { factory, receiver }], 'bases must be a list, got undefined'],
    [uniswapV2Liquidity, [client, { factory, receiver, bases: ['x'] }], 'bases must be 0x and 40 hex digits, got "x"'],
    [
      uniswapV2Liquidity,
      [url, { factory, receiver, bases: [] }],
      'client must be an object with request(), got a string',
    ],
    [fundsReader, [client], 'vaultRelayer must be 0x and 40 hex digits, got undefined'],
  ])('are checked by %o (%#)', (create, args, message) => {
    expect(calling(create, ...args)).toThrow(TypeError);
    expect(calling(create, ...args)).toThrow(`${create.name}: ${message}`);
  });
});

describe('addresses with a checksum', () => {
  const checksummed: Address = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
  const weth: Address = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
  const usdc: Address = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
  const word = (value: bigint) => value.toString(16).padStart(64, '0');

  it('read the reserves of a pair in the order of its tokens', async () => {
    // Responds to each request with one call: a pair, or the reserves of USDC and of WETH, sorted by address.
    const results = [
      [BigInt(addressOf(7)), 0n],
      [2_000n * 10n ** 6n, 10n ** 18n],
    ] as const;
    let requests = 0;
    const node = {
      async request() {
        const [first, second] = results[requests++] ?? [0n, 0n];
        return `0x${[1n, 64n, 1n, 0n, first, second].map(word).join('')}`;
      },
    };
    const reader = uniswapV2Liquidity(node, { factory, receiver, bases: [checksummed] });
    const state = await reader.read([usdc], new AbortController().signal);
    expect(state.quote(weth, usdc, 10n ** 15n)).toBe(1_992_013n);
  });

  it('match native currency with its wrapped token', async () => {
    const native: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
    const empty = { read: async () => ({ quote: () => 0n, take: () => [] }) };
    const reference = createReferenceEngine({ liquidity: empty, wrappedNative: checksummed });
    const orders = [
      createOrder(1, { sellToken: usdc, buyToken: native, sellAmount: '1000', buyAmount: '1000' }),
      createOrder(2, { sellToken: weth, buyToken: usdc, sellAmount: '1000', buyAmount: '1000' }),
    ];
    const auction = { id: 1, block: 1, orders, prices: {} };
    const solutions = await reference.solve(auction, new AbortController().signal);
    expect(solutions.map(({ fills }) => fills.length)).toEqual([2]);
  });
});
