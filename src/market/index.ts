/**
 * Market data of tokens: prices, slippage, pools, details, and simulated bundles.
 *
 * @module
 */

export type { SimulatedTransaction, SimulationApi } from './bundles/simulation.ts';
export { MAX_CALLS, simulationBundle } from './bundles/simulation.ts';
export type { BalanceDifferences } from './bundles/state-diff.ts';
export { createMarket } from './market.ts';
export type { PoolApi } from './pools.ts';
export { parsePoolAddresses, poolAddresses } from './pools.ts';
export type { SlippageApi, SlippageOrder, SlippageTolerance } from './slippage/slippage.ts';
export type { SlippageOptions } from './slippage/slippage-options.ts';
export type { TokenApi, TokenDetails } from './token-details.ts';
export { parseTokenAddresses, tokenAddresses } from './token-details.ts';
export type { UsdPrice, UsdPriceApi, UsdPricesOptions } from './usd-prices.ts';
export { UsdPriceError } from './usd-prices.ts';
