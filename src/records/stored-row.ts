import type { OrderQuote } from '../ports/quote-store.ts';
import type { StoredOrder } from '../ports/store.ts';

/**
 * Finds damage in a stored order before it is rendered: members of the body that are not as `renderBody` has written
 * them, a body of another order, and invalid values of the other columns.
 *
 * @param bodyIsVerified - Whether the store has compared the body with a checksum.
 * @returns The name of the damaged column. `undefined` if the row is sound.
 */
export function findDamage(order: StoredOrder, bodyIsVerified = false): string | undefined {
  const { uid, body, placement } = order;
  if (!hasUid(body, uid) || !(bodyIsVerified || isSoundBody(body, uid))) return 'body';
  if (!STATES.has(order.state) || typeof order.invalidated !== 'boolean') return 'state';
  if (!isCount(order.version) || !isCount(order.creationDate)) return 'version';
  if (!isCount(order.validTo) || (placement === null && !isSoundValidity(order))) return 'validTo';
  if (!isAmount(order.executedSellAmount) || !isAmount(order.executedBuyAmount)) return 'executed amount';
  if (!isAmount(order.executedFeeAmount) || !isAmount(order.executedFee)) return 'executed fee';
  if (order.executedFeeToken !== null && !/^0x[0-9a-f]{40}$/.test(order.executedFeeToken)) return 'executed fee token';
  if (order.fullAppData !== null && typeof order.fullAppData !== 'string') return 'document';
  if (placement !== null && !isObject(placement)) return 'placement';
  return order.quote === null || isSoundQuote(order.quote) ? undefined : 'quote';
}

/** Only an order that was never signed on chain may have a shorter validity than the signed one. */
function isSoundValidity({ uid, validTo, state }: StoredOrder): boolean {
  const signed = Number.parseInt(uid.slice(106), 16);
  return validTo === signed || (validTo < signed && (state === 'presignaturePending' || state === 'cancelled'));
}

const UID_OFFSET = '{"uid":"'.length;
const UID_END = UID_OFFSET + 114;
const OWNER = '","owner":"0x';
const STATES: ReadonlySet<unknown> = /* @__PURE__ */ new Set([
  'open',
  'presignaturePending',
  'cancelled',
  'fulfilled',
] satisfies StoredOrder['state'][]);

const hex = (bytes: number) => `"0x[0-9a-f]{${2 * bytes}}"`;
const AMOUNT = '"\\d+"';
const INTERACTION = `\\{"target":${/* @__PURE__ */ hex(20)},"value":${AMOUNT},"callData":"0x[0-9a-f]*"\\}`;
const INTERACTIONS = `\\[(?:${INTERACTION}(?:,${INTERACTION})*)?\\]`;

/** The members of a body after the UID, in the order of `renderBody`. A compiled expression is faster than a parser. */
const BODY = /* @__PURE__ */ new RegExp(
  /* @__PURE__ */ [
    `"sellToken":${hex(20)}`,
    `"buyToken":${hex(20)}`,
    `"receiver":(?:null|${hex(20)})`,
    `"sellAmount":${AMOUNT}`,
    `"buyAmount":${AMOUNT}`,
    '"validTo":\\d+',
    `"appData":${hex(32)}`,
    `"feeAmount":${AMOUNT}`,
    '"kind":"(?:sell|buy)"',
    '"partiallyFillable":(?:true|false)',
    '"sellTokenBalance":"(?:erc20|internal|external)"',
    '"buyTokenBalance":"(?:erc20|internal)"',
    '"signingScheme":"(?:eip712|ethsign|presign|eip1271)"',
    '"signature":"0x[0-9a-f]*"',
    `"owner":${hex(20)}`,
    '"creationDate":"[-+0-9T:.]+Z"',
    '"class":"(?:limit|market|liquidity)"',
    '"isLiquidityOrder":(?:true|false)',
    `"settlementContract":${hex(20)}`,
    `"interactions":\\{"pre":${INTERACTIONS},"post":${INTERACTIONS}\\}`,
    '(?:"validFrom":\\d+,)?"availableBalance":null\\}$',
  ].join(','),
  'y',
);

/** The position after `{"uid":"…",`. */
const MEMBERS_OFFSET = UID_END + '",'.length;

/** Returns whether a body has the structure that `renderBody` writes, and the UID. */
export function isSoundBody(body: string, uid: string): boolean {
  BODY.lastIndex = MEMBERS_OFFSET;
  if (!hasUid(body, uid) || !body.startsWith('{"uid":"') || !BODY.test(body)) return false;
  // The owner in the body must be that of the UID.
  return body.startsWith(uid.slice(66, 106), body.indexOf(OWNER) + OWNER.length);
}

/** Comparing a slice takes a fifth of the time of `startsWith`. */
function hasUid(body: string, uid: string): boolean {
  return body.slice(UID_OFFSET, UID_END) === uid;
}

function isAmount(text: unknown): boolean {
  return text === '0' || (typeof text === 'string' && /^\d+$/.test(text));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isObject(text: string): boolean {
  return parseObject(text) !== undefined;
}

/** Members of a quote that are decimal numbers. */
const QUOTE_NUMBERS = ['gasAmount', 'gasPrice', 'sellTokenPrice', 'sellAmount', 'buyAmount', 'feeAmount'] as const;

function isSoundQuote({ body, metadata }: OrderQuote): boolean {
  const quote = parseObject(body);
  if (quote === undefined || !isObject(metadata)) return false;
  return QUOTE_NUMBERS.every((name) => quote[name] === undefined || /^\d+(?:\.\d+)?$/.test(String(quote[name])));
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value) && text.endsWith('}');
    return isPlain ? (value as Record<string, unknown>) : undefined; // an object of unknown members
  } catch {
    return undefined;
  }
}
