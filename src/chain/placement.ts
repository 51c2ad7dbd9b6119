import { TERMS_CHECKS } from '../admission/checks.ts';
import { loadDocument } from '../admission/documents.ts';
import { OrderBookError } from '../errors.ts';
import type { PlacementChainEvent, PlacementError } from '../ports/chain-store.ts';
import type { AppData } from '../protocol/app-data.ts';
import type { EmittedOrder, EventPosition, OnchainOrderEvent } from '../protocol/event-decoder.ts';
import { type Address, bytesToHex, type Hex, hexSize, packUid, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import { BUY_TOKEN_DESTINATIONS, findNameByHash, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { getInteractions, type Interactions } from '../protocol/trampoline.ts';
import { toNewOrder } from '../records/order-json.ts';
import type { BatchContext } from './batch-context.ts';

export type OrderPlacement = EventPosition & Extract<OnchainOrderEvent, { event: 'OrderPlacement' }>;

type PlacementRules = Omit<BatchContext, 'justInTimeOrders' | 'now' | 'findKnown' | 'hashesKept' | 'findAuction'>;

/** Selector of `wrapAll()` (CoWSwapEthFlow.sol): wraps the native currency of a native-currency-flow contract. */
const WRAP_ALL: Hex = '0x4c84c1c8';

/**
 * Reads an order that was placed on chain. An order that breaks a rule is stored with its `placementError` and cannot
 * trade. See docs/internals/decisions.md#d2-24.
 *
 * @param at - Time of the block, in seconds since 1970.
 * @returns `undefined` if the event is not an order of this protocol.
 */
export async function readPlacement(
  event: OrderPlacement,
  at: number,
  context: PlacementRules,
): Promise<PlacementChainEvent | undefined> {
  const data = readOrder(event.order);
  const signer = readSigner(event);
  const extra = readExtra(event.data);
  if (data === undefined || signer === undefined || extra === undefined) return undefined;

  const { owner, scheme, signature } = signer;
  // A contract can shorten the validity of an order only if it owns the order.
  const userValidTo = owner === event.address ? extra.userValidTo : null;
  const validTo = userValidTo ?? data.validTo;
  const uid = packUid({ digest: bytesToHex(context.hasher.digest(data)), owner, validTo: data.validTo });
  const creationDate = at * 1000;
  const { kind, sellToken, buyToken } = data;
  const terms = { kind, sellToken, buyToken, amount: String(kind === 'sell' ? data.sellAmount : data.buyAmount) };
  const presigns = scheme === 'presign';
  const query = { uid, terms, id: extra.quoteId, owner, presigns, at: creationDate, validTo };
  const error = checkTerms(data, scheme, validTo, at, context);
  const [content, quote = 'past'] = await Promise.all([
    readDocument(data.appData, context),
    context.findQuote?.(query),
  ]);

  const order = toNewOrder(
    {
      uid,
      owner,
      data,
      signature,
      creationDate,
      signingScheme: scheme,
      settlementContract: context.settlementContract,
      interactions: withWrapping(getInteractions(content?.hooks ?? NO_HOOKS, context.hooksTrampoline), owner, event),
      validFrom: content?.validFrom,
    },
    { validTo },
  );
  const { blockNumber, blockHash, logIndex, transactionHash } = event;
  return {
    type: 'placement',
    blockNumber,
    blockHash,
    logIndex,
    transactionHash,
    timestamp: at,
    uid,
    order: typeof quote === 'string' ? order : { ...order, quote },
    sender: event.sender,
    userValidTo,
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

/** Reads the signer (CoWSwapOnchainOrders.sol). Scheme 0: EIP-1271, data starts with the owner. Scheme 1: presign. */
function readSigner({ signature: { scheme, data }, sender }: OrderPlacement) {
  if (scheme === 1) return { scheme: 'presign', owner: sender, signature: '0x' } as const;
  if (scheme !== 0 || hexSize(data) < 20) return undefined;
  const owner: Address = `0x${data.slice(2, 42)}`;
  return { scheme: 'eip1271', owner, signature: data } as const;
}

/** Reads the extra data: 8 bytes of quote id, then 4 bytes of the validity chosen by the user. */
function readExtra(data: Hex): { quoteId: number; userValidTo: number } | undefined {
  if (hexSize(data) !== 12) return undefined;
  return { quoteId: Number(BigInt.asIntN(64, BigInt(data.slice(0, 18)))), userValidTo: Number(`0x${data.slice(18)}`) };
}

async function readDocument(hash: Hex, { documents, findDocument }: PlacementRules): Promise<AppData | undefined> {
  const document = await loadDocument(hash, documents, findDocument);
  return document instanceof OrderBookError ? undefined : document.content;
}

function checkTerms(
  data: OrderData,
  signingScheme: 'eip1271' | 'presign',
  userValidTo: number,
  now: number,
  { limits, tokens }: PlacementRules,
): PlacementError | undefined {
  // As for submitted orders, a presignature has no maximum validity.
  if (signingScheme !== 'presign' && userValidTo > now + limits.maxValidity) return 'ValidToTooFarInFuture';
  if (data.sellAmount === 0n || data.buyAmount === 0n || data.feeAmount !== 0n) return 'PreValidationError';
  const subject = { data: { ...data, validTo: userValidTo }, creation: { signingScheme }, owner: ZERO_ADDRESS };
  const broken = TERMS_CHECKS.some((check) => check(subject, { limits, tokens, now }) !== undefined);
  return broken ? 'PreValidationError' : undefined;
}

/** Adds the wrapping of native currency to orders that the placing contract owns. */
function withWrapping({ pre, post }: Interactions, owner: Address, { address }: OrderPlacement): Interactions {
  if (owner !== address) return { pre, post };
  return { pre: [{ target: owner, value: '0', callData: WRAP_ALL }, ...pre], post };
}
