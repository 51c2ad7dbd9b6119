export type { CoinGeckoOptions } from './coin-gecko.ts';
export { coinGecko } from './coin-gecko.ts';
export { fixedUsdPrices } from './fixed.ts';
export type { DecimalsOf, DollarToken, ThroughNativeOptions } from './through-native.ts';
export { throughNative } from './through-native.ts';
