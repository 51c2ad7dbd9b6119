/** The native currencies of chains whose wrapped symbol is not that of Ether. */
const NATIVE_CURRENCIES: Readonly<Record<number, { readonly name: string; readonly symbol: string }>> = {
  56: { name: 'BNB', symbol: 'BNB' },
  100: { name: 'xDAI', symbol: 'xDAI' },
  137: { name: 'POL', symbol: 'POL' },
  232: { name: 'GHO', symbol: 'GHO' },
  9745: { name: 'Plasma', symbol: 'XPL' },
  43114: { name: 'Avalanche', symbol: 'AVAX' },
};

/** Returns the native currency of a chain. Default: Ether. It has 18 decimals on every chain. */
export function getNativeCurrency(chainId: number) {
  return { decimals: 18, ...(NATIVE_CURRENCIES[chainId] ?? { name: 'Ether', symbol: 'ETH' }) };
}

/** The price of 10^18 atoms of native currency. */
export const ONE_NATIVE = String(10n ** 18n);
