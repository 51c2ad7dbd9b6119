export type { CoinGeckoOptions } from './coin-gecko.ts';
export { coinGecko } from './coin-gecko.ts';
export { fixedUsdPrices } from './fixed-prices.ts';
export type { DecimalsOf, DollarToken, ThroughNativeOptions } from './native-price-source.ts';
export { throughNative } from './native-price-source.ts';
