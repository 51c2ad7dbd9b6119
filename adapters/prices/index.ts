export type { CoinGeckoOptions } from './coin-gecko.ts';
export { coinGecko } from './coin-gecko.ts';
export { fixedUsdPrices } from './fixed-prices.ts';
export type { DecimalsLookup, DollarToken, NativePriceSourceOptions } from './native-price-source.ts';
export { nativePriceSource } from './native-price-source.ts';
