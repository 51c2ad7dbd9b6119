import { createOrderBook, type OrderBook, type Store } from 'intentbook';
import { chainById, deployment, type Environment } from '#internal';
import { createChainOptions } from './chain-options.ts';
import { addressOf, type BookPlan, type StoreLocation } from './config/plan.ts';
import { quoteOptions } from './quote-options.ts';

/** A served book. */
export interface OpenBook {
  readonly book: OrderBook;
  /** The name of its chain, or the chain id. */
  readonly chain: string;
  readonly environment: Environment;
  /** The path of the book: `/`, or a path such as `/staging/mainnet`. */
  readonly path: string;
  /** The store: the absolute path of the file, or the address of the database without secrets. */
  readonly database: string | undefined;
}

/** Opens a planned book, in a store of the host if given. */
export async function openBook(plan: BookPlan, store?: Store): Promise<OpenBook> {
  const { settings, chain, chainId, environment, path, place } = plan;
  const { maxOpenOrders = 1000, maxPendingPresign = 100 } = settings;
  const { minValidity, maxValidity, maxAppDataSize, maxUnreferencedDocuments } = settings;
  const { vaultRelayer, hooksTrampoline, wrappedNative, deniedTokens, eip1271, appDataHash } = settings;
  const { retention } = settings;
  const quotes = await quoteOptions({ ...settings, chain });
  const book = createOrderBook({
    chainId,
    settlementContract: settings.settlementContract ?? deployment(environment, chainById(chainId)).settlement,
    store: store ?? (await openStore(place)),
    limits: {
      ...defined({ minValidity, maxValidity, maxAppDataSize, maxUnreferencedDocuments }),
      maxOpenOrders: maxOpenOrders === 'off' ? undefined : maxOpenOrders,
      maxPendingOrders: maxPendingPresign === 'off' ? undefined : maxPendingPresign,
    },
    ...(await createChainOptions(settings)),
    ...defined({ vaultRelayer, hooksTrampoline, wrappedNative, deniedTokens, eip1271, appDataHash, quotes, retention }),
  });
  await book.start();
  return { book, chain, environment, path, database: store === undefined ? nameOf(place) : undefined };
}

/** Creates the store of a location, not yet opened. */
export async function openStore(place: StoreLocation): Promise<Store> {
  switch (place.kind) {
    case 'memory':
      return (await import('intentbook/memory')).memoryStore();
    case 'file':
      return (await import('intentbook/sqlite')).sqliteStore({ path: place.path });
    case 'postgres': {
      const { url, readUrl, schema, migrate, connections } = place;
      const { postgresStore } = await import('intentbook/postgres');
      return postgresStore({ url, schema, migrate, connections, ...defined({ readUrl }) });
    }
  }
}

function nameOf(place: StoreLocation): string | undefined {
  if (place.kind === 'memory') return undefined;
  return place.kind === 'file' ? place.path : `${addressOf(place.url)}, schema ${place.schema}`;
}

/** Removes members that are undefined. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const given = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], undefined> }; // a subset of the members
}
