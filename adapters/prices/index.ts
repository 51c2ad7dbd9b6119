export { coinGecko, coinGeckoHistory } from './coin-gecko.ts';
export type { CoinGeckoOptions } from './coin-gecko-client.ts';
export { fixedUsdPrices } from './fixed-prices.ts';
export type { DecimalsLookup, DollarToken, NativePriceSourceOptions } from './native-price-source.ts';
export { nativePriceSource } from './native-price-source.ts';
export { fixedPools, type JsonPoolsOptions, jsonPools, type PoolTable } from './pools.ts';
export { type AlchemyTokenBalancesOptions, alchemyTokenBalances } from './token-balances.ts';
export { type JsonTokenHoldersOptions, jsonTokenHolders } from './token-holders.ts';
