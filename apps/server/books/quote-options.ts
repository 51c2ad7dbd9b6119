import type { Estimator, QuoteOptions } from 'intentbook';
import type { FixedPrice } from 'intentbook/estimators';
import { defined, parseDecimal } from '#internal';
import { readJsonc } from '../config/jsonc.ts';
import type { ParsedBookSettings } from '../settings/schema.ts';
import { createNodeClient } from './chain-options.ts';

/** What the quotes of a book depend on. */
export interface PriceOptions extends Partial<Omit<ParsedBookSettings, 'chain' | 'volumeFee'>> {
  readonly chain: string;
  readonly volumeFee?: QuoteOptions['volumeFee'] | undefined;
}

/** Prices by token: wei per atom, or native currency per whole token with its decimals. */
export type PriceTable = Readonly<Record<string, FixedPrice>>;

/** Default gas price in wei: one gwei. */
export const DEFAULT_GAS_PRICE = '1000000000';

/**
 * Fixed prices of test tokens on Sepolia, in native currency per whole token, for a first trade.
 */
const SEPOLIA_PRICES: PriceTable = {
  // WETH
  '0xfff9976782d46cc05630d1f6ebab18b2324d6b14': { price: '1', decimals: 18 },
  // COW
  '0x0625afb445c3b6b7b929342a04a22599fd5dbb59': { price: '0.0001', decimals: 18 },
  // USDC, which has 18 decimals there
  '0xbe72e441bf55620febc26715db68d3494213d8cb': { price: '0.0004', decimals: 18 },
};

/**
 * Creates the quote options of a book.
 *
 * @returns `undefined` without estimators.
 * @throws TypeError naming the problem of the file, a URL or the gas price.
 */
export async function quoteOptions({
  chain,
  prices,
  solvers = [],
  quoteDrivers = [],
  gasPrice = DEFAULT_GAS_PRICE,
  volumeFee,
  orderQuoteTimeout: orderTimeout,
  minUnverifiedGas: min = 0,
  maxUnverifiedGas: max = Number.MAX_SAFE_INTEGER,
  verifyQuotes = false,
  vaultPrices = false,
  rpc = [],
}: PriceOptions) {
  const { fixedPrices, httpSolver } = await import('intentbook/estimators');
  const table = await priceTable(chain, prices);
  const estimators: Estimator[] = [
    ...(table === undefined ? [] : [fixedPrices(table)]),
    ...solvers.map((url) => httpSolver(url)),
    ...(await createDriverEstimators(quoteDrivers)),
  ];
  const wei = parseDecimal(gasPrice);
  if (wei === undefined || wei.digits / 10n ** BigInt(wei.scale) >= 2n ** 256n) {
    throw new TypeError(`gasPrice must be a decimal number of wei below 2^256, got "${gasPrice}"`);
  }
  if (min > max) throw new TypeError(`minUnverifiedGas must be at most maxUnverifiedGas, got ${min} and ${max}`);
  const options: QuoteOptions = {
    estimators,
    gasPrice,
    unverifiedGas: { min, max },
    ...defined({ volumeFee, orderTimeout }),
    ...(await createNodeReaders(rpc, verifyQuotes, vaultPrices)),
  };
  return estimators.length === 0 ? undefined : options;
}

/** Creates the parts of quotes that read the nodes of a book. */
async function createNodeReaders(rpc: readonly string[], verifyQuotes: boolean, vaultPrices: boolean) {
  if (rpc.length === 0 || !(verifyQuotes || vaultPrices)) return {};
  const { viemQuoteVerifier, viemVaults } = await import('intentbook/viem');
  const client = await createNodeClient(rpc);
  return {
    ...(verifyQuotes && { verifier: viemQuoteVerifier(client) }),
    ...(vaultPrices && { vaults: viemVaults(client) }),
  };
}

async function createDriverEstimators(urls: readonly string[]): Promise<Estimator[]> {
  if (urls.length === 0) return [];
  const { driverEstimator } = await import('intentbook/drivers');
  return urls.map((url) => driverEstimator(url));
}

/** Whether the quotes of a book use the prices of test tokens, because no others are set. */
export function hasTestPrices({ chain, prices }: Pick<PriceOptions, 'chain' | 'prices'>): boolean {
  return prices === undefined && chain === 'sepolia';
}

/** Reads fixed prices: from the option, from a file, or of test tokens. */
export async function priceTable(
  chain: string,
  prices: string | PriceTable | undefined,
): Promise<PriceTable | undefined> {
  if (prices === 'off') return undefined;
  if (prices === undefined) return hasTestPrices({ chain, prices }) ? SEPOLIA_PRICES : undefined;
  if (typeof prices === 'object') return prices;
  const name = `the file of prices ${prices}`;
  const table = await readJsonc(name, prices);
  if (typeof table !== 'object' || table === null || Array.isArray(table)) {
    throw new TypeError(`${name} must be an object of prices by token`);
  }
  return table as PriceTable; // `fixedPrices` validates each member
}
