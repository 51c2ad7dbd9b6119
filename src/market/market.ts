import type { AccountTools } from '../account-tools/account-tools.ts';
import type { BundleSimulator } from '../ports/bundle-simulation.ts';
import type { PoolSource } from '../ports/pools.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { TokenHolderSource } from '../ports/token-holders.ts';
import { createSimulation, type SimulationApi } from './bundles/simulation.ts';
import { createPools, type PoolApi } from './pools.ts';
import { createOwnHistory } from './slippage/own-history.ts';
import { createSlippage, type SlippageApi, type SlippageModule } from './slippage/slippage.ts';
import type { SlippageOptions } from './slippage/slippage-options.ts';
import { createTokenApi, type TokenApi } from './token-details.ts';
import { createUsdPrices, type UsdPrice, type UsdPriceApi, type UsdPricesOptions } from './usd-prices.ts';

/** The sources of market data. */
export interface MarketSources {
  readonly usdPrices: UsdPricesOptions;
  readonly slippage: SlippageOptions;
  readonly holders: readonly TokenHolderSource[];
  readonly pools: readonly PoolSource[];
  /** Simulators of bundles by chain id. */
  readonly simulators: Readonly<Record<number, BundleSimulator>>;
}

/** The market data of the account interface. */
export interface Market {
  readonly usdPrices: UsdPriceApi;
  readonly slippage: SlippageApi;
  readonly tokens: TokenApi;
  readonly simulation: SimulationApi;
  readonly pools: PoolApi;
  /** Returns the dollar price of a token. `undefined`: none, or its sources have failed. */
  findPrice(query: UsdPriceQuery): Promise<UsdPrice | undefined>;
  /** Returns the past prices of a token. */
  readonly readHistory: SlippageModule['readHistory'];
  stop(): Promise<void>;
}

/** Creates the market data of the account interface. */
export function createMarket(tools: AccountTools, sources: MarketSources): Market {
  const usdPrices = createUsdPrices(sources.usdPrices, tools, (query, price) => ownHistory.addPrice(query, price));
  // The failures of sources were reported.
  const findPrice: Market['findPrice'] = ({ chainId, token }) => usdPrices.get(chainId, token).catch(() => undefined);
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
