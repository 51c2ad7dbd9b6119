import type { Address, Hex, OrderCreation, QuoteResponse } from 'intentbook';
import type { CancellationTypedData, OrderToSign, OrderTypedData } from 'intentbook/sign';
import {
  appDataHash,
  cancellationTypedData,
  limitOrder,
  orderFromQuote,
  orderTypedData,
  orderUid,
  signingDomain,
  typedDataDigest,
} from 'intentbook/sign';
import { assertKnownOptions, defined, MAX_UINT256 } from '#internal';
import { keccakHex } from './abi.ts';
import { checkTokenAmount, checkValidity } from './arguments.ts';
import type { SandboxAccount, SandboxOwner } from './chain.ts';
import type { KeyRing } from './keys.ts';
import { toAtoms } from './units.ts';
import type { World } from './world.ts';

/** An amount of whole tokens and the symbol of the token, such as `['1.5', 'WETH']`. `ETH` is native currency. */
export type TokenAmount = readonly [amount: string | number, symbol: string];

/**
 * Terms of an order that are not taken from a quote. `{ sell, for }` sells exactly and buys at least, `{ buy, with }`
 * buys exactly and sells at most, and `{ sell, buy, kind }` names the side that is exact. Default: `sell`.
 */
export type LimitTerms = (
  | { readonly sell: TokenAmount; readonly for: TokenAmount }
  | { readonly buy: TokenAmount; readonly with: TokenAmount }
  | { readonly sell: TokenAmount; readonly buy: TokenAmount; readonly kind?: 'sell' | 'buy' }
) & {
  /** Signed fee, which a book rejects if it is above 0. Default: 0. */
  readonly fee?: TokenAmount;
};

/** How an order is signed. */
export type Scheme = 'eip712' | 'ethsign' | 'eip1271' | 'presign';

/** Options of an order. */
export interface PlaceOrderOptions {
  /** Tolerated loss against a quote, in basis points. Default: 50. */
  readonly slippageBps?: number;
  readonly partiallyFillable?: boolean;
  /** Validity in seconds from now. Default: that of the quote, or 1800. */
  readonly validFor?: number;
  /** Account that receives the buy token. Default: the owner. */
  readonly receiver?: Hex;
  /** The app-data document. Default: that of the quote, or `{}`. */
  readonly appData?: string;
  /** Default: `eip712` for an account, `eip1271` for a contract wallet. */
  readonly scheme?: Scheme;
}

const PLACE_ORDER_OPTIONS = ['slippageBps', 'partiallyFillable', 'validFor', 'receiver', 'appData', 'scheme'] as const;

/** An owner of orders. */
export interface Trader extends SandboxAccount, SandboxOwner {
  /** Signs typed data with the key. */
  signTypedData(typedData: OrderTypedData | CancellationTypedData): Hex;
  /** Creates an order without submitting it, for a test that changes it. */
  createOrder(terms: QuoteResponse | LimitTerms, options?: PlaceOrderOptions): OrderCreation;
  /**
   * Signs and submits an order.
   *
   * @returns The UID.
   * @throws OrderBookError if the book rejects the order.
   */
  placeOrder(terms: QuoteResponse | LimitTerms, options?: PlaceOrderOptions): Promise<Hex>;
  /**
   * Sells native currency through its contract. The order appears once the book has read the block.
   *
   * @returns The UID.
   */
  sellNative(amount: string | number, terms: { readonly for: TokenAmount } & PlaceOrderOptions): Promise<NativeSale>;
  /** Cancels orders by a signature. @throws OrderBookError if the book rejects the cancellation. */
  cancel(...uids: readonly string[]): Promise<void>;
  /** Invalidates an order on chain. */
  cancelOnChain(uid: Hex): Promise<void>;
  /** Signs an order on chain, or revokes that signature. */
  presign(uid: Hex, signed?: boolean): Promise<void>;
  /** Sets the allowance of the vault relayer for a token. Default: any amount. */
  approve(symbol: string, amount?: string | number): Promise<void>;
  /** Returns a balance in atoms. */
  balanceOf(symbol: string): Promise<bigint>;
}

/** An order that sells native currency. */
export interface NativeSale {
  readonly uid: Hex;
  /** Cancels the order through the contract, which returns the native currency. */
  cancel(): Promise<void>;
  /** Returns the native currency of an expired order. Any account may call the contract for it. */
  refund(): Promise<void>;
}

/** Parts of a sandbox that a trader uses. */
export interface TraderContext extends Pick<World, 'book' | 'chain' | 'token' | 'synchronize'> {
  readonly keys: KeyRing;
}

/** Validity of an order without a quote, in seconds. */
const VALIDITY = 1800;

/** Creates a trader of an account, or of a contract wallet that the account controls. */
export function createTrader(account: SandboxAccount, context: TraderContext, wallet?: Address): Trader {
  const { book, chain, keys, token, synchronize } = context;
  const domain = signingDomain(book);
  const address = (wallet ?? account.address).toLowerCase() as Address; // hex in lower case
  const created = new Set<string>();
  const owner: SandboxOwner = wallet === undefined ? { address } : { address, controller: account.address };

  const sign = (digest: Hex) => keys.sign(digest, account.privateKey);
  const signTypedData: Trader['signTypedData'] = (typedData) => sign(typedDataDigest(typedData));

  /** Makes an order different from earlier ones of this trader, whose UID would be the same. */
  function unused<T extends OrderToSign>(order: T): T {
    let { validTo } = order;
    while (created.has(JSON.stringify({ ...order, validTo }))) validTo++;
    const distinct = { ...order, validTo };
    created.add(JSON.stringify(distinct));
    return distinct;
  }

  const createOrder: Trader['createOrder'] = (terms, options = {}) => {
    assertKnownOptions('createOrder', options, PLACE_ORDER_OPTIONS);
    checkValidity(options.validFor);
    const order = unused(getTerms(terms, options, context));
    const signingScheme = options.scheme ?? (wallet === undefined ? 'eip712' : 'eip1271');
    const signature = getSignature(signingScheme, orderTypedData(domain, order), sign);
    return { ...order, from: address, signature, signingScheme } as OrderCreation; // amounts are texts
  };

  return {
    ...owner,
    privateKey: account.privateKey,
    signTypedData,
    createOrder,

    async placeOrder(terms, options = {}) {
      assertKnownOptions('placeOrder', options, PLACE_ORDER_OPTIONS);
      const result = await book.orders.submit(createOrder(terms, options));
      if (result.status !== 'accepted') throw result.error;
      return result.uid;
    },

    async sellNative(amount, { for: [minimum, symbol], ...options }) {
      assertKnownOptions('sellNative', options, PLACE_ORDER_OPTIONS);
      checkValidity(options.validFor);
      const buy = token(symbol);
      const { appData = '{}', receiver = address, partiallyFillable = false, validFor = VALIDITY } = options;
      const put = await book.appData.put(appData);
      if (put.status === 'rejected') throw put.error;
      const order = {
        owner: address,
        buyToken: buy.address,
        receiver: receiver as Address, // checked when it is encoded
        sellAmount: toAtoms(amount, 18),
        buyAmount: toAtoms(minimum, buy.decimals),
        appData: appDataHash(appData),
        validTo: Math.floor(book.clock.now() / 1000) + validFor,
        partiallyFillable,
        quoteId: 0,
      };
      const { wrappedNative, nativeFlow } = chain.contracts;
      const placed = { ...order, sellToken: wrappedNative, validTo: 0xffff_ffff, kind: 'sell' as const };
      const uid = orderUid(orderTypedData(domain, placed), nativeFlow);
      await chain.placeNativeOrder(order);
      await synchronize();
      const invalidate = async (sender: Address) => {
        await chain.invalidateNativeOrder(order, sender);
        await synchronize();
      };
      return { uid, cancel: () => invalidate(address), refund: () => invalidate(chain.contracts.solver) };
    },

    async cancel(...orderUids) {
      const signature = signTypedData(cancellationTypedData(domain, orderUids));
      const result = await book.orders.cancel({ orderUids, signature, signingScheme: 'eip712' });
      if (result.status !== 'cancelled') throw result.error;
    },

    async cancelOnChain(uid) {
      await chain.invalidate(owner, uid);
      await synchronize();
    },

    async presign(uid, signed = true) {
      await chain.setPresignature(owner, uid, signed);
      await synchronize();
    },

    async approve(symbol, amount) {
      const of = token(symbol);
      if (symbol === 'ETH')
        throw new TypeError('token must not be native currency, which has no allowances, got "ETH"');
      await chain.approve(address, of, amount === undefined ? MAX_UINT256 : toAtoms(amount, of.decimals));
      await chain.mine(1);
      await synchronize();
    },

    balanceOf: (symbol) => chain.balanceOf(address, symbol === 'ETH' ? 'native' : token(symbol)),
  };
}

function getTerms(
  terms: QuoteResponse | LimitTerms,
  options: PlaceOrderOptions,
  { book, token }: Pick<TraderContext, 'book' | 'token'>,
): OrderToSign & { quoteId?: number | null } {
  const validTo = options.validFor === undefined ? undefined : Math.floor(book.clock.now() / 1000) + options.validFor;
  if (typeof terms === 'object' && terms !== null && 'quote' in terms) {
    const { slippageBps, partiallyFillable, receiver, appData } = options;
    return orderFromQuote(terms, defined({ slippageBps, partiallyFillable, receiver, appData, validTo }));
  }
  if (options.slippageBps !== undefined) throw new TypeError('placeOrder: slippageBps applies to a quote only');
  const { kind, sold, bought } = parseLimitTerms(terms);
  const [sell, buy] = [token(sold[1]), token(bought[1])];
  const { receiver = null, appData, partiallyFillable } = options;
  const order = limitOrder({
    sellToken: sell.address,
    buyToken: buy.address,
    sellAmount: toAtoms(sold[0], sell.decimals),
    buyAmount: toAtoms(bought[0], buy.decimals),
    validTo: validTo ?? Math.floor(book.clock.now() / 1000) + VALIDITY,
    receiver,
    kind,
    ...defined({ appData, partiallyFillable }),
  });
  return terms.fee === undefined ? order : { ...order, feeAmount: String(toAtoms(terms.fee[0], sell.decimals)) };
}

function getSignature(scheme: Scheme, typedData: OrderTypedData, sign: (digest: Hex) => Hex): Hex {
  if (scheme === 'presign') return '0x';
  const digest = typedDataDigest(typedData);
  return sign(scheme === 'ethsign' ? getMessageDigest(digest) : digest);
}

/** Returns the digest of 32 bytes that are signed as a message (EIP-191). */
function getMessageDigest(digest: Hex): Hex {
  const prefix = Buffer.from('\x19Ethereum Signed Message:\n32');
  return keccakHex(Buffer.concat([prefix, Buffer.from(digest.slice(2), 'hex')]));
}

/** @throws TypeError if the terms have none of the known forms. */
function parseLimitTerms(terms: LimitTerms) {
  const { sell, buy, for: minimum, with: maximum, kind, fee: _, ...others } = Object(terms) as TermMembers;
  const sold = sell ?? maximum;
  const bought = buy ?? minimum;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const isOption = PLACE_ORDER_OPTIONS.some((name) => name === unknown);
    const hint = isOption ? 'it belongs to the options, the second argument' : 'use sell, buy, for, with, kind, fee';
    throw new TypeError(`terms: unknown member "${unknown}", ${hint}`);
  }
  const isExact = kind === undefined || (sell !== undefined && buy !== undefined && ['sell', 'buy'].includes(kind));
  const members = [sell, buy, minimum, maximum].filter((each) => each !== undefined);
  if (sold === undefined || bought === undefined || members.length > 2 || !isExact) {
    const forms = 'a quote, { sell, for }, { buy, with } or { sell, buy, kind }, such as { sell: ["1", "WETH"] … }';
    throw new TypeError(`terms must be ${forms}, got { ${Object.keys(Object(terms)).join(', ')} }`);
  }
  checkTokenAmount(sell === undefined ? 'with' : 'sell', sold);
  checkTokenAmount(buy === undefined ? 'for' : 'buy', bought);
  return { sold, bought, kind: kind ?? (maximum === undefined ? ('sell' as const) : ('buy' as const)) };
}

/** The members of all forms of terms. */
type TermMembers = Partial<Record<'sell' | 'buy' | 'for' | 'with', TokenAmount>> & {
  kind?: 'sell' | 'buy';
  fee?: TokenAmount;
};
