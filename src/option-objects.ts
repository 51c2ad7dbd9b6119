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
  assertStore(options.store);
  assertChainClient(options.chain);
  for (const [name, functions] of Object.entries(FUNCTIONS)) {
    assertFunctions(`createOrderBook: ${name}`, options[name as keyof typeof FUNCTIONS], functions); // a key of it
  }
}

/** The functions of options that are objects. */
const FUNCTIONS = {
  clock: ['now', 'after'],
  documentSource: ['find'],
  logger: ['info', 'warn', 'error'],
  recoveryPool: ['recover'],
  simulator: ['simulate'],
  upstream: ['open', 'submitOrder', 'getOrders'],
} as const;

/** @throws TypeError with the right call, if the name of a file is given. */
function assertStore(store: unknown): void {
  const isStore = typeof store === 'object' && store !== null && 'traits' in store && 'orders' in store;
  if (isStore) return;
  const example = typeof store === 'string' ? `sqliteStore({ path: ${JSON.stringify(store)} })` : 'memoryStore()';
  const got = 'deliveries' in Object(store) ? 'an account store' : formatValue(store);
  throw new TypeError(`createOrderBook: store must be a store such as ${example}, got ${got}`);
}

/** All functions of a chain client are optional: with a URL, or a client of viem, every check would be skipped. */
function assertChainClient(chain: ChainClient | undefined): void {
  if (chain === undefined || (typeof chain === 'object' && !('request' in chain))) return;
  throw new TypeError('createOrderBook: chain must be a client such as viemChain(client)');
}
