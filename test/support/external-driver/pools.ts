import type { Address, Hex, PublicClient } from 'viem';
import { encodeFunctionData, parseAbi, zeroAddress } from 'viem';

const FACTORY = parseAbi(['function getPair(address, address) view returns (address)']);
const PAIR = parseAbi([
  'function getReserves() view returns (uint112, uint112, uint32)',
  'function swap(uint256, uint256, address, bytes)',
]);
const TOKEN = parseAbi(['function transfer(address, uint256)', 'function withdraw(uint256)']);

/** A call of a settlement. */
export interface Call {
  readonly target: Address;
  readonly value: bigint;
  readonly callData: Hex;
}

/** A pair of a factory, with the reserve of the token that comes in first. */
interface Hop {
  readonly pair: Address;
  readonly tokenIn: Address;
  readonly tokenOut: Address;
}

/** A path through one pair or two. */
export type Route = readonly Hop[];

/** The reserves of pairs within one auction. Trades change them. */
export interface Reserves {
  readonly routes: (sellToken: Address, buyToken: Address) => Promise<readonly Route[]>;
  /** Atoms that a route pays for `amountIn`. */
  readonly amountOut: (route: Route, amountIn: bigint) => bigint;
  /** Atoms that a route takes for `amountOut`, or `undefined` if it has not enough. */
  readonly amountIn: (route: Route, amountOut: bigint) => bigint | undefined;
  /** Returns the calls of a trade and changes the reserves. */
  readonly take: (route: Route, amountIn: bigint, receiver: Address) => readonly Call[];
  /** Copies the reserves, so that another solution can be tried. */
  readonly fork: () => Reserves;
}

const keyOf = (pair: Address, token: Address) => `${pair} ${token}`;

/** Reads pairs on request and keeps them for one auction. */
export function readReserves(client: PublicClient, factory: Address, base: Address): Reserves {
  const pairs = new Map<string, Promise<Address>>();

  async function findHop(tokenIn: Address, tokenOut: Address, reserves: Map<string, bigint>): Promise<Hop | undefined> {
    const [first, second] = BigInt(tokenIn) < BigInt(tokenOut) ? [tokenIn, tokenOut] : [tokenOut, tokenIn];
    const key = `${first} ${second}`;
    const read =
      pairs.get(key) ??
      client.readContract({ address: factory, abi: FACTORY, functionName: 'getPair', args: [first, second] });
    pairs.set(key, read);
    const pair = await read;
    if (pair === zeroAddress) return undefined;
    if (!reserves.has(keyOf(pair, first))) {
      const values = await client.readContract({ address: pair, abi: PAIR, functionName: 'getReserves' });
      reserves.set(keyOf(pair, first), values[0]);
      reserves.set(keyOf(pair, second), values[1]);
    }
    return { pair, tokenIn, tokenOut };
  }

  function withReserves(reserves: Map<string, bigint>): Reserves {
    const reserveOf = (pair: Address, token: Address) => reserves.get(keyOf(pair, token)) ?? 0n;

    /** The invariant of a pair after its fee of 0.3 %. */
    function hopOut({ pair, tokenIn, tokenOut }: Hop, amountIn: bigint): bigint {
      const paid = amountIn * 997n;
      return (paid * reserveOf(pair, tokenOut)) / (reserveOf(pair, tokenIn) * 1000n + paid);
    }

    function hopIn({ pair, tokenIn, tokenOut }: Hop, amountOut: bigint): bigint | undefined {
      const left = reserveOf(pair, tokenOut) - amountOut;
      return left <= 0n ? undefined : (reserveOf(pair, tokenIn) * amountOut * 1000n) / (left * 997n) + 1n;
    }

    return {
      async routes(sellToken, buyToken) {
        const routes: Route[] = [];
        const direct = await findHop(sellToken, buyToken, reserves);
        if (direct !== undefined) routes.push([direct]);
        if (sellToken !== base && buyToken !== base) {
          const hops = await Promise.all([findHop(sellToken, base, reserves), findHop(base, buyToken, reserves)]);
          const complete = hops.flatMap((hop) => hop ?? []);
          if (complete.length === 2) routes.push(complete);
        }
        return routes;
      },
      amountOut: (route, amountIn) => route.reduce((amount, hop) => hopOut(hop, amount), amountIn),
      amountIn: (route, amountOut) =>
        route.reduceRight<bigint | undefined>(
          (amount, hop) => (amount === undefined ? undefined : hopIn(hop, amount)),
          amountOut,
        ),
      take(route, amountIn, receiver) {
        const [entry] = route;
        if (entry === undefined) return [];
        const args = [entry.pair, amountIn] as const;
        const transfer = encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args });
        const calls: Call[] = [{ target: entry.tokenIn, value: 0n, callData: transfer }];
        let amount = amountIn;
        for (const [i, hop] of route.entries()) {
          const { pair, tokenIn, tokenOut } = hop;
          const out = hopOut(hop, amount);
          const to = route[i + 1]?.pair ?? receiver;
          const outs = BigInt(tokenIn) < BigInt(tokenOut) ? ([0n, out] as const) : ([out, 0n] as const);
          const swap = encodeFunctionData({ abi: PAIR, functionName: 'swap', args: [outs[0], outs[1], to, '0x'] });
          calls.push({ target: pair, value: 0n, callData: swap });
          reserves.set(keyOf(pair, tokenIn), reserveOf(pair, tokenIn) + amount);
          reserves.set(keyOf(pair, tokenOut), reserveOf(pair, tokenOut) - out);
          amount = out;
        }
        return calls;
      },
      fork: () => withReserves(new Map(reserves)),
    };
  }

  return withReserves(new Map());
}

/** The call that changes wrapped currency into native currency. */
export function unwrap(wrapped: Address, amount: bigint): Call {
  const callData = encodeFunctionData({ abi: TOKEN, functionName: 'withdraw', args: [amount] });
  return { target: wrapped, value: 0n, callData };
}
