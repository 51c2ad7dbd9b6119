import { type Hex, type OrderQuote, UPSTREAM_STATUSES, type UpstreamOrder, type UpstreamTrade } from 'intentbook';
import {
  appDataHash,
  BUY_TOKEN_DESTINATIONS,
  formatDecimal,
  ORDER_KINDS,
  parseDateTime,
  parseDecimal,
  parseHex,
  SELL_TOKEN_SOURCES,
  SIGNING_SCHEMES,
  unpackUid,
} from '#internal';

type Members = Readonly<Record<string, unknown>>;

/** Thrown for a member that an order needs. */
class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** Parses orders, and leaves out those that cannot be read. */
export function parseOrders(rows: readonly unknown[]): UpstreamOrder[] {
  // Orders of an owner often share a document.
  const hashes = new Map<string, Hex>();
  const hash = (document: string): Hex => {
    const known = hashes.get(document) ?? appDataHash(document);
    hashes.set(document, known);
    return known;
  };
  return rows.flatMap((row) => tryParse(row, (members) => parseOrder(members, hash)) ?? []);
}

/** Returns the UID of an order, also of one that cannot be read. */
export const parseRowUid = (row: unknown): Hex | null => parseHex(isObject(row) ? row['uid'] : undefined, 56) ?? null;

/** Parses the elements of `by_uids`, one order for each requested UID that can be read. */
export function parseElements(elements: readonly unknown[], uids: readonly Hex[]): UpstreamOrder[] {
  const orders = parseOrders(elements.map((element) => (isObject(element) ? element['order'] : undefined)));
  const byUid = new Map<Hex, UpstreamOrder>();
  for (const order of orders) {
    // A UID may be that of a regular and of a just-in-time order.
    if (byUid.get(order.uid)?.class === 'limit') continue;
    byUid.set(order.uid, order);
  }
  return uids.flatMap((uid) => byUid.get(uid) ?? []);
}

/** Parses trades. Returns `undefined` if one of them cannot be read, because a part of a page is no page. */
export function parseTrades(rows: readonly unknown[]): UpstreamTrade[] | undefined {
  const trades = rows.flatMap((row) => tryParse(row, parseTrade) ?? []);
  return trades.length === rows.length ? trades : undefined;
}

/** Returns an element, `undefined` if it cannot be read. */
function tryParse<T>(row: unknown, parse: (members: Members) => T): T | undefined {
  if (!isObject(row)) return undefined;
  try {
    return parse(row);
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

function parseOrder(order: Members, hash: (document: string) => Hex): UpstreamOrder {
  const uid = need(parseHex(order['uid'], 56));
  const appData = need(parseHex(order['appData'], 32));
  const document = order['fullAppData'];
  const placement = order['onchainOrderData'];
  const ethflow = order['ethflowData'];
  const sender = parseHex(isObject(placement) ? placement['sender'] : undefined, 20);
  const placementError = isObject(placement) ? placement['placementError'] : undefined;
  return {
    uid,
    owner: parseHex(order['owner'], 20) ?? unpackUid(uid).owner,
    sellToken: need(parseHex(order['sellToken'], 20)),
    buyToken: need(parseHex(order['buyToken'], 20)),
    receiver: order['receiver'] == null ? null : need(parseHex(order['receiver'], 20)),
    sellAmount: need(parseUpstreamAmount(order['sellAmount'])),
    buyAmount: need(parseUpstreamAmount(order['buyAmount'])),
    validTo: need(parseUpstreamInteger(order['validTo'])),
    appData,
    feeAmount: order['feeAmount'] == null ? 0n : need(parseUpstreamAmount(order['feeAmount'])),
    kind: need(parseName(order['kind'], ORDER_KINDS)),
    partiallyFillable: need(parseBoolean(order['partiallyFillable'])),
    sellTokenBalance: need(parseName(order['sellTokenBalance'] ?? 'erc20', SELL_TOKEN_SOURCES)),
    buyTokenBalance: need(parseName(order['buyTokenBalance'] ?? 'erc20', BUY_TOKEN_DESTINATIONS)),
    signingScheme: need(parseName(order['signingScheme'], SIGNING_SCHEMES)),
    signature: parseHex(order['signature']) ?? '0x',
    creationDate: need(parseDateTime(order['creationDate'])),
    status: parseName(order['status'], UPSTREAM_STATUSES),
    class: parseName(order['class'], CLASSES) ?? 'limit',
    settlementContract: parseHex(order['settlementContract'], 20),
    // An amount that cannot be read is not zero.
    executedSellAmount: need(parseUpstreamAmount(order['executedSellAmount'])),
    executedBuyAmount: need(parseUpstreamAmount(order['executedBuyAmount'])),
    executedFee: parseUpstreamAmount(order['executedFee']) ?? 0n,
    executedFeeToken: parseHex(order['executedFeeToken'], 20),
    invalidated: order['invalidated'] === true,
    fullAppData: typeof document === 'string' && hash(document) === appData ? document : undefined,
    onchainUser: parseHex(order['onchainUser'], 20) ?? sender,
    userValidTo: isObject(ethflow) ? parseUpstreamInteger(ethflow['userValidTo']) : undefined,
    placementError: typeof placementError === 'string' ? placementError : undefined,
    quote: parseQuote(order['quote']),
  };
}

/** Parses the quote of an order: `undefined` if it lacks an amount. */
function parseQuote(quote: unknown): OrderQuote | undefined {
  if (!isObject(quote)) return undefined;
  const [sellAmount, buyAmount, feeAmount] = [quote['sellAmount'], quote['buyAmount'], quote['feeAmount']].map(
    parseUpstreamAmount,
  );
  if (sellAmount === undefined || buyAmount === undefined || feeAmount === undefined) return undefined;
  const body = {
    gasAmount: toDecimal(quote['gasAmount']),
    gasPrice: toDecimal(quote['gasPrice']),
    sellTokenPrice: toDecimal(quote['sellTokenPrice']),
    sellAmount: String(sellAmount),
    buyAmount: String(buyAmount),
    feeAmount: String(feeAmount),
    solver: parseHex(quote['solver'], 20) ?? ZERO_ADDRESS,
    verified: quote['verified'] === true,
  };
  const metadata = isObject(quote['metadata']) ? quote['metadata'] : {};
  return { body: JSON.stringify(body), metadata: JSON.stringify(metadata) };
}

/** Returns a plain decimal without an exponent; "0" if the other book does not report it. */
function toDecimal(value: unknown): string {
  const decimal = parseDecimal(value);
  return decimal === undefined ? '0' : formatDecimal(decimal);
}

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`;
const CLASSES = ['market', 'limit', 'liquidity'] as const;

function parseTrade(trade: Members): UpstreamTrade {
  const uid = need(parseHex(trade['orderUid'], 56));
  const sellAmount = need(parseUpstreamAmount(trade['sellAmount']));
  const sellAmountBeforeFees = parseUpstreamAmount(trade['sellAmountBeforeFees']) ?? sellAmount;
  const logIndex = need(parseUpstreamInteger(trade['logIndex']));
  // The stores have neither negative fees nor longer positions.
  if (sellAmountBeforeFees > sellAmount || logIndex >= 2 ** 31) throw new Malformed('a member is out of range');
  return {
    uid,
    owner: parseHex(trade['owner'], 20) ?? unpackUid(uid).owner,
    blockNumber: need(parseUpstreamInteger(trade['blockNumber'])),
    logIndex,
    transactionHash: parseHex(trade['txHash'], 32),
    sellToken: need(parseHex(trade['sellToken'], 20)),
    buyToken: need(parseHex(trade['buyToken'], 20)),
    sellAmount,
    sellAmountBeforeFees,
    buyAmount: need(parseUpstreamAmount(trade['buyAmount'])),
  };
}

/** Returns a value that is present. @throws Malformed otherwise. */
function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Malformed('a member is missing or malformed');
  return value;
}

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses decimal digits. A sum of executed amounts may have more than 78. Numbers are accepted if they are exact. */
export function parseUpstreamAmount(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  return typeof value === 'string' && /^[0-9]{1,100}$/.test(value) ? BigInt(value) : undefined;
}

/** Parses an integer from 0 to 2^53 − 1, also as text. */
export function parseUpstreamInteger(value: unknown): number | undefined {
  const number = parseUpstreamAmount(value);
  return number === undefined || number > Number.MAX_SAFE_INTEGER ? undefined : Number(number);
}

function parseBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function parseName<Name extends string>(value: unknown, names: readonly Name[]): Name | undefined {
  return names.find((name) => name === value);
}
