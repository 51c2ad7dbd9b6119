import type { AccountTools } from '../account-tools/account-tools.ts';
import type { BundleSimulator } from '../ports/bundle-simulation.ts';
import type { PoolSource } from '../ports/pools.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { TokenHolderSource } from '../ports/token-holders.ts';
import { createSimulation } from './bundles/simulation.ts';
import { createPools } from './pools.ts';
import { createOwnHistory } from './slippage/own-history.ts';
import { createSlippage } from './slippage/slippage.ts';
import type { SlippageOptions } from './slippage/slippage-options.ts';
import { createTokenApi } from './token-details.ts';
import { createUsdPrices, type UsdPricesOptions } from './usd-prices.ts';

export interface MarketSources {
  readonly usdPrices: UsdPricesOptions;
  readonly slippage: SlippageOptions;
  readonly holders: readonly TokenHolderSource[];
  readonly pools: readonly PoolSource[];
  /** Simulators of bundles by chain id. */
  readonly simulators: Readonly<Record<number, BundleSimulator>>;
}

/** Creates the market data of the account interface. */
export function createMarket(tools: AccountTools, sources: MarketSources) {
  const usdPrices = createUsdPrices(sources.usdPrices, tools, (query, price) => ownHistory.addPrice(query, price));
  // The failures of sources were reported.
  const findPrice = ({ chainId, token }: UsdPriceQuery) => usdPrices.get(chainId, token).catch(() => undefined);
  const ownHistory = createOwnHistory({ ...tools, dollarTokens: sources.slippage.dollarTokens, readPrice: findPrice });
  const { readHistory, ...slippage } = createSlippage({ ...tools, options: sources.slippage, usdPrices, ownHistory });
  return {
    usdPrices,
    slippage,
    tokens: createTokenApi(tools, sources.holders),
    simulation: createSimulation(tools, sources.simulators),
    pools: createPools(tools, sources.pools),
    findPrice,
    readHistory,
    stop: () => ownHistory.stop(),
  };
}
