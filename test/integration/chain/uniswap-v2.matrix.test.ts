import { createRequire } from 'node:module';
import type { Estimate, Estimator, Hex, OrderKind } from 'intentbook';
import { amountIn, amountOut, uniswapV2 } from 'intentbook/estimators';
import type { Abi } from 'viem';
import { encodeFunctionData, numberToHex, parseAbi } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAnvil, waitForReceipt } from '../../support/anvil.ts';

const require = createRequire(import.meta.url);
const LONG = process.env['TEST_LONG'] === '1';

interface Artifact {
  readonly abi: Abi;
  readonly bytecode: string;
}

const FACTORY = require('@uniswap/v2-core/build/UniswapV2Factory.json') as Artifact;
const TOKEN = require('@uniswap/v2-core/build/ERC20.json') as Artifact;
const ROUTER = require('@uniswap/v2-periphery/build/UniswapV2Router02.json') as Artifact;
const WETH = require('@uniswap/v2-periphery/build/WETH9.json') as Artifact;
const router = parseAbi([
  'function getAmountOut(uint amountIn, uint reserveIn, uint reserveOut) pure returns (uint)',
  'function getAmountIn(uint amountOut, uint reserveIn, uint reserveOut) pure returns (uint)',
  'function getAmountsOut(uint amountIn, address[] path) view returns (uint[])',
  'function getAmountsIn(uint amountOut, address[] path) view returns (uint[])',
  'function addLiquidity(address tokenA, address tokenB, uint wantedA, uint wantedB, uint leastA, uint leastB, address to, uint deadline)',
  'function swapExactTokensForTokens(uint amountIn, uint amountOutMin, address[] path, address to, uint deadline)',
  'function swapTokensForExactTokens(uint amountOut, uint amountInMax, address[] path, address to, uint deadline)',
]);
const erc20 = parseAbi([
  'function approve(address, uint) returns (bool)',
  'function balanceOf(address) view returns (uint)',
  'function transfer(address, uint) returns (bool)',
]);
const pairAbi = parseAbi(['function createPair(address, address) returns (address)', 'function sync()']);
const factoryAbi = parseAbi(['function getPair(address, address) view returns (address)']);

/** Returns the same pseudo-random numbers in every run. */
function randomNumbers(seed: number) {
  let state = seed >>> 0;
  const bits32 = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  /** Returns a positive number of up to the given number of bits, with a random length. */
  return (bits: number): bigint => {
    const length = 1 + (bits32() % bits);
    let value = 0n;
    for (let i = 0; i < length; i += 32) value = (value << 32n) | BigInt(bits32());
    return value & ((1n << BigInt(length)) - 1n) || 1n;
  };
}

let evm: Awaited<ReturnType<typeof startAnvil>>;
let factory: Hex;
let routerAddress: Hex;
const tokens: Hex[] = [];
let source: Estimator;

beforeAll(async () => {
  evm = await startAnvil();
  factory = await evm.deploy(FACTORY, [evm.account]);
  const weth = await evm.deploy(WETH);
  routerAddress = await evm.deploy(ROUTER, [factory, weth]);
  for (let i = 0; i < 4; i++) tokens.push((await evm.deploy(TOKEN, [10n ** 40n])).toLowerCase() as Hex);
  for (const token of tokens) await write(token, erc20, 'approve', [routerAddress, 2n ** 256n - 1n]);
  const bases = [token(1), token(2)];
  source = uniswapV2(evm.client, { factory, bases, maxHops: 3 });
});
afterAll(() => evm.stop());

const token = (i: number): Hex => tokens[i] ?? '0x';
const DEADLINE = 10n ** 12n;

async function write(address: Hex, abi: Abi, functionName: string, args: readonly unknown[]) {
  const data = encodeFunctionData({ abi, functionName, args });
  const hash = await evm.client.sendTransaction({ account: evm.account, to: address, data, gas: 5_000_000n });
  const { status } = await waitForReceipt(evm.client, hash);
  if (status !== 'success') throw new Error(`${functionName} was reverted`);
}

/** Returns the result of the router, or `undefined` if it reverts. */
async function callRouter(functionName: string, args: readonly unknown[]): Promise<bigint | undefined> {
  try {
    const result = await evm.client.readContract({ address: routerAddress, abi: router as Abi, functionName, args });
    if (!Array.isArray(result)) return result as bigint;
    return functionName === 'getAmountsOut' ? result.at(-1) : result[0];
  } catch (error) {
    // Only a revert counts as no result.
    if (!/revert/.test(String(error))) throw error;
    return undefined;
  }
}

/** Returns the best route without gas: the last, because each is better than all before it. */
const estimate = async (kind: OrderKind, sellToken: Hex, buyToken: Hex, amount: bigint) => {
  const context = { signal: new AbortController().signal, timeout: 5_000 };
  const ways = await source.estimate({ kind, sellToken, buyToken, amount }, context);
  return (ways as readonly Estimate[]).at(-1);
};

describe('pool formula compared with the router on a real EVM', () => {
  const random = randomNumbers(1);
  const cases = LONG ? 20_000 : 2_000;

  test(`getAmountOut matches in ${cases} cases, to the atom`, { timeout: 3_600_000 }, async () => {
    let answered = 0;
    for (let done = 0; done < cases; done += 200) {
      const batch = Array.from({ length: 200 }, () => [random(112), random(112), random(112)] as const);
      const result = await Promise.all(batch.map((args) => callRouter('getAmountOut', args)));
      for (const [i, args] of batch.entries()) {
        expect(amountOut(...args), args.join(' ')).toBe(result[i]);
        if (result[i]) answered++;
      }
    }
    expect(answered).toBeGreaterThan(cases / 4);
  });

  test(`getAmountIn matches in ${cases} cases, to the atom, and returns nothing above the reserve`, {
    timeout: 3_600_000,
  }, async () => {
    let answered = 0;
    for (let done = 0; done < cases; done += 200) {
      const batch = Array.from({ length: 200 }, () => [random(112), random(112), random(112)] as const);
      const result = await Promise.all(batch.map((args) => callRouter('getAmountIn', args)));
      for (const [i, args] of batch.entries()) {
        expect(amountIn(...args), args.join(' ')).toBe(result[i]);
        if (result[i] !== undefined) answered++;
      }
    }
    expect(answered).toBeGreaterThan(cases / 4);
  });
});

describe('Uniswap V2 estimator on real pairs', () => {
  /** Token pairs: all but the first with the last, so that one route has two pools and one has three. */
  const PAIRS = [
    [0, 1],
    [0, 2],
    [1, 2],
    [1, 3],
    [2, 3],
  ] as const;
  /** All routes from the first token to the last over at most three pools. */
  const PATHS = [
    [0, 1, 3],
    [0, 2, 3],
    [0, 1, 2, 3],
    [0, 2, 1, 3],
  ];

  beforeAll(async () => {
    for (const [a, b] of PAIRS) {
      const amounts = [10n ** 24n, 3n * 10n ** 24n, 0n, 0n];
      await write(routerAddress, router, 'addLiquidity', [token(a), token(b), ...amounts, evm.account, DEADLINE]);
    }
  });

  /** Sets the reserves of a pair in its storage: both and a timestamp in word eight. */
  async function setReserves(pair: Hex, first: bigint, second: bigint) {
    const word = (1n << 224n) | (second << 112n) | first;
    await evm.client.setStorageAt({ address: pair, index: 8, value: numberToHex(word, { size: 32 }) });
  }

  test('quotes what a swap pays and what a swap takes', async () => {
    const balance = (of: Hex) =>
      evm.client.readContract({ address: of, abi: erc20, functionName: 'balanceOf', args: [evm.account] });
    const sale = await estimate('sell', token(0), token(3), 123_456_789_012_345_678_901n);
    const path = sale?.metadata?.['path'] as Hex[];
    const before = await balance(token(3));
    await write(routerAddress, router, 'swapExactTokensForTokens', [
      123_456_789_012_345_678_901n,
      0n,
      path,
      evm.account,
      DEADLINE,
    ]);
    expect((await balance(token(3))) - before).toBe(sale?.amount);

    const purchase = await estimate('buy', token(0), token(3), 98_765_432_109_876_543_210n);
    const held = await balance(token(0));
    const way = purchase?.metadata?.['path'];
    await write(routerAddress, router, 'swapTokensForExactTokens', [
      98_765_432_109_876_543_210n,
      10n ** 30n,
      way,
      evm.account,
      DEADLINE,
    ]);
    expect(held - (await balance(token(0)))).toBe(purchase?.amount);
  });

  test('finds the best route, to the atom of the router, over random reserves', {
    timeout: 3_600_000,
  }, async () => {
    const random = randomNumbers(2);
    const pairs = await Promise.all(
      PAIRS.map(([a, b]) =>
        evm.client.readContract({
          address: factory,
          abi: factoryAbi,
          functionName: 'getPair',
          args: [token(a), token(b)],
        }),
      ),
    );
    const rounds = LONG ? 2_000 : 200;
    let answered = 0;
    for (let round = 0; round < rounds; round++) {
      await Promise.all(pairs.map((pair) => setReserves(pair, random(105), random(105))));
      for (const [kind, method, better] of [
        ['sell', 'getAmountsOut', (a: bigint, b: bigint) => a > b],
        ['buy', 'getAmountsIn', (a: bigint, b: bigint) => a < b],
      ] as const) {
        const amount = random(100);
        const [found, ...result] = await Promise.all([
          estimate(kind, token(0), token(3), amount),
          ...PATHS.map((path) => callRouter(method, [amount, path.map(token)])),
        ]);
        // An amount above the capacity of a pair is no route, although the router computes a result.
        const possible = result.filter((each) => each !== undefined && each > 0n);
        const best = possible.reduce<bigint | undefined>(
          (a, b) => (a === undefined || (b !== undefined && better(b, a)) ? b : a),
          undefined,
        );
        if (best !== undefined && best < 1n << 112n) {
          answered++;
          expect(found?.amount, `${kind} ${amount} in round ${round}`).toBe(best);
        } else expect(found).toBeUndefined();
      }
    }
    expect(answered).toBeGreaterThan(rounds);
  });

  test('returns no route through a pair with one empty side, like the router', async () => {
    const [first, second] = [await evm.deploy(TOKEN, [10n ** 30n]), await evm.deploy(TOKEN, [10n ** 30n])];
    await write(factory, pairAbi, 'createPair', [first, second]);
    const tokensOf = [first, second].map((address) => address.toLowerCase() as Hex);
    const pair = await evm.client.readContract({
      address: factory,
      abi: factoryAbi,
      functionName: 'getPair',
      args: [first, second],
    });
    await write(second, erc20, 'transfer', [pair, 10n ** 18n]);
    await write(pair, pairAbi, 'sync', []);
    const [a = '0x', b = '0x'] = tokensOf;
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      for (const [kind, method] of [
        ['sell', 'getAmountsOut'],
        ['buy', 'getAmountsIn'],
      ] as const) {
        expect(await callRouter(method, [1n, [from, to]])).toBeUndefined();
        expect(await estimate(kind, from, to, 1n), `${kind} from ${from === a ? 'empty' : 'full'}`).toBeUndefined();
      }
    }
  });

  test('returns no route for tokens without a pair or bases', async () => {
    const fresh = uniswapV2(evm.client, { factory });
    const trade = { kind: 'sell', sellToken: token(0), buyToken: token(3), amount: 1000n } as const;
    expect(await fresh.estimate(trade, { signal: new AbortController().signal, timeout: 1 })).toEqual([]);
  });

  test('reports a contract that is not a factory as a failure', async () => {
    const wrong = uniswapV2(evm.client, { factory: evm.account });
    const trade = { kind: 'sell', sellToken: token(0), buyToken: token(3), amount: 1000n } as const;
    await expect(wrong.estimate(trade, { signal: new AbortController().signal, timeout: 1 })).rejects.toThrow(
      /did not return 1 words/,
    );
  });
});
