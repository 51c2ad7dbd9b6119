import * as z from 'zod/mini';
import { OrderBookError } from '../../errors.ts';
import { NATIVE_MARKER } from '../../protocol/chains.ts';
import type { Address, Hex } from '../../protocol/hex.ts';
import { computeProtocolFees } from '../../protocol/protocol-fees.ts';
import { hexSchema, parseShape } from '../../protocol/shape.ts';
import { MAX_UINT256 } from '../../protocol/uint256.ts';
import type { AuctionOrder } from '../auction-order.ts';
import type { CompetingSolution, ExecutedOrder } from './winner-selection.ts';

/** A valid solution of a driver. */
export interface DriverSolution extends CompetingSolution {
  readonly driver: string;
  /** Id of the driver, unique within the auction. */
  readonly solutionId: number;
  /** Uniform prices by token, decimal: those that the driver reports, otherwise derived from its executed amounts. */
  readonly clearingPrices: Readonly<Record<Address, string>>;
}

/** The driver whose response is parsed, and the auction that it solves. */
export interface ParseContext {
  readonly driver: string;
  readonly submissionAddress: Address | undefined;
  readonly orders: ReadonlyMap<Hex, AuctionOrder>;
  /** Maximum number of solutions of one driver. Further ones are dropped. */
  readonly maxSolutions: number;
  /** Maximum difference of the prices of orders of one direction, in parts per million. */
  readonly maxPriceSpread: number;
  readonly wrappedNative: Address | undefined;
}

/** Maximum number of orders of one solution. */
const MAX_ORDERS = 1000;

const amount = () =>
  z
    .pipe(
      z.string().check(z.regex(/^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/, { error: 'must be decimal digits' })),
      z.transform((text: string) => BigInt(text)),
    )
    .check(z.refine((value) => value <= MAX_UINT256, { error: 'must be below 2^256' }));

const order = /* @__PURE__ */ z.object({
  side: z.enum(['buy', 'sell']),
  sellToken: hexSchema(20),
  limitSell: amount(),
  buyToken: hexSchema(20),
  limitBuy: amount(),
  executedSell: amount(),
  executedBuy: amount(),
});

const solution = /* @__PURE__ */ z.object({
  solutionId: z.int('must be an integer').check(z.minimum(0, { error: 'must not be negative' })),
  submissionAddress: hexSchema(20),
  orders: z.record(hexSchema(56), order),
  clearingPrices: z.nullish(z.record(hexSchema(20), amount())),
});

/** Parses the response of `POST /solve`. Each solution is checked for itself. `problems` name dropped ones. */
export function parseSolutions(response: unknown, context: ParseContext) {
  const list = typeof response === 'object' && response !== null && 'solutions' in response ? response.solutions : null;
  if (!Array.isArray(list)) return { solutions: [], problems: ['solutions must be a list'] };
  const problems: string[] = [];
  if (list.length > context.maxSolutions) problems.push(`more than ${context.maxSolutions} solutions`);
  const solutions = new Map<number, DriverSolution>();
  for (const item of list.slice(0, context.maxSolutions)) {
    const parsed = parseSolution(item, context);
    if (typeof parsed === 'string') problems.push(parsed);
    else if (solutions.has(parsed.solutionId)) problems.push(`solutionId ${parsed.solutionId} is repeated`);
    else solutions.set(parsed.solutionId, parsed);
  }
  return { solutions: [...solutions.values()], problems };
}

/** @returns the solution, or the reason for which it is dropped. */
function parseSolution(item: unknown, context: ParseContext): DriverSolution | string {
  const parsed = parseShape(solution, item);
  if (parsed instanceof OrderBookError) return parsed.message;
  const { solutionId, submissionAddress: solver } = parsed;
  // Drivers of a host may give it with a checksum.
  const expected = context.submissionAddress?.toLowerCase();
  if (expected !== undefined && solver !== expected) return `submissionAddress must be ${expected}, got ${solver}`;
  const entries = Object.entries(parsed.orders) as [Hex, z.output<typeof order>][]; // keys of the schema
  if (entries.length === 0 || entries.length > MAX_ORDERS) return `a solution must have 1 to ${MAX_ORDERS} orders`;
  const orders: ExecutedOrder[] = [];
  for (const [uid, { side: kind, limitSell: sellAmount, limitBuy: buyAmount, ...rest }] of entries) {
    const executed = { uid, kind, sellAmount, buyAmount, ...rest };
    const problem = findProblem(executed, context.orders.get(uid));
    if (problem !== undefined) return `order ${uid} ${problem}`;
    orders.push(executed);
  }
  const unequal = findUnequalPrice(orders, context);
  if (unequal !== undefined) return `order ${unequal} has another price than orders of the same direction`;
  const given = Object.entries(parsed.clearingPrices ?? {}) as [Address, bigint][]; // keys of the schema
  const prices = [...(given.length > 0 ? new Map(given) : derivePrices(orders))];
  if (prices.some(([, price]) => price > MAX_UINT256)) return 'the prices of the executed amounts exceed 256 bits';
  const clearingPrices = Object.fromEntries(prices.map(([token, price]) => [token, String(price)]));
  return { driver: context.driver, solutionId, solver, orders, clearingPrices };
}

/** Checks an execution against the order of the auction. An order that is not in the auction is of the solver. */
function findProblem(executed: ExecutedOrder, order: AuctionOrder | undefined): string | undefined {
  const { kind, sellToken, buyToken, sellAmount, buyAmount, executedSell, executedBuy } = executed;
  if (sellAmount === 0n) return 'has a limit of 0';
  if (executedSell * buyAmount > executedBuy * sellAmount) return 'is executed below its limit price';
  if (order === undefined) return undefined;
  const isSame =
    kind === order.kind &&
    sellToken === order.sellToken &&
    buyToken === order.buyToken &&
    sellAmount === BigInt(order.sellAmount) &&
    buyAmount === BigInt(order.buyAmount);
  if (!isSame) return 'has other terms than in the auction';
  const [fixed, whole] = kind === 'sell' ? [executedSell, sellAmount] : [executedBuy, buyAmount];
  const rest = whole - BigInt(order.executed);
  if (fixed === 0n || fixed > rest) return `must be executed with 1 to ${rest} atoms, got ${fixed}`;
  return order.partiallyFillable || fixed === whole ? undefined : 'cannot be filled in part';
}

/** Derives prices from executed amounts, if a driver reports none: those of the first order of each token count. */
function derivePrices(orders: readonly ExecutedOrder[]): ReadonlyMap<Address, bigint> {
  const prices = new Map<Address, bigint>();
  for (const { sellToken, buyToken, executedSell: sold, executedBuy: bought } of orders) {
    if (sold === 0n || bought === 0n) continue;
    const [sell, buy] = [prices.get(sellToken), prices.get(buyToken)];
    prices.set(sellToken, sell ?? (buy === undefined ? bought : (buy * bought) / sold));
    prices.set(buyToken, buy ?? (sell === undefined ? sold : (sell * sold) / bought));
  }
  return prices;
}

/** An executed price as a fraction of bought by sold atoms, with its rounding: at least `low`, at most `high`. */
interface ExecutedPrice {
  readonly low: readonly [bought: bigint, sold: bigint];
  readonly high: readonly [bought: bigint, sold: bigint];
}

const MILLION = 1_000_000n;

/**
 * Finds an order whose price before protocol fees is worse than that of another order of its direction. Wrapped and
 * native currency are one token. Network fees may differ, so a spread is allowed.
 */
function findUnequalPrice(
  executed: readonly ExecutedOrder[],
  { orders, maxPriceSpread, wrappedNative }: ParseContext,
): Hex | undefined {
  const name = (token: Address) => (token === wrappedNative ? NATIVE_MARKER : token);
  const best = new Map<string, ExecutedPrice>();
  const prices = executed.flatMap((each) => {
    const listed = orders.get(each.uid);
    const pair = `${name(each.sellToken)} ${name(each.buyToken)}`;
    return listed === undefined ? [] : { uid: each.uid, pair, price: getPrice(each, listed) };
  });
  for (const { pair, price } of prices) {
    const other = best.get(pair);
    if (other === undefined || isAbove(price.low, other.low, 0)) best.set(pair, price);
  }
  return prices.find(({ pair, price }) => {
    const other = best.get(pair);
    return other !== undefined && isAbove(other.low, price.high, maxPriceSpread);
  })?.uid;
}

function getPrice({ executedSell: sold, executedBuy: bought, ...terms }: ExecutedOrder, order: AuctionOrder) {
  const fees = computeProtocolFees({ ...terms, sold, bought }, order.protocolFees).reduce((sum, fee) => sum + fee, 0n);
  const [sell, buy] = terms.kind === 'sell' ? [sold, bought + fees] : [sold - fees, bought];
  // Each amount and each fee is rounded by one atom at most.
  const slack = BigInt(1 + order.protocolFees.length);
  const positive = (value: bigint) => (value > 0n ? value : 1n);
  const low: [bigint, bigint] = [buy > slack ? buy - slack : 0n, positive(sell + slack)];
  return { low, high: [buy + slack, positive(sell - slack)] } satisfies ExecutedPrice;
}

/** Whether a fraction is above another one by more than a spread in parts per million. */
function isAbove(a: readonly [bigint, bigint], b: readonly [bigint, bigint], spread: number): boolean {
  return a[0] * b[1] * (MILLION - BigInt(spread)) > b[0] * a[1] * MILLION;
}
