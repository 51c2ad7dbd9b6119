import type { PoolSource } from 'intentbook';
import type { UniswapV2PoolsOptions } from 'intentbook/viem';
import { labelledAddress } from './abi.ts';
import type { Reserves } from './simulated-pools.ts';
import type { SandboxToken } from './tokens.ts';

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
        return [{ address: labelledAddress(`pool ${symbol}`), project: 'Simulated pools', apr, fee: FEE, tvl, volume }];
      });
    },
  };
}

const toDollars = (atoms: bigint, price: number) => (Number(atoms) / 1e18) * price;
