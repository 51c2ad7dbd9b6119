import type { ContractSignatures } from './admission/checks.ts';
import { createCodeConverter } from './admission/convert-codes.ts';
import type { Limits, OwnerLimits, OwnerLimitsTable, TokenPolicy } from './admission/limits.ts';
import { DEFAULT_LIMITS } from './admission/limits.ts';
import type { OrderPolicy } from './admission/policy.ts';
import { type AuctionOptions, parseAuctionOptions } from './auctions/index.ts';
import type { IndexerOptions, JustInTimeOrders } from './chain/index.ts';
import { parseIndexerOptions } from './chain/index.ts';
import type { RecoveryPool } from './crypto/packed.ts';
import type { RecoveryBackendOption } from './crypto/recovery.ts';
import { parseStreamLimits, type StreamLimits } from './limits/index.ts';
import { assertOptionObjects } from './option-objects.ts';
import { parseRetention, type RetentionOptions } from './orders/index.ts';
import type { ChainClient } from './ports/chain-client.ts';
import { type Clock, systemClock } from './ports/clock.ts';
import type { DocumentSource } from './ports/document-source.ts';
import type { Logger } from './ports/logger.ts';
import type { OrderSimulator } from './ports/order-simulator.ts';
import type { Store } from './ports/store.ts';
import type { Upstream } from './ports/upstream.ts';
import { chainById, type Deployment, deployment, ENVIRONMENTS, HOOKS_TRAMPOLINE } from './protocol/chains.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from './protocol/eip712.ts';
import { formatValue } from './protocol/format-value.ts';
import type { Address } from './protocol/hex.ts';
import { PROFILE_RULES, PROFILES, type Profile, RULE_VALUES, type Rules } from './protocol/profile.ts';
import type { QuoteOptions } from './quotes/index.ts';
import type { RelayMode } from './upstream/index.ts';
import {
  assertKnownOptions,
  parseAddress,
  requireChainOption,
  requireFunction,
  requireInteger,
  requireMember,
} from './validation/options.ts';

/** Options of a book. `chainId` and `store` are required. An unknown or malformed option throws a `TypeError`. */
export interface OrderBookOptions extends OrderPolicy {
  /**
   * The chain id (EIP-155) of the orders. Any id is valid, since a local chain may have the contracts: check it against
   * that of the wallet. Orders signed for another id are rejected with `InvalidSignature`.
   */
  readonly chainId: number;
  /** The persistence adapter. A store serves one book. */
  readonly store: Store;
  /** Address of the settlement contract. Default: the production contract, which is the same on every known chain. */
  readonly settlementContract?: string;
  /**
   * Address of the vault relayer, the spender of sell tokens. Default: the relayer of the settlement contract. Required
   * with `chain` if the settlement contract is not a known one.
   */
  readonly vaultRelayer?: string;
  /** Address of the hooks trampoline. Default: the contract that is the same on every known chain. */
  readonly hooksTrampoline?: string;
  /** Address of the wrapped native token. Default: the known one of the chain. */
  readonly wrappedNative?: string;
  /**
   * Addresses of tokens that orders must not sell or buy. A set is read at every order, so that the host can change it;
   * its addresses must be in lower case. Default: none.
   */
  readonly deniedTokens?: readonly string[] | ReadonlySet<string>;
  /**
   * The rules of the book. `specification`: those of the specification. `production`: those of the production order
   * book, for codes, balances and app data. Default: `specification`.
   */
  readonly profile?: Profile;
  /** Rules that replace those of the profile. Default: none. */
  readonly rules?: Partial<Rules>;
  /** Limits of orders and documents. The defaults are those of the profile. */
  readonly limits?: Partial<Limits>;
  /** Limits of single owners by address. They replace the general limits; `null` removes a limit. */
  readonly ownerLimits?: Readonly<Record<string, OwnerLimitsOption>>;
  /** Client for balances, allowances and contract signatures. Default: none, and these checks are skipped. */
  readonly chain?: ChainClient;
  /**
   * Simulates the settlement of orders for operators, such as `viemOrderSimulator(client)`. Default: none, and
   * `orders.simulate` is rejected.
   */
  readonly simulator?: OrderSimulator;
  /** Options of the chain indexer. Default: no indexer; the host may apply chain events through `book.chain`. */
  readonly indexer?: IndexerOptions;
  /**
   * Timeout of a chain check or of a policy function of the host, in milliseconds. After it, the order is rejected with
   * `ChainUnavailable` or `InternalServerError`, both retryable. Default: 5000.
   */
  readonly checkTimeout?: number;
  /**
   * Handling of contract signatures (EIP-1271) if no chain client can verify them: `reject` with
   * `UnsupportedSigningScheme`, or `accept-unverified`. Default: `reject`.
   */
  readonly eip1271?: 'reject' | 'accept-unverified';
  /**
   * Whether an order may carry the hash of a known app-data document instead of the document. The contract will drop
   * this form. Default: `accept`.
   */
  readonly appDataHash?: 'accept' | 'reject';
  /**
   * Source of app-data documents that the store does not have, such as an IPFS gateway. Hash and size are verified.
   * Default: none, and orders with an unknown hash are rejected.
   */
  readonly documentSource?: DocumentSource;
  /** Estimators and their options. Default: none; every quote request is rejected with `NoLiquidity`. */
  readonly quotes?: QuoteOptions;
  /** Backend of signer recovery. Default: the first that loads of `system`, `native` and `wasm`. */
  readonly recovery?: RecoveryBackendOption;
  /** Worker threads for signer recovery of large batches. The host closes the pool. Default: none. */
  readonly recoveryPool?: RecoveryPool;
  /**
   * Size of the cache of rendered orders in bytes; 0 disables it. Default: 33554432, 32 MiB. The cache is used only
   * with a store that has a single writer, where it is always exact.
   */
  readonly cacheBytes?: number;
  /**
   * Milliseconds between two sweeps for expired orders, or `off`. Without sweeps no `orderExpired` is emitted. Default:
   * 1000.
   */
  readonly expiryInterval?: number | 'off';
  /**
   * Days that old data is kept. A number is that of finished orders. Older data is deleted in bounded steps, once an
   * hour. Requires `expiryInterval`. Default: nothing is deleted.
   */
  readonly retention?: number | RetentionOptions;
  /**
   * Storage of orders that a settlement has traded and the book does not have: those of settlements of its auctions, or
   * of its orders without an auction (`own`), those of all settlements (`all`), or `off`. Default: `own`; with
   * `upstream`, `off`: orders of the other book are traded in the same settlements.
   */
  readonly justInTimeOrders?: JustInTimeOrders;
  /** Options of auctions. */
  readonly auctions?: AuctionOptions;
  /** Limits of order streams. */
  readonly streams?: StreamLimits;
  /**
   * An order book behind this one, such as `orderBookUpstream({ url })`. Submitted orders and cancellations go there,
   * and orders there are followed. Without `quotes`, quotes come from there. Default: none.
   */
  readonly upstream?: Upstream;
  /**
   * How submissions reach the upstream. `direct`: each waits for its answer. `queue`: each is stored, and sent when the
   * upstream can be reached. Default: `direct`.
   */
  readonly relay?: RelayMode;
  /** The clock. Default: the system clock. */
  readonly clock?: Clock;
  /** Logger of failures, nodes that do not respond, and reorganisations, such as pino. Default: none. */
  readonly logger?: Logger;
}

/** Limits of one owner. `null`: no limit. Absent: the general limit. */
export type OwnerLimitsOption = { readonly [K in keyof OwnerLimits]?: number | null };

const OPTIONS = [
  'chainId',
  'store',
  'settlementContract',
  'vaultRelayer',
  'hooksTrampoline',
  'wrappedNative',
  'deniedTokens',
  'profile',
  'rules',
  'limits',
  'ownerLimits',
  'chain',
  'simulator',
  'indexer',
  'checkTimeout',
  'eip1271',
  'appDataHash',
  'documentSource',
  'isDenied',
  'isActivelyBidOn',
  'quotes',
  'recovery',
  'recoveryPool',
  'cacheBytes',
  'expiryInterval',
  'retention',
  'justInTimeOrders',
  'auctions',
  'streams',
  'upstream',
  'relay',
  'clock',
  'logger',
] as const satisfies readonly (keyof OrderBookOptions)[];

type Selected<K extends keyof OrderBookOptions> = Extract<OrderBookOptions[K], string>;

/**
 * Parses the options of a book, adds defaults, and writes addresses in lower case.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function parseOptions(options: OrderBookOptions) {
  assertKnownOptions('createOrderBook', options, OPTIONS);
  const { chainId, store, chain, quotes, upstream, recovery, recoveryPool } = options;
  const { checkTimeout = 5000, clock = systemClock } = options;
  requireChainOption('createOrderBook: chainId', chainId);
  assertOptionObjects(options);
  requireInteger('createOrderBook: checkTimeout', checkTimeout);
  const select = <K extends 'eip1271' | 'appDataHash' | 'profile' | 'justInTimeOrders' | 'relay'>(
    name: K,
    allowed: readonly [Selected<K>, ...Selected<K>[]],
    initial: Selected<K> = allowed[0],
  ) => {
    const value = (options[name] ?? initial) as Selected<K>; // of this option
    return requireMember(`createOrderBook: ${name}`, allowed, value);
  };
  const unverified = select('eip1271', ['reject', 'accept-unverified']) === 'reject' ? 'rejected' : 'unverified';
  const eip1271: ContractSignatures = chain?.isValidSignature === undefined ? unverified : 'verified';
  const appDataHash = select('appDataHash', ['accept', 'reject']);
  const contracts = parseContracts(options);
  const profile = PROFILE_RULES[select('profile', PROFILES)];
  const rules = parseRules(profile.rules, options.rules ?? {});
  const limits = parseLimits(options.limits ?? {}, profile.maxAppDataSize);
  return {
    ...contracts,
    chainId,
    store,
    chain,
    simulator: options.simulator,
    quotes,
    limits,
    rules,
    convertCodes: createCodeConverter(rules),
    checkTimeout,
    domain: {
      name: DOMAIN_NAME,
      version: DOMAIN_VERSION,
      chainId,
      verifyingContract: contracts.settlementContract,
    },
    documents: { maxAppDataSize: limits.maxAppDataSize, appDataHashForm: appDataHash === 'accept' },
    documentSource: options.documentSource,
    indexer: options.indexer && parseIndexerOptions(options.indexer, findDeployment(options).ethFlow),
    tokens: tokenPolicy(options, rules),
    ownerLimits: parseOwnerLimits(options.ownerLimits ?? {}),
    eip1271,
    host: parseOrderPolicy(options),
    recovery: omitUndefined({ backend: recovery, pool: recoveryPool }),
    cacheBytes: cacheBytes(options),
    expiryInterval: expiryInterval(options),
    retention: parseRetention(options.retention, options.expiryInterval),
    justInTimeOrders: select('justInTimeOrders', ['own', 'all', 'off'], upstream && 'off'),
    auctions: parseAuctionOptions(options.auctions ?? {}),
    streams: parseStreamLimits('createOrderBook', options.streams ?? {}),
    upstream,
    relay: select('relay', ['direct', 'queue']),
    clock: upstream?.createClock?.(clock) ?? clock,
    logger: options.logger,
  };
}

function expiryInterval({ expiryInterval: interval = 1000 }: OrderBookOptions): number | undefined {
  if (interval === 'off') return undefined;
  if (Number.isSafeInteger(interval) && interval > 0) return interval;
  throw invalid(`expiryInterval must be a positive integer of milliseconds or "off", got ${formatValue(interval)}`);
}

/** Returns the cache size. Other writers, and rolled-back transactions of a host, would make a cached order stale. */
function cacheBytes({ cacheBytes: bytes = 32 * 1024 * 1024, store }: OrderBookOptions): number {
  requireInteger('createOrderBook: cacheBytes', bytes, 0);
  return store.traits.writers === 'single' && !store.traits.hostTransaction ? bytes : 0;
}

/** Returns the known contracts that belong to the settlement contract. */
function findDeployment({ chainId, settlementContract }: OrderBookOptions): Partial<Deployment> {
  const known = chainById(chainId);
  const wanted = settlementContract?.toLowerCase() ?? deployment('production', known).settlement;
  const deployments = ENVIRONMENTS.map((environment) => deployment(environment, known));
  return deployments.find(({ settlement }) => settlement === wanted) ?? {};
}

function parseContracts(options: OrderBookOptions) {
  const production = deployment('production', chainById(options.chainId));
  const settlementContract = parseAddress(
    'createOrderBook',
    'settlementContract',
    options.settlementContract ?? production.settlement,
  );
  const vaultRelayer = options.vaultRelayer ?? findDeployment(options).vaultRelayer;
  if (vaultRelayer === undefined && options.chain !== undefined) {
    throw invalid(`vaultRelayer is required: the relayer of ${settlementContract} is unknown`);
  }
  return {
    settlementContract,
    vaultRelayer: parseAddress('createOrderBook', 'vaultRelayer', vaultRelayer ?? production.vaultRelayer),
    hooksTrampoline: parseAddress('createOrderBook', 'hooksTrampoline', options.hooksTrampoline ?? HOOKS_TRAMPOLINE),
  };
}

function tokenPolicy(
  { chainId, wrappedNative, deniedTokens = [] }: OrderBookOptions,
  { sameToken, wrappedToNative }: Rules,
): TokenPolicy {
  return {
    wrappedNative:
      wrappedNative === undefined
        ? chainById(chainId)?.wrappedNative
        : parseAddress('createOrderBook', 'wrappedNative', wrappedNative),
    deniedTokens: parseDeniedTokens(deniedTokens),
    pairs: { sameToken, wrappedToNative },
  };
}

function parseDeniedTokens(tokens: readonly string[] | ReadonlySet<string>): ReadonlySet<Address> {
  if (typeof tokens !== 'object') throw invalid(`deniedTokens must be a list or a set, got ${formatValue(tokens)}`);
  const parsed = new Set([...tokens].map((token) => parseAddress('createOrderBook', 'deniedTokens', token)));
  return tokens instanceof Set ? (tokens as ReadonlySet<Address>) : parsed; // its addresses were parsed above
}

function parseOrderPolicy({ isDenied, isActivelyBidOn }: OrderBookOptions): OrderPolicy {
  const rules = omitUndefined({ isDenied, isActivelyBidOn });
  for (const [name, rule] of Object.entries(rules)) requireFunction(`createOrderBook: ${name}`, rule);
  return rules;
}

function parseRules(standard: Rules, given: Partial<Rules>): Rules {
  assertKnownOptions('createOrderBook, rules', given, Object.keys(RULE_VALUES));
  for (const [name, value] of Object.entries(omitUndefined(given))) {
    requireMember<string>(`createOrderBook: rules.${name}`, RULE_VALUES[name as keyof Rules], value); // checked above
  }
  return { ...standard, ...omitUndefined(given) };
}

function parseLimits(limits: Partial<Limits>, maxAppDataSize: number): Limits {
  assertKnownOptions('createOrderBook, limits', limits, Object.keys(DEFAULT_LIMITS));
  for (const [name, limit] of Object.entries(limits)) {
    const least = name === 'maxUnreferencedDocuments' ? 1 : 0;
    if (limit !== undefined) requireInteger(`createOrderBook: limits.${name}`, limit, least);
  }
  return { ...DEFAULT_LIMITS, maxAppDataSize, ...omitUndefined(limits) };
}

function parseOwnerLimits(table: Readonly<Record<string, OwnerLimitsOption>>): OwnerLimitsTable {
  const entries = Object.entries(table).map(([owner, option]): [Address, Partial<OwnerLimits>] => {
    assertKnownOptions('createOrderBook, ownerLimits', option, ['maxOpenOrders', 'maxPendingOrders']);
    const limits = Object.entries(omitUndefined(option)).map(([name, limit]) => [
      name,
      limit === null ? undefined : requireInteger(`createOrderBook: ownerLimits.${name}`, limit, 0),
    ]);
    return [parseAddress('createOrderBook', 'ownerLimits', owner), Object.fromEntries(limits)];
  });
  return new Map(entries);
}

/** Removes members that are `undefined`, which would replace a default. */
function omitUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members) as { [K in keyof T]?: Exclude<T[K], undefined> }; // a subset
}

function invalid(reason: string): TypeError {
  return new TypeError(`createOrderBook: ${reason}`);
}
