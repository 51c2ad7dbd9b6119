import type { Address, PoolSource } from 'intentbook';
import { amountOut, constantProduct } from 'intentbook/estimators';
import type { Interaction, LiquidityState } from 'intentbook/solver';
import type { UniswapV2PoolsOptions } from 'intentbook/viem';
import { integerWord, labelledAddress } from './abi.ts';
import { getPoolReserves } from './pool-reserves.ts';
import type { SandboxToken } from './tokens.ts';

/** An exchange with the pools, in atoms. */
export interface Swap {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sold: bigint;
  readonly bought: bigint;
}

/** A pool: its reserves of wrapped native currency and of the token, and the native currency that was ever traded. */
type Pool = readonly [native: bigint, token: bigint, traded: bigint];

/** Pools by token. */
export type Reserves = ReadonlyMap<Address, Pool>;

const EMPTY: Pool = [0n, 0n, 0n];

/** Target of the calls that the liquidity creates. */
const POOLS: Address = '0x00000000000000000000000000000000000b0015';

/** Creates pools at the prices of the tokens: one of each token with wrapped native currency. */
export function createSimulatedPools(tokens: readonly SandboxToken[]) {
  const [wrapped, ...others] = tokens;
  const native = wrapped?.address;
  let reserves = new Map<Address, Pool>();

  /** Sets the price of a token: native currency for one whole token. */
  function setPrice(token: SandboxToken, price: string): void {
    const { native: wrappedReserve, token: reserve } = getPoolReserves(token, price);
    const [, , traded] = reserves.get(token.address) ?? EMPTY;
    reserves.set(token.address, [wrappedReserve, reserve, traded]);
  }
  for (const token of others) setPrice(token, token.price);

  /** Computes the output of a swap, and the reserves after it. */
  function swap(state: Map<Address, Pool>, sellToken: Address, buyToken: Address, amountIn: bigint) {
    let amount = amountIn;
    if (sellToken !== native) {
      const [wrappedReserve, reserve, traded] = state.get(sellToken) ?? EMPTY;
      const bought = amountOut(amount, reserve, wrappedReserve);
      state.set(sellToken, [wrappedReserve - bought, reserve + amount, traded + bought]);
      amount = bought;
    }
    if (buyToken !== native) {
      const [wrappedReserve, reserve, traded] = state.get(buyToken) ?? EMPTY;
      const bought = amountOut(amount, wrappedReserve, reserve);
      state.set(buyToken, [wrappedReserve + amount, reserve - bought, traded + amount]);
      amount = bought;
    }
    return amount;
  }

  const getState = (current: Map<Address, Pool>): LiquidityState => ({
    quote: (sellToken, buyToken, amountIn) => swap(new Map(current), sellToken, buyToken, amountIn),
    take(sellToken, buyToken, amountIn) {
      swap(current, sellToken, buyToken, amountIn);
      return [
        {
          target: POOLS,
          value: amountIn,
          callData: `0x${integerWord(BigInt(sellToken))}${integerWord(BigInt(buyToken))}`,
        },
      ];
    },
  });

  const listPools = () =>
    [...reserves].map(([token, [wrappedReserve, reserve]]) => ({
      tokens: [native ?? '', token] as const,
      reserves: [wrappedReserve, reserve] as const,
    }));

  return {
    setPrice,
    liquidity: { read: async () => getState(new Map(reserves)) },
    estimator: constantProduct(listPools, {
      name: 'simulated pools',
      bases: native === undefined ? [] : [native],
      maxHops: 2,
    }),
    /** Executes a call that the liquidity has created. Returns the amounts, or `undefined` for another call. */
    execute({ target, value: sold, callData }: Interaction): Swap | undefined {
      if (target !== POOLS) return undefined;
      const [sellToken, buyToken]: Address[] = [`0x${callData.slice(26, 66)}`, `0x${callData.slice(90, 130)}`];
      if (sellToken === undefined || buyToken === undefined) return undefined;
      return { sellToken, buyToken, sold, bought: swap(reserves, sellToken, buyToken, sold) };
    },
    copy: (): Reserves => new Map(reserves),
    restore(saved: Reserves): void {
      reserves = new Map(saved);
    },
  };
}

const DAY = 86_400;

/** Fee of a swap, in percent. */
const FEE = 0.3;

/** Creates the source of the pools of a simulated chain: the value of the reserves, and the trades of the last day. */
export function createSimulatedPoolSource(context: {
  readonly chainId: number;
  /** Wrapped native currency first. */
  readonly tokens: readonly SandboxToken[];
  /** Returns the pools now, or in the newest block that is not younger than an age in seconds. */
  readonly readReserves: (age: number) => Reserves;
  /** Returns the price of a token in US dollars. */
  readonly usdPrice: UniswapV2PoolsOptions['usdPrice'];
}): PoolSource {
  const { tokens, readReserves, usdPrice } = context;
  const [wrapped, ...others] = tokens;
  return {
    name: 'simulated pools',
    async pools(chainId, { signal }) {
      if (chainId !== context.chainId || wrapped === undefined) return undefined;
      const nativePrice = (await usdPrice(wrapped.address, signal)) ?? 0;
      const [now, before] = [readReserves(0), readReserves(DAY)];
      return others.flatMap(({ address, symbol }) => {
        const [native, , traded] = now.get(address) ?? [0n, 0n, 0n];
        const [, , tradedBefore] = before.get(address) ?? [0n, 0n, 0n];
        // Both sides of a pool have the same value.
        const tvl = 2 * toDollars(native, nativePrice);
        const volume = toDollars(traded - tradedBefore, nativePrice);
        const apr = tvl === 0 ? 0 : (volume * FEE * 365) / tvl;
        const pool = labelledAddress(`pool ${symbol}`);
        const pair = [wrapped.address, address] as const;
        return [{ address: pool, tokens: pair, project: 'Simulated pools', apr, fee: FEE, tvl, volume }];
      });
    },
  };
}

const toDollars = (atoms: bigint, price: number) => (Number(atoms) / 1e18) * price;
