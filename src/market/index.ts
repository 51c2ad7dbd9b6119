/**
 * Market data of tokens: prices, slippage, pools, details, and simulated bundles.
 *
 * @module
 */

export { MAX_CALLS, type SimulatedTransaction, type SimulationApi, simulationBundle } from './bundles/simulation.ts';
export type { BalanceDifferences } from './bundles/state-diff.ts';
export { createMarket } from './market.ts';
export { type PoolApi, parsePoolAddresses, poolAddresses } from './pools.ts';
export type { SlippageApi, SlippageOrder, SlippageTolerance, TokenVolatility } from './slippage/slippage.ts';
export type { SlippageOptions } from './slippage/slippage-options.ts';
export { parseTokenAddresses, type TokenApi, type TokenDetails, tokenAddresses } from './token-details.ts';
export { type UsdPrice, type UsdPriceApi, UsdPriceError, type UsdPricesOptions } from './usd-prices.ts';
