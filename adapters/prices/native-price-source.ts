import type { Address, OrderBook, OrderBookError, UsdPriceCall, UsdPriceQuery, UsdPriceSource } from 'intentbook';
import { assertKnownOptions, type Decimal, NATIVE_MARKER, parseAddress, parseDecimal, requireInteger } from '#internal';

/** Returns the number of decimals of a token, or undefined if it is unknown. */
export type DecimalsLookup = (
  query: UsdPriceQuery,
  call: UsdPriceCall,
) => number | undefined | Promise<number | undefined>;

/** Token with the value of one dollar. */
export interface DollarToken {
  readonly token: string;
  readonly decimals: number;
}

/** Options of the native price source. */
export interface NativePriceSourceOptions {
  /** Books that quote prices in native currency. If several have the same chain id, the first is used. */
  readonly books: readonly Pick<OrderBook, 'chainId' | 'quotes' | 'balances'>[];
  /**
   * Value of native currency in dollars: a source that is queried for `0xeeee…ee`, or for each chain id a token with
   * the value of one dollar, from whose price in native currency it is computed.
   */
  readonly nativeUsd: UsdPriceSource | Readonly<Record<number, DollarToken>>;
  /**
   * Returns the decimals of a token. A token without known decimals has no price. Default: read from the chain of the
   * book.
   */
  readonly decimals?: DecimalsLookup;
}

/** Native currency has 18 decimals on every chain of the protocol. */
const NATIVE_DECIMALS = 18;

/**
 * Creates a price source for all tokens that a book can quote: their price in native currency, multiplied by its value
 * in dollars.
 *
 * @throws TypeError with the option that is unknown or malformed.
 */
export function nativePriceSource(options: NativePriceSourceOptions): UsdPriceSource {
  assertKnownOptions('nativePriceSource', options, ['books', 'nativeUsd', 'decimals']);
  const { books, nativeUsd } = options;
  if (!Array.isArray(books)) throw new TypeError('nativePriceSource: books must be a list of books');
  const byChain = new Map([...books].reverse().map((book) => [book.chainId, book]));
  const getDollarToken = isSource(nativeUsd) ? () => undefined : parseDollarTokens(nativeUsd);

  const decimals: DecimalsLookup =
    options.decimals ??
    (async ({ chainId, token }, call) => (await byChain.get(chainId)?.balances.token(token, call))?.decimals);

  /** Returns the native coins for one whole token. */
  async function nativePrice(
    query: UsdPriceQuery,
    scale: number,
    { signal }: UsdPriceCall,
  ): Promise<number | undefined> {
    const result = await byChain.get(query.chainId)?.quotes.nativePrice(query.token, { signal });
    // A source of the book has failed, or the book closes.
    if (result?.status === 'rejected' && isTemporary(result.error)) throw result.error;
    if (result?.status !== 'priced') return undefined;
    const price = parseDecimal(result.price);
    // The price is in atoms for an atom: a whole token has 10^scale atoms, a coin 10^18.
    return price && toWholePrice(price, scale - NATIVE_DECIMALS);
  }

  /** Returns the dollars for one native coin. */
  async function coinPrice(chainId: number, call: UsdPriceCall): Promise<number | undefined> {
    if (isSource(nativeUsd)) return nativeUsd.usdPrice({ chainId, token: NATIVE_MARKER }, call);
    const dollar = getDollarToken(chainId);
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

const isTemporary = ({ code, data }: OrderBookError) => code === 'InternalServerError' || data?.['temporary'] === true;

/** Shifts the decimal point exactly, before the conversion to a double. */
function toWholePrice({ digits, scale }: Decimal, shift: number): number {
  return Number(`${digits}e${shift - scale}`);
}

function isSource(nativeUsd: NativePriceSourceOptions['nativeUsd']): nativeUsd is UsdPriceSource {
  return typeof (nativeUsd as UsdPriceSource).usdPrice === 'function'; // the other form has numeric keys
}

function parseDollarTokens(table: Readonly<Record<number, DollarToken>>) {
  const dollars = new Map<number, { readonly token: Address; readonly decimals: number }>();
  for (const [chain, { token: text, decimals }] of Object.entries(table)) {
    const token = parseAddress('nativePriceSource', 'a token', text);
    requireInteger(`nativePriceSource: the decimals of ${token}`, decimals, 0, 77);
    dollars.set(Number(chain), { token, decimals });
  }
  return (chainId: number) => dollars.get(chainId);
}
