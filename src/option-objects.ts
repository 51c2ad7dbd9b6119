import type { ChainClient } from './ports/chain-client.ts';
import { formatValue } from './protocol/format-value.ts';
import { assertFunctions } from './validation/options.ts';

/** Options of a book that are objects of the application or of an adapter. */
interface OptionObjects {
  readonly store: unknown;
  readonly chain?: ChainClient;
  readonly clock?: object;
  readonly documentSource?: object;
  readonly logger?: object;
  readonly recoveryPool?: object;
  readonly simulator?: object;
  readonly upstream?: object;
}

/**
 * Checks the options of a book that are objects.
 *
 * @throws TypeError naming the option.
 */
export function assertOptionObjects(options: OptionObjects): void {
  const { chain, clock, documentSource, logger, recoveryPool, simulator, store, upstream } = options;
  assertStore(store);
  assertChainClient(chain);
  assertFunctions('createOrderBook: clock', clock, ['now', 'after']);
  assertFunctions('createOrderBook: documentSource', documentSource, ['find']);
  assertFunctions('createOrderBook: logger', logger, ['info', 'warn', 'error']);
  assertFunctions('createOrderBook: recoveryPool', recoveryPool, ['recover']);
  assertFunctions('createOrderBook: simulator', simulator, ['simulate']);
  assertFunctions('createOrderBook: upstream', upstream, ['open', 'submitOrder', 'getOrders']);
}

/** @throws TypeError with the right call, if the name of a file is given. */
function assertStore(store: unknown): void {
  const isStore = typeof store === 'object' && store !== null && 'traits' in store && 'orders' in store;
  if (isStore) return;
  const example = typeof store === 'string' ? `sqliteStore({ path: ${JSON.stringify(store)} })` : 'memoryStore()';
  throw new TypeError(`createOrderBook: store must be a store such as ${example}, got ${formatValue(store)}`);
}

/** All functions of a chain client are optional: with a URL, or a client of viem, every check would be skipped. */
function assertChainClient(chain: ChainClient | undefined): void {
  if (chain === undefined || (typeof chain === 'object' && !('request' in chain))) return;
  throw new TypeError('createOrderBook: chain must be a client such as viemChain(client)');
}
