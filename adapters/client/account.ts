import type { NotificationType, TokenBalance } from 'intentbook';
import type {
  AccountOrder,
  AccountTrade,
  AffiliateTerms,
  CreatedSubscription,
  Notification,
  NotificationStreamEvent,
  SubscriptionView,
} from 'intentbook/accounts';
import {
  type AffiliateCodeTypedData,
  accountDomain,
  affiliateCodeTypedData,
  type SubscriptionTypedData,
  subscriptionTypedData,
} from 'intentbook/sign';
import { readEvents } from './event-stream.ts';
import {
  assertKnown,
  type ClientOptions,
  createSender,
  getNextCursor,
  orUndefined,
  type RequestError,
  toBody,
  toQuery,
} from './http.ts';

/** An account that signs typed data, such as an account of viem. */
export interface AccountWallet {
  readonly address: string;
  /** Signs typed data (EIP-712). Returns the signature as hex. */
  signTypedData(typedData: SubscriptionTypedData): Promise<string>;
  signTypedData(typedData: AffiliateCodeTypedData): Promise<string>;
}

/** Options of an account client. */
export interface AccountClientOptions {
  /**
   * Base URL of the account interface. A server with several books serves it at its root. Default: the URL of the
   * client.
   */
  readonly url?: string;
  /** The name of the domain that the account signs for. Default: `Service Affiliate`. */
  readonly domainName?: string;
  /** The audience that the signature of a list names: the host of the server's public URL. Default: `domainName`. */
  readonly audience?: string;
}

/** Paging of a list. */
export interface PageQuery {
  /** 1 to 1000. Default: 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** Options of a stream of notifications. */
export interface NotificationStreamOptions {
  /** Position after which the stream begins: the `id` of the last event that was processed. Default: now. */
  readonly after?: number;
  /** Ends the stream when it is aborted. Default: none. */
  readonly signal?: AbortSignal;
}

/** The affiliate code of a wallet, with the terms of the programme if the server has them. */
export interface AffiliateCodeView extends Partial<AffiliateTerms> {
  readonly code: string;
  /** ISO 8601 in UTC. */
  readonly createdAt: string;
}

/** A client of the account interface, for one account. Methods throw a `RequestError` for an error response. */
export interface AccountClient {
  readonly address: string;
  readonly notifications: {
    /** Lists notifications, newest first. */
    list(query?: PageQuery): Promise<{ readonly notifications: readonly Notification[]; readonly next?: string }>;
    /**
     * Streams notifications, and reconnects automatically after the last event. Leaving the iteration ends the stream.
     */
    stream(options?: NotificationStreamOptions): AsyncIterable<NotificationStreamEvent>;
  };
  /** Creates a subscription, or replaces the types of that with this channel and target. The account signs. */
  subscribe(terms: {
    /** Such as `webhook`. */
    readonly channel: string;
    /** Such as a URL. Default: empty, for channels without a target. */
    readonly target?: string;
    readonly types: readonly NotificationType[];
  }): Promise<CreatedSubscription>;
  /** Lists the subscriptions, oldest first. The account signs. */
  subscriptions(): Promise<readonly SubscriptionView[]>;
  /** Removes a subscription. The account signs. */
  unsubscribe(id: string): Promise<void>;
  readonly affiliate: {
    /** Returns the code of the account, or undefined if it has none. */
    get(): Promise<AffiliateCodeView | undefined>;
    /** Binds a code to the account, which signs it. */
    register(code: string): Promise<AffiliateCodeView>;
  };
  readonly history: {
    /** Lists the orders of the account in all books, newest first. */
    orders(query?: PageQuery): Promise<{ readonly orders: readonly AccountOrder[]; readonly next?: string }>;
    /** Lists its trades in all books, newest first. */
    trades(query?: PageQuery): Promise<{ readonly trades: readonly AccountTrade[]; readonly next?: string }>;
  };
  /** Returns the balances of at most 100 tokens, and the allowances of the vault relayer. */
  balances(chainId: number, tokens: readonly string[]): Promise<readonly TokenBalance[]>;
  /** Returns US dollars for one whole token, or undefined if no source has a price. */
  usdPrice(chainId: number, token: string): Promise<number | undefined>;
}

/** Validity of a signature in seconds. That of a list can be used repeatedly, and the server accepts five minutes. */
const VALIDITY = 240;

/** The messages of the account interface for what does not exist. */
const isNotFound = ({ message }: RequestError) => /^(Affiliate|Price) not found$/.test(message);

/** @throws TypeError if the account, its address or an option is malformed. */
export function createAccountClient(
  wallet: string | AccountWallet,
  clientUrl: string,
  clientOptions: ClientOptions,
  options: AccountClientOptions = {},
): AccountClient {
  assertKnown('account: unknown option', options, ['url', 'domainName', 'audience']);
  const { url = clientUrl, domainName, audience } = options;
  const { address } = typeof wallet === 'string' ? { address: wallet } : Object(wallet);
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) {
    throw new TypeError(`account: must be an address, or an object with address and signTypedData, got ${address}`);
  }
  const sender = createSender(url, clientOptions, '/');
  const { request } = sender;
  const domain = accountDomain(domainName);
  const { requireSigner, prove, authorize } = createProofs(wallet, address, domain);
  const path = `accounts/${address}`;

  async function readPage<K extends string, T>(list: K, query: PageQuery = {}) {
    assertKnown(`${list}: unknown filter`, query, ['limit', 'cursor']);
    const { limit = 100, cursor } = query;
    // Notification lists may be cached for minutes.
    const init = { cache: 'no-cache' } as RequestInit; // a member that the types of Node.js lack
    const { body, link } = await request<T[]>('GET', `${path}/${list}?${toQuery({ limit, cursor })}`, { init });
    const next = getNextCursor(link);
    const rows = { [list]: body } as Record<K, T[]>; // one member
    return { ...rows, ...(next === undefined ? {} : { next }) };
  }

  async function* stream(options: NotificationStreamOptions = {}): AsyncGenerator<NotificationStreamEvent> {
    assertKnown('notifications.stream: unknown option', options, ['after', 'signal']);
    const { after, signal } = options;
    const control = new AbortController();
    const ended = signal === undefined ? control.signal : AbortSignal.any([signal, control.signal]);
    try {
      const events = readEvents(sender, `${path}/notifications/stream`, clientOptions, ended, { lastId: after });
      for await (const { type, id = 0, data } of events) {
        // The formats of the events. One without a type is the opening, or a position.
        if (type === 'notification') yield { type, id, notification: JSON.parse(data) as Notification };
        if (type === 'withdrawn') yield { type, id, notification: (JSON.parse(data) as { id: string }).id };
        if (type === 'gap') yield { type, ...(JSON.parse(data) as { from: number; to: number }) };
      }
    } finally {
      control.abort();
    }
  }

  return {
    address,
    notifications: {
      list: (query) => readPage<'notifications', Notification>('notifications', query),
      stream,
    },
    async subscribe(given) {
      toBody('terms', given);
      const { channel, target = '', types } = given;
      const terms = { channel, target, types };
      const body = { ...terms, ...(await prove(terms)) };
      return (await request<CreatedSubscription>('POST', `${path}/subscriptions`, { body })).body;
    },
    async subscriptions() {
      const init = { headers: await authorize(audience ?? domain.name) };
      return (await request<SubscriptionView[]>('GET', `${path}/subscriptions`, { init })).body;
    },
    async unsubscribe(id) {
      const init = { headers: await authorize(id) };
      await request('DELETE', `${path}/subscriptions?${toQuery({ id })}`, { init });
    },
    affiliate: {
      get: () => orUndefined(request<AffiliateCodeView>('GET', `affiliate/${address}`), isNotFound),
      async register(code) {
        const typedData = affiliateCodeTypedData(domain, address, code);
        const body = { walletAddress: address, code, signedMessage: await requireSigner().signTypedData(typedData) };
        return (await request<AffiliateCodeView>('POST', `affiliate/${address}`, { body })).body;
      },
    },
    history: {
      orders: (query) => readPage<'orders', AccountOrder>('orders', query),
      trades: (query) => readPage<'trades', AccountTrade>('trades', query),
    },
    async balances(chainId, tokens) {
      const list = `${chainId}/${path}/balances?${toQuery({ tokens: `${tokens}` })}`;
      return (await request<TokenBalance[]>('GET', list)).body;
    },
    async usdPrice(chainId, token) {
      const response = request<{ readonly price: number }>('GET', `${chainId}/tokens/${token}/usdPrice`);
      return (await orUndefined(response, isNotFound))?.price;
    },
  };
}

/** Creates the functions that sign requests with the wallet of the account. */
function createProofs(wallet: string | AccountWallet, account: string, domain: ReturnType<typeof accountDomain>) {
  function requireSigner(): AccountWallet {
    if (typeof wallet !== 'string' && typeof wallet.signTypedData === 'function') return wallet;
    throw new TypeError('account: a signature is required: pass an object with address and signTypedData, as of viem');
  }

  async function prove(terms: { channel?: string; target: string; types?: readonly string[] }) {
    const random = crypto.getRandomValues(new BigUint64Array(2));
    const nonce = String(random.reduce((sum, word) => (sum << 64n) + word, 0n));
    const deadline = Math.floor(Date.now() / 1000) + VALIDITY;
    const proof = { nonce, deadline };
    const typedData = subscriptionTypedData(domain, { account, ...terms, ...proof });
    const signature = await requireSigner().signTypedData(typedData);
    return { ...proof, signature };
  }

  async function authorize(target: string) {
    const { nonce, deadline, signature } = await prove({ target });
    return { authorization: `Subscription nonce=${nonce}, deadline=${deadline}, signature=${signature}` };
  }

  return { requireSigner, prove, authorize };
}
