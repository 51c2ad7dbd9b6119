import type { AuctionOrder, Hex, OrderBook } from 'intentbook';
import type { Fill, Solution, Solver, SolverEngine, SolverResult } from 'intentbook/solver';
import { createSolver, createWrapperFilter, requiresWrapper } from 'intentbook/solver';
import type { SandboxChain } from './chain.ts';
import { toAtoms } from './units.ts';

/** How one order is settled. */
export interface SettleOptions {
  /**
   * Part of the order to fill: a fraction above 0 and up to 1, or an amount of whole tokens of the exact side as a
   * string. Default: all that is left.
   */
  readonly fill?: number | string;
  /** Network fee in whole tokens of the sell token. Default: 0. */
  readonly fee?: string;
}

/** Events after which there may be something to solve. */
const EVENTS = [
  'orderCreated',
  'orderPlaced',
  'orderPresigned',
  'orderReinstated',
  'orderReverted',
  'chainApplied',
] as const;

export function createSandboxSolver(book: OrderBook, chain: SandboxChain, engine?: SolverEngine) {
  const parts = chain.solverParts();
  const used = createWrapperFilter(engine ?? parts.engine, book.appData);
  const reasons = new Map<string, string>();
  const { settler } = parts;
  const solver: Solver = createSolver({
    auctions: book.auctions,
    engine: used,
    settler,
    onResult({ failed, settlements }) {
      for (const { order, reason } of failed) reasons.set(order, reason);
      for (const { orders } of settlements) for (const uid of orders) reasons.delete(uid);
    },
    onFailure: (failure) => book.reportError(failure),
  });
  const explainUnsolved = async (order: AuctionOrder) =>
    (await requiresWrapper(order, book.appData)) ? NEEDS_WRAPPER : NO_PRICE;
  for (const event of EVENTS) book.on(event, () => solver.wake());

  return {
    name: used.name,
    start: (): void => solver.start(),
    stop: (): Promise<void> => solver.stop(),
    wake: (): void => solver.wake({ retry: true }),
    /** Solves the current auction. */
    run: (): Promise<SolverResult | undefined> => solver.run(),
    /** Returns why an open order is not settled. */
    async explain(uid: string): Promise<string> {
      const reason = reasons.get(uid);
      if (reason !== undefined) return `the last settlement failed with "${reason}"`;
      const { orders } = await book.auctions.current();
      const order = orders.find((each) => each.uid === uid);
      if (order === undefined) return 'it is not in the auction, because it is not funded';
      return explainUnsolved(order);
    },

    /** Settles one order. @throws Error if that is not possible. */
    async settle(uid: Hex, options: SettleOptions): Promise<Hex> {
      const auction = await book.auctions.current();
      const order = auction.orders.find((each) => each.uid === uid);
      if (order === undefined) throw new Error(`order ${uid} must be in the auction; it is not open or not funded`);
      const token = order.kind === 'sell' ? order.sellToken : order.buyToken;
      const decimals = getDecimals(chain, token);
      const reduced = options.fill === undefined ? order : reducedTo(order, toFill(order, options.fill, decimals));
      const fee = options.fee === undefined ? 0n : toAtoms(options.fee, getDecimals(chain, order.sellToken));
      const once: SolverEngine = {
        name: used.name,
        async solve(_, signal) {
          const solutions = await used.solve({ ...auction, orders: [reduced] }, signal);
          return solutions.map((solution) => withFee(solution, fee));
        },
      };
      const single = createSolver({
        auctions: { current: async () => auction, record: book.auctions.record },
        engine: once,
        settler,
      });
      const result = await single.run();
      const [settlement] = result?.settlements ?? [];
      if (settlement !== undefined && !settlement.reverted) return settlement.transactionHash;
      const [failed] = result?.failed ?? [];
      throw new Error(`order ${uid} cannot be settled: ${failed?.reason ?? (await explainUnsolved(order))}`);
    },
  };
}

const NO_PRICE = 'no price satisfies its limit';
const NEEDS_WRAPPER = 'its app data requires a wrapper contract, which the solver does not call';

function getDecimals(chain: SandboxChain, address: string): number {
  return chain.tokens.find((token) => token.address === address)?.decimals ?? 18;
}

function toFill({ kind, sellAmount, buyAmount }: AuctionOrder, fill: number | string, decimals: number): bigint {
  if (typeof fill === 'string') return toAtoms(fill, decimals);
  if (!(fill > 0 && fill <= 1)) throw new TypeError(`fill must be a fraction above 0 and up to 1, got ${fill}`);
  const parts = BigInt(Math.round(fill * 1e9));
  return (BigInt(kind === 'sell' ? sellAmount : buyAmount) * parts) / 1_000_000_000n;
}

/** Describes an order of which only `amount` is left. */
function reducedTo(order: AuctionOrder, amount: bigint): AuctionOrder {
  const total = BigInt(order.kind === 'sell' ? order.sellAmount : order.buyAmount);
  const left = total - BigInt(order.executed);
  if (amount <= 0n || amount > left)
    throw new TypeError(`fill must be at most the ${left} atoms that are left, got ${amount}`);
  if (!order.partiallyFillable && amount < left)
    throw new TypeError('fill must be all of an order that is not partially fillable');
  return { ...order, executed: String(total - amount) };
}

function withFee(solution: Solution, fee: bigint): Solution {
  return fee === 0n ? solution : { ...solution, fills: solution.fills.map((fill): Fill => ({ ...fill, fee })) };
}
