import type { Address, AuctionOrder, Hex } from 'intentbook';
import {
  assertKnownOptions,
  computeProtocolFees,
  createFailureReporter,
  createHeaders,
  deductProtocolFees,
  getEndpoint,
  MAX_TIMER,
  MAX_UINT256,
  parseServiceUrl,
  readJsonResponse,
  requireFunctions,
  requireInteger,
} from '#internal';
import { getRemaining, respectsLimit } from './execution.ts';
import { createHintReader, type OrderDocuments, type OrderHints } from './order-hints.ts';
import type { Fill, Interaction, Solution, SolvableAuction, SolverEngine } from './types.ts';

/** Access to an external solver engine. */
export interface HttpEngineOptions {
  /** Time that the engine has for an auction, in milliseconds; less if the auction ends earlier. Default: 10000. */
  readonly timeout?: number;
  /** Source of the flash loans and wrappers of orders, such as `book.appData`. Default: the engine receives none. */
  readonly documents?: OrderDocuments;
  /** Additional request headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of a response in bytes. Default: 10000000. */
  readonly maxBytes?: number;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
  /** Called with the problem of each solution that violates an order. An error that it throws is dropped. */
  readonly onFailure?: (failure: unknown) => void;
}

/**
 * Creates a solver engine that sends auctions to an external program over the solver HTTP interface: `POST {url}/solve`
 * with the auction, and solutions of prices, fulfilments and interactions in the response. Solutions with other
 * members, such as just-in-time orders, references to liquidity, flash loans or wrappers, are left out. So are those
 * that fill an order below its limit price after its protocol fees, or by an amount that it does not allow.
 *
 * The limits that the engine receives contain the protocol fees of all policies. They are exact for a fill of the whole
 * rest of an order: the settlement respects the limit price if the engine respects its own. By rounding, a smaller fill
 * may be an atom per policy below.
 *
 * @param url - Base URL of the engine. A user and a password in it are sent as a Basic `Authorization` header only.
 * @throws TypeError if `url` is not an http or https URL, or if an option is unknown or malformed.
 */
export function httpEngine(url: string, options: HttpEngineOptions = {}): SolverEngine {
  assertKnownOptions('httpEngine', options, ['timeout', 'documents', 'headers', 'maxBytes', 'fetch', 'onFailure']);
  const { headers = {}, fetch: send = fetch, documents } = options;
  if (documents !== undefined) requireFunctions('httpEngine: documents', documents, ['get']);
  const report = createFailureReporter(options.onFailure);
  const readHints = documents === undefined ? undefined : createHintReader(documents);
  const service = parseServiceUrl('httpEngine', url);
  const timeout = requireInteger('httpEngine: timeout', options.timeout ?? 10_000, 1, MAX_TIMER);
  const maxBytes = requireInteger('httpEngine: maxBytes', options.maxBytes ?? 10_000_000);
  const endpoint = getEndpoint(service, 'solve');
  const name = endpoint.host;
  const json = { 'content-type': 'application/json' };
  const sent = createHeaders('httpEngine: headers', json, service.authorization, headers);
  return {
    name,
    async solve(auction, signal) {
      const response = await send(endpoint, {
        method: 'POST',
        headers: sent,
        body: JSON.stringify(toEngineRequest(auction, timeout, await readHints?.(auction.orders))),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      });
      const solutions = parseSolutions(await readJsonResponse(response, `engine ${name}`, maxBytes), auction);
      return solutions.filter(({ fills, prices }) => {
        const problem = findProblem(fills, prices);
        if (problem !== undefined) report(new Error(`engine ${name}: ${problem}`));
        return problem === undefined;
      });
    },
  };
}

function toEngineRequest(
  { id, orders, prices, deadline = Number.POSITIVE_INFINITY }: SolvableAuction,
  timeout: number,
  hints?: ReadonlyMap<Hex, OrderHints>,
): object {
  const tokens = new Set(orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken]));
  return {
    id: String(id),
    tokens: Object.fromEntries(
      [...tokens].map((token) => [
        token,
        { referencePrice: prices[token] ?? null, availableBalance: '0', trusted: true },
      ]),
    ),
    orders: orders.map((order) => ({ ...toEngineOrder(order), ...hints?.get(order.appData) })),
    liquidity: [],
    effectiveGasPrice: '0',
    deadline: new Date(Math.min(Date.now() + timeout, deadline)).toISOString(),
    surplusCapturingJitOrderOwners: [],
  };
}

/** Converts the remaining part of an order to the format of solver engines. */
function toEngineOrder(order: AuctionOrder): object {
  const { sellAmount: fullSellAmount, buyAmount: fullBuyAmount, executed, kind } = order;
  const total = BigInt(kind === 'sell' ? fullSellAmount : fullBuyAmount);
  const left = total - BigInt(executed);
  // Both amounts are rounded so that the price is within the limit.
  let sellAmount = (BigInt(fullSellAmount) * left) / total;
  let buyAmount = (BigInt(fullBuyAmount) * left + total - 1n) / total;
  // The settlement deducts the fees, so that the limit must be respected without them.
  const policies = order.protocolFees ?? [];
  const terms = { kind, sellAmount: BigInt(fullSellAmount), buyAmount: BigInt(fullBuyAmount) };
  const fees = computeProtocolFees({ ...terms, sold: sellAmount, bought: buyAmount }, policies);
  const fee = fees.reduce((sum, each) => sum + each, 0n);
  if (kind === 'sell') buyAmount += fee;
  else {
    const limit = sellAmount;
    sellAmount -= fee;
    // The fee of an amount that is rounded up may be an atom higher.
    while (
      sellAmount > 0n &&
      sellAmount + deductProtocolFees({ ...terms, sold: sellAmount, bought: buyAmount }, policies) > limit
    )
      sellAmount--;
  }
  if (buyAmount > MAX_UINT256) buyAmount = MAX_UINT256; // no engine can fill such an order
  return {
    uid: order.uid,
    sellToken: order.sellToken,
    buyToken: order.buyToken,
    sellAmount: String(sellAmount),
    fullSellAmount,
    buyAmount: String(buyAmount),
    fullBuyAmount,
    validTo: order.validTo,
    kind,
    owner: order.owner,
    receiver: order.receiver,
    partiallyFillable: order.partiallyFillable,
    preInteractions: order.preInteractions,
    postInteractions: order.postInteractions,
    sellTokenSource: order.sellTokenBalance,
    buyTokenDestination: order.buyTokenBalance,
    class: order.class,
    appData: order.appData,
    signingScheme: order.signingScheme,
    signature: order.signature,
    feePolicies: [],
  };
}

/** @throws TypeError if the response is malformed. */
function parseSolutions(response: unknown, { orders }: SolvableAuction): Solution[] {
  const { solutions } = parseObject(response, 'response');
  const known = new Map(orders.map((order) => [order.uid as string, order]));
  return parseList(solutions, 'solutions').flatMap((each) => {
    const solution = parseObject(each, 'solution');
    const prices = getPrices(solution['prices']);
    const trades = parseList(solution['trades'], 'trades').map((trade) => toFill(parseObject(trade, 'trade'), known));
    const calls = [solution['preInteractions'] ?? [], solution['interactions'], solution['postInteractions'] ?? []];
    const [pre, interactions, post] = calls.map((list) => parseList(list, 'interactions').map(parseInteraction));
    const fills = trades.flatMap((fill) => fill ?? []);
    const needs = [solution['flashloans'], solution['wrappers']].flatMap((each) => Object.keys(each ?? {}));
    const isComplete = [trades, pre, interactions, post].every((list) => list?.every((item) => item !== undefined));
    if (needs.length > 0 || !isComplete || fills.length === 0) return [];
    const defined = (list: (Interaction | undefined)[] = []) => list.flatMap((call) => call ?? []);
    return [{ prices, fills, pre: defined(pre), interactions: defined(interactions), post: defined(post) }];
  });
}

/** Finds a fill that its order does not allow. */
function findProblem(fills: readonly Fill[], prices: Solution['prices']): string | undefined {
  const uids = new Set(fills.map(({ order }) => order.uid));
  if (uids.size < fills.length) return 'a solution must not fill an order twice';
  for (const fill of fills) {
    const { order, executed } = fill;
    const rest = getRemaining(order);
    if (executed === 0n || executed > rest) {
      return `order ${order.uid} must be executed with 1 to ${rest} atoms, got ${executed}`;
    }
    if (!order.partiallyFillable && executed < rest) return `order ${order.uid} cannot be filled in part`;
    if (!prices[order.sellToken] || !prices[order.buyToken]) return `order ${order.uid} has a token without a price`;
    if (!respectsLimit(fill, prices)) return `order ${order.uid} is executed below its limit price`;
  }
  return undefined;
}

function getPrices(prices: unknown): Solution['prices'] {
  const entries = Object.entries(parseObject(prices, 'prices'));
  return Object.fromEntries(entries.map(([token, price]) => [toAddress(token), parseAmount(price)]));
}

/** @returns `undefined` for a trade that is not the execution of an order of the auction. */
function toFill(trade: Readonly<Record<string, unknown>>, known: ReadonlyMap<string, AuctionOrder>): Fill | undefined {
  const order = known.get(String(trade['order']).toLowerCase());
  if (trade['kind'] !== 'fulfillment' || order === undefined) return undefined;
  const fee = trade['fee'] == null ? 0n : parseAmount(trade['fee']);
  const executed = parseAmount(trade['executedAmount']);
  // The interface names what a sale trades; the fee comes on top of it.
  return { order, executed: order.kind === 'sell' ? executed + fee : executed, fee };
}

/** @returns `undefined` for a reference to liquidity, which the request does not list. */
function parseInteraction(input: unknown): Interaction | undefined {
  const call = parseObject(input, 'interaction');
  if (call['kind'] !== undefined && call['kind'] !== 'custom') return undefined;
  const data = String(call['callData'] ?? call['calldata']);
  if (!/^0x([0-9a-fA-F]{2})*$/.test(data)) throw new TypeError(`callData must be hex, got ${data.slice(0, 80)}`);
  return { target: toAddress(call['target']), value: parseAmount(call['value'] ?? '0'), callData: data as Hex };
}

function parseObject(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>; // an object
  throw new TypeError(`${name} must be an object, got ${JSON.stringify(value)}`);
}

function parseList(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError(`${name} must be a list, got ${JSON.stringify(value)}`);
}

function toAddress(value: unknown): Address {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value)) return value.toLowerCase() as Address;
  throw new TypeError(`an address must be 0x and 40 hex digits, got ${JSON.stringify(value)}`);
}

function parseAmount(value: unknown): bigint {
  if (typeof value === 'string' && /^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/.test(value)) return BigInt(value);
  throw new TypeError(`an amount must be a decimal string, got ${JSON.stringify(value)}`);
}
