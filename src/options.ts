import type { DocumentPolicy } from './app-data/documents.ts';
import type { IndexerOptions, ParsedIndexerOptions } from './chain/indexer-options.ts';
import { parseIndexerOptions } from './chain/indexer-options.ts';
import type { RecoveryPool } from './crypto/packed.ts';
import type { RecoveryBackendOption } from './crypto/recovery.ts';
import type { OrderPolicy } from './orders/admission.ts';
import type { SigningDomain } from './orders/authenticate.ts';
import type { ContractSignatures } from './orders/checks.ts';
import type { Limits, OwnerLimits, OwnerLimitsTable, TokenPolicy } from './orders/limits.ts';
import { DEFAULT_LIMITS } from './orders/limits.ts';
import type { ChainClient } from './ports/chain-client.ts';
import type { Clock } from './ports/clock.ts';
import { systemClock } from './ports/clock.ts';
import type { Store } from './ports/store.ts';
import type { Deployment } from './protocol/chains.ts';
import { chainById, deployment, ENVIRONMENTS, HOOKS_TRAMPOLINE } from './protocol/chains.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from './protocol/eip712.ts';
import type { Address } from './protocol/hex.ts';
import { parseHex } from './protocol/hex.ts';
import type { QuoteOptions } from './quotes/quote-options.ts';
import type { StreamLimits } from './streams/stream-limits.ts';
import { parseStreamLimits } from './streams/stream-limits.ts';
import { assertKnownOptions } from './validation/options.ts';

/**
 * What a book is made of: `chainId` and `store` at least. An option that is unknown or malformed is rejected by name.
 */
export interface OrderBookOptions extends OrderPolicy {
  /** The chain whose orders this book holds. */
  readonly chainId: number;
  /** Where orders are kept. One store serves one book. */
  readonly store: Store;
  /** The contract that orders are signed for. Default: the production one, the same on every known chain. */
  readonly settlementContract?: string;
  /**
   * The contract that owners allow to move their sell tokens. Default: the one that belongs to the settlement contract;
   * needed with a chain when that is not a known one.
   */
  readonly vaultRelayer?: string;
  /** The contract that hooks run through. Default: the one that is the same on every known chain. */
  readonly hooksTrampoline?: string;
  /** The token that stands for native currency when it is sold. Default: the known one of the chain. */
  readonly wrappedNative?: string;
  /** Tokens that orders may neither sell nor buy. Default: none. */
  readonly deniedTokens?: readonly string[];
  /** What a book lets in; each limit has its default. */
  readonly limits?: Partial<Limits>;
  /** Limits of single owners, by address, instead of those for everybody. `null` lifts a limit. */
  readonly ownerLimits?: Readonly<Record<string, OwnerLimitsOption>>;
  /** Who is asked for balances, allowances and contract signatures. Default: nobody, and nothing of it is checked. */
  readonly chain?: ChainClient;
  /** How the chain is followed: what it says about orders. Default: not at all, or by the host, through `book.chain`. */
  readonly indexer?: IndexerOptions;
  /** Milliseconds that the chain, or a function of the host, has to answer a question. Default 5000. */
  readonly checkTimeout?: number;
  /**
   * What happens to contract signatures (EIP-1271) where no chain can check them: rejected with
   * `UnsupportedSigningScheme`, or let in unverified. Default: rejected.
   */
  readonly eip1271?: 'reject' | 'accept-unverified';
  /**
   * Whether an order may give the hash of a known app-data document instead of the document. The contract is going to
   * drop that form. Default: accepted.
   */
  readonly appDataHash?: 'accept' | 'reject';
  /** Where quotes come from. Default: nowhere, every quote is rejected with `NoLiquidity`. */
  readonly quotes?: QuoteOptions;
  /** Where public keys are recovered. Default: natively where the package secp256k1 is installed, else in WebAssembly. */
  readonly recovery?: RecoveryBackendOption;
  /** Other threads that recover signers when many orders come at once. The host closes them. Default: none. */
  readonly recoveryPool?: RecoveryPool;
  /**
   * Bytes of rendered orders that are kept in memory, 0 for none. Default 32 MiB. They are kept only where they are exact:
   * with a store that nobody else writes to.
   */
  readonly cacheBytes?: number;
  /**
   * Milliseconds between two looks for orders whose time has passed, `off` for none: then nobody is told of them. An
   * expiry is announced at most this much later, and what the look takes. Default 1000.
   */
  readonly expiryInterval?: number | 'off';
  /**
   * Days that orders are kept for after they are over, and at least as long after they came: then they are removed, in
   * bounded steps, with the quotes that they were linked to. What the chain has said of them stays. Needs `expiryInterval`. Default: for
   * ever.
   */
  readonly retention?: number;
  /** What a stream of orders may hold back. */
  readonly streams?: StreamLimits;
  /** Where time comes from. Default: the machine's clock. */
  readonly clock?: Clock;
}

/** How many live orders one owner may have; `null` for any number, absent for what everybody may. */
export type OwnerLimitsOption = { readonly [K in keyof OwnerLimits]?: number | null };

const OPTIONS = [
  'chainId',
  'store',
  'settlementContract',
  'vaultRelayer',
  'hooksTrampoline',
  'wrappedNative',
  'deniedTokens',
  'limits',
  'ownerLimits',
  'chain',
  'indexer',
  'checkTimeout',
  'eip1271',
  'appDataHash',
  'isDenied',
  'isActivelyBidOn',
  'quotes',
  'recovery',
  'recoveryPool',
  'cacheBytes',
  'expiryInterval',
  'retention',
  'streams',
  'clock',
] as const satisfies readonly (keyof OrderBookOptions)[];

/** The options of a book, read: defaults filled in, addresses in lower case. */
export interface Configuration {
  readonly chainId: number;
  readonly store: Store;
  readonly settlementContract: Address;
  readonly vaultRelayer: Address;
  readonly hooksTrampoline: Address;
  readonly tokens: TokenPolicy;
  readonly limits: Limits;
  readonly ownerLimits: OwnerLimitsTable;
  readonly chain: ChainClient | undefined;
  readonly indexer: ParsedIndexerOptions | undefined;
  readonly checkTimeout: number;
  readonly eip1271: ContractSignatures;
  readonly documents: DocumentPolicy;
  /** The EIP-712 domain that orders are signed for. */
  readonly domain: SigningDomain;
  readonly host: OrderPolicy;
  readonly quotes: QuoteOptions | undefined;
  readonly recovery: { readonly backend?: RecoveryBackendOption; readonly pool?: RecoveryPool };
  /** 0 where nothing may be kept. */
  readonly cacheBytes: number;
  readonly expiryInterval: number | undefined;
  /** Seconds. */
  readonly retention: number | undefined;
  readonly streams: Required<StreamLimits>;
  readonly clock: Clock;
}

/**
 * Reads the options once, so that a mistake is a `TypeError` at creation and not a surprise later.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function parseOptions(options: OrderBookOptions): Configuration {
  assertKnownOptions('createOrderBook', options, OPTIONS);
  const { chainId, store, chain, quotes, recovery, recoveryPool, checkTimeout = 5000 } = options;
  if (!Number.isSafeInteger(chainId) || chainId <= 0) throw invalid('chainId must be an integer');
  if (store === undefined) throw invalid('a store is required, such as memoryStore()');
  if (!Number.isSafeInteger(checkTimeout) || checkTimeout < 1) throw invalid('checkTimeout must be milliseconds');
  const eip1271 = oneOf('eip1271', ['reject', 'accept-unverified'], options.eip1271);
  const appDataHash = oneOf('appDataHash', ['accept', 'reject'], options.appDataHash);
  const contracts = parseContracts(options);
  const limits = parseLimits(options.limits ?? {});
  return {
    ...contracts,
    chainId,
    store,
    chain,
    quotes,
    limits,
    checkTimeout,
    domain: {
      name: DOMAIN_NAME,
      version: DOMAIN_VERSION,
      chainId,
      verifyingContract: contracts.settlementContract,
    },
    documents: { maxAppDataSize: limits.maxAppDataSize, appDataHashForm: appDataHash === 'accept' },
    indexer: options.indexer && parseIndexerOptions(options.indexer, deployed(options).ethFlow),
    tokens: tokenPolicy(options),
    ownerLimits: parseOwnerLimits(options.ownerLimits ?? {}),
    eip1271: chain?.isValidSignature !== undefined ? 'verified' : eip1271 === 'reject' ? 'rejected' : 'unverified',
    host: parseOrderPolicy(options),
    recovery: {
      ...(recovery === undefined ? {} : { backend: recovery }),
      ...(recoveryPool === undefined ? {} : { pool: recoveryPool }),
    },
    cacheBytes: cacheBytes(options),
    expiryInterval: expiryInterval(options),
    retention: retention(options),
    streams: parseStreamLimits('createOrderBook', options.streams ?? {}),
    clock: options.clock ?? systemClock,
  };
}

function expiryInterval({ expiryInterval: interval = 1000 }: OrderBookOptions): number | undefined {
  if (interval === 'off') return undefined;
  if (Number.isSafeInteger(interval) && interval > 0) return interval;
  throw invalid('expiryInterval must be milliseconds, or "off"');
}

function retention({ retention: days, expiryInterval: interval }: OrderBookOptions): number | undefined {
  if (days === undefined) return undefined;
  if (!Number.isFinite(days) || days <= 0) throw invalid('retention must be days, more than none');
  if (interval === 'off') throw invalid('retention needs an expiryInterval: what is over is swept up first');
  return Math.ceil(days * 86_400);
}

/** Another process may change an order unseen, and a host may take back what its transaction has shown. */
function cacheBytes({ cacheBytes: bytes = 32 * 1024 * 1024, store }: OrderBookOptions): number {
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw invalid('cacheBytes must be a whole number of bytes');
  return store.traits.writers === 'single' && !store.traits.hostTransaction ? bytes : 0;
}

/** The contracts that belong to the settlement contract, as far as they are known. */
function deployed({ chainId, settlementContract }: OrderBookOptions): Partial<Deployment> {
  const known = chainById(chainId);
  const wanted = settlementContract?.toLowerCase() ?? deployment('production', known).settlement;
  const deployments = ENVIRONMENTS.map((environment) => deployment(environment, known));
  return deployments.find(({ settlement }) => settlement === wanted) ?? {};
}

function parseContracts(options: OrderBookOptions) {
  const production = deployment('production', chainById(options.chainId));
  const settlementContract = address(options.settlementContract ?? production.settlement, 'settlementContract');
  const vaultRelayer = options.vaultRelayer ?? deployed(options).vaultRelayer;
  if (vaultRelayer === undefined && options.chain !== undefined) {
    throw invalid(`vaultRelayer is required, the one of ${settlementContract} is not known`);
  }
  return {
    settlementContract,
    vaultRelayer: address(vaultRelayer ?? production.vaultRelayer, 'vaultRelayer'),
    hooksTrampoline: address(options.hooksTrampoline ?? HOOKS_TRAMPOLINE, 'hooksTrampoline'),
  };
}

function tokenPolicy({ chainId, wrappedNative, deniedTokens = [] }: OrderBookOptions): TokenPolicy {
  return {
    wrappedNative:
      wrappedNative === undefined ? chainById(chainId)?.wrappedNative : address(wrappedNative, 'wrappedNative'),
    deniedTokens: new Set(deniedTokens.map((token) => address(token, 'deniedTokens'))),
  };
}

function parseOrderPolicy({ isDenied, isActivelyBidOn }: OrderBookOptions): OrderPolicy {
  for (const [name, rule] of Object.entries({ isDenied, isActivelyBidOn })) {
    if (rule !== undefined && typeof rule !== 'function') throw invalid(`${name} must be a function`);
  }
  return {
    ...(isDenied === undefined ? {} : { isDenied }),
    ...(isActivelyBidOn === undefined ? {} : { isActivelyBidOn }),
  };
}

function parseLimits(limits: Partial<Limits>): Limits {
  assertKnownOptions('createOrderBook, limits', limits, Object.keys(DEFAULT_LIMITS));
  for (const [name, limit] of Object.entries(limits)) {
    const least = name === 'maxUnreferencedDocuments' ? 1 : 0;
    if (limit !== undefined) requireWhole(limit, `limits.${name}`, least);
  }
  return { ...DEFAULT_LIMITS, ...defined(limits) };
}

function parseOwnerLimits(table: Readonly<Record<string, OwnerLimitsOption>>): OwnerLimitsTable {
  const entries = Object.entries(table).map(([owner, option]): [Address, Partial<OwnerLimits>] => {
    assertKnownOptions('createOrderBook, ownerLimits', option, ['maxOpenOrders', 'maxPendingOrders']);
    const limits = Object.entries(defined(option)).map(([name, limit]) => {
      if (limit === null) return [name, undefined];
      requireWhole(limit, `ownerLimits.${name}`, 0);
      return [name, limit];
    });
    return [address(owner, 'ownerLimits'), Object.fromEntries(limits)];
  });
  return new Map(entries);
}

/** Without the members that are there but undefined, which would hide a default. */
function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T; // fewer of its own
}

function requireWhole(value: unknown, name: string, least: number): void {
  if (!Number.isSafeInteger(value) || Number(value) < least) {
    throw invalid(`${name} must be a whole number from ${least} up, not ${String(value)}`);
  }
}

function oneOf<T extends string>(name: string, allowed: readonly [T, ...T[]], value: T | undefined): T {
  const chosen = value ?? allowed[0];
  if (allowed.includes(chosen)) return chosen;
  throw invalid(`${name} must be one of ${allowed.join(', ')}, not ${String(value)}`);
}

function address(text: string, option: string): Address {
  const parsed = parseHex(text, 20);
  if (parsed === undefined) throw invalid(`${option} must be 0x and 40 hex digits, not "${text}"`);
  return parsed;
}

function invalid(reason: string): TypeError {
  return new TypeError(`createOrderBook: ${reason}`);
}
