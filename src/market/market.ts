import type { KnownBook } from '../account-tools/account-books.ts';
import type { SourceObserver } from '../account-tools/observations.ts';
import type { TokenLookup } from '../account-tools/token-labels.ts';
import type { BundleSimulator } from '../ports/bundle-simulation.ts';
import type { Clock } from '../ports/clock.ts';
import type { PoolSource } from '../ports/pools.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { Random } from '../ports/random.ts';
import type { TokenHolderSource } from '../ports/token-holders.ts';
import { createSimulation, type SimulationApi } from './bundles/simulation.ts';
import { createPools, type PoolApi } from './pools.ts';
import { createOwnHistory } from './slippage/own-history.ts';
import { createSlippage, type SlippageApi, type SlippageModule } from './slippage/slippage.ts';
import type { SlippageOptions } from './slippage/slippage-options.ts';
import { createTokenApi, type TokenApi } from './token-details.ts';
import { createUsdPrices, type UsdPrice, type UsdPriceApi, type UsdPricesOptions } from './usd-prices.ts';

/** The sources of market data, and what the account interface provides to them. */
export interface MarketContext {
  readonly books: readonly KnownBook[];
  readonly usdPrices: UsdPricesOptions;
  readonly slippage: SlippageOptions;
  readonly holders: readonly TokenHolderSource[];
  readonly pools: readonly PoolSource[];
  /** Simulators of bundles by chain id. */
  readonly simulators: Readonly<Record<number, BundleSimulator>>;
  readonly tokens: TokenLookup;
  readonly clock: Clock;
  readonly random: Random;
  readonly onFailure: (failure: unknown) => void;
  readonly observer: SourceObserver;
  readonly assertStarted: () => void;
}

/** The market data of the account interface. */
export interface Market {
  readonly usdPrices: UsdPriceApi;
  readonly slippage: SlippageApi;
  readonly tokens: TokenApi;
  readonly simulation: SimulationApi;
  readonly pools: PoolApi;
  /** Returns the dollar price of a token. `undefined`: none, or its sources have failed. */
  findPrice(query: UsdPriceQuery): Promise<UsdPrice | undefined>;
  /** Returns the past prices of a token. */
  readonly readHistory: SlippageModule['readHistory'];
  stop(): Promise<void>;
}

/** Creates the market data of the account interface. */
export function createMarket(context: MarketContext): Market {
  const { books, tokens, clock, onFailure } = context;
  const usdPrices = createUsdPrices(context.usdPrices, {
    ...context,
    onPrice: (query, price) => ownHistory.addPrice(query, price),
  });
  // The failures of sources were reported.
  const findPrice: Market['findPrice'] = ({ chainId, token }) => usdPrices.get(chainId, token).catch(() => undefined);
  const { dollarTokens } = context.slippage;
  const ownHistory = createOwnHistory({ books, dollarTokens, tokens, readPrice: findPrice, clock, onFailure });
  const slippage = createSlippage({ ...context, options: context.slippage, usdPrices, ownHistory });
  return {
    usdPrices,
    slippage,
    tokens: createTokenApi(context),
    simulation: createSimulation(context),
    pools: createPools({ ...context, sources: context.pools }),
    findPrice,
    readHistory: slippage.readHistory,
    stop: () => ownHistory.stop(),
  };
}
