import type { UsdPriceSource } from 'intentbook';
import type { SlippageOptions, UsdPricesOptions } from 'intentbook/accounts';
import type { CoinGeckoOptions, DollarToken } from 'intentbook/prices';
import { CHAINS, defined } from '#internal';
import type { ServerPlan } from '../config/plan.ts';
import type { OpenBook } from './open-books.ts';
import { priceTable } from './quote-options.ts';

/** The test token on Sepolia that is worth one dollar. It has 18 decimals. */
const SEPOLIA_DOLLAR: DollarToken = { token: '0xbe72e441bf55620febc26715db68d3494213d8cb', decimals: 18 };
const SEPOLIA = CHAINS.find(({ segment }) => segment === 'sepolia')?.chainId;

/**
 * Creates the sources of dollar prices, in this order: CoinGecko, if configured; native prices of a book's estimators;
 * the fixed table.
 *
 * @throws TypeError naming the problem of a table.
 */
export async function usdPriceOptions(
  { settings, books }: ServerPlan,
  deployments: readonly OpenBook[],
): Promise<UsdPricesOptions> {
  const { coinGecko, fixedUsdPrices, nativePriceSource } = await import('intentbook/prices');
  const production = deployments.filter(({ environment }) => environment === 'production');
  const served = [...production, ...deployments].map(({ book }) => book);
  const sources: UsdPriceSource[] = [
    ...(settings.coinGecko === undefined ? [] : [coinGecko(coinGeckoOptions(settings.coinGecko))]),
    nativePriceSource({ books: served, nativeUsd: dollarTokens(books), decimals: await decimalsFrom(books, served) }),
    ...(settings.usdPrices === undefined ? [] : [fixedUsdPrices(settings.usdPrices)]),
  ];
  return { sources };
}

/** Creates the options of slippage: the history of CoinGecko, if configured, and the dollar tokens of the books. */
export async function slippageOptions({ settings, books }: ServerPlan): Promise<SlippageOptions> {
  const { coinGeckoHistory } = await import('intentbook/prices');
  return {
    histories: settings.coinGecko === undefined ? [] : [coinGeckoHistory(coinGeckoOptions(settings.coinGecko))],
    dollarTokens: dollarTokens(books),
    defaultBps: settings.defaultSlippage,
  };
}

function coinGeckoOptions({ apiKey, plan, url }: NonNullable<ServerPlan['settings']['coinGecko']>): CoinGeckoOptions {
  return defined({ apiKey, plan, baseUrl: url });
}

/** Returns the token of each chain that is worth one dollar. */
function dollarTokens(books: ServerPlan['books']): Readonly<Record<number, DollarToken>> {
  const dollars: Record<number, DollarToken> = SEPOLIA === undefined ? {} : { [SEPOLIA]: SEPOLIA_DOLLAR };
  for (const { chainId, settings } of books) if (settings.usdToken !== undefined) dollars[chainId] = settings.usdToken;
  return dollars;
}

/** Returns the decimals of a token from the chain, or from the table of fixed prices. */
async function decimalsFrom(plans: ServerPlan['books'], books: readonly OpenBook['book'][]) {
  const known = new Map<string, number>();
  for (const { chain, chainId, settings } of plans) {
    for (const [token, price] of Object.entries((await priceTable(chain, settings.prices)) ?? {})) {
      if (typeof price === 'object') known.set(`${chainId} ${token.toLowerCase()}`, price.decimals);
    }
  }
  return async ({ chainId, token }: { chainId: number; token: string }, { signal }: { signal: AbortSignal }) => {
    const book = books.find((each) => each.chainId === chainId);
    return (await book?.balances.token(token, { signal }))?.decimals ?? known.get(`${chainId} ${token}`);
  };
}
