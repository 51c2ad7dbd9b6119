import type { OrderQuote } from '../ports/quotes.ts';
import type { StoredOrder } from '../ports/store.ts';

/**
 * Finds damage in a stored order before it is rendered: members of the body that are not as `renderBody` has written
 * them, a body of another order, and invalid values of the other columns. Nothing is parsed, because a parser takes
 * several times as long as the rest of a read.
 *
 * @returns The name of the damaged column. `undefined` if the row is sound.
 */
export function findDamage(order: StoredOrder): string | undefined {
  const { uid, body, placement } = order;
  if (!isSoundBody(body) || !body.startsWith(uid, UID_OFFSET)) return 'body';
  // The owner in the body must be that of the UID.
  if (!body.startsWith(uid.slice(66, 106), body.indexOf(OWNER) + OWNER.length)) return 'owner';
  if (!STATES.has(order.state) || typeof order.invalidated !== 'boolean') return 'state';
  if (!isCount(order.version) || !isCount(order.creationDate)) return 'version';
  // Only an order that was placed on chain may have another validity than the signed one.
  if (!isCount(order.validTo) || (placement === null && order.validTo !== Number.parseInt(uid.slice(106), 16))) {
    return 'validTo';
  }
  if (!isAmount(order.executedSellAmount) || !isAmount(order.executedBuyAmount)) return 'executed amount';
  if (!isAmount(order.executedFeeAmount) || !isAmount(order.executedFee)) return 'executed fee';
  if (order.executedFeeToken !== null && scanHex(order.executedFeeToken, 2, 40) !== 42) return 'executed fee token';
  if (order.fullAppData !== null && typeof order.fullAppData !== 'string') return 'document';
  if (placement !== null && !isObject(placement)) return 'placement';
  return order.quote === null || isSoundQuote(order.quote) ? undefined : 'quote';
}

const UID_OFFSET = '{"uid":"'.length;
const OWNER = '","owner":"0x';
const STATES: ReadonlySet<unknown> = /* @__PURE__ */ new Set([
  'open',
  'presignaturePending',
  'cancelled',
  'fulfilled',
] satisfies StoredOrder['state'][]);

/** What follows a literal of the body. */
type Value =
  /** A fixed number of hex digits. */
  | number
  /** Any number of hex digits. */
  | 'hex'
  /** At least one decimal digit. */
  | 'digits'
  | 'date'
  | 'receiver'
  | 'interactions'
  | 'validFrom'
  | 'end'
  /** One of some words. */
  | readonly string[];

/** The members of a body in the order of `renderBody`, with the text before each value. */
const LAYOUT: readonly (readonly [literal: string, value: Value])[] = [
  ['{"uid":"0x', 112],
  ['","sellToken":"0x', 40],
  ['","buyToken":"0x', 40],
  ['","receiver":', 'receiver'],
  [',"sellAmount":"', 'digits'],
  ['","buyAmount":"', 'digits'],
  ['","validTo":', 'digits'],
  [',"appData":"0x', 64],
  ['","feeAmount":"', 'digits'],
  ['","kind":"', ['sell', 'buy']],
  ['","partiallyFillable":', ['true', 'false']],
  [',"sellTokenBalance":"', ['erc20', 'internal', 'external']],
  ['","buyTokenBalance":"', ['erc20', 'internal']],
  ['","signingScheme":"', ['eip712', 'ethsign', 'presign', 'eip1271']],
  ['","signature":"0x', 'hex'],
  [OWNER, 40],
  ['","creationDate":"', 'date'],
  ['","class":"', ['limit', 'market', 'liquidity']],
  ['","isLiquidityOrder":', ['true', 'false']],
  [',"settlementContract":"0x', 40],
  ['","interactions":{"pre":', 'interactions'],
  [',"post":', 'interactions'],
  ['}', 'validFrom'],
  [',"availableBalance":null}', 'end'],
];

function isSoundBody(body: string): boolean {
  let at = 0;
  for (const [literal, value] of LAYOUT) {
    if (!body.startsWith(literal, at)) return false;
    at = scanValue(body, at + literal.length, value);
    if (at < 0) return false;
  }
  return true;
}

/** Returns the position after a value. -1 if there is no such value. */
function scanValue(text: string, at: number, value: Value): number {
  if (typeof value === 'number') return scanHex(text, at, value);
  if (typeof value !== 'string') return scanWord(text, at, value);
  switch (value) {
    case 'hex':
      return skip(text, at, HEX_DIGIT);
    case 'digits':
      return scanDigits(text, at);
    case 'date':
      return skip(text, at, DATE_CHARACTER);
    case 'receiver':
      return text.startsWith('null', at) ? at + 4 : scanQuotedHex(text, at, 40);
    case 'interactions':
      return scanInteractions(text, at);
    case 'validFrom':
      return text.startsWith(VALID_FROM, at) ? scanDigits(text, at + VALID_FROM.length) : at;
    case 'end':
      return at === text.length ? at : -1;
  }
}

const VALID_FROM = ',"validFrom":';

/** Character classes, as flags of a table by character code. */
const [HEX_DIGIT, DECIMAL_DIGIT, DATE_CHARACTER] = [1, 2, 4] as const;
const CLASSES = /* @__PURE__ */ createClasses();

function createClasses(): Uint8Array {
  const classes = new Uint8Array(128);
  const add = (characters: string, flag: number) => {
    for (let i = 0; i < characters.length; i++)
      classes[characters.charCodeAt(i)] = (classes[characters.charCodeAt(i)] ?? 0) | flag;
  };
  add('0123456789abcdef', HEX_DIGIT);
  add('0123456789', DECIMAL_DIGIT);
  add('0123456789+-:.TZ', DATE_CHARACTER);
  return classes;
}

/** Returns the position of the first character that is not of a class. */
function skip(text: string, from: number, flag: number): number {
  let at = from;
  // A code outside of the table is `undefined`, and NaN at the end of the text.
  while (((CLASSES[text.charCodeAt(at)] ?? 0) & flag) !== 0) at++;
  return at;
}

function scanHex(text: string, at: number, digits: number): number {
  return skip(text, at, HEX_DIGIT) === at + digits ? at + digits : -1;
}

function scanQuotedHex(text: string, at: number, digits: number): number {
  const end = text.startsWith('"0x', at) ? scanHex(text, at + 3, digits) : -1;
  return end >= 0 && text.startsWith('"', end) ? end + 1 : -1;
}

function scanDigits(text: string, at: number): number {
  const end = skip(text, at, DECIMAL_DIGIT);
  return end > at ? end : -1;
}

function scanWord(text: string, at: number, words: readonly string[]): number {
  for (const word of words) if (text.startsWith(word, at)) return at + word.length;
  return -1;
}

/** Interactions are few and rare, so they are matched by an expression. */
const INTERACTIONS = /\[(?:\{"target":"0x[0-9a-f]{40}","value":"\d+","callData":"0x[0-9a-f]*"\}(?:,(?=\{))?)*\]/y;

function scanInteractions(text: string, at: number): number {
  if (text.startsWith('[]', at)) return at + 2;
  INTERACTIONS.lastIndex = at;
  return INTERACTIONS.test(text) ? INTERACTIONS.lastIndex : -1;
}

function isAmount(text: unknown): boolean {
  return text === '0' || (typeof text === 'string' && scanDigits(text, 0) === text.length);
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
