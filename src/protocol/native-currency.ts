/** The symbols, and names if they differ, of native currencies other than Ether. */
const NATIVE_CURRENCIES: Readonly<Record<number, readonly [symbol: string, name?: string]>> = {
  56: ['BNB'],
  100: ['xDAI'],
  137: ['POL'],
  232: ['GHO'],
  9745: ['XPL', 'Plasma'],
  43114: ['AVAX', 'Avalanche'],
};

/** Returns the native currency of a chain. Default: Ether. It has 18 decimals on every chain. */
export function getNativeCurrency(chainId: number) {
  const [symbol, name = symbol] = NATIVE_CURRENCIES[chainId] ?? ['ETH', 'Ether'];
  return { decimals: 18, name, symbol };
}

/** Returns the symbol of the wrapped native currency of a chain, such as `WETH`. */
export function getWrappedSymbol(chainId: number): string {
  return `W${getNativeCurrency(chainId).symbol.toUpperCase()}`;
}
