import { EventEmitter } from 'eventemitter3';
import type { RecoveryChoice } from './crypto/recovery.ts';
import type { OrderBookEvents } from './events.ts';
import { createFeed } from './feed.ts';
import { refuseUnknownOptions } from './options.ts';
import type { CancelResult, OrderCancellation, OrderCancellations } from './orders/cancel.ts';
import { cancel } from './orders/cancel.ts';
import type { OrderCreation } from './orders/creation.ts';
import type { Limits, TokenPolicy } from './orders/limits.ts';
import { DEFAULT_LIMITS } from './orders/limits.ts';
import type { ListQuery, OrderPage, OrderResult } from './orders/listing.ts';
import { parsedPage, parsedResults, parseListQuery, requireUid } from './orders/listing.ts';
import type { ShownDomain } from './orders/owner.ts';
import type { RenderedPage, RenderedResult } from './orders/read.ts';
import { listOrders, readOrder, readOrders } from './orders/read.ts';
import type { SubmitOptions, SubmitResult } from './orders/submit.ts';
import { submit } from './orders/submit.ts';
import type { Order, RenderedOrder } from './orders/wire.ts';
import type { Clock } from './ports/clock.ts';
import { systemClock } from './ports/clock.ts';
import type { Store } from './ports/store.ts';
import { StoreError } from './ports/store.ts';
import { chainById, deployment } from './protocol/chains.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from './protocol/eip712.ts';
import type { Address } from './protocol/hex.ts';
import { parseHex } from './protocol/hex.ts';
import type { Verifier } from './protocol/verifier.ts';
import { createVerifier } from './protocol/verifier.ts';
import type { QuoteOptions, Quotes } from './quotes/quotes.ts';
import { createQuotes, NO_SOURCES } from './quotes/quotes.ts';

export interface OrderBookOptions {
  /** The chain whose orders this book holds. */
  readonly chainId: number;
  /** Where orders are kept. One store serves one book. */
  readonly store: Store;
  /** The contract that orders are signed for. Default: the production one, the same on every known chain. */
  readonly settlementContract?: string;
  /** The token that stands for native currency when it is sold. Default: the known one of the chain. */
  readonly wrappedNative?: string;
  /** Tokens that orders may neither sell nor buy. Default: none. */
  readonly deniedTokens?: readonly string[];
  /** What a book lets in; each limit has its default. */
  readonly limits?: Partial<Limits>;
  /**
   * What happens to contract signatures (EIP-1271) while nothing can check them: refused with
   * `UnsupportedSigningScheme`, or let in unverified. Default: refused.
   */
  readonly eip1271?: 'refuse' | 'accept-unverified';
  /** Where quotes come from. Default: nowhere, every quote is refused with `NoLiquidity`. */
  readonly quotes?: QuoteOptions;
  /** Where public keys are recovered. Default: natively where the package secp256k1 is installed, else in WebAssembly. */
  readonly recovery?: RecoveryChoice;
  /** Where time comes from. Default: the machine's clock. */
  readonly clock?: Clock;
}

/** Whether a book can serve, and what each of its parts says. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

/** The verbs on orders. Refusals are returned; only faults reject. */
export interface Orders {
  /** Checks a signed order and stores it. */
  submit(order: OrderCreation, options?: SubmitOptions): Promise<SubmitResult>;
  /** Reads one order. Rejects with `InvalidParameter` when `uid` is none. */
  get(uid: string): Promise<Order | undefined>;
  /** Reads any number of orders: each once, unknown ones absent, a damaged row as an `error` element. */
  getMany(uids: readonly string[]): Promise<OrderResult[]>;
  /** Lists orders, newest first, a page at a time. Rejects with `InvalidParameter` for a bad filter. */
  list(query?: ListQuery): Promise<OrderPage>;
  /** Cancels orders by their owner's signature: all of them, or none. */
  cancel(request: OrderCancellations | OrderCancellation): Promise<CancelResult>;
  /** The same reads as JSON text, as the HTTP interface sends it: nothing is parsed, nothing rendered twice. */
  readonly rendered: {
    get(uid: string): Promise<RenderedOrder | undefined>;
    getMany(uids: readonly string[]): Promise<RenderedResult[]>;
    list(query?: ListQuery): Promise<RenderedPage>;
  };
}

/** An order book of one settlement contract on one chain. */
export interface OrderBook {
  readonly chainId: number;
  readonly settlementContract: Address;
  readonly orders: Orders;
  readonly quotes: Quotes;

  /** Opens the store. Every verb rejects until then. */
  start(): Promise<void>;
  /** Tells the events still untold and closes the store. A closed book can be started again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Whether the book can serve. Never rejects. */
  ready(): Promise<Readiness>;

  /** Tells listeners of `fault` about something that no caller waits for. For mounts. */
  report(fault: unknown): void;

  /** Listens. A listener that throws disturbs nobody; what it threw is told as `fault`. */
  on<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
  off<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
}

const OPTIONS = [
  'chainId',
  'store',
  'settlementContract',
  'wrappedNative',
  'deniedTokens',
  'limits',
  'eip1271',
  'quotes',
  'recovery',
  'clock',
] as const satisfies readonly (keyof OrderBookOptions)[];

/**
 * Creates a book. Nothing runs until `start`.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createOrderBook(options: OrderBookOptions): OrderBook {
  const { chainId, settlementContract, tokens, limits, clock } = configure(options);
  const { store } = options;
  const emitter = new EventEmitter<OrderBookEvents>();
  const feed = createFeed(store, emitter);
  const domain: ShownDomain = {
    ...{ name: DOMAIN_NAME, version: DOMAIN_VERSION },
    ...{ chainId, verifyingContract: settlementContract },
  };
  const onFault = (fault: unknown) => void emitter.emit('fault', fault);
  const reading = { store, clock, onFault };
  const quoting = createQuotes(options.quotes ?? NO_SOURCES, {
    ...{ store, clock, limits, tokens, onFault },
    observe: (observation) => void emitter.emit('sourceAsked', observation),
  });
  let verifier: Verifier | undefined;
  let starting: Promise<void> | undefined;

  function started(): Verifier {
    if (verifier === undefined) throw new StoreError('Closed', 'the book is not started');
    return verifier;
  }

  const rendered: Orders['rendered'] = {
    async get(uid) {
      return readOrder(requireUid(uid), reading);
    },
    async getMany(uids) {
      return readOrders(uids.map(requireUid), reading);
    },
    async list(query = {}) {
      return listOrders(parseListQuery(query), reading);
    },
  };

  const orders: Orders = {
    async submit(order, submitOptions) {
      const eip1271 = options.eip1271 ?? 'refuse';
      const context = {
        store,
        clock,
        verifier: started(),
        domain,
        limits,
        tokens,
        eip1271,
        quoting: options.quotes !== undefined,
      };
      const result = await submit(order, context, submitOptions);
      if (result.status === 'accepted') feed.wake();
      return result;
    },
    async get(uid) {
      const order = await rendered.get(uid);
      return order && (JSON.parse(order.json) as Order); // rendered from one
    },
    async getMany(uids) {
      return parsedResults(await rendered.getMany(uids));
    },
    async list(query) {
      return parsedPage(await rendered.list(query));
    },
    async cancel(request) {
      const result = await cancel(request, { store, clock, verifier: started() });
      if (result.status === 'cancelled') feed.wake();
      return result;
    },
    rendered,
  };

  const quotes: Quotes = {
    async request(request, call) {
      started();
      return quoting.verbs.request(request, call);
    },
    async stream(request, call) {
      started();
      return quoting.verbs.stream(request, call);
    },
    async nativePrice(token, call) {
      started();
      return quoting.verbs.nativePrice(token, call);
    },
    counters: quoting.verbs.counters,
  };

  async function open(): Promise<void> {
    if (verifier !== undefined) return;
    const ready = await createVerifier({ chainId, settlementContract, ...backendOf(options) });
    await store.open({ domain: { chainId, settlementContract }, clock });
    try {
      await feed.start();
    } catch (fault) {
      await store.close();
      throw fault;
    }
    quoting.start();
    verifier = ready;
  }

  async function close(): Promise<void> {
    await starting?.catch(() => {}); // told to whoever starts
    if (verifier === undefined) return;
    verifier = undefined;
    await quoting.stop();
    await feed.stop();
    await store.close();
  }

  return {
    chainId,
    settlementContract,
    orders,
    quotes,
    start() {
      starting ??= open().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    close,
    [Symbol.asyncDispose]: close,
    async ready() {
      try {
        started();
        await store.check();
        return { ready: true, checks: { store: 'ok' } };
      } catch (fault) {
        return { ready: false, checks: { store: fault instanceof StoreError ? fault.code : 'unavailable' } };
      }
    },
    report: onFault,
    on(event, listener) {
      emitter.on(event, listener as AnyListener);
    },
    off(event, listener) {
      emitter.off(event, listener as AnyListener);
    },
  };
}

/** The emitter's own type of a listener is lost on a generic event name. */
type AnyListener = (argument: unknown) => void;

function backendOf({ recovery }: OrderBookOptions): { readonly backend?: RecoveryChoice } {
  return recovery === undefined ? {} : { backend: recovery };
}

/** Reads the options once, so that a mistake is a `TypeError` at creation and not a surprise later. */
function configure(options: OrderBookOptions) {
  refuseUnknownOptions('createOrderBook', options, OPTIONS);
  refuseUnknownOptions('createOrderBook, limits', options.limits ?? {}, Object.keys(DEFAULT_LIMITS));
  const { chainId } = options;
  if (!Number.isSafeInteger(chainId) || chainId <= 0)
    throw new TypeError('createOrderBook: chainId must be an integer');
  if (options.store === undefined) throw new TypeError('createOrderBook: a store is required, such as memoryStore()');
  const chain = chainById(chainId);
  const tokens: TokenPolicy = {
    wrappedNative:
      options.wrappedNative === undefined ? chain?.wrappedNative : address(options.wrappedNative, 'wrappedNative'),
    deniedTokens: new Set(options.deniedTokens?.map((token) => address(token, 'deniedTokens'))),
  };
  const settlement = options.settlementContract ?? deployment('production', chain).settlement;
  return {
    chainId,
    tokens,
    settlementContract: address(settlement, 'settlementContract'),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    clock: options.clock ?? systemClock,
  };
}

function address(text: string, option: string): Address {
  const parsed = parseHex(text, 20);
  if (parsed === undefined)
    throw new TypeError(`createOrderBook: ${option} must be 0x and 40 hex digits, not "${text}"`);
  return parsed;
}
