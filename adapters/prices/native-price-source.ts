import type { Address, OrderBook, UsdPriceCall, UsdPriceQuery, UsdPriceSource } from 'intentbook';
import { assertKnownOptions, type Decimal, NATIVE_MARKER, parseDecimal, parseHex } from '#internal';

/** How many decimals a token has, `undefined` when that is not known. */
export type DecimalsOf = (query: UsdPriceQuery, call: UsdPriceCall) => number | undefined | Promise<number | undefined>;

/** A token that is worth one dollar. */
export interface DollarToken {
  readonly token: string;
  readonly decimals: number;
}

/** Whose native prices are used, and who says what native currency is worth. */
export interface NativePriceSourceOptions {
  /** Who says what tokens are worth in native currency: of one chain id, the first. */
  readonly books: readonly Pick<OrderBook, 'chainId' | 'quotes' | 'balances'>[];
  /**
   * What native currency is worth in dollars: a source that is asked for `0xeeee…ee`, or by chain id a token that is
   * worth one dollar, whose own price in native currency tells.
   */
  readonly nativeUsd: UsdPriceSource | Readonly<Record<number, DollarToken>>;
  /**
   * How many decimals a token has. A token of which that is not known has no price. Default: what the chain of the book
   * says.
   */
  readonly decimals?: DecimalsOf;
}

/** Native currency has 18 decimals on every chain of the protocol. */
const NATIVE_DECIMALS = 18;

/**
 * Prices of tokens that a book can quote: their price in native currency, times what that is worth in dollars.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function nativePriceSource(options: NativePriceSourceOptions): UsdPriceSource {
  assertKnownOptions('nativePriceSource', options, ['books', 'nativeUsd', 'decimals']);
  const { books, nativeUsd } = options;
  const byChain = new Map([...books].reverse().map((book) => [book.chainId, book]));
  const dollarOf = isSource(nativeUsd) ? () => undefined : readDollars(nativeUsd);

  const decimals: DecimalsOf =
    options.decimals ??
    (async ({ chainId, token }, call) => (await byChain.get(chainId)?.balances.token(token, call))?.decimals);

  /** Native coins for one whole token. */
  async function nativePrice(
    query: UsdPriceQuery,
    scale: number,
    { signal }: UsdPriceCall,
  ): Promise<number | undefined> {
    const result = await byChain.get(query.chainId)?.quotes.nativePrice(query.token, { signal });
    if (result?.status !== 'priced') return undefined;
    const price = parseDecimal(result.price);
    // Atoms for an atom: a whole token has 10^scale of its own, a coin 10^18.
    return price && wholePrice(price, scale - NATIVE_DECIMALS);
  }

  /** Dollars for one native coin. */
  async function coinPrice(chainId: number, call: UsdPriceCall): Promise<number | undefined> {
    if (isSource(nativeUsd)) return nativeUsd.usdPrice({ chainId, token: NATIVE_MARKER }, call);
    const dollar = dollarOf(chainId);
    const coins = dollar && (await nativePrice({ chainId, token: dollar.token }, dollar.decimals, call));
    return coins === undefined ? undefined : 1 / coins;
  }

  return {
    name: 'native price',
    async usdPrice(query, call) {
      if (!byChain.has(query.chainId)) return undefined;
      const scale = query.token === NATIVE_MARKER ? NATIVE_DECIMALS : await decimals(query, call);
      if (scale === undefined) return undefined;
      const [coins, dollars] = await Promise.all([nativePrice(query, scale, call), coinPrice(query.chainId, call)]);
      return coins === undefined || dollars === undefined ? undefined : coins * dollars;
    },
  };
}

/** Moves the point of a price exactly, before it becomes a double. */
function wholePrice({ digits, scale }: Decimal, shift: number): number {
  return Number(`${digits}e${shift - scale}`);
}

function isSource(nativeUsd: NativePriceSourceOptions['nativeUsd']): nativeUsd is UsdPriceSource {
  return typeof (nativeUsd as UsdPriceSource).usdPrice === 'function'; // the other form has numbers for keys
}

function readDollars(table: Readonly<Record<number, DollarToken>>) {
  const dollars = new Map<number, { readonly token: Address; readonly decimals: number }>();
  for (const [chain, { token: text, decimals }] of Object.entries(table)) {
    const token = parseHex(text, 20);
    if (token === undefined) throw new TypeError(`nativePriceSource: "${text}" must be 0x and 40 hex digits`);
    if (!Number.isInteger(decimals) || decimals < 0 || decimals > 77) {
      throw new TypeError(
        `nativePriceSource: the decimals of ${token} must be a whole number from 0 to 77, not "${decimals}"`,
      );
    }
    dollars.set(Number(chain), { token, decimals });
  }
  return (chainId: number) => dollars.get(chainId);
}
