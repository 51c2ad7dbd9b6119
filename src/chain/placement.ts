import { loadDocument } from '../app-data/documents.ts';
import { OrderBookError } from '../errors.ts';
import type { CheckContext } from '../orders/checks.ts';
import { TERMS_CHECKS } from '../orders/checks.ts';
import { renderBody } from '../orders/order-json.ts';
import type { PlacementChainEvent, PlacementError } from '../ports/chain-store.ts';
import type { OrderQuote, QuoteTerms } from '../ports/quotes.ts';
import type { AppDataStore } from '../ports/store.ts';
import type { AppData } from '../protocol/app-data.ts';
import type { EmittedOrder, EventPosition, OnchainOrderEvent } from '../protocol/event-decoder.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { bytesToHex, hexSize, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { OrderData, OrderHasher } from '../protocol/order.ts';
import { BUY_TOKEN_DESTINATIONS, findNameByHash, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import { getInteractions } from '../protocol/trampoline.ts';
import { packUid } from '../protocol/uid.ts';

export type OrderPlacement = EventPosition & Extract<OnchainOrderEvent, { event: 'OrderPlacement' }>;

/** What judging a placement takes of the book. */
export interface PlacementContext extends Omit<CheckContext, 'now'> {
  readonly hasher: OrderHasher;
  readonly settlementContract: Address;
  readonly hooksTrampoline: Address;
  readonly documents: AppDataStore;
  /**
   * Finds the quote that an order was placed upon. `none`: nothing fits, and nobody has a price. `past`: nothing fits, and
   * nobody was asked, since the order is past its validity, or known already. Absent: this book does not quote, and asks for none.
   */
  readonly findQuote?: (wanted: PlacementQuote) => Promise<OrderQuote | 'none' | 'past'>;
}

export interface PlacementQuote {
  readonly uid: Hex;
  readonly terms: QuoteTerms;
  readonly id: number;
  readonly owner: Address;
  readonly presigns: boolean;
  /** When it was placed, in milliseconds since 1970. */
  readonly at: number;
  /** Until when the user wants it, in seconds since 1970. */
  readonly validTo: number;
}

/** `wrapAll()` of a native-currency-flow contract (CoWSwapEthFlow.sol): makes what it holds into what is sold. */
const WRAP_ALL: Hex = '0x4c84c1c8';

/**
 * Reads an order that was placed on chain. Whatever is wrong with it as an order is told by its `placementError`: it is
 * there, but it cannot trade (decision 2.24).
 *
 * @param at when the block was made, in seconds since 1970.
 * @returns `undefined` when it is no order of this protocol.
 */
export async function readPlacement(
  event: OrderPlacement,
  at: number,
  context: PlacementContext,
): Promise<PlacementChainEvent | undefined> {
  const data = readOrder(event.order);
  const signer = readSigner(event);
  const extra = readExtra(event.data);
  if (data === undefined || signer === undefined || extra === undefined) return undefined;

  const { owner, scheme, signature } = signer;
  const uid = packUid({ digest: bytesToHex(context.hasher.digest(data)), owner, validTo: data.validTo });
  const content = await readDocument(data.appData, context);
  const creationDate = at * 1000;
  const { kind, sellToken, buyToken } = data;
  const terms = { kind, sellToken, buyToken, amount: String(kind === 'sell' ? data.sellAmount : data.buyAmount) };
  const presigns = scheme === 'presign';
  const wanted = { uid, terms, id: extra.quoteId, owner, presigns, at: creationDate, validTo: extra.userValidTo };
  const error = checkTerms(data, scheme, extra.userValidTo, at, context);
  const quote = (await context.findQuote?.(wanted)) ?? 'past';

  const { blockNumber, blockHash, logIndex, transactionHash } = event;
  return {
    type: 'placement',
    blockNumber,
    blockHash,
    logIndex,
    transactionHash,
    timestamp: at,
    uid,
    order: {
      uid,
      owner,
      creationDate,
      sellToken,
      buyToken,
      signingScheme: scheme,
      validTo: extra.userValidTo,
      state: presigns ? 'presignaturePending' : 'open',
      budget: presigns ? 'pending' : 'open',
      appData: data.appData,
      body: renderBody({
        uid,
        owner,
        data,
        signature,
        creationDate,
        signingScheme: scheme,
        settlementContract: context.settlementContract,
        interactions: withWrapping(getInteractions(content?.hooks ?? NO_HOOKS, context.hooksTrampoline), owner, event),
        validFrom: content?.validFrom,
      }),
      ...(typeof quote === 'string' ? {} : { quote }),
    },
    sender: event.sender,
    userValidTo: extra.userValidTo,
    placementError: error ?? (quote === 'none' ? 'QuoteNotFound' : null),
  };
}

const NO_HOOKS = { pre: [], post: [] };

function readOrder(emitted: EmittedOrder): OrderData | undefined {
  const kind = findNameByHash(emitted.kind, ORDER_KINDS);
  const sellTokenBalance = findNameByHash(emitted.sellTokenBalance, SELL_TOKEN_SOURCES);
  const buyTokenBalance = findNameByHash(emitted.buyTokenBalance, BUY_TOKEN_DESTINATIONS);
  if (kind === undefined || sellTokenBalance === undefined || buyTokenBalance === undefined) return undefined;
  const receiver = emitted.receiver === ZERO_ADDRESS ? null : emitted.receiver;
  return { ...emitted, receiver, kind, sellTokenBalance, buyTokenBalance };
}

/** Scheme 0 is EIP-1271, its data begins with the contract that owns the order; scheme 1 is presign (CoWSwapOnchainOrders.sol). */
function readSigner({ signature: { scheme, data }, sender }: OrderPlacement) {
  if (scheme === 1) return { scheme: 'presign', owner: sender, signature: '0x' } as const;
  if (scheme !== 0 || hexSize(data) < 20) return undefined;
  const owner: Address = `0x${data.slice(2, 42)}`;
  return { scheme: 'eip1271', owner, signature: data } as const;
}

/** Eight bytes of quote id, then four of the validity that the user chose. */
function readExtra(data: Hex): { quoteId: number; userValidTo: number } | undefined {
  if (hexSize(data) !== 12) return undefined;
  return { quoteId: Number(BigInt.asIntN(64, BigInt(data.slice(0, 18)))), userValidTo: Number(`0x${data.slice(18)}`) };
}

async function readDocument(hash: Hex, { documents }: PlacementContext): Promise<AppData | undefined> {
  const document = await loadDocument(hash, documents);
  return document instanceof OrderBookError ? undefined : document.content;
}

function checkTerms(
  data: OrderData,
  signingScheme: 'eip1271' | 'presign',
  userValidTo: number,
  now: number,
  { limits, tokens }: PlacementContext,
): PlacementError | undefined {
  if (userValidTo > now + limits.maxValidity) return 'ValidToTooFarInFuture';
  if (data.sellAmount === 0n || data.buyAmount === 0n || data.feeAmount !== 0n) return 'PreValidationError';
  const subject = { data: { ...data, validTo: userValidTo }, creation: { signingScheme }, owner: ZERO_ADDRESS };
  const broken = TERMS_CHECKS.some((check) => check(subject, { limits, tokens, now }) !== undefined);
  return broken ? 'PreValidationError' : undefined;
}

/** A contract that owns its orders has native currency to wrap before they trade. */
function withWrapping({ pre, post }: Interactions, owner: Address, { address }: OrderPlacement): Interactions {
  if (owner !== address) return { pre, post };
  return { pre: [{ target: owner, value: '0', callData: WRAP_ALL }, ...pre], post };
}
